# SPDX-License-Identifier: BSD-2-Clause
"""Blocks of ports: RFC 7422, RFC 6888 REQ-14, and whose one is by tools/whohad."""

from __future__ import annotations

import sys
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from gateway import LAN, MORE, NAT, OUTSIDE, SERVER, WAN, A, C, Gateway, Host, only
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, UDP
from simulator import Refused
from test_rfc4787 import hosts
from traffic import KINDS, answer, frame_of, open_out, outer, request

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

from labkit.blocks import Wrong, blocks_of

pytestmark = pytest.mark.virtual
Start = Callable[..., Gateway]
ROUTED = "172.16.0.0/16"  # inside, behind a router of the LAN


def config(size: int, more: str = "", sessions: int = 4000) -> str:
    return NAT.replace("nat.sessions 256", f"nat.sessions {sessions}") + f"nat.blocks {size}\n{more}"


def routed(n: int) -> list[Host]:
    """Hosts without fixed blocks."""
    return [Host(LAN, f"172.16.{k // 250}.{k % 250 + 1}", A.mac) for k in range(n)]


def opened(gateway: Gateway, host: Host, sports: range, kind: str = "udp") -> list[tuple[str, int]]:
    """Opens sessions; gives the outer endpoints of those that were not refused."""
    frames = [frame_of(host, IP(src=host.ip, dst=SERVER) / request(kind, sport)) for sport in sports]
    sent = [one for some in gateway.send_many(frames) for one in some if one.port == WAN]
    return [(one.ip.src, outer(one)) for one in sent]


@pytest.mark.parametrize("kind", KINDS)
def test_rfc7422_a_block_for_each_host(start: Start, kind: str) -> None:
    """The first host of the network has the first block, and so on; the configuration alone tells whose a port is."""
    text = config(64)
    gateway, blocks = start(text), blocks_of(text)
    for host, number in ((Host(LAN, "192.168.1.2", A.mac), 1), (A, 9), (Host(LAN, "192.168.1.254", A.mac), 253)):
        first = 1024 + 64 * number
        assert blocks.of(IPv4Address(host.ip)) == (IPv4Address(OUTSIDE), first, first + 63)
        port = open_out(gateway, kind, 5000, host=host)
        assert first <= port < first + 64
        assert blocks.who(IPv4Address(OUTSIDE), port) == (IPv4Address(host.ip), first, first + 63)
        only(answer(gateway, kind, port), LAN)


def test_parity_and_a_fitting_port_are_kept(start: Start) -> None:
    """RFC 4787 REQ-4 inside the block, and the port itself where it lies there (REQ-3)."""
    gateway = start(config(100))
    first = 1024 + 9 * 100
    assert open_out(gateway, "udp", first + 7) == first + 7
    assert first <= open_out(gateway, "udp", first + 100) < first + 100
    assert first <= open_out(gateway, "udp", first - 1) < first + 100
    for sport in range(5000, 5080):
        assert open_out(gateway, "udp", sport) % 2 == sport % 2 or sport >= 5000 + 49 * 2
    ports = [open_out(gateway, "udp", 6001), open_out(gateway, "udp", 6003)]
    assert all(first <= port < first + 100 for port in ports)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_block_refuses_and_old_sessions_live_on(start: Start, kind: str) -> None:
    """A host with all its ports used gets no further one, and takes none of anybody else; each protocol has its own."""
    gateway = start(config(32))
    got = opened(gateway, A, range(5000, 5040), kind)
    assert sorted(port for _, port in got) == list(range(1024 + 9 * 32, 1024 + 10 * 32))
    assert gateway.drops() == {"no-port": 8}
    for _, port in got:
        only(answer(gateway, kind, port), LAN)
    other = KINDS[(KINDS.index(kind) + 1) % 3]
    assert len(opened(gateway, A, range(5000, 5040), other)) == 32
    assert len(opened(gateway, hosts(3)[2], range(5000, 5010), kind)) == 10


def test_ports_are_free_again(start: Start) -> None:
    gateway = start(config(32, "nat.udp-timeout 10\n"))
    for _ in range(3):
        assert len(opened(gateway, A, range(5000, 5032))) == 32
        gateway.wait(15)
        assert gateway.stats()["nat_hosts"] == 0


def test_hosts_behind_a_router_share_what_is_free(start: Start) -> None:
    """64512 / 64 - 254 = 754 blocks are free: each host gets another one, none of a host of the LAN's; the next host
    gets no port."""
    text = config(64, f"route {ROUTED} via {A.ip}\n")
    gateway, blocks = start(text), blocks_of(text)
    sent = gateway.send_many([frame_of(host, IP(src=host.ip, dst=SERVER) / request("udp", 5000))
                              for host in routed(760)])
    ports = [outer(one) for some in sent for one in some if one.port == WAN]
    assert len({(port - 1024) // 64 for port in ports}) == len(ports) == 64512 // 64 - 254
    assert all(blocks.who(IPv4Address(OUTSIDE), port) is None for port in ports)
    assert gateway.drops() == {"no-port": 6} and gateway.stats()["nat_hosts"] == 754
    assert open_out(gateway, "udp", 5000)  # one of the LAN has its own
    gateway.leap(400)
    assert gateway.stats()["nat_hosts"] == 0
    last = routed(760)[-1]
    assert opened(gateway, last, range(5000, 5064)) and not set(gateway.drops()) - {"no-port"}


def test_a_host_keeps_its_free_block(start: Start) -> None:
    gateway = start(config(32, f"route {ROUTED} via {A.ip}\n"))
    for host in routed(40):
        ports = [port for _, port in opened(gateway, host, range(5000, 5032))]
        assert len({(port - 1024) // 32 for port in ports}) == 1 and len(ports) == 32


def test_several_outer_addresses_and_networks(start: Start) -> None:
    """Blocks are numbered over all addresses of the pool, networks in the order of lan, lan2, lan3."""
    text = config(1000, "nat.pool 203.0.113.40-203.0.113.51\n" + MORE)
    gateway, blocks = start(text), blocks_of(text)
    for host in (A, C):
        outside, first, last = blocks.of(IPv4Address(host.ip)) or (None, 0, 0)
        got = opened(gateway, host, range(5000, 5010))
        assert {address for address, _ in got} == {str(outside)}
        assert all(first <= port <= last for _, port in got)
    assert (blocks.of(IPv4Address(C.ip)) or (None,))[0] == IPv4Address("203.0.113.44")  # (254 + 9) // 64


def test_networks_that_overlap(start: Start) -> None:
    """The later one is left out; its hosts that the earlier one does not hold have free blocks."""
    text = config(64, "lan.address 192.168.0.1/23\nlan.address 10.1.0.1/30\n")
    gateway, blocks = start(text), blocks_of(text)
    for host, block in ((A, 9), (Host(LAN, "10.1.0.2", A.mac), 255)):
        first = 1024 + 64 * block
        assert first <= open_out(gateway, "udp", 5000, host=host) < first + 64
        assert (blocks.of(IPv4Address(host.ip)) or (None, 0))[1] == first
    assert open_out(gateway, "udp", 5000, host=Host(LAN, "192.168.0.9", A.mac)) >= 1024 + 64 * 256


def test_a_forwarded_port_is_its_hosts(start: Start) -> None:
    """`nat.forward` takes a port out of whichever block it lies in."""
    first = 1024 + 9 * 32
    gateway = start(config(32, f"nat.forward udp {first + 3} 192.168.1.11:80\n"))
    got = {port for _, port in opened(gateway, A, range(5000, 5040))}
    assert got == set(range(first, first + 32)) - {first + 3}


def test_errors_and_echoes_come_back(start: Start) -> None:
    """The identifier of an echo lies in the block, too."""
    gateway = start(config(64))
    sent = only(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(id=77, seq=1)), WAN)
    assert 1024 + 9 * 64 <= sent.ip[ICMP].id < 1024 + 10 * 64
    port = open_out(gateway, "udp", 5000)
    quote = IP(src=OUTSIDE, dst=SERVER) / UDP(sport=port, dport=53)
    back = only(gateway.wan(IP(src=SERVER, dst=OUTSIDE) / ICMP(type=3, code=3) / quote), LAN)
    assert back.ip.dst == A.ip


@pytest.mark.parametrize(("size", "more", "wrong"), [
    (31, "", "nat.blocks: expected 0, or from 32 to 64512 ports"), (64513, "", "nat.blocks"),
    (300, "", "fewer than the LAN's networks have addresses"), (64512, "", "fewer"),
    (200, MORE, "fewer"), (0, "nat.log blocks\nsyslog 203.0.113.77\n", "blocks needs nat.blocks"),
    (64, "nat.log blocks\n", "needs a receiver")])
def test_configurations_that_are_wrong(start: Start, size: int, more: str, wrong: str) -> None:
    """A clear line; and the tool finds the same about those that are wrong by themselves."""
    with pytest.raises(Refused, match=wrong):
        start(config(size, more))
    if "log" not in more:
        with pytest.raises(Wrong, match="nat.blocks"):
            blocks_of(config(size, more))


NETS = st.sampled_from(["10.1.0.1/30", "10.1.0.1/29", "10.2.0.17/28", "10.3.3.3/24", "10.4.0.1/26", "10.1.0.5/27",
                        "10.9.9.9/31", "10.8.8.8/32", "10.5.0.1/22", "10.5.1.1/24"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(32, 1500), pool=st.integers(0, 20), nets=st.lists(NETS, unique=True, min_size=1, max_size=5),
       split=st.integers(1, 5), pick=st.randoms(use_true_random=False))
def test_the_tool_agrees(start: Start, size: int, pool: int, nets: list[str], split: int, pick: object) -> None:
    """Random networks, sizes and pools: the tool knows each port's host from the file alone, or refuses what the
    gateway refuses."""
    text = ("wan.address 203.0.113.2/24\ngateway 203.0.113.1\nneighbour 203.0.113.1 52:54:00:00:02:01\n"
            f"nat.sessions 1000\nnat.blocks {size}\n"
            + (f"nat.pool 203.0.113.40-203.0.113.{39 + pool}\n" if pool else "")
            + "".join(f"lan.address {net}\n" for net in nets[:split])
            + ("lan2 nic2\n" + "".join(f"lan2.address {net}\n" for net in nets[split:]) if nets[split:] else ""))
    try:
        gateway = start(text)
    except Refused as refused:
        if "nat.blocks" in str(refused):
            with pytest.raises(Wrong):
                blocks_of(text)
        return
    blocks = blocks_of(text)
    for first, last, _ in blocks.nets:
        inside = IPv4Address(pick.randint(first, last))  # type: ignore[attr-defined]
        packet = IP(src=str(inside), dst=SERVER) / request("udp", 5000)
        for one in gateway.ip_from(Host(LAN, str(inside), A.mac), packet):
            if one.port == WAN:
                host = blocks.who(IPv4Address(one.ip.src), outer(one))
                assert host is not None and host[0] == inside
    gateway.finish()


def test_rfc7422_section_4_the_log_says_which(start: Start) -> None:
    """What the answer of tools/whohad follows from is in the log of each start."""
    gateway = start(config(64, "nat.pool 203.0.113.40-203.0.113.43\nlan2 nic2\nlan2.address 10.1.0.1/30\n"))
    log = [line.split(" nat: ", 1)[1] for line in gateway.lines("log") if " nat: " in line]
    assert log == ["blocks of 64 ports, 1008 of each outer address",
                   "outer addresses 203.0.113.40 to 203.0.113.43 have blocks 0 to 4031",
                   "inside addresses 192.168.1.1 to 192.168.1.254 have blocks 0 to 253",
                   "inside addresses 10.1.0.1 to 10.1.0.2 have blocks 254 to 255"]


@pytest.mark.parametrize("words", ["add lan 10.9.0.1/24", "del lan 192.168.1.1"])
def test_networks_stay_while_there_are_blocks(start: Start, words: str) -> None:
    """A host's block follows from them: what the configuration says must be so."""
    gateway = start(config(64))
    with pytest.raises(Refused, match="nat.blocks: the IPv4 addresses of the inside count from the next start on"):
        gateway.change(f"address {words}")
    assert "lan 192.168.1.1/24" in gateway.lines("interfaces")
    start(config(0)).change("address add lan 10.9.0.1/24")
