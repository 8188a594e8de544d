# SPDX-License-Identifier: BSD-2-Clause
"""DNS64 servers, asked by the load generator: in a closed loop, and RFC 8219, section 9.2. As in generated.py."""

from __future__ import annotations

import itertools

import loadgen
import measure
import procedures
import traffic
from generated import Bench, attempt, collector, sessions
from results import Effort, Figure

WINDOWS = [1, 2, 4, 8, 16, 32]  # clients of the papers about DNS64
DNS_ROWS = ("dns64", "linux-unbound", "linux-bind", "linux-pdns")
SEARCHES = {"linux-bind": 3, "linux-pdns": 3}  # at most, but for the RFCs' effort


def closed_loop(bench: Bench) -> list[Figure]:
    """The papers of 2015 and 2016: answers a second by the number of questions in flight; no name was asked before."""
    figures, add = collector("DNS-loop")
    with sessions(bench, "e1000", "stream", DNS_ROWS, add) as alive:
        for run in range(bench.effort.runs):
            for window in bench.effort.points(WINDOWS):
                for session in alive:
                    result: loadgen.Result = {}

                    def rate(
                        one: measure.Session = session, many: float = window, said: loadgen.Result = result
                    ) -> float:
                        words = procedures.NEW_NAMES | {"window": many}
                        said |= one.load.run(seconds=bench.effort.seconds, warm=0.2, **words)
                        return int(said["answered"]) / float(said["seconds"])

                    answered = attempt(session, add, "answers/s", window, run, rate)
                    if answered == answered and answered > 0:
                        name = session.guest.row.name
                        busy = (result["vcpu_user"] + result["vcpu_system"]) * 100 / result["seconds"]
                        add(name, "256 answers, ms", window, run, 256000 / answered, "")
                        add(name, "vCPU, %", window, run, busy, "")
    return figures


def resolver_search(bench: Bench) -> list[Figure]:
    """The paper of 2017: RFC 8219, section 9.2. The highest rate at which each question is answered within a second."""
    figures, add = collector("DNS-search")
    near: dict[str, float] = {}
    with sessions(bench, "e1000", "stream", DNS_ROWS, add) as alive:
        for run, session in itertools.product(range(bench.effort.runs), alive):
            name = session.guest.row.name
            if bench.effort.name != "rfc" and run >= SEARCHES.get(name, bench.effort.runs):
                continue
            before = near.get(name, 0.0)
            found = attempt(session, add, "all answered, questions/s", 0, run,
                            lambda one=session, begin=before: all_answered(one.load, bench.effort, begin))
            if found > 0:
                near[name] = found
    return figures


def all_answered(load: loadgen.LoadGen, effort: Effort, near: float) -> float:
    """The search on one server. A question that its queue has no room for counts as not answered."""
    most = load.run(seconds=1, warm=0.2, window=96, **procedures.NEW_NAMES)
    full = int(most["answered"]) / float(most["seconds"])
    reached: list[float] = []

    def passes(rate: float, seconds: float) -> bool:
        words = procedures.NEW_NAMES | {"seconds": seconds, "rate": rate, "open": 1, "halt": 1}
        result = traffic.trial(lambda: load.run(**words), rate)
        reached.append(traffic.offered_rate(result))
        slow = result["round_trip_us"] is None or float(result["round_trip_us"]["max"]) > 1e6
        answered = int(result["lost"]) == 0 and int(result["failed"]) == 0 and not slow
        return answered and traffic.kept_up(result, rate)

    rate = procedures.search(full * 1.2, passes, effort, near)
    return min(rate, reached[-1])
