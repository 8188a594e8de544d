# SPDX-License-Identifier: BSD-2-Clause
"""make bench-papers: the searches against a gateway with a known limit, and what is kept."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / name) for name in ("papers", "bench", ".")]

import generated  # noqa: E402
import guest  # noqa: E402
import procedures  # noqa: E402
import resolver  # noqa: E402
import rfc  # noqa: E402
import traffic  # noqa: E402
import voip  # noqa: E402
from comparisons import COMPARISONS  # noqa: E402
from results import EFFORTS, Figure, Findings, Shelf, Units, digest, duration  # noqa: E402

DEFAULT = EFFORTS["default"]


class Gateway:
    """Stands for a generator that sends `most` frames a second at most, and a gateway that forwards `limit` and holds
    `burst` at once, and `table` connections."""

    def __init__(self, limit: float, burst: int = 256, table: int = 1000, most: float = 1e9) -> None:
        self.limit, self.burst, self.table, self.most = limit, burst, table, most
        self.trials: list[dict[str, float]] = []
        self.emptied = 0

    def run(self, **words: float) -> dict[str, Any]:
        self.trials.append(words)
        rate, seconds, flows = words.get("rate", self.limit), words["seconds"], int(words.get("flows", 16))
        if words.get("once"):
            sent = flows
            passed = min(sent, self.burst) if rate > 1e6 else sent if rate <= self.limit else sent - 1
            if words.get("answers"):
                passed = min(sent, self.table)
            seconds = sent / min(rate, self.most)
        else:
            sent = int(min(rate, self.most) * seconds) * (2 if words.get("both") else 1)
            passed = int(min(rate, self.limit) / rate * sent)
            if words.get("back"):  # each flow in turn; the first ones twice
                passed = min(sent, flows, self.table) + max(0, min(sent - flows, self.table))
        forwarded = 0 if words.get("back") else passed  # packets from outside count as answered
        spread = {"min": 1.0, "p1": 1.0, "median": 2.0, "p99": 8.0, "p999": 9.0, "max": 10.0}
        change = {"min": -3.0, "median": 0.0, "max": 4.0}
        return {"sent": sent, "lost": sent - passed, "bad": 0, "forwarded": forwarded, "answered": passed, "failed": 0,
                "seconds": seconds, "one_way_us": spread, "one_way_us_change": change, "round_trip_us": spread,
                "last_loss_ms": 12.5 if rate > self.limit else None}

    def empty(self) -> Gateway:
        self.emptied += 1
        return self

    def tell(self, command: str) -> None:
        assert command == "forget"
        self.table += 10 if self.table else 0  # what was lost is not lost again


def sent_to(gateway: Gateway) -> traffic.Traffic:
    return traffic.Traffic(gateway)  # type: ignore[arg-type]


def rates(gateway: Gateway) -> list[float]:
    return [one["rate"] for one in gateway.trials if "rate" in one]


@pytest.mark.parametrize("limit", [200, 1_000, 2_857, 33_333, 99_000])
def test_throughput_is_the_highest_rate_without_loss(limit: int) -> None:
    """Also where the first bound is some hundred times too high."""
    gateway = Gateway(limit)
    found = procedures.throughput(sent_to(gateway), DEFAULT, 100_000)
    assert limit * 0.98 <= found.rate <= limit * 1.0001
    trials = [one for one in gateway.trials if "rate" in one]
    assert trials[-1]["seconds"] == DEFAULT.last and found.trial["lost"] == 0
    assert all(one["open"] == 1 and one["both"] == 1 and one["halt"] == 1 for one in trials)
    assert len(trials) <= 20


@pytest.mark.parametrize("change", [0.5, 0.97, 1.0, 1.02, 1.4])
def test_a_further_search_begins_at_the_result_before(change: float) -> None:
    gateway = Gateway(3000 * change)
    found = procedures.throughput(sent_to(gateway), DEFAULT, 100_000, near=3000)
    assert 3000 * change * 0.98 <= found.rate <= 3000 * change * 1.0001
    assert len(rates(gateway)) <= (3 if change == 1 else 18)


def test_a_search_finds_the_bound_itself() -> None:
    assert procedures.throughput(sent_to(Gateway(1e6)), DEFAULT, 5_000).rate == 5_000
    assert procedures.throughput(sent_to(Gateway(1e6)), DEFAULT, 5_000, near=4_000).rate == 5_000


def test_a_generator_that_is_too_slow_finds_no_higher_rate() -> None:
    found = procedures.throughput(sent_to(Gateway(90_000, most=50_000)), DEFAULT, 100_000)
    assert 49_000 <= found.rate <= 50_001
    curve = procedures.loss_curve(sent_to(Gateway(90_000, most=50_000)), DEFAULT, 90_000)
    assert curve[120] != curve[120] and curve[50] == 0
    gateway = Gateway(90_000, most=50_000)
    flows = procedures.NewFlows(gateway, gateway.empty, 180_000)  # type: ignore[arg-type]
    assert 49_000 <= procedures.setup_rate(flows, DEFAULT, 100_000) <= 50_001


def test_a_trial_is_repeated_once_when_the_generator_was_late() -> None:
    results = [{"sent": 50, "seconds": 1, "lost": 0, "bad": 0}, {"sent": 100, "seconds": 1, "lost": 0, "bad": 0}]
    assert traffic.trial(lambda: results.pop(0), 100)["sent"] == 100 and not results
    results = [{"sent": 50, "seconds": 1, "lost": 1, "bad": 0}, {}]
    assert traffic.trial(lambda: results.pop(0), 100)["lost"] == 1 and len(results) == 1


def test_a_last_trial_that_fails_lowers_the_rate() -> None:
    def passes(rate: float, seconds: float) -> bool:
        return rate <= (50_000 if seconds == DEFAULT.seconds else 40_000)

    assert 36_000 < procedures.search(100_000, passes, DEFAULT) <= 40_000


def test_no_rate_without_loss() -> None:
    with pytest.raises(traffic.NoRate, match="loss even at"):
        procedures.search(100_000, lambda rate, seconds: False, DEFAULT)
    with pytest.raises(traffic.NoRate, match="loss in every trial of 10 s"):
        procedures.search(100_000, lambda rate, seconds: seconds < 10, DEFAULT)


def test_loss_curve_ends_after_two_clean_trials() -> None:
    curve = procedures.loss_curve(sent_to(Gateway(1000)), DEFAULT, 1000)
    assert list(curve) == [120, 110, 100, 90]
    assert curve[120] == pytest.approx(100 / 6, abs=0.1) and curve[100] == curve[90] == 0


@pytest.mark.parametrize("burst", [64, 256, 5000])
def test_back_to_back(burst: int) -> None:
    """The gateway knows every flow of a burst before it."""
    gateway = Gateway(1000, burst)
    assert burst * 0.98 <= procedures.back_to_back(gateway) <= burst  # type: ignore[arg-type]
    opened, *tried = gateway.trials
    assert opened["answers"] == opened["once"] == 1 and opened["flows"] == procedures.BURST_MOST
    assert len(tried) > 5 and all(one["flows"] <= opened["flows"] and "first" not in one for one in tried)
    assert {(one["servers"], one["size"]) for one in gateway.trials} == {(8, 60)}


def test_a_frame_that_was_overtaken_does_not_end_a_trial_as_passed() -> None:
    class Overtakes(Gateway):
        """A trial that halts at a loss ends early, and what looked lost comes in after all."""

        def run(self, **words: float) -> dict[str, Any]:
            said = super().run(**words)
            if words.get("halt") and not said["lost"]:
                said |= {"seconds": said["seconds"] / 10, "sent": said["sent"] // 10}
            return said

    gateway = Overtakes(20_000)
    found = procedures.throughput(sent_to(gateway), DEFAULT, 100_000)
    assert 19_600 <= found.rate <= 20_001
    assert found.trial["seconds"] == DEFAULT.last and "halt" not in gateway.trials[-1]


def test_delays_are_those_of_the_last_trial() -> None:
    gateway = Gateway(1000)
    found = procedures.throughput(sent_to(gateway), DEFAULT, 5000)
    count = len(gateway.trials)
    said = procedures.delays(found.trial)
    assert len(gateway.trials) == count
    assert said["typical latency, µs"] == 2 and said["worst case latency (99.9 %), µs"] == 9
    assert said["packet delay variation, µs"] == 8 and said["inter-packet delay variation, most, µs"] == 4
    assert said["inter-packet delay variation, least, µs"] == -3


def test_recovery() -> None:
    gateway = Gateway(1000)
    assert procedures.recovery(sent_to(gateway), DEFAULT, 1000) == 12.5
    assert gateway.trials[-1]["rate"] == pytest.approx(1100) and gateway.trials[-1]["then"] == 500
    with pytest.raises(traffic.NoRate, match="nothing was lost"):
        procedures.recovery(sent_to(Gateway(2000)), DEFAULT, 1000)


def test_the_most_that_is_processed_comes_from_open_trials() -> None:
    gateway = Gateway(1000)
    assert traffic.most_processed(sent_to(gateway), DEFAULT) == pytest.approx(1000, rel=0.01)
    assert max(rates(gateway)) > 1500


def test_new_connections_are_never_opened_twice_and_fit_into_the_table() -> None:
    gateway = Gateway(20_000)
    flows = procedures.NewFlows(gateway, gateway.empty, 60_000)  # type: ignore[arg-type]
    rate = procedures.setup_rate(flows, DEFAULT, 100_000)
    assert 19_500 <= rate <= 20_000 and gateway.emptied >= 2
    opened, end, meetings = 0, 0, 0
    for one in gateway.trials:
        if "first" not in one:  # each client meets each server, in an empty table
            assert one["flows"] == 1600 and one["answers"] and one["rate"] == 1000
            opened, end, meetings = 0, 0, meetings + 1
        else:
            assert one["first"] == end and one["flows"] >= min(30_000, int(one["rate"]))
        opened, end = opened + int(one["flows"]), int(one.get("first", 0) + one["flows"])
        assert opened <= 60_000 and one["scatter"] == 1
    assert meetings == gateway.emptied + 1


@pytest.mark.parametrize(("effort", "rows", "measured"), [
    ("quick", (), ["nat", "linux-nat"]),
    ("quick", ("nat64",), ["nat64"]),
    ("default", (), ["nat", "linux-nat", "nat64", "linux-nat64"]),
])  # fmt: skip
def test_a_quick_run_has_the_first_wanted_pair_of_rfc_9693(
    monkeypatch: pytest.MonkeyPatch, effort: str, rows: tuple[str, ...], measured: list[str]
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(rfc, "_connections", lambda place, *_: seen.append(place.row))
    bench = generated.Bench(EFFORTS[effort], Path(), Path(), lambda role: None, (0, 1), None, rows)  # type: ignore[arg-type, return-value]
    assert rfc.rfc9693(bench) == [] and seen == measured


@pytest.mark.parametrize(("effort", "held"), [("quick", False), ("default", True)])
def test_a_quick_run_does_not_count_connections(monkeypatch: pytest.MonkeyPatch, effort: str, held: bool) -> None:
    figures, add = generated.collector("9693")
    monkeypatch.setattr(rfc.Restarted, "again", lambda self: Gateway(20_000))
    bench = generated.Bench(EFFORTS[effort], Path(), Path(), lambda role: None, (0, 1))  # type: ignore[arg-type, return-value]
    rfc._connections(rfc.Restarted(bench, "nat", add, contextlib.ExitStack()), bench, add)
    assert ("connections held" in {one.what for one in figures}) == held and not figures[0].void


def test_a_box_is_asked_for_few_connections() -> None:
    gateway = Gateway(20_000)
    flows = procedures.NewFlows(gateway, gateway.empty, 180_000, 4000)  # type: ignore[arg-type]
    assert 19_500 <= procedures.setup_rate(flows, DEFAULT, 400_000) <= 20_000
    assert {one["flows"] for one in gateway.trials[1:]} == {4000} and gateway.emptied == 0


def test_connections_that_were_not_begun_are_not_missing() -> None:
    class Slow(Gateway):
        def run(self, **words: float) -> dict[str, Any]:
            return super().run(**words) | ({"sent": 900} if words.get("window") else {})

    with pytest.raises(traffic.NoRate, match="900 of 1100 connections were begun"):
        procedures.proved(Slow(1000), 1100)  # type: ignore[arg-type]


@pytest.mark.parametrize(("table", "held"), [(10_000, 1100), (1000, 1000), (700, 693), (0, None)])
def test_capacity(table: int, held: int | None) -> None:
    def prove(many: int) -> int:
        return procedures.proved(Gateway(1000, table=table), many)  # type: ignore[arg-type]

    if held is None:
        with pytest.raises(traffic.NoRate):
            procedures.capacity(prove, 1000)
    else:
        assert held * 0.98 <= procedures.capacity(prove, 1000) <= held


def test_dns_search() -> None:
    class Server(Gateway):
        def run(self, **words: float) -> dict[str, Any]:
            said = super().run(**words)
            assert "rate" not in words or words["open"] == 1
            return said | {"answered": self.limit * said["seconds"]} if "rate" not in words else said

    found = resolver.all_answered(Server(8542), DEFAULT, 0)  # type: ignore[arg-type]
    assert 8370 <= found <= 8542
    assert resolver.all_answered(Server(8542, most=4000), DEFAULT, 0) <= 4000  # type: ignore[arg-type]


def test_dns_searches_of_the_slower_servers_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def sessions(*words: Any) -> Iterator[list[Any]]:
        yield [SimpleNamespace(guest=SimpleNamespace(row=guest.ROWS[row]), load=None) for row in words[3]]

    monkeypatch.setattr(resolver, "sessions", sessions)
    monkeypatch.setattr(resolver, "all_answered", lambda load, effort, near: 100.0 + near)
    bench = generated.Bench(DEFAULT, Path(), Path(), lambda role: None, (0, 1))  # type: ignore[arg-type, return-value]
    rows = [one.row for one in resolver.resolver_search(bench)]
    assert [rows.count(row) for row in resolver.DNS_ROWS] == [5, 5, 3, 3]


@pytest.mark.parametrize(("asked", "sent", "kept"), [
    (100, 200, True), (100, 196, False), (1, 1, True), (1000, 1970, False),
])  # fmt: skip
def test_whether_the_generator_kept_up(asked: float, sent: int, kept: bool) -> None:
    assert traffic.kept_up({"sent": sent, "seconds": 2}, asked) is kept


# ---- what is kept ----


def figure(row: str, value: float, x: float = 8, run: int = 0, void: str = "") -> Figure:
    return Figure("VI", row, "connection, ms", x, run, value, void)


def test_kept_parts_belong_to_an_image_and_an_effort_and_programs(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"one")
    shelf = Shelf(tmp_path / "kept", image, DEFAULT, {"VI": "p", "V-rtt": "p"})
    shelf.put("VI", [figure("nat", 1.0)], (0.5, 0.25))
    assert shelf.get("VI") == [figure("nat", 1.0)] and shelf.get("V-rtt") is None and shelf.busy("VI") == (0.5, 0.25)
    assert Shelf(tmp_path / "kept", image, DEFAULT, {"VI": "p", "V-rtt": "q"}).get("VI")
    assert Shelf(tmp_path / "kept", image, EFFORTS["quick"], {"VI": "p"}).get("VI") is None
    assert Shelf(tmp_path / "kept", image, DEFAULT, {"VI": "q"}).get("VI") is None
    image.write_bytes(b"two")
    assert Shelf(tmp_path / "kept", image, DEFAULT, {"VI": "p"}).get("VI") is None


def test_programs_have_a_digest(tmp_path: Path) -> None:
    one = tmp_path / "one.py"
    one.write_text("a")
    first = digest([one])
    one.write_text("b")
    assert digest([one]) != first


def test_an_interrupted_part_goes_on_after_its_last_unit(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, tmp_path / "image", DEFAULT, {})
    units = Units(shelf, "8219")
    units.do("nat 64 0", lambda: [figure("nat", 1.0)])

    def interrupted() -> list[Figure]:
        raise SystemExit(130)

    with pytest.raises(SystemExit):
        units.do("nat 64 1", interrupted)
    again = Units(shelf, "8219", total=3)
    assert again.do("nat 64 0", interrupted) == [figure("nat", 1.0)]
    assert shelf.get("8219") is None and shelf.some("8219") == [figure("nat", 1.0)]
    again.do("nat 64 1", lambda: [figure("nat", 2.0)])
    assert again.left().startswith("2 units left, some 0 minutes")
    shelf.put("8219", [])
    assert Units(shelf, "8219").done == {} and Units(shelf, "8219", again=True).done == {}


class Interrupted(Gateway):
    """Ends the program while the bursts of the first guest are measured."""

    def run(self, **words: float) -> dict[str, Any]:
        if words.get("rate", 0) >= 1e9:
            raise SystemExit(130)
        return super().run(**words)


def test_rfc_8219_goes_on_with_the_unit_that_was_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    kind: type[Gateway] = Interrupted

    @contextlib.contextmanager
    def sessions(bench: Any, nic: str, backend: str, rows: tuple[str, ...], add: Any) -> Any:
        del bench, nic, backend, add
        started.extend(rows)
        yield [SimpleNamespace(guest=SimpleNamespace(row=guest.ROWS[row]), load=kind(5000)) for row in rows]

    monkeypatch.setattr(rfc, "sessions", sessions)
    shelf = Shelf(tmp_path, tmp_path / "image", EFFORTS["quick"], {})
    bench = generated.Bench(EFFORTS["quick"], tmp_path, tmp_path, lambda role: None, (0, 0), None, ("nat", "linux-sit"),
                            lambda name: Units(shelf, name))  # type: ignore[arg-type, return-value]  # fmt: skip
    with pytest.raises(SystemExit):
        rfc.rfc8219(bench)
    assert started == ["nat"] and list(shelf.units("8219")) == ["nat 64 0"]
    kind = Gateway
    found = Findings(rfc.rfc8219(bench))
    assert started == ["nat", "nat", "linux-sit"] and found.rows("8219") == ["nat", "linux-sit"]
    for row in ("nat", "linux-sit"):
        best = found.value("8219", row, rfc.NONE_LOST, 64)
        assert best and 4900 <= best.median <= 5001 and found.value("8219", row, "recovery, ms", 0)
        assert found.value("8219", row, "0.1 % lost, frames/s each way", 64) is None  # a quick run has less
        assert len(found.all_values("8219", row, rfc.BURST, 0)) == 1
        assert not found.value("8219", row, "full load by flows, frames/s", 10)
    assert len(rfc.rfc8219(bench)) == len(found.figures) and len(started) == 3


@pytest.mark.parametrize(("seconds", "said"), [(90 * 60, "90 minutes"), (3 * 3600, "3 hours"), (4 * 86400, "4 days")])
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_void_figures_do_not_count() -> None:
    found = Findings([figure("nat", 1.0), figure("nat", 3.0, run=1), figure("nat", 90.0, run=2, void="lost")], 5)
    value = found.value("VI", "nat", "connection, ms", 8)
    assert value and value.median == 2 and value.runs == 2 and str(value) == "2.00 (1.00–3.00) [2]"
    assert found.voids("VI") == ["nat, connection, ms: lost"]


def test_table_vii_measures_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that did not open is opened again; where none opens, the row says so."""
    tables = {"nat": 0, "linux-nat": 15}
    gateways = {row: Gateway(3000, table=table) for row, table in tables.items()}

    @contextlib.contextmanager
    def sessions(*_: object) -> Iterator[list[Any]]:
        yield [SimpleNamespace(guest=SimpleNamespace(row=guest.ROWS[row]), load=gateways[row]) for row in tables]

    monkeypatch.setattr(generated, "sessions", sessions)
    bench = generated.Bench(EFFORTS["quick"], Path(), Path(), lambda role: None, (0, 1))  # type: ignore[arg-type, return-value]
    found = generated.processed(bench)
    shown = [one for one in COMPARISONS if one.part == "VII"]
    assert {one.what for one in found} == {one.what for one in shown} | {one.scale for one in shown if one.scale}
    for one in shown:
        values = {each.x: each.value for each in found if (each.row, each.what) == ("linux-nat", one.what)}
        factor = 3000 / (9522 if "mix" in one.what else 9565) if one.scale else 1
        for x, value in values.items():
            assert value == pytest.approx(min(x * factor, 3000), rel=0.01)
    void = [one.void for one in found if one.row == "nat" and one.what == shown[0].what]
    assert void == ["20 of 20 connections did not open"]


# ---- calls ----


def test_mean_opinion_scores() -> None:
    """Values that were computed from G.107 apart from this program: no loss; table XIV's loss at 90 Mbit/s."""
    assert voip.mos(0, 80) == pytest.approx(4.41, abs=0.005)
    assert voip.mos(1.1, 80, 25.1) == pytest.approx(4.32, abs=0.005)
    assert voip.mos(1.1, 80) == pytest.approx(3.77, abs=0.005)
    assert voip.mos(2.95, 80) == pytest.approx(2.81, abs=0.005)
    assert voip.mos(100, 80, 0.1) == 1 and voip.mos(0, 400) < 4


def test_set_up_times() -> None:
    lines = ["1.0\tINVITE\t\tINVITE\ta", "1.1\tINVITE\t\tINVITE\ta", "1.2\t\t180\tINVITE\ta", "1.3\t\t200\tINVITE\ta",
             "2.0\tBYE\t\tBYE\ta", "2.1\t\t200\tBYE\ta", "3.0\tINVITE\t\tINVITE\tb"]
    assert voip.set_up_times("\n".join(lines)) == [pytest.approx(300)]
