# SPDX-License-Identifier: BSD-2-Clause
"""Drives one load generator process (gen/): commands go out, and each is answered by one line of JSON."""

from __future__ import annotations

import json
import os
import select
import subprocess
from pathlib import Path
from typing import Any

import guest

Result = dict[str, Any]


class LoadError(Exception):
    """The generator failed or did not answer."""


class LoadGen:
    """The hosts on both sides of one guest."""

    def __init__(self, program: Path, target: guest.Guest, split: bool = False) -> None:
        setup, row = target.setup, target.row
        command = [str(program), "--mode", row.path, "--hops", str(row.hops)]
        for side in ("lan", "wan"):
            ends = f"{target.socket(side, 'gen')},{target.socket(side, 'qemu')}"
            command += [f"--{side}", ends]
        command += ["--gateway-lan", guest.LAN_ADDRESS.split("/", maxsplit=1)[0]]
        command += ["--gateway-wan", guest.WAN_ADDRESS.split("/", maxsplit=1)[0]]
        command += ["--client", guest.CLIENT, "--server", guest.SERVER]
        if setup.backend in ("vhost", "stream", "packet"):
            command.append(f"--{setup.backend}")
        if split:
            command.append("--split")
        self.name = row.name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        os.sched_setaffinity(self.process.pid, {setup.cores[1]})
        self._answer(10)

    def _answer(self, timeout_s: float) -> Result:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], timeout_s)[0]:
            raise LoadError(f"{self.name}: the generator does not answer")
        line = self.process.stdout.readline()
        if not line:
            raise LoadError(f"{self.name}: the generator ended")
        answer: Result = json.loads(line)
        if "error" in answer:
            raise LoadError(f"{self.name}: {answer['error']}")
        return answer

    def tell(self, command: str, timeout_s: float = 30) -> Result:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._answer(timeout_s)

    def run(self, **phase: float) -> Result:
        """Runs one phase; the keys are those of the generator's `run`."""
        words = " ".join(f"{key}={value}" for key, value in phase.items())
        lasts = phase.get("seconds", 1) + phase.get("warm", 0)
        return self.tell(f"run {words}", lasts + 30)

    def stop(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
