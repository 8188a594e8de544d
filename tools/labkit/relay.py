# SPDX-License-Identifier: BSD-2-Clause
"""A cable that loses, delays and reorders frames: two taps and a thread between them."""

import contextlib
import heapq
import os
import random
import select
import threading
import time
from collections.abc import Iterator

from .netns import Namespace

BAD_ROUTER, BAD_SERVER = "198.18.7.1", "198.18.7.2"


class BadCable:
    """Joins tap `near` of one namespace and tap `far` of another. The share `loss` of all frames is lost, and the share
    `late` is delayed by some milliseconds, so that other frames overtake them."""

    def __init__(self, near: tuple[Namespace, str], far: tuple[Namespace, str], *, loss: float, late: float,
                 seed: int = 1) -> None:
        self.loss, self.late = loss, late
        self.lost = self.passed = 0
        self._draw = random.Random(seed)
        self._ends = [space.tap(name) for space, name in (near, far)]
        self._ending = threading.Event()
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Removes the cable."""
        self._ending.set()
        self._thread.join()
        for end in self._ends:
            os.close(end)

    def _take(self, end: int, now: float) -> None:
        while True:
            try:
                frame = os.read(self._ends[end], 2048)
            except OSError:  # no more frames, or the tap is down
                return
            # ARP and neighbour discovery always pass: they are not tested here.
            if frame[12:14] == b"\x08\x06" or (frame[12:14] == b"\x86\xdd" and frame[20] == 58):
                delay = 0.0
            elif self._draw.random() < self.loss:
                self.lost += 1
                continue
            else:
                delay = self._draw.uniform(0.002, 0.02) if self._draw.random() < self.late else 0.001
            self.passed += 1
            heapq.heappush(self._waiting, (now + delay, self.passed, 1 - end, frame))

    def _run(self) -> None:
        while not self._ending.is_set():
            now = time.monotonic()
            while self._waiting and self._waiting[0][0] <= now:
                _, _, end, frame = heapq.heappop(self._waiting)
                try:
                    os.write(self._ends[end], frame)
                except OSError:
                    self.lost += 1
            wait = min(0.05, max(0.0, self._waiting[0][0] - now)) if self._waiting else 0.05
            ready, _, _ = select.select(self._ends, [], [], wait)
            for fd in ready:
                self._take(self._ends.index(fd), time.monotonic())


@contextlib.contextmanager
def host_behind(router: Namespace, loss: float, late: float) -> Iterator[tuple[Namespace, BadCable]]:
    """A further host, BAD_SERVER, behind a bad cable to `router`, which routes IPv4 for it."""
    with contextlib.ExitStack() as ends:
        far = Namespace("far")
        ends.callback(far.close)
        cable = BadCable((router, "bad0"), (far, "bad1"), loss=loss, late=late)
        ends.callback(cable.close)
        for space, name, address in ((router, "bad0", BAD_ROUTER), (far, "bad1", BAD_SERVER)):
            space.ip(f"link set {name} up")
            space.ip(f"address add {address}/24 dev {name}")
        far.ip(f"route add default via {BAD_ROUTER}")
        router.sysctl("ipv4.ip_forward", 1)
        yield far, cable
