# SPDX-License-Identifier: BSD-2-Clause
"""ping and traceroute of the gateway itself (net/probe)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gateway import A, INSIDE, LAN, NAT, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN, Gateway, Sent, only
from net6 import ADDRESSES6, NEIGHBOURS6, OWN, ROUTER6
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6EchoReply, ICMPv6EchoRequest, ICMPv6TimeExceeded, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from simulator import Refused
from test_dns64_start import BOTH
from tunnel import FAR, FAR6, Tunnel

pytestmark = pytest.mark.virtual

Start = Callable[..., Gateway]
HOP = "203.0.113.77"
IVI = f"""\
lan.address 2001:db8:1::1/64
wan.address {OUTSIDE}/24
gateway {ROUTER.ip}
neighbour {ROUTER.ip} {ROUTER.mac}
ivi.format rfc6052
ivi.prefix 2001:db8:64::/96
ivi.ipv4 192.0.2.0/24
"""


def lines(gateway: Gateway) -> tuple[list[str], list[Sent]]:
    """The lines that a run writes now, and the frames that it sends."""
    answer = gateway.sim.command("probe")
    return ([line for line in answer if not line.startswith("tx ")],
            gateway._read(line for line in answer if line.startswith("tx ")))


def request(gateway: Gateway) -> Packet:
    text, sent = lines(gateway)
    assert text == [], text
    return only(sent).frame


def begin(gateway: Gateway, line: str) -> None:
    assert gateway.sim.command(line) == []


def from_wan(gateway: Gateway, packet: Packet) -> list[Sent]:
    return gateway.send(WAN, Ether(src=ROUTER.mac, dst=PORT_MAC[WAN]) / packet)


def echo_reply(asked: Packet, **changes: object) -> Packet:
    icmp = asked[ICMP]
    fields = {"id": icmp.id, "seq": icmp.seq, **changes}
    return IP(src=asked[IP].dst, dst=asked[IP].src, ttl=57) / ICMP(type=0, **fields) / bytes(icmp.payload)


def error(asked: Packet, type_: int, code: int, router: str = HOP) -> Packet:
    return IP(src=router, dst=asked[IP].src) / ICMP(type=type_, code=code) / Raw(bytes(asked[IP])[:28])


def test_ping(gateway: Gateway) -> None:
    """Five requests, one a second; a line for each answer, and one for all."""
    begin(gateway, f"ping {SERVER}")
    seen = []
    for number in range(1, 6):
        asked = request(gateway)
        assert (asked[IP].src, asked[IP].dst, asked[IP].ttl, asked[ICMP].type) == (OUTSIDE, SERVER, 64, 8)
        assert len(asked[IP]) == 84
        seen.append((asked[ICMP].id, asked[ICMP].seq))
        gateway.wait(0.001 * number)
        assert lines(gateway) == ([], [])
        assert from_wan(gateway, echo_reply(asked)) == []
        text, sent = lines(gateway)
        assert text[0] == f"{SERVER}: seq={number} ttl=57 time={number}.000 ms" and sent == []
        if number < 5:
            assert len(text) == 1
            gateway.wait(0.99 - 0.001 * number)
            assert lines(gateway) == ([], [])
            gateway.wait(0.01)
    assert text[1:] == [f"{SERVER}: 5 sent, 5 answered, least/mean/most 1.000/3.000/5.000 ms"]
    assert len({one for one, _ in seen}) == 1 and len({seq for _, seq in seen}) == 5
    gateway.wait(5)
    assert lines(gateway) == ([], [])
    assert gateway.drops() == {}


def test_ping_without_answers(gateway: Gateway) -> None:
    """A request waits for a second; messages that are no answer to it count as any other."""
    begin(gateway, f"ping {SERVER}")
    text: list[str] = []
    _, sent = lines(gateway)
    for _ in range(5):
        asked = only(sent).frame
        for wrong in (echo_reply(asked, id=asked[ICMP].id ^ 1), echo_reply(asked, seq=asked[ICMP].seq ^ 1)):
            assert from_wan(gateway, wrong) == []
        other = echo_reply(asked)
        other[IP].src = "198.51.100.99"
        from_wan(gateway, other)
        torn = bytearray(bytes(error(asked, 11, 0)))
        torn[22] ^= 1  # its checksum is wrong
        gateway.send(WAN, Ether(src=ROUTER.mac, dst=PORT_MAC[WAN], type=0x800) / Raw(bytes(torn)), broken=True)
        quote = error(asked, 3, 1)
        quote[Raw].load = quote[Raw].load[:16] + b"\x01\x02\x03\x04" + quote[Raw].load[20:]  # another destination
        from_wan(gateway, quote)
        gateway.wait(0.999)
        assert lines(gateway) == ([], [])
        gateway.wait(0.001)
        more, sent = lines(gateway)
        text += more
    assert sent == []
    assert text == [*(f"seq={number} no answer" for number in range(1, 6)), f"{SERVER}: 5 sent, 0 answered"]
    assert gateway.drops() == {"no-mapping": 5, "icmp-type": 10, "icmp-checksum": 5, "icmp-quote": 5}


def test_a_late_answer(gateway: Gateway) -> None:
    """An answer after its second counts for nothing."""
    begin(gateway, f"ping {SERVER}")
    asked = request(gateway)
    gateway.wait(1)
    text, sent = lines(gateway)
    assert text == ["seq=1 no answer"] and len(sent) == 1
    from_wan(gateway, echo_reply(asked))
    assert lines(gateway) == ([], [])


@pytest.mark.parametrize("kind, code, text", [
    (3, 0, "network unreachable"), (3, 1, "host unreachable"), (3, 13, "prohibited"), (11, 0, "time to live used up"),
    (3, 7, "ICMP error 3/7"), (12, 0, "ICMP error 12/0")])
def test_ping_errors(gateway: Gateway, kind: int, code: int, text: str) -> None:
    begin(gateway, f"ping {SERVER}")
    from_wan(gateway, error(request(gateway), kind, code))
    assert lines(gateway)[0] == [f"{HOP}: seq=1 {text}"]


def test_traceroute(gateway: Gateway) -> None:
    """A request for each TTL; a silent hop is asked twice; the host's reply ends the run."""
    begin(gateway, f"traceroute {SERVER}")
    asked = request(gateway)
    assert asked[IP].ttl == 1
    gateway.wait(0.0015)
    from_wan(gateway, error(asked, 11, 0, ROUTER.ip))
    text, sent = lines(gateway)
    assert text == [f" 1  {ROUTER.ip}  1.500 ms"]
    assert only(sent).ip.ttl == 2
    gateway.wait(1)
    text, sent = lines(gateway)
    assert text == [] and only(sent).ip.ttl == 2
    gateway.wait(1)
    text, sent = lines(gateway)
    assert text == [" 2  no answer"] and only(sent).ip.ttl == 3
    from_wan(gateway, echo_reply(only(sent).frame))
    assert lines(gateway) == ([f" 3  {SERVER}  0.000 ms", f"{SERVER} reached"], [])


def test_traceroute_ends(gateway: Gateway) -> None:
    """An error that is not that of a hop ends the run, and so do thirty silent hops."""
    begin(gateway, f"traceroute {SERVER}")
    from_wan(gateway, error(request(gateway), 3, 1))
    assert lines(gateway) == ([f" 1  {HOP}  0.000 ms host unreachable", f"{SERVER} not reached"], [])
    begin(gateway, f"traceroute {SERVER}")
    text: list[str] = []
    n_sent = 0
    for _ in range(70):
        more, sent = lines(gateway)
        text += more
        n_sent += len(sent)
        gateway.wait(1)
    assert text == [*(f"{hop:2d}  no answer" for hop in range(1, 31)), f"{SERVER} not reached"]
    assert n_sent == 60


def test_host_of_the_lan(gateway: Gateway) -> None:
    """The source is our address on the side of the host."""
    begin(gateway, f"ping {A.ip}")
    text, sent = lines(gateway)
    asked = only(sent, LAN).frame
    assert asked[IP].src == INSIDE and text == []
    gateway.lan(echo_reply(asked))
    assert lines(gateway)[0] == [f"{A.ip}: seq=1 ttl=57 time=0.000 ms"]


def test_sessions_are_not_touched(gateway: Gateway) -> None:
    """An inside host pings the same server: each gets its own answer."""
    inside = only(gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=8, id=7, seq=1) / b"inside"), WAN).frame
    begin(gateway, f"ping {SERVER}")
    own = request(gateway)
    back = only(from_wan(gateway, echo_reply(inside)), LAN)
    assert back.ip.dst == A.ip and back.ip[ICMP].id == 7
    assert lines(gateway) == ([], [])
    assert from_wan(gateway, echo_reply(own)) == []
    assert lines(gateway)[0] == [f"{SERVER}: seq=1 ttl=57 time=0.000 ms"]
    assert gateway.stats()["nat_sessions"] == 1


@pytest.mark.parametrize("to, wrong", [
    (INSIDE, "is the gateway's own address"), (OUTSIDE, "is the gateway's own address"),
    ("224.0.0.1", "is not the address of a host"), ("2001:db8::1", "the application has no IPv6"), ("here", "not an")])
def test_what_cannot_be(gateway: Gateway, to: str, wrong: str) -> None:
    with pytest.raises(Refused, match=wrong):
        gateway.sim.command(f"ping {to}")
    assert lines(gateway) == ([], [])


def test_no_route(start: Start) -> None:
    gateway = start(NAT.replace(f"gateway {ROUTER.ip}\n", ""))
    with pytest.raises(Refused, match=f"{SERVER} has no route"):
        gateway.sim.command(f"ping {SERVER}")
    gateway = start("", "wire")
    with pytest.raises(Refused, match="has no route"):
        gateway.sim.command(f"ping {SERVER}")


# --- IPv6 ---------------------------------------------------------------------------------------------

BEYOND = "2001:db8:99::1"


def reply6(asked: Packet) -> Packet:
    return IPv6(src=asked[IPv6].dst, dst=asked[IPv6].src, hlim=50) / ICMPv6EchoReply(
        id=asked[ICMPv6EchoRequest].id, seq=asked[ICMPv6EchoRequest].seq, data=bytes(asked[ICMPv6EchoRequest].data))


@pytest.fixture
def six(start: Start) -> Gateway:
    gateway = start(ADDRESSES6 + NEIGHBOURS6, "route6")
    gateway.wait(5)
    return gateway


def test_ping6(six: Gateway) -> None:
    begin(six, f"ping {BEYOND}")
    asked = request(six)
    assert (asked[IPv6].src, asked[IPv6].hlim) == (OWN[WAN], 64)
    six.wait(0.01)
    assert six.send(WAN, Ether(src=ROUTER6.mac, dst=PORT_MAC[WAN]) / reply6(asked)) == []
    assert lines(six)[0] == [f"{BEYOND}: seq=1 ttl=50 time=10.000 ms"]
    assert six.drops() == {}


def test_traceroute6(six: Gateway) -> None:
    begin(six, f"traceroute {BEYOND}")
    asked = request(six)
    assert asked[IPv6].hlim == 1
    from_router = Ether(src=ROUTER6.mac, dst=PORT_MAC[WAN]) / IPv6(src=ROUTER6.ip, dst=OWN[WAN])
    six.send(WAN, from_router / ICMPv6TimeExceeded() / Raw(bytes(asked[IPv6])))
    text, sent = lines(six)
    assert text == [f" 1  {ROUTER6.ip}  0.000 ms"] and only(sent).ip6.hlim == 2
    six.send(WAN, from_router / ICMPv6DestUnreach(code=1) / Raw(bytes(only(sent).ip6)[:48]))
    assert lines(six)[0] == [f" 2  {ROUTER6.ip}  0.000 ms prohibited", f"{BEYOND} not reached"]


@pytest.mark.parametrize("to, wrong", [
    (OWN[LAN], "own address"), ("fe80::1", "is not the address of a host"), ("ff02::1", "is not the address")])
def test_what_cannot_be6(six: Gateway, to: str, wrong: str) -> None:
    with pytest.raises(Refused, match=wrong):
        six.sim.command(f"ping {to}")


def test_through_the_tunnel(tunnel: Tunnel) -> None:
    """A far 6to4 site: the request leaves in a tunnel packet, and the answer comes in one."""
    gateway = tunnel.gateway
    begin(gateway, f"ping {FAR6}")
    asked = request(gateway)
    assert asked[IP].dst == FAR and asked[IPv6].dst == FAR6
    assert tunnel.into(reply6(asked)) == []
    assert lines(gateway)[0] == [f"{FAR6}: seq=1 ttl=50 time=0.000 ms"]
    begin(gateway, f"ping {SERVER}")
    asked = request(gateway)
    assert from_wan(gateway, echo_reply(asked)) == []
    assert lines(gateway)[0] == [f"{SERVER}: seq=1 ttl=57 time=0.000 ms"]


@pytest.mark.parametrize("app, config", [("dns64", BOTH + "nameserver 203.0.113.1\n"), ("ivi", IVI)])
def test_other_applications(start: Start, app: str, config: str) -> None:
    gateway = start(config, app)
    begin(gateway, f"ping {SERVER}")
    assert from_wan(gateway, echo_reply(request(gateway))) == []
    assert lines(gateway)[0] == [f"{SERVER}: seq=1 ttl=57 time=0.000 ms"]
