# SPDX-License-Identifier: BSD-2-Clause
"""Procedures that a load generator carries out on one gateway: those of RFC 8219 (which takes up RFC 2544), of RFC 9004
and of RFC 9693.

Each takes a `Traffic`, which sends to one gateway, and gives figures. Rates are in frames a second of one direction,
unless both directions are said.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import loadgen
from results import Effort

TOLERANCE = 0.001  # the share of frames that may be lost in the search that is not RFC 2544's
KEPT_UP = 0.98
STEPS = 7  # of a search: 1 % of its interval
BURST_MOST = 16384
NEW_NAMES: dict[str, float] = {"answers": 1, "fresh": 1}  # DNS64: questions that were never asked before
FLOWS = 4000  # of RFC 9693: opened in each trial
PROOFS_S = 10_000  # proofs a second, so few that none is lost


class NoRate(Exception):
    """A search found no rate without loss."""


@dataclass
class Traffic:
    """What is sent to a gateway: frames of one size, in a number of flows."""

    load: loadgen.LoadGen
    size: int = 60
    flows: int = 16

    def words(self) -> dict[str, float]:
        return {"size": self.size, "flows": self.flows}

    def open_sessions(self) -> None:
        """Every flow is answered once, so that the gateway knows it from inside."""
        self.load.run(seconds=60, answers=1, once=1, window=64, **self.words())

    def full(self, seconds: float) -> float:
        """Frames a second, one way, as fast as the gateway takes them; none is lost, since they wait for it."""
        result = self.load.run(seconds=seconds, warm=0.3, window=256, **self.words())
        return int(result["forwarded"]) / float(result["seconds"])

    def offered(self, rate: float, seconds: float, both: bool = False) -> loadgen.Result:
        """A trial at a fixed rate: a frame that the gateway has no room for is lost."""
        words = self.words() | ({"both": 1} if both else {})
        return self.load.run(seconds=seconds, rate=rate, open=1, **words)


def kept_up(result: loadgen.Result, rate: float, both: bool = False) -> bool:
    """Did the generator send what it was asked to? If not, the trial says nothing about the rate."""
    asked = rate * float(result["seconds"]) * (2 if both else 1)
    return int(result["sent"]) >= asked * KEPT_UP


def lost_share(result: loadgen.Result) -> float:
    """The share of the frames sent in a trial that did not arrive; wrong ones count as lost."""
    sent = int(result["sent"])
    return (int(result["lost"]) + int(result["bad"])) / sent if sent else 1.0


def search(most: float, passes: Callable[[float, float], bool], effort: Effort) -> float:
    """The highest rate that passes, by bisection below `most`. The last trial is as long as the effort says; when it
    fails, the rate is lowered by a twentieth (RFC 2544, section 24)."""
    low, high = 0.0, most
    for _ in range(STEPS):
        rate = (low + high) / 2
        if passes(rate, effort.seconds):
            low = rate
        else:
            high = rate
    rate = low
    for _ in range(8):
        if rate <= 0:
            break
        if passes(rate, effort.last):
            return rate
        rate *= 0.95
    raise NoRate("no rate without loss")


def throughput(traffic: Traffic, effort: Effort, most: float, tolerance: float = 0.0) -> float:
    """RFC 8219, section 7.1: the highest rate in each of both directions at which no frame is lost."""
    traffic.open_sessions()

    def passes(rate: float, seconds: float) -> bool:
        result = traffic.offered(rate, seconds, True)
        return kept_up(result, rate, True) and lost_share(result) <= tolerance

    return search(most, passes, effort)


def delays(traffic: Traffic, effort: Effort, rate: float) -> dict[str, float]:
    """RFC 8219, sections 7.2 and 7.3, in microseconds: typical and worst case latency, packet delay variation, and
    inter-packet delay variation. Every frame carries its time."""
    result = traffic.load.run(seconds=effort.last, warm=0.5, rate=rate, open=1, **traffic.words())
    spread, change = result["one_way_us"], result["one_way_us_change"]
    return {
        "typical latency, µs": spread["median"],
        "worst case latency (99.9 %), µs": spread["p999"],
        "packet delay variation, µs": spread["p999"] - spread["min"],
        "inter-packet delay variation, median, µs": change["median"],
        "inter-packet delay variation, most, µs": change["max"],
    }


def loss_curve(traffic: Traffic, effort: Effort, full: float) -> dict[int, float]:
    """RFC 2544, section 26.3: loss in percent by offered rate in percent of what the gateway takes at most, from 120 %
    down in steps of 10 %, until two trials in a row lost nothing."""
    curve: dict[int, float] = {}
    clean = 0
    for percent in range(120, 0, -10):
        result = traffic.offered(full * percent / 100, effort.seconds)
        curve[percent] = 100 * lost_share(result) if kept_up(result, full * percent / 100) else float("nan")
        clean = clean + 1 if curve[percent] == 0 else 0
        if clean == 2:
            break
    return curve


def back_to_back(load: loadgen.LoadGen) -> int:
    """RFC 9004: the most frames in a burst without loss. The generator makes them as fast as it can."""
    low, high = 1, BURST_MOST
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        result = load.run(seconds=5, rate=1e9, once=1, open=1, size=60, flows=middle, servers=8)
        if lost_share(result) == 0:
            low = middle
        else:
            high = middle
    return low


@dataclass
class NewFlows:
    """RFC 9693: connections that were never opened before. Every trial takes the next numbers."""

    load: loadgen.LoadGen
    numbers: itertools.count[int]
    rate: float = 0.0  # of the last trial, from the first packet sent to the last one received

    def trial(self, rate: float, seconds: float) -> bool:
        """Opens some thousand connections at this rate; true if the first packet of each came through."""
        del seconds  # the number of connections is fixed, as in RFC 9693
        first = next(self.numbers) * FLOWS
        result = self.load.run(
            seconds=60, rate=rate, once=1, open=1, size=60, flows=FLOWS, first=first, servers=100
        )
        self.rate = FLOWS / float(result["seconds"])
        return int(result["forwarded"]) == FLOWS


def setup_rate(load: loadgen.LoadGen, effort: Effort, numbers: itertools.count[int], most: float) -> float:
    """RFC 9693: the highest rate at which all connections are established, at most what the generator reached."""
    flows = NewFlows(load, numbers)
    return min(search(most, flows.trial, effort), flows.rate)


def capacity(load: loadgen.LoadGen, asked: int) -> int:
    """RFC 9693: how many of `asked` connections are in the table: all are opened, then each is proved by a packet from
    outside, at a rate that loses none."""
    load.run(seconds=120, once=1, answers=1, window=2000, flows=asked, servers=8, size=60)
    proof = load.run(
        seconds=asked / PROOFS_S, rate=PROOFS_S, back=1, flows=asked, servers=8, size=60
    )
    return int(proof["answered"])
