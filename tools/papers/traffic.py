# SPDX-License-Identifier: BSD-2-Clause
"""What a load generator sends to one gateway, and what a trial with it says. Rates are in frames a second of one
direction, unless both directions are said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import loadgen
from results import Effort

KEPT_UP = 0.99  # the share of what was asked that the generator must have offered
OPENINGS = 3  # at most


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


def trial(act: Callable[[], loadgen.Result], rate: float, both: bool = False) -> loadgen.Result:
    """The result of a trial; of a second one, if the generator did not keep up in the first and nothing was lost."""
    result = act()
    return result if kept_up(result, rate, both) or lost_share(result) > 0 else act()


def most_processed(traffic: Traffic, effort: Effort) -> float:
    """The most frames a second, one way, that come through while more and more are offered than the gateway can take
    when they wait for it."""
    full = traffic.full(effort.brief)
    most = full
    for times in (0.75, 1.0, 1.3, 1.7, 2.2):
        result = traffic.offered(full * times, effort.seconds)
        most = max(most, (int(result["sent"]) - int(result["lost"])) / float(result["seconds"]))
    return most
