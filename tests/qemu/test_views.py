# SPDX-License-Identifier: BSD-2-Clause
"""The screens of the running gateway: status, sessions, log; on the local terminal and on COM1. The pager."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from frames import Wire
from labkit import lab as net
from labkit.lab import Lab
from labkit.machine import Machine
from labkit.vt100 import Vt100, wait_lines, watch
from labkit.wait import Timeout, until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

_BAR = r"^ 1 status  2 sessions  3 log  4 console"
_ASKS = "-- more -- (Space, Enter, q)"


def _wait_status(screen: Callable[[], list[str]], rows: int) -> None:
    """Waits for the status of a gateway on the test network, with all that it says."""
    wanted = (r" gateway: nat  .* load +\d+\.\d %   up 0 d 00:0\d:\d\d$",
              r" .*in packets/s    bits/s  out packets/s   bits/s$",
              r" lan       e1000      1000M full( +\d\S*){4}$", rf" +{net.LAN_GATEWAY}/24$",
              r" wan       e1000      1000M full( +\d\S*){4}$", rf" +{net.WAN_GATEWAY}/24$",
              r" forwarded \S+ packets/s, dropped \S+ packets/s", r" nat_sessions +\d+ of 100k \(0 %\) +nat_mappings ")
    def shown() -> bool:
        lines = screen()
        return (all(re.match(pattern, line) for pattern, line in zip(wanted, lines))
                and " last events" in lines and any(line.endswith(" wan: link up") for line in lines)
                and re.match(_BAR, lines[rows - 1]) is not None)
    try:
        until(shown, 20, "the status")
    except Timeout as late:
        raise Timeout(f"{late}\n" + "\n".join(screen())) from None


def test_screens(make_lab: Callable[..., Lab]) -> None:
    """On COM1 `top`, F-keys in three forms and digits show the screens, on the local terminal the F-keys, each its own;
    what ends them gives the console back with the typed line."""
    lab = make_lab()
    machine = lab.boot(net.NAT)
    console = machine.console
    lab.wait_ping()
    lab.lan.run("ping", "-n", "-c30", "-i0.05", "-W3", net.FAR_SERVER)
    terminal = watch(console)
    console.send("top\r")
    _wait_status(lambda: terminal.lines, 24)
    for keys, wanted in (("2", r"^ sessions   page 1, the last one"), ("\x1b[13~", r"^ log   the last lines"),
                         ("\x1bOQ", r"^icmp 192\.168\.1\.2:\d+ "), ("\x1b[[A", r"^ lan       e1000"),
                         ("3", r"^\d+\.\d+ lan: link up")):
        console.send(keys)
        wait_lines(lambda: terminal.lines, wanted)
    # The other terminal shows the console meanwhile, and a screen of its own.
    machine.wait_screen("> top")
    machine.press("f1")
    _wait_status(machine.screen, 25)
    machine.press("f2")
    wait_lines(machine.screen, r"^icmp 192\.168\.1\.2:\d+ ")
    assert any(line.startswith(" log") for line in terminal.lines)
    machine.press("esc")
    machine.wait_screen("> top")
    # Rates, and the way back: what was typed before is there.
    for end in ("q", "4", "\x03", "\x1bOS", "\x1b"):
        console.send(end)
        wait_lines(lambda: terminal.lines, r"^> $|^>$")
        console.mark()
        console.send("uptime\x1b[11~")
        wait_lines(lambda: terminal.lines, _BAR)
        console.send("4")
        wait_lines(lambda: terminal.lines, r"^> uptime$")
        console.send("\x15\x1b[11~")
        wait_lines(lambda: terminal.lines, _BAR)
    console.send("q")
    wait_lines(lambda: terminal.lines, r"^>$")
    assert "rx_packets" in console.command("stats rx_packets")


@pytest.mark.long
def test_status_lives(make_lab: Callable[..., Lab]) -> None:
    """The status shows rates, the carrier and new log lines as they change; Ctrl-L draws a disturbed screen again."""
    lab = make_lab()
    machine = lab.boot(net.NAT)
    lab.wait_ping()
    terminal = watch(machine.console)
    machine.console.send("\x1bOP")
    wait_lines(lambda: terminal.lines, _BAR)
    flood = lab.lan.start("ping", "-n", "-i0.01", "-q", net.FAR_SERVER)
    try:
        lines = wait_lines(lambda: terminal.lines, r"^ lan .* full +\d\d+ +\d\S+ +\d\d+ +\d\S+$")
        assert re.match(r" forwarded \d+ packets/s", lines[6])
    finally:
        flood.terminate()
        flood.wait()
    machine.set_link(1, False)
    wait_lines(lambda: terminal.lines, r"^ wan       e1000      no carrier ")
    wait_lines(lambda: terminal.lines, r"^ \d+\.\d+ wan: link down")
    terminal.feed(b"\x1b[2J\x1b[5;5Hnoise of the line")
    machine.console.send("\x0c")
    until(lambda: re.match(_BAR, terminal.lines[23]) and not any("noise" in line for line in terminal.lines), 10,
          "a whole screen again")


@pytest.mark.long
def test_pages_of_sessions(make_lab: Callable[..., Lab]) -> None:
    """Every session stands on one of the pages, which go forwards and back."""
    lab = make_lab()
    machine = lab.boot(net.NAT)
    lab.wait_ping()
    with Wire(lab.lan, "lan0") as wire:
        for port in range(2000, 2060):
            wire.send(Ether(src=net.LAN_HOST_MAC, dst=net.GATEWAY_MACS[0])
                      / IP(src=net.LAN_HOST, dst=net.FAR_SERVER) / UDP(sport=port, dport=9) / Raw(b"x"))
    until(lambda: machine.console.stats()["nat_sessions"] > 60, 10, "the sessions")
    sessions = machine.console.stats()["nat_sessions"]  # those of the echoes are not always one
    terminal = watch(machine.console)
    machine.console.send("\x1bOQ")
    seen: set[str] = set()
    for number, lines in ((1, 22), (2, 22), (3, sessions - 44)):
        def page(number: int = number, lines: int = lines, before: frozenset[str] = frozenset(seen)) -> set[str] | None:
            """The lines of the page, once all of them are there."""
            shown = {line for line in terminal.lines[1:23] if line}
            ends = all(line.rpartition(" ")[2].startswith("expires=") for line in shown)
            here = terminal.lines[0].startswith(f" sessions   page {number},")
            return shown if here and ends and len(shown) == lines and shown.isdisjoint(before) else None
        seen |= until(page, 10, f"page {number}")
        machine.console.send("n")
    ports = {int(found[1]) for line in seen if (found := re.match(r"udp 192\.168\.1\.2:(\d+) ", line))}
    assert ports == set(range(2000, 2060))
    machine.console.send("pp")
    wait_lines(lambda: terminal.lines, r"^ sessions   page 1,")
    machine.console.send("\x1b[C")
    until(lambda: terminal.lines[1] and not re.match("udp|icmp", terminal.lines[1]), 5, "the lines' right part")


def _typed(machine: Machine, line: str) -> None:
    machine.press(*("spc" if c == " " else c for c in line), "ret")


def test_pager(make_lab: Callable[..., Lab]) -> None:
    """A long answer stops at each page of the screen if the command was typed there; Space, Enter and q go on; COM1
    ends the paging; a command that is typed on COM1 never stops."""
    lab = make_lab()
    machine = lab.boot(net.NAT)
    console = machine.console
    lab.wait_ping()
    names = [line.rpartition(" ")[0] for line in console.command("stats").splitlines()]
    assert len(names) > 100 and not any(_ASKS in line for line in machine.screen())
    def shown(first: int) -> bool:
        """The screen shows 24 counters from this one on, and waits."""
        lines = machine.screen()
        return lines[24] == _ASKS and [line.rpartition(" ")[0] for line in lines[:24]] == names[first:first + 24]
    _typed(machine, "stats")
    until(lambda: shown(0), 10, "the first page")
    machine.press("x")  # means nothing
    lab.wait_ping()  # the answer waits, forwarding goes on
    assert shown(0)
    machine.press("ret")
    until(lambda: shown(1), 10, "a line more")
    machine.press("spc")
    until(lambda: shown(25), 10, "the next page")
    assert _ASKS not in console.text
    # The log goes on at COM1 meanwhile; at the screen its lines come behind the answer.
    console.mark()
    machine.set_link(1, False)
    console.expect("wan: link down")
    machine.set_link(1, True)
    console.expect("wan: link up")
    assert shown(25)
    machine.press("q")
    lines = machine.wait_screen("wan: link up")
    assert "stopped" in lines
    assert not any("more" in line for line in lines)
    # A screen in between, and COM1 that does not wait for the local terminal.
    _typed(machine, "stats")
    until(lambda: shown(0), 10, "the first page")
    machine.press("f1")
    wait_lines(machine.screen, _BAR)
    console.mark()
    console.send("routes\r")
    console.expect(rf"^{re.escape(names[-1])} \d+\n\n> routes\n[\s\S]*?^\n")
    machine.press("f4")
    machine.wait_screen("> ")
    assert [line.rpartition(" ")[0] for line in console.command("stats").splitlines()] == names


@pytest.mark.long
def test_help_of_keys(make_lab: Callable[..., Lab]) -> None:
    """`help KEY` explains the key; `help WORD` lists the commands and keys that begin so."""
    lab = make_lab()
    machine = lab.boot(net.NAT + "nat.sessions 500\n")
    console = machine.console
    assert console.command("help nat.sessions") == (
        "nat.sessions: Size of the session table and of the mapping table.\n"
        "  number from 1 to 16000000; default: 100000\n"
        "  now: 500 (gateway.conf:7)\n")
    several = console.command("help nat.").splitlines()
    page = (Path(__file__).parents[2] / "docs/interface.md").read_text()
    assert [line.split()[0] for line in several] == re.findall(r"^\| `(nat\.[a-z0-9-]+)`", page, re.M)
    assert re.match(r"ping ADDRESS +five echo requests\n", console.command("help pi"))
    assert console.command("help nobody") == "help: nothing for nobody\n"


@pytest.mark.long
@pytest.mark.parametrize("view", ["top", "scrolling"])
def test_packets_while_it_shows(make_lab: Callable[..., Lab], view: str) -> None:
    """No packet of bursts that fill the card's ring is lost while the status is drawn on both terminals, or while the
    screen and COM1 scroll."""
    lab = make_lab()
    machine = lab.boot(net.NAT)
    console = machine.console
    lab.wait_ping()
    before = console.stats()
    frame = bytes(Ether(src=net.LAN_HOST_MAC, dst=net.GATEWAY_MACS[0])
                  / IP(src=net.LAN_HOST, dst=net.FAR_SERVER) / UDP(sport=4000, dport=9) / Raw(b"x" * 22))
    if view == "top":
        terminal: Vt100 = watch(console)
        machine.press("f1")
        console.send("top\r")
        wait_lines(lambda: terminal.lines, _BAR)
    with Wire(lab.lan, "lan0") as wire, Wire(lab.wan, "wan0") as out:
        sent = 0
        for _ in range(40):
            if view == "scrolling":
                console.send("stats\r")
            for _ in range(200):  # less than the ring, at the speed of the host
                wire.send(frame)
            sent += 200
            passed = 0
            while passed < 200 and (got := out.receive(5)) is not None:
                passed += got[12:14] == b"\x08\0"
    console.send("q" if view == "top" else "")
    console.expect("> $", 60)
    after = console.stats()
    losses = [name for name in after if name.startswith(("rx_missed", "rx_no_packet", 'drop{reason="link-full"'))]
    lost = {name: after[name] - before[name] for name in losses if after[name] != before[name]}
    assert len(losses) == 5
    assert not lost, lost
    assert after["forwarded_packets"] - before["forwarded_packets"] >= sent
