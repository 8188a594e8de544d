# SPDX-License-Identifier: BSD-2-Clause
"""tools/whohad: who had an outer port, from a configuration and from logs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

WHOHAD = Path(__file__).resolve().parents[2] / "tools" / "whohad"
CONFIG = """\
wan.address 198.51.100.4/24
lan.address 192.168.1.1/24
lan2.address 10.0.0.1/30   # two hosts
nat.blocks 200
nat.forward tcp 8080 192.168.1.9:80
"""
LINE = ("<134>1 {time} 198.51.100.4 baregate 7 session [session@32473 event=\"{event}\" proto=\"{proto}\""
        " inside=\"{inside}\" inport=\"{port}\" outside=\"198.51.100.4\" outport=\"2001\"]")
BLOCK = ("Nov 22 14:03:01 gw {time} [block@32473 event=\"{event}\" inside=\"{inside}\" outside=\"198.51.100.4\""
         " first=\"1984\" last=\"2047\"]")


def ask(*words: str | Path) -> tuple[int, str]:
    done = subprocess.run([WHOHAD, *words], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def by_config(tmp_path: Path, endpoint: str, text: str = CONFIG, *more: str) -> tuple[int, str]:
    (tmp_path / "conf").write_text(text)
    return ask("--config", tmp_path / "conf", *more, endpoint)


@pytest.mark.parametrize(("port", "host"), [
    (1024, "192.168.1.1: its ports are 1024 to 1223"), (1223, "192.168.1.1:"), (1224, "192.168.1.2:"),
    (2001, "192.168.1.5: its ports are 1824 to 2023"), (1024 + 253 * 200, "192.168.1.254:"),
    (1024 + 254 * 200, "10.0.0.1:"), (1024 + 256 * 200 - 1, "10.0.0.2: its ports are 52024 to 52223")])
def test_from_the_configuration(tmp_path: Path, port: int, host: str) -> None:
    status, text = by_config(tmp_path, f"198.51.100.4:{port}")
    assert status == 0 and text.startswith(host)


def test_a_forwarded_port(tmp_path: Path) -> None:
    status, text = by_config(tmp_path, "198.51.100.4:8080")
    assert status == 0 and text.splitlines()[0] == "192.168.1.9:80: tcp port 8080 is forwarded to it"


@pytest.mark.parametrize("comment", ["#x", "// nat.blocks 64", "//x", "\t# // x"])
def test_comments(tmp_path: Path, comment: str) -> None:
    """As the gateway reads them; in a URL `//` begins none."""
    text = CONFIG.replace("nat.blocks 200", f"nat.blocks 200{comment}") + "time-server http://x\n// nat.blocks 300\n"
    assert by_config(tmp_path, "198.51.100.4:2001", text)[1].startswith("192.168.1.5: its ports are 1824 to 2023")


@pytest.mark.parametrize(("app", "ports"), [
    ("app nat", "1824 to 2023"), ("app 6to4", "1824 to 2023"), ("app nat64", "1984 to 2047"),
    ("menu-default nat64", "1984 to 2047"), ("app nat\nmenu-default nat64", "1824 to 2023"), ("app wire", None),
    ("", None)])
def test_the_application_that_runs(tmp_path: Path, app: str, ports: str | None) -> None:
    """A file may have the keys of several."""
    status, text = by_config(tmp_path, "198.51.100.4:2001", f"{app}\nnat64.blocks 64\n{CONFIG}")
    assert f"its ports are {ports}" in text if ports else status == 2 and "only a log can tell" in text or (
        "no app that says which" in text)


@pytest.mark.parametrize("port", [1, 1023, 1024 + 256 * 200, 65535])
def test_nobodys(tmp_path: Path, port: int) -> None:
    assert by_config(tmp_path, f"198.51.100.4:{port}") == (1, "nobody that this file tells of\n")


def test_an_address_by_dhcp(tmp_path: Path) -> None:
    text = CONFIG.replace("198.51.100.4/24", "dhcp")
    assert by_config(tmp_path, "198.51.100.4:2001", text)[0] == 2
    assert by_config(tmp_path, "198.51.100.4:2001", text, "--outer", "198.51.100.4")[0] == 0


@pytest.mark.parametrize(("endpoint", "text", "wrong"), [
    ("198.51.100.4", CONFIG, "expected ADDRESS:PORT"), ("198.51.100.4:0", CONFIG, "expected ADDRESS:PORT"),
    ("198.51.100.4:65536", CONFIG, "expected ADDRESS:PORT"), ("x:80", CONFIG, "x:80"),
    ("198.51.100.5:2001", CONFIG, "no outer address of this configuration"),
    ("198.51.100.4:2001", CONFIG.replace("nat.blocks 200", ""), "has no nat.blocks"),
    ("198.51.100.4:2001", CONFIG.replace("200", "9"), "expected a number from 32"),
    ("198.51.100.4:2001", CONFIG.replace("200", "2000"), "fewer than the LAN's"),
    ("198.51.100.4:2001", "\x00\xff", "no nat.blocks")])
def test_what_is_wrong(tmp_path: Path, endpoint: str, text: str, wrong: str) -> None:
    status, said = by_config(tmp_path, endpoint, text)
    assert status == 2 and wrong in said and said.count("\n") == 1


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert ask("--config", tmp_path / "none", "198.51.100.4:2001")[0] == 2
    assert ask("--log", tmp_path / "none", "198.51.100.4:2001")[0] == 2


@pytest.fixture()
def log(tmp_path: Path) -> Path:
    """Two servers of one host, then another host; a session whose begin is missing; lines of all sorts between."""
    def session(event: str, time: str, inside: str = "192.168.1.5", port: int = 4000, proto: int = 17) -> str:
        return LINE.format(event=event, time=time, inside=inside, port=port, proto=proto)

    path = tmp_path / "log"
    path.write_text("\n".join([
        session("end", "2026-11-22T13:00:00.000Z", "192.168.1.7"),
        session("begin", "2026-11-22T14:00:00.000Z"), "", "nonsense [session@32473 event=\"begin\"]",
        session("begin", "2026-11-22T14:01:00.000Z"), session("end", "2026-11-22T14:02:00.000Z"),
        session("begin", "2026-11-22T14:01:30.000Z", "192.168.1.6", 99, 6),
        session("end", "2026-11-22T14:05:00.000Z"),
        session("begin", "2026-11-22T14:06:00.000Z", "192.168.1.8"),
        session("begin", "-", "2001:db8::7").replace("2001\"]", "2002\"]"),
        session("maybe", "2026-11-22T14:03:00.000Z", "192.168.1.99"),
        session("begin", "2026-11-22T14:03:00.000Z", "192.168.1.98").replace("outport=\"2001\"", "outport=\"x\"")]))
    return path


@pytest.mark.parametrize(("time", "hosts"), [
    ("2026-11-22T12:00Z", ["192.168.1.7"]), ("2026-11-22T13:30Z", []),
    ("2026-11-22T14:03Z", ["192.168.1.5", "192.168.1.6"]), ("2026-11-22T15:03+01:00", ["192.168.1.5", "192.168.1.6"]),
    ("2026-11-22 14:03:00", ["192.168.1.5", "192.168.1.6"]), ("2026-11-22T14:05:30Z", ["192.168.1.6"]),
    ("2026-11-22T14:05Z", ["192.168.1.5", "192.168.1.6", "192.168.1.8"]),
    ("2027-01-01T00:00Z", ["192.168.1.6", "192.168.1.8"])])
def test_from_sessions(log: Path, time: str, hosts: list[str]) -> None:
    status, text = ask("--log", log, "198.51.100.4:2001", time)
    assert sorted(line.split(":")[0] for line in text.splitlines() if line.startswith("192")) == hosts
    assert status == (0 if hosts else 1)


def test_an_unknown_clock_and_an_ipv6_host(log: Path) -> None:
    status, text = ask("--log", log, "198.51.100.4:2002", "2026-11-22T14:03Z")
    assert status == 0 and text.startswith("2001:db8::7 port 4000: udp, from before the log or without a clock")


def test_from_blocks(tmp_path: Path) -> None:
    log = tmp_path / "log"
    told = [("begin", "14:00:00", "192.168.1.5"), ("end", "14:10:00", "192.168.1.5"), ("begin", "14:11:00", "10.9.9.9")]
    log.write_text("\n".join(BLOCK.format(event=event, time=f"2026-11-22T{time}Z", inside=inside)
                             for event, time, inside in told))
    status, text = ask("--log", log, "198.51.100.4:2001", "2026-11-22T14:03Z")
    assert status == 0 and text == ("192.168.1.5: any ports 1984 to 2047, from 2026-11-22T14:00:00+00:00 to "
                                    "2026-11-22T14:10:00+00:00\n")
    assert ask("--log", log, "198.51.100.4:2001", "2026-11-22T14:12Z")[1].startswith("10.9.9.9")
    assert ask("--log", log, "198.51.100.4:2048", "2026-11-22T14:12Z")[0] == 1


@pytest.mark.parametrize(("start", "end"), [
    ("log - ready", "14:20:00"), ("session [session@32473 event=\"x\"]", "14:20:00")])
@pytest.mark.parametrize("form", [" 8 ", "[8]: "])
def test_a_restart_ends_all(tmp_path: Path, start: str, end: str, form: str) -> None:
    """After a power cut nobody tells the ends; a message of another start (PROCID) does. Its time counts, or that of a
    later one where the clock was not known yet; a late message of the start before changes nothing."""
    old = LINE.format(event="begin", time="2026-11-22T14:00:00Z", proto=17, inside="192.168.1.5", port=4000)
    new = LINE.format(event="begin", time="2026-11-22T14:30:00Z", proto=17, inside="192.168.1.6", port=4000)
    log = tmp_path / "log"
    log.write_text("\n".join([
        old.replace(" 7 ", form.replace("8", "7")), f"<30>1 - 198.51.100.4 baregate{form}{start}",
        f"<30>1 2026-11-22T{end}Z 198.51.100.4 baregate{form}{start}", new.replace(" 7 ", form),
        "<30>1 2026-11-22T14:31:00Z 198.51.100.4 baregate" + form.replace("8", "7") + "log - late",
        "<30>1 2026-11-22T14:31:00Z 203.0.113.9 baregate 5 log - another gateway"]))
    assert ask("--log", log, "198.51.100.4:2001", "2026-11-22T14:10Z")[1] == (
        "192.168.1.5:4000: udp, from 2026-11-22T14:00:00+00:00 to 2026-11-22T14:20:00+00:00, when the gateway had "
        "started again\n")
    assert ask("--log", log, "198.51.100.4:2001", "2026-11-22T15:00Z")[1] == (
        "192.168.1.6:4000: udp, from 2026-11-22T14:30:00+00:00, no end told\n")


@pytest.mark.parametrize("time", ["yesterday", "14:03", "2026-13-22T14:03Z", "2026-11-22T25:03Z", ""])
def test_times_that_are_none(log: Path, time: str) -> None:
    status, text = ask("--log", log, "198.51.100.4:2001", time or "x")
    assert status == 2 and text.startswith("whohad: ")
