# SPDX-License-Identifier: BSD-2-Clause
"""make bench-papers, without guests: what is read from captures and consoles, and how calls are judged."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / name) for name in ("papers", "bench", ".")]

import apart  # noqa: E402
import guest  # noqa: E402
import hosted  # noqa: E402
import inner  # noqa: E402
import names  # noqa: E402
import steps  # noqa: E402
import voip  # noqa: E402
from comparisons import COMPARISONS  # noqa: E402
from labkit import linuxguest  # noqa: E402
from labkit.netns import CommandFailed  # noqa: E402
from results import EFFORTS, Figure, Findings  # noqa: E402

# ---- streams of calls ----


def lines(packets: dict[int, float], ssrc: str = "0xca110000") -> str:
    """Packets by number and time in ms, as tshark prints them."""
    return "\n".join(f"{100 + at / 1000:.6f}\t{ssrc}\t{number}\t{number * 160}" for number, at in packets.items())


SENT = {number: number * 20.0 for number in range(1, 51)}


def arriving(changes: dict[int, float | None]) -> str:
    """All packets two milliseconds later, but for these: how many milliseconds later, or never."""
    ways = {number: changes.get(number, 2.0) for number in SENT}
    return lines({number: SENT[number] + way for number, way in ways.items() if way is not None})


def test_a_stream_without_losses() -> None:
    one = voip.streams(lines(SENT), arriving({}))[0]
    assert (one.sent, one.arrived, one.late) == (50, 50, 0)
    assert one.seconds == pytest.approx(0.98) and one.jitter_ms == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("gone", [[1, 2, 3], [25], [48, 49, 50]])
def test_losses_at_the_ends_count(gone: list[int]) -> None:
    one = voip.streams(lines(SENT), arriving(dict.fromkeys(gone)))[0]
    assert (one.sent, one.arrived) == (50, 50 - len(gone))


def test_late_packets() -> None:
    """Beyond the jitter buffer of 60 ms behind the fastest packet; 59 ms are in time."""
    one = voip.streams(lines(SENT), arriving({10: 61.0, 11: 62.1, 12: 200.0}))[0]
    assert (one.arrived, one.late) == (50, 2)


def test_doubles_and_other_streams() -> None:
    again = arriving({}) + "\n" + lines({50: 5000.0})
    assert voip.streams(lines(SENT), again)[0].arrived == 50
    both = voip.streams(lines(SENT) + "\n" + lines(SENT, "0xca110001"), arriving({}))
    assert [one.arrived for one in both] == [50, 0]
    assert voip.streams("", "rubbish\n1\t2\t3") == []


def test_jitter() -> None:
    """RFC 3550, section 6.4.1: the jitter moves by a sixteenth of what it differs; the mean is over all packets."""
    at = [(0.0, 0), (0.020, 160), (0.056, 320), (0.060, 480)]
    second = 0 + (16 - 0) / 16
    third = second + (16 - second) / 16
    assert voip.jitter_ms(at) == pytest.approx((0 + second + third) / 3)
    assert voip.jitter_ms(at[:1]) == 0


# ---- a trial ----


def stream(**words: Any) -> voip.Stream:
    return voip.Stream(**({"sent": 250, "arrived": 250, "late": 0, "seconds": 4.98, "jitter_ms": 0.5} | words))


def test_quality() -> None:
    many = [stream()] * (voip.CALLS - 1)
    said = voip.quality([*many, stream(arrived=225, late=5)], [4.0] * voip.CALLS)
    sent = 250 * voip.CALLS
    assert said.lost_percent == pytest.approx(100 * 25 / sent) and said.late_percent == pytest.approx(100 * 5 / sent)
    assert said.kbit_s == pytest.approx(68.8) and said.set_up_ms == 4
    assert said.mos == pytest.approx(voip.mos(100 * 30 / sent, 82))


@pytest.mark.parametrize("found, took", [([stream()], [4.0] * voip.CALLS), ([stream()] * voip.CALLS, [4.0]),
                                         ([stream(arrived=0)] * voip.CALLS, [4.0] * voip.CALLS)])
def test_calls_that_failed(found: list[voip.Stream], took: list[float]) -> None:
    with pytest.raises(CommandFailed, match=f"of {voip.CALLS} calls answered"):
        voip.quality(found, took)


# G.107, Annex B, table B.1: MOS by R.
@pytest.mark.parametrize("rating, score", [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58)])
def test_scores_by_rating(rating: float, score: float) -> None:
    impaired = 93.2 - rating
    lost = impaired * 4.3 / (95 - impaired)  # 7-29 solved for the loss
    assert voip.mos(lost, 80) == pytest.approx(score, abs=0.0065)


def test_no_score_is_below_1() -> None:
    assert min(voip.mos(lost, 80) for lost in range(101)) == 1


def test_scores_by_delay() -> None:
    """7-27 and 7-28: nothing up to 100 ms; 3.1 at 200 ms, where X is 1."""
    assert voip.mos(0, 100) == voip.mos(0, 0)
    idd = 25 * (2 ** (1 / 6) - 3 * (1 + 3**-6) ** (1 / 6) + 2)
    r = 93.2 - idd
    assert voip.mos(0, 200) == pytest.approx(1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)


def test_scenario() -> None:
    text = voip.scenario(Path("/tmp/sound"), 5)
    steps = list(ElementTree.fromstring(text))
    kinds = [(one.tag, one.get("response")) for one in steps]
    assert kinds == [("send", None), ("recv", "100"), ("recv", "180"), ("recv", "200"), ("send", None), ("nop", None),
                     ("pause", None), ("nop", None), ("send", None), ("recv", "200")]
    sends = [one.text or "" for one in steps if one.tag == "send"]
    methods = [re.search(r"(\w+) sip:", text) for text in sends]
    assert [one and one[1] for one in methods] == ["INVITE", "ACK", "BYE"]
    assert steps[6].get("milliseconds") == "5000" and "m=audio" in sends[0]
    assert all(re.search(r"CSeq: \d \w+\nContent-", text) for text in sends)


def test_complaints() -> None:
    said = "  Failed call          |        3                  |        3\nAborting call on unexpected message\n"
    assert voip.complaint(said) == "3 calls failed: Aborting call on unexpected message"
    assert voip.complaint("Resolving remote host 'a'... Done.") == "no reason given"


# ---- the rest ----


class Server:
    """Stands for a place whose server receives so many bytes a call."""

    def __init__(self, *received: int) -> None:
        self.values = list(received)

    def received(self) -> int:
        return self.values.pop(0)


def test_traffic_behind_must_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 2.0] * 3)
    monkeypatch.setattr(hosted.time, "monotonic", lambda: next(clock))
    for bytes_s, other, void in ((1_250_000, 0, ""), (1_000_000, 0, "only 8 Mbit/s came through"),
                                 (1_250_000, 1_000_000, "only 6 Mbit/s came through")):
        behind = hosted.Carried(Server(0, bytes_s * 2), 10)  # type: ignore[arg-type]
        assert behind.void(other) == void


def test_what_comes_through_is_watched_for_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = iter([0.0, 0.25]), list[float]()
    monkeypatch.setattr(hosted.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(hosted.time, "sleep", slept.append)
    assert hosted.Carried(Server(0, 1_250_000), 10).passed() == 10  # type: ignore[arg-type]
    assert slept == [0.75]


class Host:
    """Stands for a host; notes its commands, and fails at one that has this word."""

    def __init__(self, failing: str = "-") -> None:
        self.said, self.failing = list[str](), failing

    def ip(self, command: str) -> None:
        self.said.append(f"ip {command}")

    def run(self, *words: str, check: bool = True, timeout: float = 0) -> None:
        del timeout
        self.said.append(" ".join(words))
        if check and self.failing in words:
            raise CommandFailed("no tbf")


def test_links_are_limited_on_both_sides_and_free_again() -> None:
    lan, wan = Host(), Host()
    with hosted.limited(SimpleNamespace(lan=lan, wan=wan)):  # type: ignore[arg-type]
        assert all("root tbf rate 100mbit" in one.said[-1] for one in (lan, wan))
        assert "dev lan0" in lan.said[-1] and "dev wan0" in wan.said[-1]
    assert all("qdisc del" in one.said[-2] and "gso_max_segs 65535" in one.said[-1] for one in (lan, wan))
    wan = Host("tbf")
    with pytest.raises(CommandFailed), hosted.limited(SimpleNamespace(lan=lan, wan=wan)):  # type: ignore[arg-type]
        pass
    assert all("qdisc del" in one.said[-2] for one in (lan, wan))


def test_dns64perf() -> None:
    said = "Sent queries: 400\nValid answers: 399 (99.75%)\nAverage round-trip time: 3.25 ms\n"
    assert names.share_of(said) == 99.75 and names.wait_of(said) == 3.25
    assert names.pace_of("Full timer execution took 2020000000 ns, 101.00% of specified.\n") == 1.01
    for read in (names.share_of, names.pace_of):
        with pytest.raises(CommandFailed, match="no route"):
            read("dns64perf: no route")


class Asked(names.Names):
    """Stands for a server that answers `limit` questions a second, and a tester that asks `most` at most and keeps up
    with itself to `self_test`."""

    def __init__(self, limit: float, most: float = 1e9, self_test: float = 1e9) -> None:
        super().__init__(None, SimpleNamespace(row=guest.ROWS["dns64"]), 0)  # type: ignore[arg-type]
        self.limit, self.most, self.self_test = limit, most, self_test
        self.asked: list[range] = []
        self.rates: list[float] = []

    @contextlib.contextmanager
    def upstream(self, *words: str) -> Iterator[None]:
        yield

    def perf(self, *words: str, timeout: float = 300) -> str:
        if words[0] == "--self-test":
            passed = float(words[1]) <= self.self_test
            return f"self-test at {words[1]}/s for 2 s, all valid: {'passed' if passed else 'FAILED'}\n"
        skip, (questions, _, _, delay, _) = int(words[words.index("--skip") + 1]), map(int, words[-5:])
        begin = skip + (names.WARM if "--cached" in words else 0)
        self.asked.append(range(begin, begin + questions))
        rate = 1e9 / delay
        self.rates.append(rate)
        valid = min(questions, round(self.limit * questions / rate))
        return (f"Valid answers: {valid} ({100 * valid / questions:.2f}%)\nAverage round-trip time: 1.00 ms\n"
                f"Full timer execution took 1 ns, {max(100, 100 * rate / self.most):.2f}% of specified.\n")


def test_no_name_is_asked_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names.time, "sleep", lambda seconds: None)
    here = Asked(8542)
    found: dict[str, float] = {}
    default = EFFORTS["default"]
    names._shares(here, default, 0, lambda what, x, run, value, void="": found.update({f"{what} {x}": value}),
                  lambda what, x, run, act: act())
    for share in ("AAAA share, questions/s 0", "cached share, questions/s 50"):
        assert 8542 * 0.985 <= found[f"all answered by {share}"] <= 8542
    asked = sorted(here.asked, key=lambda names_of: names_of.start)
    assert len(asked) > 50 and all(one.stop <= two.start for one, two in itertools.pairwise(asked))
    assert max(len(one) / rate for one, rate in zip(here.asked, here.rates, strict=True)) > 9  # the last trial
    before = len(here.asked)
    names.search(here, default, here.near["all answered by AAAA share, questions/s", 0])
    assert len(here.asked) - before < 8  # it begins near the result before


def test_rates_do_not_count_when_the_tester_is_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names.time, "sleep", lambda seconds: None)
    with pytest.raises(CommandFailed, match="the tester could not ask"):
        names.search(Asked(50_000, most=20_000), EFFORTS["default"], 0)
    with pytest.raises(CommandFailed, match="loss even at"):
        names.search(Asked(0), EFFORTS["default"], 0)
    monkeypatch.setattr(names, "search", lambda here, effort, near, *words: 900.0 + 100 * ("--cached" in words))
    said: dict[str, str] = {}
    names._shares(Asked(900, self_test=950), EFFORTS["default"], 0,
                  lambda what, x, run, value, void="": said.update({f"{what} {x}": void}),
                  lambda what, x, run, act: act())  # fmt: skip
    assert said["all answered by AAAA share, questions/s 0"] == "" == said["self-test passed up to, questions/s 0"]
    assert said["all answered by cached share, questions/s 50"] == "the tester's self-test fails at this rate"
    said.clear()
    names._shares(Asked(900, self_test=0), EFFORTS["quick"], 0,
                  lambda what, x, run, value, void="": said.update({f"{what} {x}": void}),
                  lambda what, x, run, act: act())  # fmt: skip
    assert all(said.values()) and "cannot keep up" in said["self-test passed up to, questions/s 0"]
    assert len(said) == 4 and "all answered by cached share, questions/s 100" in said  # few shares


def test_a_quick_run_has_no_two_boxes_and_two_servers_of_names() -> None:
    part = hosted.PARTS["apart"]
    assert EFFORTS["quick"].first(part.rows, part.few) == tuple(apart.COLOCATED)
    part = hosted.PARTS["DNS-hosts"]
    assert EFFORTS["quick"].first(part.rows, part.few) == ("dns64", "linux-unbound")
    for effort, name in (("default", "apart"), ("quick", "VI")):
        each = hosted.PARTS[name]
        assert EFFORTS[effort].first(each.rows, each.few) == each.rows


def test_memory() -> None:
    line = "1.0 gateway starts; its tables use 900 KB"
    assert "its tables use %u KB" in (ROOT / "kernel" / "main.c").read_text(encoding="utf-8")
    assert names.memory_of([line], False) == 900
    assert names.memory_of(["memory 1 kB", "memory 20480 kB"], True) == 20480
    with pytest.raises(CommandFailed):
        names.memory_of(["memory 1 kB"], False)
    assert min(names.papers_memory("Unbound")) > 0 and len(names.papers_memory("BIND")) == 6
    found = Findings([Figure("DNS-hosts", "linux-bind", "memory, KB", 0, 0, 20480.0)])
    text = "\n".join(names.sections(found, EFFORTS["default"]))
    assert re.search(r"\| Linux BIND \| [\d.]+ to [\d.]+ \| 20.0 \|", text)


def test_reasons() -> None:
    assert hosted.reason_of(CommandFailed("wan: curl: status 7\n\nno route\n")) == "wan: curl: status 7: no route"
    assert hosted.reason_of(ValueError("one")) == "one" and hosted.reason_of(KeyError()) == "KeyError"


def test_a_linux_guest_behind_the_nat() -> None:
    line = linuxguest.command_line("sit", "e1000", lan=guest.LAN_ADDRESS, wan=guest.WAN_ADDRESS,
                                   gateway=guest.WAN_GATEWAY, tunnel6=guest.site6(guest.WAN_ADDRESS) + ":1/16")
    words = apart.behind(line).split()
    assert {"guest.lan=192.168.7.1/24", "guest.wan=192.168.1.3/24", "guest.gateway=192.168.1.1",
            "guest.tunnel6=2002:cb00:7102::1/16"} <= set(words)
    assert [row.name for row in apart.rows(("linux_bare",))] == ["6to4", "linux-nat"]


def test_timings_of_the_console() -> None:
    said = ["> timings\r", "in known count=12 mean=329 max=900", "4to6 address count=0 mean=0 max=0", "uptime 3", ""]
    assert steps.steps(said) == [steps.Step("in", "known", 12, 329)]


def test_steps_of_tcp_and_icmp_come_from_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["4to6 udp count=9 mean=50 max=60", "4to6 tcp count=90 mean=70 max=99", "6to4 icmp count=3 mean=80 max=90"]
    host = Host()
    gateway = SimpleNamespace(console=lambda command: said if command == "timings" else [])
    net = SimpleNamespace(client=host, server=SimpleNamespace(start=lambda *_: None, wait_port=lambda _: None),
                          address="2001:db8::1")  # fmt: skip
    moved: list[object] = []
    monkeypatch.setattr(hosted.bulk, "transfer", lambda *words: moved.append(words))
    figures: list[Figure] = []
    here = hosted.Place("XVI", None, net, [gateway], 0, figures, "ivi", lambda: None)  # type: ignore[arg-type, list-item]
    hosted.protocol_steps(here, 1)
    assert moved and "ping" in host.said[0]
    assert [(one.what, one.x, one.run, one.value, one.void) for one in figures] == [
        ("tcp, cycles", 46, 1, 70, ""), ("icmp, cycles", 64, 1, 80, "only 3 measured")]  # fmt: skip
    text = "\n".join(inner.sections(Findings([*figures, Figure("II", "ivi", "udp, cycles", 46, 0, 50.0)])))
    assert "| TCP | 4.55 | 2.73 | 1.67 x | 70.0 |" in text and "only 3 measured" in text


def test_each_repetition_of_the_steps_has_a_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which one may fail. The guest's clock counts instructions."""
    measured: list[int] = []

    def measure(here: object, run: int) -> None:
        del here
        measured.append(run)
        if run == 1:
            raise CommandFailed("no route")

    monkeypatch.setattr(hosted, "protocol_steps", measure)
    figures: list[Figure] = []
    place = contextlib.nullcontext(SimpleNamespace(keep=lambda: None))
    hosted.steps_of_protocols(lambda: place, EFFORTS["default"], figures)  # type: ignore[arg-type, return-value]
    assert measured == [0, 1, 2] and {(one.run, one.void) for one in figures} == {(1, "no route")} and len(figures) == 4
    setup = guest.Setup("e1000", "tap", Path("image"), {}, (0, 1))
    command = guest.Guest(guest.ROWS["ivi"], setup, Path("."), (3, 4), words=steps.CLOCK).command()
    assert command[-2:] == ["-icount", "shift=0"]


def test_table_v_measures_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    net = SimpleNamespace(server=SimpleNamespace(start=lambda *_: None, wait_port=lambda _: None))
    lab = SimpleNamespace(lan=host, wan=host)
    speeds = iter((hosted.bulk.Transfer(0.1, 1.0, 0.0), CommandFailed("no tbf")) * 9)

    def transfer(*_: object) -> object:
        said = next(speeds)
        if isinstance(said, Exception):
            raise said
        return said

    monkeypatch.setattr(hosted.bulk, "transfer", transfer)
    figures: list[Figure] = []
    here = hosted.Place("V-tcp", lab, net, [None], 0, figures, "nat", lambda: None)  # type: ignore[arg-type, list-item]
    hosted.tcp_by_size(here, dataclasses.replace(EFFORTS["quick"], name="not so quick"))
    shown = [one.what for one in COMPARISONS if one.part == "V-tcp"]
    assert list(dict.fromkeys(one.what for one in figures)) == shown
    assert [(one.value, one.void) for one in figures if one.what == shown[0]] == [(800, "")] * 3
    assert all(one.void == "no tbf" for one in figures if one.what == shown[1])
    figures.clear()
    speeds = iter([hosted.bulk.Transfer(0.1, 1.0, 0.0)] * 9)
    hosted.tcp_by_size(here, EFFORTS["quick"])
    assert {one.what for one in figures} == {shown[0]}  # a quick run has no links of 100 Mbit/s


def test_internal_timings_beside_the_papers() -> None:
    figures = [Figure("II", "nat", "add, cycles", 1, 0, 1178.0), Figure("II", "ivi", "header, cycles", 46, 0, 124.0),
               Figure("II", "linux-nat", "whole packet, instructions", 1, 0, 6408.0)]
    text = "\n".join(inner.sections(Findings(figures)))
    assert "| Add Entry | 1.83 | 0.144 | 1,180 |" in text
    assert "| IP Header | 32.5 | 15.6 | 2.09 x | 124 | 28.1 | 11.8 | 2.38 x | – |" in text
    assert "| `nat` | out | known | – | 6,410 |" in text
    assert inner.sections(Findings([])) == []
