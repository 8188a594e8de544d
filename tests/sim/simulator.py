# SPDX-License-Identifier: BSD-2-Clause
"""A gwsim process: commands in, answers out. One process runs many gateways, one after the other."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
BUILDS = ("host64", "host32")


class Crash(AssertionError):
    """The gateway's program ended: a sanitizer's report, a panic, a double free."""


class Refused(Exception):
    """A command failed; the text gives the reason."""


class Simulator:
    """The program of one build. An answer is a list of lines without the final dot."""

    virtual = True
    running = True

    def __init__(self, build: str) -> None:
        self.build = build
        self.program = ROOT / "build" / build / "gwsim"
        self._start()

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"})

    def __enter__(self) -> Simulator:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        self._process.stdout.close()
        self._process.wait()
        self._errors.close()

    def _crashed(self, during: str) -> Crash:
        """Takes the output of the program that ended; starts a fresh one in its place."""
        status = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace")
        self.close()
        self._start()
        return Crash(f"gwsim ({self.build}) ended with status {status} during: {during[:200]}\n{said}")

    def _answer(self, during: str) -> list[str]:
        assert self._process.stdout
        lines: list[str] = []
        while (line := self._process.stdout.readline().decode()) != ".\n":
            if not line:
                raise self._crashed(during)
            lines.append(line.rstrip("\n"))
        return lines

    def _write(self, text: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._crashed(text) from error

    def command(self, line: str) -> list[str]:
        self._write(line + "\n")
        answer = self._answer(line)
        for text in answer:
            if text.startswith("error "):
                raise Refused(text[len("error "):])
        return answer

    def batch(self, lines: Sequence[str]) -> list[list[str]]:
        """Runs many commands at once, much faster than `command`; errors are left in the answers."""
        if not lines:
            return []
        self._write(f"batch {len(lines)}\n" + "\n".join(lines) + "\n")
        return [self._answer(line) for line in lines]
