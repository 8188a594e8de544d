# SPDX-License-Identifier: BSD-2-Clause
"""`tools/lab soak`: an IPv6-only host uses all applications at the same time through one box, for as long as is wanted,
and not one error may occur."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

from . import nat64lab
from .applications import Applications, Servers
from .lab import Lab
from .machine import Machine
from .nat64lab import BoxLab

_KINDS = ("web", "git", "ssh", "ftp", "apt", "dns", "video", "call")
_SAY = 60.0


def _say(text: str) -> None:
    print(text, flush=True)


def run(nic: str, minutes: float, start: Callable[[Lab, str], Machine]) -> int:
    """Boots, lets the applications run, each over and over; gives 0 if none had an error. `start` as in demo.run."""
    with BoxLab((nic, nic)) as lab:
        start(lab, nat64lab.BOX).wait_ready("nat64")
        lab.join()
        free = lab.packets_free()
        done: Counter[str] = Counter()
        errors: list[str] = []
        ends = threading.Event()

        def use(kind: str, applications: Applications) -> None:
            while not ends.is_set():
                try:
                    getattr(applications, kind)()
                    done[kind] += 1
                except (AssertionError, OSError, ValueError, IndexError) as error:
                    errors.append(f"{kind}: {error}")
                    ends.set()

        with lab.uplink6(), Servers(lab) as servers:
            lab.wait_uplink6()
            users = [threading.Thread(target=use, args=(kind, Applications(lab, servers, number)))
                     for number, kind in enumerate(_KINDS)]
            until, told = time.monotonic() + minutes * 60, time.monotonic()
            for user in users:
                user.start()
            while time.monotonic() < until and not ends.wait(1):
                if time.monotonic() - told >= _SAY:
                    told += _SAY
                    _say(f"{(until - told) / 60:.0f} minutes left: {dict(sorted(done.items()))}")
            ends.set()
            for user in users:
                user.join()
        stats = lab.console.stats()
        _say(f"uses of each application: {dict(sorted(done.items()))}")
        for name, value in stats.items():
            if value and name.startswith(("drop", "nat64_", "dns_", "forwarded", "cpu_")):
                _say(f"    {name} {value}")
        lab.check_no_leak(free, 10)
        if len(done) < len(_KINDS):
            errors.append("not every application came to its end once")
        for error in errors:
            print(f"soak: {error}", file=sys.stderr)
        return 1 if errors else 0
