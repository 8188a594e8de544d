# SPDX-License-Identifier: BSD-2-Clause
"""ICMP errors that the gateway sends, and packets that exceed an MTU."""

import hashlib
import random
import socket
import threading
import time
from collections.abc import Callable

import pytest
from frames import Wire
from labkit import lab as net
from labkit.lab import Lab
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

_IP_MTU_DISCOVER, _IP_PMTUDISC_DONT, _IP_PMTUDISC_DO = 10, 0, 2
_SMALL = 1300


def _is_icmp(kind: int, code: int) -> Callable[[Packet], bool]:
    return lambda frame: ICMP in frame and (frame[ICMP].type, frame[ICMP].code) == (kind, code)


def _to_gateway(packet: Packet) -> Packet:
    return Ether(src=net.LAN_HOST_MAC, dst=net.GATEWAY_MACS[0]) / packet


def _check_error(error: Packet, about: bytes) -> None:
    """Checks the form of docs/interface.md for our own errors: TTL 64, TOS 0, no DF, the packet quoted as it
    arrived."""
    ip = error[IP]
    assert (ip.src, ip.dst) == (net.LAN_GATEWAY, net.LAN_HOST)
    assert (ip.ttl, ip.tos, int(ip.flags)) == (64, 0, 0)
    # The received bytes, because scapy takes bytes after a quote of 128 bytes for extensions.
    header, icmp = error.original[14:34], error.original[34:14 + ip.len]
    assert (checksum(header), checksum(icmp)) == (0, 0)
    assert len(icmp) == 8 + min(len(about), 576 - 28)
    assert icmp[8:] == about[:len(icmp) - 8]


@pytest.mark.traffic
def test_time_exceeded(gateway: Lab) -> None:
    """A packet with TTL 1 ends at the gateway; an error from its LAN address quotes the packet."""
    offender = (IP(src=net.LAN_HOST, dst=net.FAR_SERVER, ttl=1, id=0x1234) / UDP(sport=4000, dport=4001) /
                Raw(b"x" * 900))
    with Wire(gateway.lan, "lan0") as wire:
        wire.send(_to_gateway(offender))
        error = wire.expect(_is_icmp(11, 0), what="time exceeded")
    if gateway.machine is None:
        return
    _check_error(error, bytes(offender))
    assert gateway.console.stats()['drop{reason="ttl"}'] == 1


@pytest.mark.traffic
def test_quote_comes_back_as_it_went(gateway: Lab) -> None:
    """A translated error quotes the packet byte for byte as the inside host sent it, with a TTL lower by one and
    correct checksums (RFC 5508); only the identification is the one that the NAT chose (RFC 6864 section 5.3.1)."""
    offender = IP(src=net.LAN_HOST, dst=net.FAR_SERVER, ttl=30, id=77) / UDP(sport=4000, dport=9) / Raw(b"quote me")
    with Wire(gateway.lan, "lan0") as wire:
        wire.send(_to_gateway(offender))
        error = wire.expect(_is_icmp(3, 3), what="port unreachable")
    ip = error[IP]
    assert (ip.src, ip.dst) == (net.FAR_SERVER, net.LAN_HOST)
    header, icmp = error.original[14:34], error.original[34:14 + ip.len]
    assert (checksum(header), checksum(icmp)) == (0, 0)
    offender.ttl = 29
    offender.id = IP(icmp[8:]).id
    assert icmp[8:] == bytes(offender)


def test_no_error_about_errors(gateway: Lab) -> None:
    """No error about an ICMP error, a fragment other than the first, or a broadcast frame (RFC 1812 4.3.2.7)."""
    quoted = IP(src=net.FAR_SERVER, dst=net.LAN_HOST) / UDP(sport=1, dport=2)
    silent = [
        IP(src=net.LAN_HOST, dst=net.FAR_SERVER, ttl=1) / ICMP(type=3, code=3) / quoted,
        IP(src=net.LAN_HOST, dst=net.FAR_SERVER, ttl=1, frag=10, proto=17) / Raw(b"y" * 64),
    ]
    answered = IP(src=net.LAN_HOST, dst=net.FAR_SERVER, ttl=1) / UDP(sport=5000, dport=5001)
    with Wire(gateway.lan, "lan0") as wire:
        for packet in silent:
            wire.send(_to_gateway(packet))
        broadcast = _to_gateway(answered)
        broadcast[Ether].dst = "ff:ff:ff:ff:ff:ff"
        wire.send(broadcast)
        # The packet that causes an error comes last; order is kept, so its error must be the first one.
        answered[UDP].dport = 5002
        wire.send(_to_gateway(answered))
        error = wire.expect(lambda frame: ICMP in frame, what="the one error")
    assert (error[ICMP].type, error[ICMP].code) == (11, 0)
    assert error[ICMP].payload.dport == 5002


def test_errors_are_rate_limited(gateway: Lab) -> None:
    """A flood of packets that cause errors gets at most 1000 errors a second, and a burst of 100."""
    offender = _to_gateway(IP(src=net.LAN_HOST, dst=net.FAR_SERVER, ttl=1) / UDP(sport=4000, dport=4001))
    before = gateway.console.stats()
    start = time.monotonic()
    with Wire(gateway.lan, "lan0") as wire:
        for number in range(10):
            # Fewer packets than the tap's queue holds: all of them reach the gateway.
            for _ in range(500):
                wire.send(bytes(offender))
            # The echo reply comes after all errors that the flood caused.
            wire.send(_to_gateway(IP(src=net.LAN_HOST, dst=net.LAN_GATEWAY) / ICMP(id=7, seq=number)))
            wire.expect(lambda frame: ICMP in frame and frame[ICMP].type == 0, 30, "echo reply")
    after = gateway.console.stats()
    seconds = time.monotonic() - start
    sent = after['tx_packets{if="lan"}'] - before['tx_packets{if="lan"}'] - 10
    assert after['drop{reason="ttl"}'] - before['drop{reason="ttl"}'] == 5000
    # A few more for ARP.
    assert 100 <= sent <= 1000 * seconds + 100 + 5, f"{sent} in {seconds} s"


@pytest.mark.traffic
def test_too_big_with_df(boot_nat: Callable[[str], Lab]) -> None:
    """DF=1 and larger than the WAN's MTU: 3/4 with that MTU, and no packet on the WAN."""
    lab = boot_nat(f"wan.mtu {_SMALL}\n")
    offender = (IP(src=net.LAN_HOST, dst=net.FAR_SERVER, flags="DF", ttl=9) / UDP(sport=4000, dport=4001) /
                Raw(b"x" * 1400))
    with Wire(lab.lan, "lan0") as wire, Wire(lab.wan, "wan0") as outside:
        outside.drain()
        wire.send(_to_gateway(offender))
        error = wire.expect(_is_icmp(3, 4), what="fragmentation needed")
        assert error[ICMP].nexthopmtu == _SMALL
        assert not any(UDP in Ether(data) for data in outside.drain())
    if lab.machine is not None:
        _check_error(error, bytes(offender))


@pytest.mark.traffic
@pytest.mark.parametrize("size", [_SMALL - 28, _SMALL - 27, 1472])
def test_fragments_without_df(boot_nat: Callable[[str], Lab], size: int) -> None:
    """DF=0: fragmented to the WAN's MTU if it is larger; the server gets every byte."""
    lab = boot_nat(f"wan.mtu {_SMALL}\n")
    content = random.Random(size).randbytes(size)
    with lab.wan.socket() as server, lab.lan.socket() as client, Wire(lab.wan, "wan0") as outside:
        server.bind((net.FAR_SERVER, 5000))
        server.settimeout(5)
        client.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DONT)
        client.sendto(content, (net.FAR_SERVER, 5000))
        data, source = server.recvfrom(2000)
        packets = [frame[IP] for frame in map(Ether, outside.drain()) if IP in frame and frame[IP].proto == 17]
    assert data == content and source[0] == net.WAN_GATEWAY
    assert all(packet.len <= _SMALL for packet in packets)
    assert len(packets) == (1 if size + 28 <= _SMALL else 2)
    assert all((packet.len - 20) % 8 == 0 for packet in packets[:-1])


def _upload(source: socket.socket, sink: socket.socket, content: bytes) -> bytes:
    """Sends `content` into one socket and returns what arrives at the other."""
    def send() -> None:
        source.sendall(content)
        source.shutdown(socket.SHUT_WR)
    sender = threading.Thread(target=send)
    sender.start()
    got = bytearray()
    while piece := sink.recv(1 << 16):
        got += piece
    sender.join()
    return bytes(got)


@pytest.mark.traffic
@pytest.mark.parametrize("direction", ["up", "down"])
def test_tcp_finds_the_path_mtu(boot_nat: Callable[[str], Lab], direction: str) -> None:
    """TCP with DF on every segment passes the small MTU, because its end uses our 3/4.

    Downwards the error quotes the packet as the server sent it, to the gateway's own address and the mapped port: the
    server would ignore one that quotes the inside address.
    """
    lab = boot_nat(f"{'wan' if direction == 'up' else 'lan'}.mtu {_SMALL}\n")
    content = random.Random(1).randbytes(1 << 20)
    with lab.wan.socket(kind=socket.SOCK_STREAM) as listener, lab.lan.socket(kind=socket.SOCK_STREAM) as client:
        listener.bind((net.FAR_SERVER, 7000))
        listener.listen()
        client.settimeout(30)
        client.connect((net.FAR_SERVER, 7000))
        server, _ = listener.accept()
        with server:
            server.settimeout(30)
            ends = (client, server) if direction == "up" else (server, client)
            got = _upload(*ends, content)
    assert hashlib.sha256(got).digest() == hashlib.sha256(content).digest()


def test_bad_packets_are_counted(gateway: Lab) -> None:
    """An invalid IPv4 packet is dropped with a reason; the gateway and its sessions keep working."""
    good = IP(src=net.LAN_HOST, dst=net.FAR_SERVER) / UDP(sport=4000, dport=4001) / Raw(b"z" * 40)
    bad_sum, bad_version, bad_length, short_header = (good.copy() for _ in range(4))
    bad_sum.chksum = 0x1111
    bad_version.version = 5
    bad_length.len = 1400
    short_header.ihl = 4
    before = gateway.console.stats()
    with Wire(gateway.lan, "lan0") as wire:
        for packet in (bad_sum, bad_version, bad_length, short_header):
            wire.send(_to_gateway(packet))
        wire.send(Ether(src=net.LAN_HOST_MAC, dst=net.GATEWAY_MACS[0], type=0x0800) / Raw(b""))
        wire.send(Ether(src=net.LAN_HOST_MAC, dst=net.GATEWAY_MACS[0], type=0x88CC) / Raw(b"q" * 60))
    gateway.lan.run("ping", "-n", "-c1", "-W3", net.FAR_SERVER)
    after = gateway.console.stats()
    drops = sum(value - before[name] for name, value in after.items() if name.startswith("drop{"))
    assert drops >= 6, {name: value for name, value in after.items() if name.startswith("drop{") and value}


@pytest.mark.traffic
def test_host_unreachable(gateway: Lab) -> None:
    """A neighbour that does not answer: the gateway sends a few requests, then a 3/1."""
    with Wire(gateway.wan, "wan0") as outside:
        result = gateway.lan.run("ping", "-n", "-c1", "-W10", "203.0.113.77", check=False)
        asked = [frame for frame in map(Ether, outside.drain()) if ARP in frame and frame.pdst == "203.0.113.77"]
    assert "Destination Host Unreachable" in result.stdout
    assert 1 <= len(asked) <= 10
