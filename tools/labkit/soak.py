# SPDX-License-Identifier: BSD-2-Clause
"""`tools/lab soak`: everything that one box does at the same time, for as long as is wanted, and not one error may
occur: an IPv6-only host uses all applications through the translator, the same host native IPv6 and a host with IPv4
the NAT44 beside it, and the filter lets in what it should and nothing else."""

import hashlib
import itertools
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

from . import lab as net
from . import nat64lab
from .applications import Applications, Servers
from .lab import Lab
from .machine import Machine
from .nat64lab import DUAL4, HOST6, NATIVE, BoxLab
from .netns import Namespace, end_process

_OPEN, _CLOSED = 8080, 8081
CONFIGURATION = nat64lab.BOX + f"forward6 tcp [{HOST6}]:{_OPEN}\n"

_TRANSLATED = ("web", "git", "ssh", "ftp", "apt", "dns", "video", "call")
"""Each has a thread of its own."""
_BESIDE = ("web", "git", "ssh", "ftp", "apt", "video")
"""One after the other, by each of the other ways; calls and pings have threads of their own."""
_PAUSE = 0.1
_SAY = 60.0
_SAMPLE = 5.0

_DROPS = {'drop{reason="multicast"}', 'drop{reason="unsolicited"}'}
"""The reasons that may count: groups that the hosts use by themselves, and what the filter is there for."""
_FULL = {'drop{reason="link-full"}', 'drop{reason="reassembly"}'}
"""The reasons that may count on full cables, a drop for 10,000 packets."""
_NONE = ("nat64_table_full", "nat64_sessions_evicted", "nat64_sessions_renumbered", "dns_servfail", "dns_formerr",
         "dns_table_full", "rx_errors", "rx_no_packet", "tx_errors")
"""Counters that must stay 0."""
_BOUNDS = {"nat64_hosts": 2, "nat64_addresses": 2, "nat64_syns_held": 0, "nat64_fragments_kept": 64,
           "dns_cache_records": 64, "dns_asking": 64, "dns_waiting": 64, "tcp_packets_held": 256, "packets_kept": 1024}
"""Gauges whose bounds do not depend on how long it runs."""
_MOVED = ("nat64_translated{way=\"4to6\"}", "nat64_translated{way=\"6to4\"}", "filter6_sessions_created",
          "nat64_sessions_created", 'drop{reason="unsolicited"}')
"""Counters that must grow."""


def _say(text: str) -> None:
    print(text, flush=True)


class _Inbound:
    """The WAN's side of the filter: a server of the LAN host is reached at the open port, at no other."""

    def __init__(self, lab: BoxLab, servers: Servers) -> None:
        self._lab, self._copy = lab, os.path.join(lab.directory, "inbound")
        self._folder = servers.folder
        self._servers = [lab.lan.start("python3", "-m", "http.server", str(port), "--bind", HOST6, "--directory",
                                       servers.folder) for port in (_OPEN, _CLOSED)]
        for port in (_OPEN, _CLOSED):
            lab.lan.wait_port(port)

    def close(self) -> None:
        for server in self._servers:
            end_process(server)

    def _fetch(self, port: int) -> int:
        """curl's exit status."""
        return self._lab.wan.run("curl", "--silent", "--fail", "--output", self._copy, "--connect-timeout", "2",
                                 "--interface", NATIVE, f"http://[{HOST6}]:{port}/large", check=False).returncode

    def use(self) -> None:
        """A large file of the LAN host, a connection that must not come about, and echoes in fragments."""
        assert self._fetch(_OPEN) == 0, "the open port is not reached"
        with open(self._copy, "rb") as got, open(os.path.join(self._folder, "large"), "rb") as sent:
            assert _digest(got.read()) == _digest(sent.read()), "the file from inside is not as it was sent"
        assert self._fetch(_CLOSED) == 28, "no timeout at the port that is closed"
        ping(self._lab.wan, "-6", "-I", NATIVE, HOST6)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def ping(host: Namespace, *words: str) -> None:
    """Echoes of three sizes, the last in fragments; two of each come back. The cables are full and may lose some."""
    for size in ("56", "1400", "4000"):
        # With a deadline it sends until two have come back; a late one may be the third.
        result = host.run("ping", "-n", "-c2", "-i0.5", "-w10", "-s", size, *words, check=False)
        assert result.returncode == 0 and "duplicates" not in result.stdout, f"ping {' '.join(words)}: {result.stdout}"


def _lost(lab: BoxLab) -> dict[str, int]:
    """Frames that found a cable full, by the cable; none of them reached the gateway."""
    return {name: int(json.loads(space.ip(f"-s -j link show dev {name}"))[0]["stats64"]["tx"]["dropped"])
            for space, name in ((lab.lan, "lan0"), (lab.wan, "wan0"))}


class _Users:
    """The threads; each repeats its uses until the end or the first error of any."""

    def __init__(self, lab: BoxLab) -> None:
        self.lab = lab
        self.done: Counter[str] = Counter()
        self.errors: list[str] = []
        self.ends = threading.Event()
        self._threads: list[threading.Thread] = []
        self._number = itertools.count()

    def add(self, uses: dict[str, Callable[[], object]], pause: float = 0) -> None:
        """A thread that makes these uses, one after the other."""
        def run() -> None:
            for name in itertools.cycle(uses):
                if self.ends.wait(pause):
                    return
                try:
                    uses[name]()
                    self.done[name] += 1
                except Exception as error:  # whatever it is, it ends the soak
                    self.errors.append(f"{name}: {type(error).__name__}: {error}")
                    self.ends.set()
        self._threads.append(threading.Thread(target=run))

    def add_applications(self, servers: Servers, way: str, kinds: tuple[str, ...], pause: float = 0) -> None:
        """One thread for the applications `kinds` by this way."""
        applications = Applications(self.lab, servers, next(self._number), way)
        self.add({f"{way} {kind}": getattr(applications, kind) for kind in kinds}, pause)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        self.ends.set()
        for thread in self._threads:
            thread.join()


def _add_all(users: _Users, servers: Servers, inbound: _Inbound) -> None:
    lab = users.lab
    for kind in _TRANSLATED:
        users.add_applications(servers, "nat64", (kind,))
    for way in ("native", "nat44"):
        users.add_applications(servers, way, _BESIDE, _PAUSE)
        users.add_applications(servers, way, ("call",))
    users.add({"native ping": lambda: ping(lab.lan, "-6", NATIVE),
               "nat44 ping": lambda: ping(lab.dual, "-4", net.FAR_SERVER),
               "nat64 ping": lambda: ping(lab.lan, "-6", nat64lab.v6(net.FAR_SERVER))}, 1)
    users.add({"inbound": inbound.use}, _PAUSE)


def _expected() -> Iterator[str]:
    """Every use, which must have come to its end once."""
    yield from (f"nat64 {kind}" for kind in _TRANSLATED)
    for way in ("native", "nat44"):
        yield from (f"{way} {kind}" for kind in (*_BESIDE, "call", "ping"))
    yield from ("nat64 ping", "inbound")


def _beyond(stats: dict[str, int], free: int) -> list[str]:
    """What is beyond its fixed bound now."""
    found = [f"{name} is {stats[name]}, more than {most}" for name, most in _BOUNDS.items() if stats[name] > most]
    if stats["packets_free"] < free // 2:
        found.append(f"packets_free is {stats['packets_free']} of {free}")
    return found


def _judge(lab: BoxLab, servers: Servers, before: dict[str, int], after: dict[str, int]) -> list[str]:
    """What the counters and the servers' logs say that should not be."""
    grown = {name: value - before.get(name, 0) for name, value in after.items() if value > before.get(name, 0)}
    full = grown.get("forwarded_packets", 0) // 10000
    found = [f"{name} grew by {by}" for name, by in grown.items()
             if (name.startswith("drop{") and name not in _DROPS and (name not in _FULL or by > full))
             or name.partition("{")[0] in _NONE]
    found += [f"{name} did not grow" for name in _MOVED if name not in grown]
    for at, client in ((net.FAR_SERVER, net.WAN_GATEWAY), (NATIVE, HOST6)):
        if servers.clients(at) != {client}:
            found.append(f"{at} saw {servers.clients(at)} and not {client} alone")
    lines = lab.console.command("sessions")
    for what in (f"tcp {DUAL4}:", f"tcp [{HOST6}]:", f"[{NATIVE}]"):
        if what not in lines:
            found.append(f"no session with {what}")
    return found


def run(nic: str, minutes: float, start: Callable[[Lab, str], Machine]) -> int:
    """Boots, lets the applications run, each over and over; gives 0 if none had an error. `start` as in demo.run."""
    with BoxLab((nic, nic)) as lab:
        start(lab, CONFIGURATION).wait_ready("nat64")
        own = lab.join()
        assert own == HOST6, own
        free = lab.packets_free()
        users = _Users(lab)
        with lab.uplink6(), Servers(lab, (net.FAR_SERVER, NATIVE)) as servers:
            lab.wait_uplink6()
            inbound = _Inbound(lab, servers)
            _add_all(users, servers, inbound)
            before = lab.console.stats()
            until, told, sampled = time.monotonic() + minutes * 60, time.monotonic(), time.monotonic()
            users.start()
            most: Counter[str] = Counter()
            while time.monotonic() < until and not users.ends.wait(1):
                if time.monotonic() - sampled >= _SAMPLE:
                    sampled = time.monotonic()
                    stats = lab.console.stats()
                    users.errors += _beyond(stats, free)
                    most |= Counter({name: stats[name] for name in (*_BOUNDS, "nat64_sessions", "filter6_sessions")})
                    most["packets in use"] = max(most["packets in use"], free - stats["packets_free"])
                if time.monotonic() - told >= _SAY:
                    told += _SAY
                    _say(f"{(until - told) / 60:.0f} minutes left: {dict(sorted(users.done.items()))}")
            users.join()
            stats = lab.console.stats()
            users.errors += _judge(lab, servers, before, stats)
            inbound.close()
        _say(f"uses: {dict(sorted(users.done.items()))}")
        _say(f"the most at one time: {dict(most)}")
        _say(f"frames lost on the way to the gateway: {_lost(lab)}")
        for name, value in stats.items():
            if value and name.startswith(("drop", "nat64_", "filter6_", "dns_", "forwarded", "cpu_")):
                _say(f"    {name} {value}")
        lab.check_no_leak(free, 10)
        users.errors += [f"{name}: not one came to its end" for name in _expected() if not users.done[name]]
        for error in users.errors:
            print(f"soak: {error}", file=sys.stderr)
        return 1 if users.errors else 0
