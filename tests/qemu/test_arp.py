# SPDX-License-Identifier: BSD-2-Clause
"""ARP on the wire: replies of RFC 826, the announcement at start (RFC 5227), padding."""

from collections.abc import Callable

import pytest
from frames import Wire
from labkit import lab as net
from labkit.lab import Lab
from labkit.wait import Timeout, until
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw

_STRANGER = "02:00:00:00:09:09"


def _request(target: str, sender: str = net.LAN_HOST, mac: str = net.LAN_HOST_MAC) -> Packet:
    return Ether(src=mac, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=mac, psrc=sender, pdst=target)


def _ask(wire: Wire, request: Packet, timeout: float = 1) -> Packet:
    """Sends the request until it is answered: just after its start an e1000 loses frames."""
    wanted = request[ARP].pdst
    for _ in range(10):
        wire.send(request)
        try:
            return wire.expect(lambda frame: ARP in frame and frame[ARP].op == 2 and frame[ARP].psrc == wanted, timeout)
        except Timeout:
            continue
    raise Timeout(f"no ARP reply for {wanted}")


@pytest.fixture
def silent(nic: str, make_lab: Callable[..., Lab]) -> Lab:
    """Two hosts without addresses: only frames that the test writes are on the wire."""
    return make_lab((nic, nic), hosts=False)


def test_announces_itself(silent: Lab) -> None:
    """At start each interface broadcasts its own address at least once, padded to 60 bytes."""
    with Wire(silent.lan, "lan0") as lan, Wire(silent.wan, "wan0") as wan:
        silent.boot()
        for wire, address, mac in ((lan, net.LAN_GATEWAY, net.GATEWAY_MACS[0]),
                                   (wan, net.WAN_GATEWAY, net.GATEWAY_MACS[1])):
            frame = wire.expect(lambda frame: ARP in frame and frame[ARP].psrc == frame[ARP].pdst, what="announcement")
            assert (frame[Ether].dst, frame[Ether].src) == ("ff:ff:ff:ff:ff:ff", mac)
            assert (frame[ARP].psrc, frame[ARP].pdst, frame[ARP].hwsrc) == (address, address, mac)
            assert len(bytes(frame)) >= 60


def test_answers_for_itself_only(silent: Lab) -> None:
    """The gateway answers for each interface's own address on that interface, and for no other address."""
    with Wire(silent.lan, "lan0") as lan, Wire(silent.wan, "wan0") as wan:
        silent.boot()
        reply = _ask(lan, _request(net.LAN_GATEWAY))
        assert (reply[Ether].src, reply[Ether].dst) == (net.GATEWAY_MACS[0], net.LAN_HOST_MAC)
        assert (reply[ARP].hwsrc, reply[ARP].hwdst, reply[ARP].pdst) == (
            net.GATEWAY_MACS[0], net.LAN_HOST_MAC, net.LAN_HOST)
        assert len(bytes(reply)) >= 60
        _ask(wan, _request(net.WAN_GATEWAY, net.WAN_SERVER, net.WAN_SERVER_MAC))
        for target in ("192.168.1.77", net.WAN_GATEWAY, net.FAR_SERVER):
            lan.send(_request(target))
        # Order is kept: a reply to one of them would come before the reply to this one.
        lan.send(_request(net.LAN_GATEWAY))
        reply = lan.expect(lambda frame: ARP in frame and frame[ARP].op == 2)
        assert reply[ARP].psrc == net.LAN_GATEWAY


def test_sends_a_request_then_delivers(silent: Lab) -> None:
    """A packet for an unknown neighbour waits for the reply to the gateway's request and is then sent."""
    with Wire(silent.lan, "lan0") as lan, Wire(silent.wan, "wan0") as wan:
        silent.boot()
        _ask(lan, _request(net.LAN_GATEWAY))
        free = silent.packets_free()
        lan.send(Ether(src=net.LAN_HOST_MAC, dst=net.GATEWAY_MACS[0]) /
                 IP(src=net.LAN_HOST, dst=net.FAR_SERVER, ttl=40) / ICMP(id=5, seq=6) / b"patience")
        question = wan.expect(lambda frame: ARP in frame and frame[ARP].pdst == net.WAN_SERVER and
                              frame[ARP].psrc == net.WAN_GATEWAY, what="request for the default router")
        assert question[ARP].hwsrc == question[Ether].src == net.GATEWAY_MACS[1]
        wan.send(Ether(src=net.WAN_SERVER_MAC, dst=net.GATEWAY_MACS[1]) /
                 ARP(op=2, hwsrc=net.WAN_SERVER_MAC, psrc=net.WAN_SERVER,
                     hwdst=net.GATEWAY_MACS[1], pdst=net.WAN_GATEWAY))
        echo = wan.expect(lambda frame: ICMP in frame, what="the packet that waited")
        assert (echo[Ether].dst, echo[IP].src, echo[IP].ttl) == (net.WAN_SERVER_MAC, net.WAN_GATEWAY, 39)
        silent.check_no_leak(free)


def test_neighbours_table(silent: Lab) -> None:
    """`neighbours` lists senders of requests; an unsolicited reply from another network creates no entry."""
    with Wire(silent.lan, "lan0") as lan:
        silent.boot()
        _ask(lan, _request(net.LAN_GATEWAY))
        lan.send(Ether(src=_STRANGER, dst=net.GATEWAY_MACS[0]) /
                 ARP(op=2, hwsrc=_STRANGER, psrc="10.9.9.9", hwdst=net.GATEWAY_MACS[0], pdst=net.LAN_GATEWAY))
        _ask(lan, _request(net.LAN_GATEWAY))
        table = silent.console.command("neighbours")
        assert [line for line in table.splitlines() if net.LAN_HOST in line and net.LAN_HOST_MAC in line], table
        assert "10.9.9.9" not in table


def test_unanswered_requests_end(silent: Lab) -> None:
    """Packets for neighbours that never answer are dropped with a reason, and their memory is freed."""
    with Wire(silent.lan, "lan0") as lan, Wire(silent.wan, "wan0") as wan:
        silent.boot()
        _ask(lan, _request(net.LAN_GATEWAY))
        free = silent.packets_free()
        # In the three seconds after carrier comes up, no reply does not mean failure.
        until(lambda: silent.console.stats()["uptime_seconds"] >= 4, 10, "four seconds of uptime")
        for number in range(200):
            lan.send(Ether(src=net.LAN_HOST_MAC, dst=net.GATEWAY_MACS[0]) /
                     IP(src=net.LAN_HOST, dst=f"203.0.113.{20 + number % 50}") / ICMP(id=number) / Raw(b"?" * 100))
        wan.expect(lambda frame: ARP in frame and frame[ARP].op == 1 and frame[ARP].pdst == "203.0.113.69",
                   what="request for the last of them")
        # Three requests within a second, then all of it is free.
        silent.check_no_leak(free, timeout=2)
        stats = silent.console.stats()
    assert sum(value for name, value in stats.items() if name.startswith("drop{") and "neigh" in name) >= 200, stats
