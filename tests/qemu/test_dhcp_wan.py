# SPDX-License-Identifier: BSD-2-Clause
"""`wan.address dhcp` on the machine, with real DHCP servers in the WAN."""

import hashlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from labkit import lab as net
from labkit.dhcplab import DHCP_NAT, FIRST, Dhcpd, Dnsmasq, Kea4, Server
from labkit.lab import Lab
from labkit.machine import Machine
from labkit.wait import until


@pytest.mark.one_card
def test_three_lines_make_a_router(nic: str, make_lab: Callable[..., Lab]) -> None:
    """A lease from dnsmasq, and a host of the LAN reaches what is behind its router."""
    lab = make_lab((nic, nic))
    server = Dnsmasq(lab)
    lab.boot(DHCP_NAT, app="nat")
    lab.wait_ping()
    console = lab.console
    assert re.search(rf"^wan {FIRST[:-2]}\d\d/24 valid from {net.WAN_SERVER}, valid 3[56]\d\d s$",
                     console.command("addresses"), re.M)
    assert re.search(r"^wan dhcp bound, ", console.command("leases"), re.M)
    assert f"0.0.0.0/0 via {net.WAN_SERVER} wan" in console.command("routes")
    assert "DHCPACK(wan0)" in server.said()


@pytest.mark.one_card
@pytest.mark.parametrize("program", ["kea", pytest.param("dhcpd", marks=pytest.mark.long)])
def test_a_lease_of_ten_seconds(nic: str, program: str, make_lab: Callable[..., Lab]) -> None:
    """Renewed by its server again and again, while the NAT works; the MTU is taken."""
    lab = make_lab((nic, nic))
    if program == "kea":
        server: Server = Kea4(lab, lease=10, interface_mtu="1400")
    else:
        server = Dhcpd(lab, lease=10, more="option interface-mtu 1400;")
    lab.boot(DHCP_NAT, app="nat")
    lab.wait_ping()
    console = lab.console
    assert "mtu=1400" in console.command("interfaces")
    taken = console.stats()["dhcp_taken"]
    until(lambda: console.stats()["dhcp_taken"] >= taken + 4, 60, "four renewals")
    lab.wait_ping()
    assert console.stats()["dhcp_leases_begun"] == 1
    assert server.said().count("DHCP4_LEASE_ALLOC" if program == "kea" else "DHCPACK on") > 4


@pytest.mark.one_card
def test_another_server_refuses_the_lease(nic: str, make_lab: Callable[..., Lab]) -> None:
    """A server that knows nothing of the lease refuses to renew it (NAK): another one follows at once."""
    lab = make_lab((nic, nic))
    first = Kea4(lab)
    lab.boot(DHCP_NAT + "wan.dhcp-probe off\n", app="nat")
    lab.wait_ping()
    console = lab.console
    first.stop()
    second = Dnsmasq(lab, "--dhcp-authoritative", pool="203.0.113.150,203.0.113.159")
    until(lambda: "started" in second.said(), 20, "the server")
    console.command("renew")
    until(lambda: re.search(r"^wan 203\.0\.113\.15\d/24 valid from", console.command("addresses"), re.M), 60,
          "a lease of the other range")
    assert "DHCPNAK" in second.said()
    lab.wait_ping()


class Flow:
    """A TCP connection from the LAN through the NAT that sends all the time, and what arrived of it in the WAN."""

    def __init__(self, sender: socket.socket, receiver: socket.socket) -> None:
        self.arrived = 0
        self._sender, self._receiver = sender, receiver
        self._sums = hashlib.sha256(), hashlib.sha256()
        self._end = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def _send(self) -> None:
        while not self._end.wait(0.002):
            data = os.urandom(1000)
            self._sums[0].update(data)
            self._sender.sendall(data)
        self._sender.shutdown(socket.SHUT_WR)

    def _receive(self) -> None:
        while data := self._receiver.recv(65536):
            self._sums[1].update(data)
            self.arrived += len(data)

    def finish(self) -> None:
        """Ends the connection; all that was sent has arrived as it was."""
        self._end.set()
        for thread in self._threads:
            thread.join(30)
        assert self._sums[0].digest() == self._sums[1].digest()


@contextmanager
def flow(lab: Lab) -> Iterator[Flow]:
    """A connection that sends until the block ends, and must then be whole."""
    with lab.wan.socket(kind=socket.SOCK_STREAM) as listener, lab.lan.socket(kind=socket.SOCK_STREAM) as client:
        listener.bind((net.FAR_SERVER, 5000))
        listener.listen(1)
        client.settimeout(30)
        client.connect((net.FAR_SERVER, 5000))
        server, _ = listener.accept()
        server.settimeout(30)
        with server:
            running = Flow(client, server)
            yield running
            running.finish()


def more_arrives(running: Flow) -> None:
    before = running.arrived
    until(lambda: running.arrived > before + 100000, 20, "the connection goes on")


def lose_carrier(machine: Machine, server: Server, seconds: float) -> None:
    """The WAN has no carrier for so long; then its server confirms the lease."""
    confirmed = server.said().count("DHCPACK(wan0)")
    machine.set_link(1, False)
    machine.console.expect("wan: link down", 10)
    time.sleep(seconds)
    assert " valid from " in machine.console.command("addresses")
    machine.set_link(1, True)
    machine.console.expect("wan: link up", 10)
    until(lambda: server.said().count("DHCPACK(wan0)") > confirmed, 15, "the lease is confirmed")


@pytest.mark.one_card
def test_the_carrier_comes_and_goes(nic: str, make_lab: Callable[..., Lab]) -> None:
    """Three times while a connection sends: session, address and lease stay, and the application does not stop."""
    lab = make_lab((nic, nic))
    server = Dnsmasq(lab)
    machine = lab.boot(DHCP_NAT, app="nat")
    free = lab.packets_free()
    lab.wait_ping()
    console = lab.console
    own = r"^wan (203\.0\.113\.\d+/24) valid from"
    address = re.findall(own, console.command("addresses"), re.M)
    begin = len(console.text)
    with flow(lab) as running:
        more_arrives(running)
        created = console.stats()["nat_sessions_created"]
        for seconds in (0.5, 1, 2):
            lose_carrier(machine, server, seconds)
            more_arrives(running)
            until(lambda: re.search("^wan dhcp bound", console.command("leases"), re.M), 15, "the lease is bound")
        stats = console.stats()
    assert re.findall(own, console.command("addresses"), re.M) == address
    assert (stats["nat_sessions_created"], stats["nat_sessions_renumbered"]) == (created, 0)
    assert (stats["dhcp_leases_begun"], stats["dhcp_leases_ended"]) == (1, 0)
    assert not re.search(r"^(?:stopped|ready) ", console.text[begin:], re.M)
    lab.wait_ping()
    lab.check_no_leak(free, 5)


@pytest.mark.long
@pytest.mark.timeout(420)
@pytest.mark.one_card
def test_the_server_vanishes_and_comes_back(nic: str, make_lab: Callable[..., Lab]) -> None:
    """A lease of two minutes: renewed; it ends when nobody answers, and another address follows when somebody does."""
    lab = make_lab((nic, nic))
    server = Dnsmasq(lab, lease="120")
    lab.boot(DHCP_NAT + "wan.dhcp-probe off\n", app="nat")
    lab.wait_ping()
    console = lab.console
    until(lambda: console.stats()["dhcp_taken"] >= 3, 90, "a renewal")
    assert console.stats()["dhcp_leases_begun"] == 1
    server.stop()
    console.expect(r"^stopped app=nat reason=ended$", 150)
    assert "203.0.113" not in console.command("routes")
    Dnsmasq(lab, pool="203.0.113.150,203.0.113.160", lease="120")
    console.expect(r"^ready app=nat ms=\d+$", 90)
    assert re.search(r"^wan 203\.0\.113\.1\d\d/24 valid from", console.command("addresses"), re.M)
    lab.wait_ping()


@pytest.mark.long
@pytest.mark.one_card
def test_release_and_renew(nic: str, make_lab: Callable[..., Lab]) -> None:
    lab = make_lab((nic, nic))
    server = Dnsmasq(lab)
    lab.boot(DHCP_NAT + "wan.dhcp-probe off\n", app="nat")
    lab.wait_ping()
    console = lab.console
    console.command("release")
    console.expect(r"^stopped app=nat reason=released$", 5)
    until(lambda: "DHCPRELEASE(wan0)" in server.said(), 5, "the release")
    console.command("renew")
    console.expect(r"^ready app=nat ms=\d+$", 10)
    lab.wait_ping()
