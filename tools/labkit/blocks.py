# SPDX-License-Identifier: BSD-2-Clause
"""Who had an outer address and port: from the blocks of ports that a configuration gives (`nat.blocks`), and from the
events that the gateway told (`nat.log`). The other half of apps/nat/nat_block.c, whose blocks these are."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network

FIRST = 1024  # the first port of the first block of an address
PORTS = 65536 - FIRST
LEAST = 32
INSIDE = ("lan", *(f"lan{n}" for n in range(2, 8)))
APPS = {"nat": "nat", "6to4": "nat", "nat64": "nat64"}  # `app`: what the keys of its NAT begin with
TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?")
COMMENT = re.compile(r"#|(?<!:)//")  # kernel/config/config_word.c; of `http://` it is none
EVENT = re.compile(r"\[(session|block)@32473((?: \w+=\"[^\"\]]*\")+)\]")
SENDER = re.compile(r"(\S+) baregate(?: (\d+)|\[(\d+)\]:?) ")  # HOSTNAME APP-NAME PROCID, as sent or as files have it
FIELD = re.compile(r" (\w+)=\"([^\"\]]*)\"")
PROTOCOLS = {"1": "icmp", "6": "tcp", "17": "udp"}
WORDS = {"session": {"event", "proto", "inside", "inport", "outside", "outport"},
         "block": {"event", "inside", "outside", "first", "last"}}


class Wrong(Exception):
    """What is wrong with a configuration, in words for a person."""


# --- from the configuration ---------------------------------------------------------------------------------


@dataclass
class Blocks:
    """The blocks of a configuration."""

    size: int
    external: list[IPv4Address]
    nets: list[tuple[int, int, int]]  # first and last inside address, number of the first one's block
    forwards: dict[tuple[str, int], str]  # protocol and port of the first outer address: inside endpoint

    @property
    def each(self) -> int:
        """Blocks of one outer address."""
        return PORTS // self.size

    def of(self, inside: IPv4Address) -> tuple[IPv4Address, int, int] | None:
        """Outer address, first and last port of an inside host; None when it has no fixed block."""
        for first, last, number in self.nets:
            if first <= int(inside) <= last:
                at, block = divmod(number + int(inside) - first, self.each)
                port = FIRST + block * self.size
                return self.external[at], port, port + self.size - 1
        return None

    def who(self, outside: IPv4Address, port: int) -> tuple[IPv4Address, int, int] | None:
        """The inside host that a port belongs to, and the first and the last port of its block."""
        if outside not in self.external or port < FIRST or (port - FIRST) // self.size >= self.each:
            return None
        block = (port - FIRST) // self.size
        number = self.external.index(outside) * self.each + block
        for first, last, start in self.nets:
            if start <= number <= start + last - first:
                port = FIRST + block * self.size
                return IPv4Address(first + number - start), port, port + self.size - 1
        return None


def read_keys(text: str) -> dict[str, list[str]]:
    """The lines of a configuration file, by key."""
    keys: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = COMMENT.split(line, maxsplit=1)[0].split()
        if words:
            keys.setdefault(words[0], []).append(" ".join(words[1:]))
    return keys


def _networks4(values: Iterable[str]) -> Iterator[tuple[IPv4Address, IPv4Network]]:
    for value in values:
        address, _, length = value.partition("/")
        try:
            yield IPv4Address(address), IPv4Network(f"{address}/{length or 32}", strict=False)
        except ValueError:
            continue  # IPv6, or a word such as dhcp


def _externals(keys: dict[str, list[str]], app: str) -> list[IPv4Address]:
    wan = [address for address, _ in _networks4(keys.get("wan.address", []))]
    hops = {word for line in keys.get("gateway", []) + keys.get("route", []) for word in line.split()}
    found = []
    for value in keys.get(f"{app}.pool", []):
        first, _, last = value.partition("-")
        try:
            numbers = range(int(IPv4Address(first)), int(IPv4Address(last or first)) + 1)
        except ValueError as bad:
            raise Wrong(f"{app}.pool {value}: {bad}") from None
        found += [IPv4Address(n) for n in numbers if str(IPv4Address(n)) not in hops]
    if not found and not wan:
        raise Wrong("the outer address comes by DHCP: name it with --outer ADDRESS")
    return found or wan[:1]


def _app(keys: dict[str, list[str]]) -> str:
    """What the keys of the NAT that runs begin with."""
    runs = (keys.get("app") or keys.get("menu-default") or [""])[-1]
    names = [APPS[runs]] if runs in APPS else [] if runs else sorted(set(APPS.values()))
    found = [name for name in names if keys.get(f"{name}.blocks", ["0"])[-1] != "0"]
    if not found:
        raise Wrong(f"the configuration has no nat.blocks{f' for {runs}' if runs else ''}: only a log can tell")
    if len(found) > 1:
        raise Wrong("the configuration has nat.blocks and nat64.blocks, and no app that says which of them counts")
    return found[0]


def blocks_of(text: str, outer: IPv4Address | None = None) -> Blocks:
    """The blocks of a configuration file; `outer` is the WAN's address where it comes by DHCP."""
    keys = read_keys(text)
    if outer:
        keys["wan.address"] = [f"{outer}/32", *keys.get("wan.address", [])]
    app = _app(keys)
    value = keys[f"{app}.blocks"][-1]
    if not value.isdecimal() or not LEAST <= int(value) <= PORTS:
        raise Wrong(f"{app}.blocks {value}: expected a number from {LEAST} to {PORTS}")
    blocks = Blocks(int(value), _externals(keys, app), [], {})
    number = 0
    for name in INSIDE:
        for _, net in _networks4(keys.get(f"{name}.address", [])):
            ends = net.prefixlen <= 30
            first, last = int(net[0]) + ends, int(net[-1]) - ends
            if any(first <= b and a <= last for a, b, _ in blocks.nets):
                continue
            blocks.nets.append((first, last, number))
            number += last - first + 1
    total = blocks.each * len(blocks.external)
    if number > total:
        raise Wrong(f"{app}.blocks: {total} blocks of {value} ports, fewer than the LAN's {number} addresses")
    for line in keys.get(f"{app}.forward", []):
        words = line.split()
        if len(words) == 3:
            blocks.forwards[words[0], int(words[1].rpartition(":")[2])] = words[2]
    return blocks


# --- from a log ---------------------------------------------------------------------------------------------


@dataclass
class Use:
    """An inside host had a port, or a block, of an outer address, from `begin` to `end` (None: not known)."""

    inside: str
    protocol: str  # "any" for a block
    first: int
    last: int
    begin: datetime.datetime | None
    end: datetime.datetime | None = None
    sessions: int = 0  # that have not ended
    sender: tuple[str, str] | None = None  # HOSTNAME and PROCID of the gateway
    restarted: bool = False  # it ended because the gateway started again, at `end` at the latest


def time_of(text: str) -> tuple[datetime.datetime, datetime.timedelta]:
    """A time (UTC unless it says otherwise), and how exact it is: a minute, a second or less."""
    found = TIME.fullmatch(text.strip())
    if not found:
        raise Wrong(f"{text}: expected a time such as 2026-11-22T14:03Z")
    day, clock, zone = found.groups()
    exact = datetime.timedelta(minutes=1) if clock.count(":") == 1 else datetime.timedelta(
        seconds=0 if "." in clock else 1)
    try:
        return datetime.datetime.fromisoformat(f"{day}T{clock}" + ("+00:00" if zone in (None, "Z") else zone)), exact
    except ValueError as bad:
        raise Wrong(f"{text}: {bad}") from None


def _fields(line: str) -> tuple[str, dict[str, str]] | None:
    found = EVENT.search(line)
    if not found:
        return None
    values = dict(FIELD.findall(found[2]))
    numbers = [values.get(name, "0") for name in ("proto", "inport", "outport", "first", "last")]
    right = (set(values) == WORDS[found[1]] and values["event"] in ("begin", "end")
             and all(n.isdecimal() and int(n) < 65536 for n in numbers))
    return (found[1], values) if right else None


@dataclass
class _Starts:
    """Follows which start of a gateway (PROCID) a log's lines are of. A start ends what earlier ones had begun."""

    ended: set[tuple[str, str]] = field(default_factory=set)
    now: dict[str, tuple[str, str]] = field(default_factory=dict)  # by HOSTNAME
    cut: list[Use] = field(default_factory=list)  # that ended, before a time that is not known yet

    def line(self, sender: tuple[str, str], when: datetime.datetime | None,
             open_: dict[tuple[str, ...], Use]) -> Iterator[Use]:
        """A line came. Gives the uses that are over."""
        before = self.now.get(sender[0])
        if sender != before and sender not in self.ended:
            self.now[sender[0]] = sender
            if before:
                self.ended.add(before)
        over = {key: use for key, use in open_.items() if use.sender in self.ended}
        for key, use in over.items():
            del open_[key]
            use.restarted = True
            self.cut.append(use)
        if when and sender == self.now.get(sender[0]):
            done = [use for use in self.cut if use.sender and use.sender[0] == sender[0]]
            self.cut = [use for use in self.cut if use not in done]
            for use in done:
                use.end = when
                yield use


def _when(line: str, end: int) -> datetime.datetime | None:
    found = TIME.search(line[:end])
    return time_of(found[0])[0] if found else None


def uses(lines: Iterable[str], outside: IPv4Address, port: int) -> Iterator[Use]:
    """Each use of a port that the events of a log tell of, in the order of their ends; those that have not ended come
    last. Lines without events only tell of restarts."""
    open_: dict[tuple[str, ...], Use] = {}
    starts = _Starts()
    for line in lines:
        named = SENDER.search(line)
        sender = (named[1], named[2] or named[3]) if named else None
        if named and sender:
            yield from starts.line(sender, _when(line, named.start()), open_)
        event = _fields(line)
        if not event or event[1]["outside"] != str(outside):
            continue
        kind, value = event
        first, last = ((int(value["first"]), int(value["last"])) if kind == "block" else (int(value["outport"]),) * 2)
        if not first <= port <= last:
            continue
        when = _when(line, EVENT.search(line).start())  # type: ignore[union-attr]
        inside = value["inside"] + (f":{value['inport']}" if kind == "session" and ":" not in value["inside"] else
                                    f" port {value['inport']}" if kind == "session" else "")
        protocol = "any" if kind == "block" else PROTOCOLS.get(value["proto"], value["proto"])
        key = (kind, inside, protocol, str(first))
        # A port has several sessions, one for each server: it is used from the first begin to the last end.
        use = open_.get(key) or Use(inside, protocol, first, last, when if value["event"] == "begin" else None,
                                    sender=sender)
        use.sessions += 1 if value["event"] == "begin" else -1
        if use.sessions > 0:
            open_[key] = use
            continue
        use.end = when
        open_.pop(key, None)
        yield use
    yield from starts.cut
    yield from open_.values()


def at_time(found: Iterable[Use], when: datetime.datetime, exact: datetime.timedelta) -> Iterator[Use]:
    """Those uses that a time may mean. One whose begin or end is not known counts as without it."""
    for use in found:
        if (use.begin is None or use.begin <= when + exact) and (use.end is None or use.end >= when):
            yield use
