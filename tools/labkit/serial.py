# SPDX-License-Identifier: BSD-2-Clause
"""The gateway's console for programs: COM1 on a unix socket.

A thread reads all the time, so nothing is lost and the gateway never waits. Waiting for text uses a condition
variable, not a sleep.
"""

import re
import socket
import threading
import time
from collections.abc import Callable

from .wait import Timeout, until

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")
# The beginning of an escape sequence or of a line end whose rest has not arrived yet.
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-9;?]*|[()])?|\r)\Z")
# A line end; a carriage return alone restarts the line, which counts as a new line here.
_LINE_END = re.compile(r"\r\n?")


class ConsoleClosed(Timeout):
    """The other end closed before the expected text came."""


class Console:
    """The whole output of COM1 so far, and a position up to which it was read.

    `expect` searches from that position and moves it behind the match, so that two calls never match the same text.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._raw = bytearray()
        self._text = ""
        self._pending = ""
        self._changed = threading.Condition()
        self._closed = False
        self._place = 0
        self._sink: Callable[[bytes], None] | None = None
        self._reader = threading.Thread(target=self._read, name="com1", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = self._socket.recv(65536)
            except OSError:
                data = b""
            with self._changed:
                self._take(data)
                self._closed = self._closed or not data
                if self._sink is not None and data:
                    self._sink(data)
                self._changed.notify_all()
            if not data:
                return

    def _take(self, data: bytes) -> None:
        """Stores `data` raw and as clean text; a possible part of a sequence waits for its rest."""
        self._raw += data
        text = _ESCAPES.sub("", self._pending + data.decode("cp437"))
        half = _UNFINISHED.search(text)
        cut = half.start() if half else len(text)
        self._text += _LINE_END.sub("\n", text[:cut])
        self._pending = text[cut:]

    def close(self) -> None:
        """Closes the connection. Safe to call twice."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._reader.join(5)
        self._socket.close()

    @property
    def text(self) -> str:
        """All output so far as lines that end in \\n, without escape sequences."""
        with self._changed:
            return self._text

    @property
    def raw(self) -> bytes:
        """All output so far, byte for byte."""
        with self._changed:
            return bytes(self._raw)

    def mark(self) -> None:
        """Marks all output so far as read."""
        self._place = len(self.text)

    def send(self, data: bytes | str) -> None:
        """Sends input. Text is sent unchanged: end a line with \\r."""
        self._socket.sendall(data.encode("cp437") if isinstance(data, str) else data)

    def expect(self, pattern: str, timeout: float = 30) -> "re.Match[str]":
        """Waits until the regular expression (multi-line) matches output that was not read yet.

        Raises Timeout, or ConsoleClosed if the gateway ended before.
        """
        regex = re.compile(pattern, re.MULTILINE)
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                closed = self._closed
                found = regex.search(self._text, self._place)
                if found:
                    self._place = found.end()
                    return found
                left = deadline - time.monotonic()
                if closed or left <= 0:
                    kind, why = (ConsoleClosed, "console closed") if closed else (
                        Timeout, f"not within {timeout:g} s")
                    raise kind(f"{why}: /{pattern}/ on COM1 after:\n{self._text[self._place:][-3000:]}")
                self._changed.wait(left)

    def command(self, line: str, timeout: float = 20) -> str:
        """Types a command at the prompt and returns its answer, without the echo and the empty line."""
        self.mark()
        self.send(line + "\r")
        self.expect(re.escape(line) + r"[ \t]*\n", timeout)
        # An answer ends with an empty line; an empty answer is only that line. (A pattern that contained the answer
        # would be tried at each position of it.)
        begin = self._place
        end = self.expect(r"^\n", timeout).start()
        answer = self.text[begin:end]
        # The gateway erases a typed line for a log line and writes it again: the answer is behind the last echo.
        _, again, rest = answer.rpartition(f"> {line}\n")
        return rest if again else answer

    def stats(self) -> dict[str, int]:
        """The answer of `stats`: every counter and gauge by its full name, labels included."""
        values: dict[str, int] = {}
        for line in self.command("stats").splitlines():
            name, _, value = line.rpartition(" ")
            values[name] = int(value)
        return values

    def attach(self, sink: Callable[[bytes], None] | None, replay: bool = False) -> None:
        """Calls `sink(data)` from now on with every piece of raw output; None stops it.

        With `replay` it first gets the earlier output.
        """
        with self._changed:
            self._sink = sink
            if sink is not None and replay:
                sink(bytes(self._raw))


def connect(path: str, alive: Callable[[], bool], timeout: float = 30) -> socket.socket:
    """Connects to a unix socket that another process is about to open.

    Raises Timeout when the socket does not appear, or at once when `alive` says that no process is left to open it.
    """
    def attempt() -> socket.socket | None:
        lost = not alive()
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(path)
            return sock
        except OSError as error:
            sock.close()
            if lost:
                raise Timeout(f"{path}: {error.strerror}") from None
            return None
    return until(attempt, timeout, f"socket {path}")
