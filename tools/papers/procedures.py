# SPDX-License-Identifier: BSD-2-Clause
"""Procedures that a load generator carries out on one gateway: those of RFC 8219 (which takes up RFC 2544), of RFC 9004
and of RFC 9693.

Each takes a `Traffic` and gives figures. Rates are in frames a second of one direction, unless both directions are
said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import loadgen
from results import Effort
from traffic import KEPT_UP, NoRate, Traffic, kept_up, lost_share, offered_rate, trial

TOLERANCE = 0.001  # the share of frames that may be lost in the search that is not RFC 2544's
WIDTH = 0.015  # of the interval in which a search ends, as a share of the rate
AROUND = 0.007  # a further search begins this far on either side of an earlier result
HALVES = 16  # a search from above gives up after so many halves
BURST_MOST = 16384
NEW_NAMES: dict[str, float] = {"answers": 1, "fresh": 1}  # DNS64: questions that were never asked before
NUMBERS = 1 << 20  # of the generator's flows
SERVERS = 100  # of RFC 9693
CLIENTS = 16  # of the generator
MEETING_S = 1000  # connections a second, so few that none is lost
PROOFS_S = 15_000  # proofs a second, so few that none is lost
PROOFS_MORE = 50
OPENED_S = 4_000  # connections a second that every guest opens; the slowest here opens 4,900 (docs/performance.md)
RECOVERY_S = 2.0  # the time at half the rate

Passes = Callable[[float, float], bool]  # a rate, the length of a trial


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
        if halt and lost_share(result) == 0 and float(result["seconds"]) < seconds * KEPT_UP:
            # A frame that was overtaken looked lost, and the trial ended: once more, to the end.
            result = trial(lambda: traffic.offered(rate, seconds, both=1), rate, True)
        trials.append(result)
        return kept_up(result, rate, True) and lost_share(result) <= tolerance

    rate = search(most, passes, effort, near)
    return Found(min(rate, offered_rate(trials[-1], True)), trials[-1])


DELAYS = ("typical latency, µs", "worst case latency (99.9 %), µs", "packet delay variation, µs",
          "inter-packet delay variation, least, µs", "inter-packet delay variation, median, µs",
          "inter-packet delay variation, most, µs")  # fmt: skip


def delays(last: loadgen.Result) -> dict[str, float]:
    """RFC 8219, sections 7.2 and 7.3, in microseconds, from inside to outside: typical and worst case latency, packet
    delay variation, and inter-packet delay variation. Every frame carries its time."""
    spread, change = last["one_way_us"], last["one_way_us_change"]
    variation = (spread["p999"] - spread["min"], change["min"], change["median"], change["max"])
    return dict(zip(DELAYS, (spread["median"], spread["p999"], *variation), strict=True))


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


def back_to_back(load: loadgen.LoadGen) -> int:
    """RFC 9004: the most frames in a burst without loss, up to BURST_MOST. The generator makes them as fast as it can,
    each of another flow that the gateway knows."""
    load.run(seconds=60, answers=1, once=1, window=64, size=60, flows=BURST_MOST, servers=8)
    low, high = 1, BURST_MOST + 1
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


def meet(load: loadgen.LoadGen, words: dict[str, float]) -> None:
    """Opens the first connection from each client to each server, at a rate that loses none: the gateway knows its
    neighbours then, and no trial loses a packet for want of them."""
    flows = words["servers"] * CLIENTS
    load.run(**(words | {"seconds": 10, "rate": MEETING_S, "answers": 1, "once": 1, "flows": flows}))


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

    def __post_init__(self) -> None:
        self._meet()

    def _meet(self) -> None:
        self.open = self.numbers = SERVERS * CLIENTS
        meet(self.load, {"servers": SERVERS, "size": 60, "scatter": 1})

    def trial(self, rate: float, seconds: float) -> bool:
        """Opens the connections of so many seconds at this rate, at most what the table takes; true if the first packet
        of each came through."""
        most = self.room - SERVERS * CLIENTS
        many = self.few or max(1, min(most, int(rate * seconds)))
        if many == most and self.room - self.open >= self.room // 2:
            many = self.room - self.open  # so many do not fit anyway, and a rate that is too high ends at once
        if self.open + many > self.room or self.numbers + many > NUMBERS:
            self.load = self.empty()
            self._meet()
        words = {"flows": many, "first": self.numbers, "servers": SERVERS, "size": 60, "scatter": 1}
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
    words = {"flows": asked, "servers": 8, "size": 60, "scatter": 1}
    meet(load, words)
    opened = load.run(seconds=10 + asked / OPENED_S, once=1, answers=1, window=500, **words)
    if int(opened["sent"]) < asked:
        raise NoRate(f"{opened['sent']} of {asked} connections were begun in time")
    # A few more proofs than connections: the generator begins to prove them once more.
    proof = load.run(seconds=(asked + PROOFS_MORE) / PROOFS_S, rate=PROOFS_S, back=1, **words)
    return max(0, min(asked, int(proof["sent"])) - int(proof["lost"]))


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
