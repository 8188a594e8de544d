# SPDX-License-Identifier: BSD-2-Clause
"""Procedures that a load generator carries out on one gateway: those of RFC 8219 (which takes up RFC 2544), of RFC 9004
and of RFC 9693.

Each takes a `Traffic`, which sends to one gateway, and gives figures. Rates are in frames a second of one direction,
unless both directions are said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import loadgen
from results import Effort

TOLERANCE = 0.001  # the share of frames that may be lost in the search that is not RFC 2544's
KEPT_UP = 0.99  # the share of what was asked that the generator must have offered
WIDTH = 0.015  # of the interval in which a search ends, as a share of the rate
AROUND = 0.007  # a further search begins this far on either side of an earlier result
HALVES = 16  # a search from above gives up after so many halves
BURST_MOST = 16384
NEW_NAMES: dict[str, float] = {"answers": 1, "fresh": 1}  # DNS64: questions that were never asked before
NUMBERS = 1 << 20  # of the generator's flows
SERVERS = 100  # of RFC 9693
PROOFS_S = 15_000  # proofs a second, so few that none is lost
RECOVERY_S = 2.0  # the time at half the rate
OPENINGS = 3  # at most

Passes = Callable[[float, float], bool]  # a rate, the length of a trial


class NoRate(Exception):
    """A search found no rate without loss."""


@dataclass
class Traffic:
    """What is sent to a gateway: frames of one size, in a number of flows."""

    load: loadgen.LoadGen
    size: int = 60
    flows: int = 16
    scatter: bool = False  # pseudo-random ports, RFC 4814
    tcp: int = 0  # of ten flows so many are TCP

    def words(self) -> dict[str, float]:
        more = {"scatter": 1} if self.scatter else {"tcp": self.tcp} if self.tcp else {}
        return {"size": self.size, "flows": self.flows} | more

    def open_sessions(self) -> None:
        """Every flow is answered once, so that the gateway knows it from inside. A connection of TCP whose first packet
        or answer was lost would stay without one, so all are opened again then."""
        for _ in range(OPENINGS):
            result = self.load.run(seconds=5 if self.tcp else 60, answers=1, once=1, window=64, **self.words())
            if not self.tcp or int(result["answered"]) == self.flows:
                return
            self.load.tell("forget")
        raise NoRate(f"{self.flows - int(result['answered'])} of {self.flows} connections did not open")

    def full(self, seconds: float) -> float:
        """Frames a second, one way, as fast as the gateway takes them; none is lost, since they wait for it."""
        result = self.load.run(seconds=seconds, warm=0.3, window=256, **self.words())
        return int(result["forwarded"]) / float(result["seconds"])

    def offered(self, rate: float, seconds: float, **more: float) -> loadgen.Result:
        """A trial at a fixed rate: a frame that the gateway has no room for is lost."""
        return self.load.run(seconds=seconds, rate=rate, open=1, **(self.words() | more))


def offered_rate(result: loadgen.Result, both: bool = False) -> float:
    """What the generator sent in each direction, frames a second; what it left out does not count."""
    return int(result["sent"]) / float(result["seconds"]) / (2 if both else 1)


def kept_up(result: loadgen.Result, rate: float, both: bool = False) -> bool:
    """Did the generator offer what it was asked to? If not, the trial says nothing about the rate. A trial is short of
    less than one frame at its end."""
    return (offered_rate(result, both) + 1 / float(result["seconds"])) >= rate * KEPT_UP


def lost_share(result: loadgen.Result) -> float:
    """The share of the frames sent in a trial that did not arrive; wrong ones are among them."""
    sent = int(result["sent"])
    return int(result["lost"]) / sent if sent else 1.0


def bracket(most: float, passes: Passes, seconds: float, near: float = 0.0) -> tuple[float, float]:
    """A rate that passes and one that does not (or `most`). From above the rate is halved; with an earlier result, the
    steps away from it double."""
    high, step = most, AROUND
    if 0 < near < most:
        low = min(most, near * (1 + step))
        if passes(low, seconds):
            while low < most:
                step *= 2
                high = min(most, low * (1 + step))
                if not passes(high, seconds):
                    return low, high
                low = high
            return most, most
        high = low
        while step < 0.5:
            low = near * (1 - step)
            if passes(low, seconds):
                return low, high
            high = low
            step *= 2
    elif passes(most, seconds):
        return most, most
    for _ in range(HALVES):
        low = high / 2
        if passes(low, seconds):
            return low, high
        high = low
    raise NoRate(f"loss even at {high:.3g}/s")


def search(most: float, passes: Passes, effort: Effort, near: float = 0.0) -> float:
    """The highest rate that passes, by bisection of a bracket until it is as narrow as WIDTH says. The last trial is as
    long as the effort says; when it fails, the rate is lowered by a twentieth (RFC 2544, section 24). `near` is the
    result of an earlier search."""
    low, high = bracket(most, passes, effort.seconds, near)
    while high - low > WIDTH * high:
        rate = (low + high) / 2
        if passes(rate, effort.seconds):
            low = rate
        else:
            high = rate
    for _ in range(12):
        if passes(low, effort.last):
            return low
        low *= 0.95
    raise NoRate(f"loss in every trial of {effort.last:g} s down to {low:.3g}/s")


def trial(act: Callable[[], loadgen.Result], rate: float, both: bool = False) -> loadgen.Result:
    """The result of a trial; of a second one, if the generator did not keep up in the first and nothing was lost."""
    result = act()
    return result if kept_up(result, rate, both) or lost_share(result) > 0 else act()


@dataclass(frozen=True)
class Found:
    """The result of a search: what was offered in its last trial, frames a second each way, and that trial."""

    rate: float
    trial: loadgen.Result


def throughput(traffic: Traffic, effort: Effort, most: float, tolerance: float = 0.0, near: float = 0.0) -> Found:
    """RFC 8219, section 7.1: the highest rate in each of both directions at which no frame is lost. A trial that must
    not lose any ends at the first loss."""
    traffic.open_sessions()
    trials: list[loadgen.Result] = []
    halt: dict[str, float] = {} if tolerance else {"halt": 1}

    def passes(rate: float, seconds: float) -> bool:
        result = trial(lambda: traffic.offered(rate, seconds, both=1, **halt), rate, True)
        trials.append(result)
        return kept_up(result, rate, True) and lost_share(result) <= tolerance

    rate = search(most, passes, effort, near)
    return Found(min(rate, offered_rate(trials[-1], True)), trials[-1])


def delays(last: loadgen.Result) -> dict[str, float]:
    """RFC 8219, sections 7.2 and 7.3, in microseconds, from inside to outside: typical and worst case latency, packet
    delay variation, and inter-packet delay variation. Every frame carries its time."""
    spread, change = last["one_way_us"], last["one_way_us_change"]
    return {
        "typical latency, µs": spread["median"],
        "worst case latency (99.9 %), µs": spread["p999"],
        "packet delay variation, µs": spread["p999"] - spread["min"],
        "inter-packet delay variation, least, µs": change["min"],
        "inter-packet delay variation, median, µs": change["median"],
        "inter-packet delay variation, most, µs": change["max"],
    }


def loss_curve(traffic: Traffic, effort: Effort, full: float) -> dict[int, float]:
    """RFC 2544, section 26.3: loss in percent by offered rate in percent of what the gateway takes at most, from 120 %
    down in steps of 10 %, until two trials in a row lost nothing. NaN where the generator did not keep up."""
    curve: dict[int, float] = {}
    clean = 0
    for percent in range(120, 0, -10):
        result = traffic.offered(full * percent / 100, effort.brief)
        curve[percent] = 100 * lost_share(result) if kept_up(result, full * percent / 100) else float("nan")
        clean = clean + 1 if curve[percent] == 0 else 0
        if clean == 2:
            break
    return curve


def most_processed(traffic: Traffic, effort: Effort) -> float:
    """The most frames a second, one way, that come through while more and more are offered than the gateway can take
    when they wait for it."""
    full = traffic.full(effort.brief)
    most = full
    for times in (0.75, 1.0, 1.3, 1.7, 2.2):
        result = traffic.offered(full * times, effort.seconds)
        most = max(most, (int(result["sent"]) - int(result["lost"])) / float(result["seconds"]))
    return most


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


def recovery(traffic: Traffic, effort: Effort, rate: float) -> float:
    """RFC 2544, section 26.5: 110 % of the throughput in both directions, then half of it; milliseconds from that
    change to the last frame whose loss was seen."""
    over = max(effort.brief, effort.last / 2)
    result = traffic.offered(rate * 1.1, over + RECOVERY_S, both=1, step=over, then=rate / 2, flows=16)
    last = result["last_loss_ms"]
    if last is None:
        raise NoRate("nothing was lost at 110 %")
    return max(0.0, float(last))


@dataclass
class NewFlows:
    """RFC 9693: connections that were never opened before, in a table that is emptied before it is full."""

    load: loadgen.LoadGen
    empty: Callable[[], loadgen.LoadGen]  # starts the gateway again; gives the generator
    room: int  # connections that the table takes in safely
    few: int = 0  # connections of a trial where the table cannot be emptied; 0: as many as its time gives
    open: int = 0  # those in it
    numbers: int = 0  # of flows in use
    rate: float = 0.0  # reached in the last trial

    def trial(self, rate: float, seconds: float) -> bool:
        """Opens the connections of so many seconds at this rate, at most what the table takes; true if the first packet
        of each came through."""
        many = self.few or max(1, min(self.room, int(rate * seconds)))
        if many == self.room and self.room - self.open >= self.room // 2:
            many = self.room - self.open  # so many do not fit anyway, and a rate that is too high ends at once
        if self.open + many > self.room or self.numbers + many > NUMBERS:
            self.load = self.empty()
            self.open = self.numbers = 0
        words = {"flows": many, "first": self.numbers, "servers": SERVERS, "size": 60}
        result = self.load.run(seconds=seconds * 2 + 5, rate=rate, once=1, open=1, halt=1, **words)
        self.numbers += many
        self.open += int(result["sent"])
        self.rate = many / float(result["seconds"])
        return int(result["forwarded"]) == many and self.rate >= rate * KEPT_UP


def setup_rate(flows: NewFlows, effort: Effort, most: float, near: float = 0.0) -> float:
    """RFC 9693: the highest rate at which all connections are established. Each trial opens at least a second's
    connections, or as many as the table holds."""
    found = search(most, lambda rate, seconds: flows.trial(rate, max(1.0, seconds)), effort, near)
    return min(found, flows.rate)


def proved(load: loadgen.LoadGen, asked: int) -> int:
    """Opens so many connections, then proves each by a packet from outside, at a rate that loses none; how many were
    proved. The table must be empty before."""
    words = {"flows": asked, "servers": 8, "size": 60}
    load.run(seconds=max(60, asked / 1000), once=1, answers=1, window=500, **words)
    proof = load.run(seconds=asked / PROOFS_S, rate=PROOFS_S, back=1, **words)
    # At the end of its time the generator may have begun to prove them once more.
    return min(int(proof["answered"]), asked - (int(proof["sent"]) - int(proof["answered"])))


def capacity(prove: Callable[[int], int], limit: int) -> int:
    """RFC 9693: a number of connections of which each one is proved, within a hundredth of the most; at first a tenth
    more are opened than `limit`, the size of the table as it was configured. `prove` begins with an empty table."""
    asked = limit * 11 // 10
    for _ in range(4):
        held = prove(asked)
        if held == asked:
            return asked
        asked = held * 99 // 100
        if asked == 0:
            break
    raise NoRate("connections are missing however few are opened")
