# SPDX-License-Identifier: BSD-2-Clause
"""Chromium without a window, in a namespace, driven by the DevTools protocol over two pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from typing import Any

from .netns import Namespace, end_process
from .wait import Timeout, until


class Browser:
    """One browser with one page. Leaving it ends the browser. `errors` has what its console says is wrong, `urls` all
    that it has asked for."""

    def __init__(self, host: Namespace) -> None:
        self.errors: list[str] = []
        self.urls: list[str] = []
        self._number = 0
        self._buffer = b""
        self._loaded = 0
        self._folder = tempfile.mkdtemp(prefix="browser-")
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        # Chromium reads messages from descriptor 3 and writes to 4.
        script = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            host.command(["bash", "-c", script, "bash", "chromium", "--headless", "--no-sandbox", "--disable-gpu",
                          "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
                          "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                          "--disable-dev-shm-usage", f"--user-data-dir={self._folder}", "about:blank"]),
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._folder})
        os.close(to_read)
        os.close(to_write)
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._out)
        os.close(self._in)
        end_process(self._process)
        until(self._removed, 20, "the end of the browser's processes, which still write")

    def _removed(self) -> bool:
        shutil.rmtree(self._folder, ignore_errors=True)
        return not os.path.exists(self._folder)

    def _receive(self, end: float) -> dict[str, Any] | None:
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            data = os.read(self._in, 1 << 16)
            if not data:
                raise AssertionError("the browser has ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        parsed: dict[str, Any] = json.loads(message)
        self._note(parsed.get("method", ""), parsed.get("params", {}))
        return parsed

    def _note(self, method: str, what: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(what["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.errors.append(str(what["args"]))
        elif method == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{what['entry']['text']} {what['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.urls.append(what["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded += 1

    def call(self, method: str, timeout: float = 30, **params: Any) -> dict[str, Any]:
        """Calls a method of the DevTools protocol; gives its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while (answer := self._receive(until)) is not None:
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
        raise Timeout(f"browser: {method}: no answer within {timeout:g} s")

    def open(self, url: str, timeout: float = 30) -> None:
        """Opens a page and waits until all of it is loaded."""
        before, until = self._loaded, time.monotonic() + timeout
        self.call("Page.navigate", url=url)
        while self._loaded == before:
            if self._receive(until) is None:
                raise Timeout(f"browser: {url} is not loaded within {timeout:g} s")

    def size(self, width: int, height: int = 900, dark: bool = False) -> None:
        """The size of the window, and whether the person likes dark pages."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def scripts(self, on: bool) -> None:
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def value(self, expression: str) -> Any:
        """The value of an expression in the page; of a promise what it promises."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str, timeout: float = 15) -> None:
        """Waits until an expression in the page is true."""
        until = time.monotonic() + timeout
        while not self.value(expression):
            if time.monotonic() > until:
                raise Timeout(f"browser: not within {timeout:g} s: {expression}")
            self._receive(time.monotonic() + 0.1)

    def picture(self, path: str) -> None:
        """Writes what the window shows as PNG."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
