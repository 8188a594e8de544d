# SPDX-License-Identifier: BSD-2-Clause
"""The console on COM1, the boot menu, and how the machine ends or restarts."""

import os
import re
import time
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.machine import Machine
from labkit.wait import until

_COMMANDS = ("help", "stats", "interfaces", "neighbours", "sessions", "routes", "drops", "config", "usb", "log",
             "reboot", "poweroff")
_COUNTERS = (*(f'{name}{{if="{port}"}}' for name in ("rx_packets", "rx_bytes", "tx_packets", "tx_bytes")
               for port in ("lan", "wan")),
             'drop{reason="ttl"}', "forwarded_packets", "cpu_busy_permille", "uptime_seconds", "packets_free",
             "nat_sessions", "nat_sessions_created", "nat_table_full")
_READY_MS = 50


def test_answers(gateway: Lab) -> None:
    """Each command prints what docs/interface.md says, in its form."""
    console = gateway.console
    helped = console.command("help")
    for name in _COMMANDS:
        assert re.search(rf"\b{name}\b", helped), f"{name} is not in help"
    lines = console.command("stats").splitlines()
    assert all(re.fullmatch(r'[a-z0-9_]+(\{[a-z]+="[^"]+"\})? \d+', line) for line in lines), lines
    stats = console.stats()
    assert len(stats) == len(lines), "a name occurs twice in stats"
    assert [name for name in _COUNTERS if name not in stats] == []
    assert stats["forwarded_packets"] >= 2 and stats["nat_sessions"] >= 1
    ports = console.command("interfaces").splitlines()
    for role, mac, address in (("lan", net.GATEWAY_MACS[0], net.LAN_GATEWAY),
                               ("wan", net.GATEWAY_MACS[1], net.WAN_GATEWAY)):
        line = next(line for line in ports if line.startswith(role))
        assert mac in line and address + "/24" in line and re.search(r"\bup\b", line), line
    neighbours = console.command("neighbours").splitlines()
    assert any(net.LAN_HOST in line and net.LAN_HOST_MAC in line for line in neighbours)
    assert any(net.WAN_SERVER in line and net.WAN_SERVER_MAC in line for line in neighbours)
    assert any(net.LAN_HOST in line and net.FAR_SERVER in line for line in console.command("sessions").splitlines())
    routes = console.command("routes")
    assert "192.168.1.0/24" in routes and "203.0.113.0/24" in routes and net.WAN_SERVER in routes
    assert console.command("log").strip()
    assert console.command("drops") is not None
    assert "no-such-thing" in console.command("no-such-thing") or "help" in console.command("no-such-thing")


def test_timings(gateway: Lab) -> None:
    """Packets are timed as they pass, both ways."""
    gateway.lan.run("ping", "-q", "-i", "0.01", "-c", "300", net.FAR_SERVER, timeout=60)
    rows = re.findall(r"^(in|out) (\w+) count=(\d+) mean=(\d+) max=(\d+)", gateway.console.command("timings"),
                      re.MULTILINE)
    assert [row[:2] for row in rows] == [(way, step) for way in ("in", "out")
                                         for step in ("lookup", "add", "known", "slow")]
    passed = [row for row in rows if row[1] in ("known", "slow") and int(row[2]) > 0]
    assert {row[0] for row in passed} == {"in", "out"}, rows
    assert all(0 < int(mean) <= int(most) for _, _, _, mean, most in passed), rows


def test_form_of_lines(gateway: Lab) -> None:
    """Output lines end with CR LF; CR or LF alone ends an input line; input is echoed; backspace deletes a
    character."""
    console = gateway.console
    first = console.command("routes")
    assert b"\n" not in console.raw.replace(b"\r\n", b"")
    console.mark()
    console.send("routes\n")
    assert console.expect(r"routes[ \t]*\n([\s\S]*?)^\n").group(1) == first
    console.mark()
    console.send("routx\x08es\r")
    assert console.expect(r"\n([\s\S]*?)^\n").group(1) == first


def test_counters_count(gateway: Lab) -> None:
    """Ten echoes of 100 bytes are ten packets in each direction on each side, with bytes as on Ethernet without FCS."""
    before = gateway.console.stats()
    gateway.lan.run("ping", "-n", "-c10", "-i0.05", "-W3", "-s", "100", net.FAR_SERVER)
    after = gateway.console.stats()
    delta = {name: after[name] - before[name] for name in after}
    for port in ("lan", "wan"):
        for way in ("rx", "tx"):
            # ARP packets may be counted as well.
            assert 10 <= delta[f'{way}_packets{{if="{port}"}}'] <= 14
            assert 10 * 142 <= delta[f'{way}_bytes{{if="{port}"}}'] <= 10 * 142 + 4 * 60
    assert delta["forwarded_packets"] == 20


def test_console_while_flooded(gateway: Lab) -> None:
    """The console answers while packets arrive as fast as the host can send."""
    flood = gateway.lan.start("ping", "-n", "-f", "-q", net.FAR_SERVER)
    try:
        first = gateway.console.stats()["forwarded_packets"]
        until(lambda: gateway.console.stats()["forwarded_packets"] > first + 1000, 20, "1000 packets forwarded")
        assert flood.poll() is None
    finally:
        flood.terminate()
        flood.wait()


def test_interrupt_without_a_reason(gateway: Lab) -> None:
    """A non-maskable interrupt for which the chipset shows neither a parity nor a channel check is counted and logged,
    and the gateway goes on."""
    before = gateway.console.stats()["cpu_nmis"]
    gateway.machine.qmp("inject-nmi")
    until(lambda: gateway.console.stats()["cpu_nmis"] == before + 1, 5, "the interrupt is counted")
    gateway.machine.qmp("inject-nmi")
    until(lambda: gateway.console.stats()["cpu_nmis"] == before + 2, 5, "the second interrupt is counted")
    until(lambda: "non-maskable interrupt" in gateway.console.command("log"), 5, "the interrupt is in the log")
    gateway.lan.run("ping", "-n", "-c3", "-i0.05", "-W3", net.FAR_SERVER)


def test_ready_time(nic: str, make_lab: Callable[..., Lab]) -> None:
    """From the entry point to `ready`: under 50 ms by the machine's own clock. On this clock each instruction takes two
    nanoseconds, so that the load of the host does not matter."""
    lab = make_lab((nic, nic))
    machine = lab.start(net.NAT, extra=("-icount", "shift=1,sleep=off"))
    ready = machine.wait_ready("nat")
    assert 0 < ready < _READY_MS, ready


def _entry(machine: Machine, app: str) -> str:
    """The number of an application in the menu on COM1."""
    return machine.console.expect(rf"^\W*(\d+)\W+{app}\b").group(1)


def test_menu_on_com1(make_lab: Callable[..., Lab]) -> None:
    """Without `app` the menu appears; a number and Enter on COM1 start an application."""
    lab = make_lab()
    machine = lab.start(net.NETWORK)
    machine.console.send(_entry(machine, "nat") + "\r")
    machine.wait_ready("nat")
    lab.wait_ping()


def test_menu_by_keyboard(make_lab: Callable[..., Lab]) -> None:
    """The same menu is on the screen and reacts to the PS/2 keyboard."""
    lab = make_lab()
    machine = lab.start(net.NETWORK)
    number = _entry(machine, "wire")
    lines = machine.wait_screen("wire")
    assert any("nat" in line for line in lines)
    machine.press(number, "ret")
    machine.wait_ready("wire")


@pytest.mark.parametrize("way", ["com1", "keyboard"])
def test_menu_arrows(make_lab: Callable[..., Lab], way: str) -> None:
    """Down and Enter start another application than Enter alone."""
    lab = make_lab()
    started = []
    for down in (False, True):
        machine = lab.start(net.NETWORK)
        _entry(machine, "nat")
        machine.wait_screen("nat")
        if way == "com1":
            machine.console.send("\x1b[B\r" if down else "\r")
        else:
            machine.press(*(["down"] if down else []), "ret")
        started.append(machine.console.expect(r"ready app=(\S+)").group(1))
    assert started[0] != started[1]


def test_menu_countdown(make_lab: Callable[..., Lab]) -> None:
    """With menu-timeout and menu-default the default application starts by itself."""
    lab = make_lab()
    machine = lab.start(net.NETWORK + "menu-timeout 1\nmenu-default nat\n")
    machine.wait_screen("nat")
    machine.wait_ready("nat")


def test_reboot(nic: str, make_lab: Callable[..., Lab]) -> None:
    """`reboot` restarts the machine, and it works as before."""
    lab = make_lab((nic, nic))
    machine = lab.boot(net.NAT)
    machine.console.send("reboot\r")
    machine.wait_event("RESET")
    machine.wait_ready("nat")
    lab.wait_ping()


@pytest.mark.parametrize("debug_exit", [True, False], ids=["debug-exit", "acpi"])
def test_poweroff(make_lab: Callable[..., Lab], debug_exit: bool) -> None:
    """`poweroff` ends QEMU, through the test device or through ACPI."""
    lab = make_lab()
    machine = lab.boot(net.NAT, debug_exit=debug_exit)
    machine.console.send("poweroff\r")
    machine.wait_exit()


def test_crash(nic: str, make_lab: Callable[..., Lab]) -> None:
    """A CPU exception: place and reason, registers, a backtrace of function names on COM1, then a restart."""
    lab = make_lab((nic, nic))
    machine = lab.boot(net.NAT, "debug=on")
    machine.console.send("crash\r")
    machine.console.expect(r"exception.*\b\w*crash\w*\+0x[0-9a-f]+")
    for register in ("eax", "esp", "eip"):
        machine.console.expect(rf"\b{register}[ =:]+[0-9a-f]{{8}}\b")
    machine.console.expect(r"^ *[0-9a-f]{8} [a-z]\w*\+0x[0-9a-f]+$")
    machine.wait_event("RESET")
    machine.wait_ready("nat")
    lab.wait_ping()


@pytest.mark.parametrize("command, said", [
    ("crash", r"exception 14 .*\bcpu_crash\+.*\n.*write to 00000010, not mapped"),
    ("crash text", r"exception 14 .*\bcpu_crash_text\+.*\n.*write to [0-9a-f]{8}, not allowed"),
    ("crash data", r"exception 14 .*\bcode\b.*\n.*execution of [0-9a-f]{8}, not allowed"),
    ("crash stack", r"stack overflow: the guard page was reached at [0-9a-f]{8}\n.*exception 8 .*\bcpu_crash_stack\+"),
])
def test_page_rights(make_lab: Callable[..., Lab], command: str, said: str) -> None:
    """Address 0 and the page below the stack are not mapped, code is not writable, data is not executable."""
    machine = make_lab().boot(net.NAT, "debug=on", cpu="max")
    machine.console.send(command + "\r")
    machine.console.expect(said)
    machine.wait_event("RESET")


def test_crash_only_with_debug(make_lab: Callable[..., Lab]) -> None:
    """Without debug=on the debug commands are unknown, and `help` does not list them."""
    console = make_lab().boot(net.NAT).console
    for name in ("random", "crash", "crash text", "crash data", "crash stack", "hang"):
        assert console.command(name) == f"unknown command: {name} (help lists them)\n"
    assert not re.search(r"^(random|crash|hang)\b", console.command("help"), re.M)


def test_hang(nic: str, make_lab: Callable[..., Lab]) -> None:
    """Without progress for `watchdog` seconds the machine restarts."""
    lab = make_lab((nic, nic))
    machine = lab.boot(net.NAT + "watchdog 2\n", "debug=on")
    machine.console.send("hang\r")
    machine.wait_event("RESET", timeout=15)
    machine.wait_ready("nat")
    lab.wait_ping()


def test_idle_is_no_hang(make_lab: Callable[..., Lab]) -> None:
    """The watchdog does not restart a gateway that has nothing to do."""
    lab = make_lab()
    lab.boot(net.NAT + "watchdog 1\n")
    until(lambda: lab.console.stats()["uptime_seconds"] >= 4, 15, "four seconds of uptime")
    log = lab.console.command("log")
    assert "keyboard" not in log and "does not use" not in log, log


def test_link_down_and_up(boot_nat: Callable[[str], Lab]) -> None:
    """The gateway notices an unplugged cable; plugged in again, the interface works as before, in both directions, and
    more than once."""
    lab = boot_nat("")
    machine = lab.machine
    assert machine is not None

    def wait_state(role: str, state: str) -> None:
        def shown() -> bool:
            line = next(line for line in lab.console.command("interfaces").splitlines() if line.startswith(role))
            return re.search(rf"\b{state}\b", line) is not None
        until(shown, 10, f"{role} {state}")

    for index, role in ((0, "lan"), (1, "wan"), (0, "lan")):
        machine.set_link(index, False)
        wait_state(role, "down")
        assert lab.lan.run("ping", "-n", "-c1", "-W1", net.FAR_SERVER, check=False).returncode != 0
        machine.set_link(index, True)
        wait_state(role, "up")
        lab.wait_ping()


def test_boots_differ(make_lab: Callable[..., Lab]) -> None:
    """Two boots of one machine give different random numbers."""
    lab = make_lab()
    drawn = set()
    for _ in range(3):
        lab.boot(net.NAT, "debug=on")
        drawn.add(lab.console.command("random"))
    assert len(drawn) == 3, drawn
    assert all(re.search(r"[0-9a-f]{8}", text) for text in drawn), drawn


@pytest.mark.parametrize("memory, sessions", [(64, 100000), (16, 10000)])
def test_memory(nic: str, make_lab: Callable[..., Lab], memory: int, sessions: int) -> None:
    """The documented number of sessions fits the documented memory, and the gateway works with it."""
    lab = make_lab((nic, nic))
    lab.boot(net.NAT + f"nat.sessions {sessions}\n", memory=memory)
    lab.wait_ping()
    assert f"nat.sessions {sessions}" in lab.console.command("config").splitlines()


def test_too_little_memory(make_lab: Callable[..., Lab]) -> None:
    """More sessions than memory: a line that names the key, and the gateway does not start with fewer sessions."""
    lab = make_lab()
    machine = lab.start(net.NAT + "nat.sessions 1000000\n", memory=16)
    machine.console.expect(r"^.*nat\.sessions.*$")
    assert "ready app=" not in machine.console.text


@pytest.mark.parametrize("model", ["virtio-legacy", "virtio-modern"])
def test_virtio_variants(make_lab: Callable[..., Lab], model: str) -> None:
    """The legacy and the modern interface of virtio, with every offload that a tap offers."""
    lab = make_lab((model, model), vnet_hdr=True)
    lab.boot(net.NAT)
    lab.wait_ping()
    with lab.wan.socket() as server, lab.lan.socket() as client:
        server.bind((net.FAR_SERVER, 5000))
        server.settimeout(5)
        client.sendto(b"checksum me", (net.FAR_SERVER, 5000))
        assert server.recvfrom(100)[0] == b"checksum me"


def test_mixed_nics_and_old_processor(make_lab: Callable[..., Lab]) -> None:
    """Two different drivers side by side, on a processor without NX and newer instructions."""
    lab = make_lab(("e1000", "virtio"))
    lab.boot(net.NAT, cpu="pentium3")
    lab.wait_ping()


def test_idle_costs_little(nic: str, make_lab: Callable[..., Lab]) -> None:
    """A gateway without traffic uses at most a tenth of the host's processor, all of QEMU included."""
    lab = make_lab((nic, nic))
    machine = lab.boot(net.NAT)
    lab.wait_ping()

    def ticks() -> int:
        with open(f"/proc/{machine.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    lab.silence()
    lab.console.stats()
    before, start = ticks(), time.monotonic()
    # This is the time of the measurement, not a wait for a condition.
    time.sleep(2)
    share = (ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - start)
    assert share < 0.1, f"{share:.0%} of a processor"
    lab.console.stats()


@pytest.mark.one_card
def test_choices(gateway: Lab) -> None:
    """The short forms of long listings; Ctrl-C and `q` end a listing, and other typed input waits for its end."""
    console = gateway.console
    with gateway.lan.socket() as host:
        for port in range(4000, 4400):
            host.sendto(b"x", (net.FAR_SERVER, port))
        until(lambda: console.stats()["nat_sessions"] >= 400, 10, "400 sessions")
    assert "stats nonzero" in console.text.split("ready app=nat")[1].split("> ")[0], "the way to the short listings"
    assert len(console.command("stats nonzero nat_sess").splitlines()) == 2
    short = console.command("stats nonzero")
    assert "forwarded_packets" in short and " 0\n" not in short
    assert [line.split()[0] for line in console.command("stats nat_sess").splitlines()] == [
        name for name in console.stats() if name.startswith("nat_sess")]
    assert console.command("stats nothing") == "stats: nothing for nothing\n"
    every, changed = console.command("config").splitlines(), console.command("config changed").splitlines()
    assert [line for line in every if line in changed] == changed
    assert f"gateway {net.WAN_SERVER}" in changed and "watchdog 10" in every and "watchdog 10" not in changed
    counts = dict(line.split() for line in console.command("sessions count").splitlines())
    assert int(counts["all"]) >= 400 and int(counts["udp"]) >= 400 and int(counts["icmp"]) >= 1, counts
    assert len(console.command(f"sessions {net.LAN_HOST}").splitlines()) >= 400
    assert console.command("sessions 192.0.2.77") == "sessions: nothing for 192.0.2.77\n"
    assert console.command("sessions house") == "not an address: house\n"
    for keys in ("\x03", "q", "routes\r\x03"):
        console.mark()
        console.send("sessions\r" + keys)
        assert console.expect(r"^([\s\S]*?)stopped\n\n> ").group(1).count("\n") < 200
        assert "203.0.113.0/24" in console.command("routes"), "the console takes commands as before"
    console.mark()
    console.send("sessions count\rroutes\r")
    console.expect(r"^all \d+\n[\s\S]*?^\n[\s\S]*^203\.0\.113\.0/24")
    assert console.command("drops raw").count("bytes:") == console.command("drops").count("bytes:")
    assert re.fullmatch(rf" 1  {net.FAR_SERVER}  \d+\.\d{{3}} ms\n{net.FAR_SERVER} reached\n",
                        console.command(f"traceroute {net.FAR_SERVER}"))
    console.mark()
    console.send(f"ping {net.LAN_HOST}\r")
    console.expect(rf"^{net.LAN_HOST}: seq=2 ttl=64 time=\d+\.\d{{3}} ms$")
    console.send("q")
    console.expect(r"^stopped\n\n> ")
    assert console.command("ping here") == "expected an address, such as 192.0.2.1 or 2001:db8::1\n"


def test_commands_are_answered_at_once(make_lab: Callable[..., Lab]) -> None:
    """Also at rest, when MAIN runs some times a second only."""
    lab = make_lab()
    lab.boot(net.NAT)
    assert lab.machine.stderr() == ""  # QEMU takes every wish of the image's header
    begin = time.monotonic()
    for _ in range(40):
        lab.console.command("neighbours")
    assert time.monotonic() - begin < 8


def test_silent_states_of_the_machine(make_lab: Callable[..., Lab]) -> None:
    """The log says that there is no keyboard, and which keys the application does not use."""
    lab = make_lab()
    lab.boot(net.NAT + "ivi.format ivi\nlan.ra off\n", extra=("-machine", "i8042=off"))
    lab.console.expect(r"no keyboard found")
    log = lab.console.command("log")
    assert "nat does not use: ivi.format\n" in log
