# SPDX-License-Identifier: BSD-2-Clause
"""DNS64 servers between real hosts: RFC 8219, section 9.2, by shares of AAAA records and of cached names, with the
tester's self-test; an upstream server that is slow or loses answers; and the memory of each server."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import guest
import procedures
from labkit import dnslab
from labkit.lab import Lab
from labkit.netns import CommandFailed, end_process
from labkit.wait import until
from paper import Transcript
from results import Effort, Findings, number
from sections import pivot, table

TOOLS = Path(__file__).resolve().parent.parent
SERVER6 = guest.LAN6_ADDRESS.partition("/")[0]
HOST6 = f"{SERVER6}0/64"
ROWS = ("dns64", "linux-unbound", "linux-bind", "linux-pdns")
SHARES, DELAYS, LOSSES = (0, 50, 100), (10, 100), (1, 10)  # percent, ms, percent
MOST = 100_000  # questions a second at which the first search begins
NAMES = "128.0.0.0/2"  # whose names are asked for
TIMEOUT_S = 1
PAUSE_S = 0.2  # between trials
WARM = 1000  # names that dns64perf asks for first if any shall be cached
PACE = 1.01  # the share of its time that a trial may take; one that takes more says nothing about the server
SLOW = 200  # questions a second to a server whose upstream has faults
FILLING = 4000  # names, after which the memory is read
RUNS = {"dns64": 2, "linux-unbound": 2}  # repetitions at most; of the others 1

Add = Callable[[str, float, int, float, str], None]  # what, x, run, value, void


@dataclass
class Names:
    """A server with a client on its LAN side and fakedns upstream."""

    lab: Lab
    gateway: guest.Guest
    core: int
    near: dict[tuple[str, int], float] = field(default_factory=dict)  # results of earlier searches
    used: int = 0  # names that were asked for

    def pinned(self, program: str, *words: str) -> list[str]:
        return ["taskset", "-c", str(self.core), str(TOOLS / program), *words]

    @contextlib.contextmanager
    def upstream(self, *words: str) -> Iterator[None]:
        """fakedns with these options."""
        process = self.lab.wan.start(*self.pinned("fakedns", "--listen", guest.SERVER, *words))
        try:
            self.lab.wan.wait_port(53, "udp", 60)
            yield
        finally:
            end_process(process)

    def fresh(self, many: int) -> list[str]:
        """The words for dns64perf to ask for so many names that nobody has asked for. There are enough for the RFC's
        effort: some 20 searches of 12 million names each."""
        skip, self.used = self.used, self.used + many
        return ["--skip", str(skip)]

    def perf(self, *words: str, timeout: float = 300) -> str:
        """What dns64perf on the client says; its status only says whether all was valid."""
        done = self.lab.lan.run(*self.pinned("dns64perf", *words), timeout=timeout, check=False)
        return done.stdout + done.stderr


@contextlib.contextmanager
def server(row: guest.Row, setup: guest.Setup) -> Iterator[Names]:
    """A row's guest, which answers."""
    with Lab(("e1000",) * 2) as lab, contextlib.ExitStack() as stack:
        one = guest.Guest(row, setup, Path(lab.directory), (lab.ports[0].tap, lab.ports[1].tap))
        stack.callback(one.stop)
        dnslab.open_ipv6(lab.lan, "lan0", HOST6)
        lab.lan.sysctl("ipv6.conf.lo.disable_ipv6", 0)  # for the self-test
        lab.lan.ip("link set lo up")
        lab.wan.ip(f"address add {guest.SERVER}/24 dev wan0")
        here = Names(lab, one, setup.cores[1])
        one.start(240)
        with here.upstream():
            until(lambda: share_of(fixed(here, 20, 1)) == 100, 60, "right answers")
        yield here


# ---- what dns64perf says ----


def figure_of(pattern: str, said: str, why: str = "dns64perf") -> float:
    """The figure in brackets of a pattern that begins a line. Raises CommandFailed, which begins with `why`, if there
    is none."""
    found = re.search(pattern, said, re.MULTILINE)
    if not found:
        raise CommandFailed(f"{why}: {(said.strip().splitlines() or ['no output'])[-1]}")
    return float(found[1])


def share_of(said: str) -> float:
    """The share of valid answers, in percent."""
    return figure_of(r"^Valid answers: \d+ \(([\d.]+)%\)", said)


def pace_of(said: str) -> float:
    """The time that sending took, as a share of what it should have taken."""
    return figure_of(r"^Full timer execution took \d+ ns, ([\d.]+)% of specified", said) / 100


def wait_of(said: str) -> float:
    """The mean round trip in ms; not a number if there was no answer."""
    found = re.search(r"^Average round-trip time: ([\d.]+) ms", said, re.MULTILINE)
    return float(found[1]) if found else float("nan")


def memory_of(lines: list[str], linux: bool) -> float:
    """KB of all tables by our log, or of the process of a Linux guest's server."""
    pattern = r"memory (\d+) kB" if linux else r"its tables use (\d+) KB"
    found = [float(one[1]) for line in lines if (one := re.search(pattern, line))]
    if not found:
        raise CommandFailed("the console says no memory")
    return found[-1]


# ---- what is measured ----


def fixed(here: Names, questions: int, timeout_s: int, rate: float = SLOW, *words: str) -> str:
    """Asks so many questions at this rate, for names that nobody has asked for but those that `words` say."""
    words = (*words, *here.fresh(WARM + questions), "--no-csv", "--prefix", guest.DNS64_PREFIX)
    counts = (str(questions), "1", "1", str(round(10**9 / rate)), str(timeout_s))
    return here.perf(*words, SERVER6, "53", NAMES, *counts, timeout=questions / rate + timeout_s + 60)


def search(here: Names, effort: Effort, near: float, *words: str) -> float:
    """RFC 8219, section 9.2: the highest rate at which each question is answered in time. Raises CommandFailed
    if there is none, or if it is the tester that could not ask faster."""
    slow: list[float] = []

    def passes(rate: float, seconds: float) -> bool:
        said = fixed(here, max(1, round(rate * seconds)), TIMEOUT_S, rate, *words)
        time.sleep(PAUSE_S)
        if pace_of(said) > PACE:
            slow.append(rate)
        return share_of(said) == 100 and pace_of(said) <= PACE

    try:
        found = procedures.search(MOST, passes, effort, near)
    except procedures.NoRate as error:
        raise CommandFailed(str(error)) from None
    if any(rate < found * (1 + 2 * procedures.WIDTH) for rate in slow):
        raise CommandFailed(f"the tester could not ask {min(slow):.0f}/s")
    return found


def measure(here: Names, effort: Effort, add: Add, note: Callable[[str, float, int, Callable[[], None]], None],
            keep: Callable[[], None]) -> None:  # fmt: skip
    """All of a row. `note` calls the last of its arguments and notes a failure as that of the figure."""
    name = here.gateway.row.name
    with here.upstream():
        note("memory, KB", 0, 0, lambda: _memory_after(here, add))
    keep()
    for run in range(min(effort.runs, RUNS.get(name, 1))):
        _shares(here, effort, run, add, note)
        _faults(here, effort, run, add, note)
        keep()


def _memory_after(here: Names, add: Add) -> None:
    fixed(here, FILLING, 1)
    linux = here.gateway.row.linux
    lines = here.gateway.console("memory" if linux else "log", 20)
    add("memory, KB", 0, 0, memory_of([*here.gateway.lines, *lines], linux), "")


def _shares(here: Names, effort: Effort, run: int, add: Add, note: Callable[..., None]) -> None:
    """Section 9.2: names with AAAA records of their own, and cached names. A rate counts when the self-test passes for
    it, or for a higher one (section 9.2.1)."""
    found: list[tuple[str, int, float]] = []

    def one(what: str, share: int, *words: str) -> None:
        found.append((what, share, search(here, effort, here.near.get((what, share), 0.0), *words)))

    shares = SHARES[:: 2 if effort.quick else 1]
    for share in shares:
        real = f"{share / 100:g}"
        with here.upstream("--have-aaaa", real):
            what = "all answered by AAAA share, questions/s"
            note(what, share, run, lambda w=what, s=share, r=real: one(w, s, "--real", r))
    for share in shares[1:]:
        with here.upstream():
            what = "all answered by cached share, questions/s"
            note(what, share, run, lambda w=what, s=share: one(w, s, "--cached", f"{s / 100:g}"))
    what, tested, reason = "self-test passed up to, questions/s", 0.0, "no rate was found"
    for rate in sorted({rate for _, _, rate in found}, reverse=True):
        try:
            add(what, 0, run, _self_test(here, rate, effort), "")
            tested = rate
            break
        except CommandFailed as error:
            reason = str(error)
    if not tested:
        add(what, 0, run, float("nan"), reason)
    for kind, share, rate in found:
        here.near[kind, share] = rate
        add(kind, share, run, rate, "" if rate <= tested else "the tester's self-test fails at this rate")


def _self_test(here: Names, rate: float, effort: Effort) -> float:
    """The rate at which the tester keeps up with itself: twice this one, and a tenth more. Raises CommandFailed if it
    does not."""
    said = here.perf("--self-test", f"{rate:.0f}", "--trial", str(max(2, round(effort.brief))))
    return figure_of(r"^self-test at (\d+)/s .*: passed", said, "the tester cannot keep up with itself")


def _faults(here: Names, effort: Effort, run: int, add: Add, note: Callable[..., None]) -> None:
    """An upstream server that answers late, or not always. Clients wait up to four seconds, the most of dns64perf."""
    many = int(SLOW * max(2.0, effort.brief))

    def one(kind: str, x: int) -> None:
        said = fixed(here, many, 4)
        add(f"answered by upstream {kind}", x, run, share_of(said), "")
        add(f"round trip by upstream {kind}", x, run, wait_of(said), "")

    for x in DELAYS:
        with here.upstream("--delay", str(x)):
            note("answered by upstream delay", x, run, lambda ms=x: one("delay", ms))
    for x in LOSSES:
        with here.upstream("--loss", f"{x / 100:g}"):
            note("answered by upstream loss", x, run, lambda percent=x: one("loss", percent))


# ---- the page ----


def sections(found: Findings, effort: Effort) -> list[str]:
    """RFC 8219, section 9.2, in shares; faults upstream; memory beside the paper's."""
    if not any(one.part == "DNS-hosts" for one in found.figures):
        return []
    shares = [("AAAA", share) for share in SHARES] + [("cached", share) for share in SHARES[1:]]
    text = ["## DNS64 between hosts", ""]
    text += [
        "`dns64perf` and `fakedns` on hosts that share one core, the guest has the other. The highest rate at which all"
        " questions are answered within a second, by the share of names with AAAA records of their own and of those"
        " that were asked before (RFC 8219, section 9.2). Each other question is for a name that was never asked. The"
        f" rate is known to 1.5 %, or to 5 % when the last trial, of {effort.last:g} s, failed at first. It counts when"
        " the tester's self-test passes at twice this rate, or a higher one, and a tenth more; it answers itself on one"
        " core then.", "",
    ]  # fmt: skip
    text += pivot(found, "DNS-hosts", [
        *((f"{share} % {kind}", f"all answered by {kind} share, questions/s", share) for kind, share in shares),
        ("tester's self-test", "self-test passed up to, questions/s", 0),
    ])  # fmt: skip
    text += [f"{SLOW} questions a second, upstream slow or losing answers; percent answered within 4 s, ms to the"
             " answer:", ""]  # fmt: skip
    faults = [(f"{x} ms delay", "delay", x) for x in DELAYS] + [(f"{x} % loss", "loss", x) for x in LOSSES]
    text += pivot(found, "DNS-hosts", [
        (f"{title}, {unit}", f"{what} by upstream {kind}", x)
        for title, kind, x in faults for what, unit in (("answered", "%"), ("round trip", "ms"))
    ])  # fmt: skip
    return [*text, *_memory(found)]


def papers_memory(server_name: str) -> list[float]:
    """MB in the tables of 2015, under Linux with eight clients, of all machines and modes."""
    values = []
    for number_of_table in range(1, 19):
        transcript = Transcript(f"2015-{number_of_table}-dns64")
        if any(f": {server_name}," in line for line in transcript.source):
            values += [float(row["memory_mb"]) for row in transcript.rows
                       if (row["system"], row["clients"]) == ("Linux", "8")]  # fmt: skip
    return values


def _memory(found: Findings) -> list[str]:
    rows = []
    for row, name in (("dns64", ""), ("linux-unbound", "Unbound"), ("linux-bind", "BIND"), ("linux-pdns", "PowerDNS")):
        theirs = papers_memory(name) if name else []
        said = f"{number(min(theirs))} to {number(max(theirs))}" if theirs else "–"
        value = found.value("DNS-hosts", row, "memory, KB", 0)
        median = number(value.median / 1024) if value else "–"
        rows.append([guest.ROWS[row].title, said, median])
    text = [f"Memory in MB: the paper of 2015 (largest drop of free memory, Linux, eight clients), and after {FILLING}"
            " names here (ours: all its tables; Linux: the most of its process):", ""]  # fmt: skip
    return [*text, *table(["server", "paper", "here"], rows)]
