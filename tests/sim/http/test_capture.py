# SPDX-License-Identifier: BSD-2-Clause
"""`http.capture`: the last packets as a file for Wireshark."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from gateway import LAN, NAT, OUTSIDE, PORT_MAC, ROUTER, SERVER, WAN, A, B, Gateway, only
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapNgReader
from traffic import frame_of
from web import OWN, Web

pytestmark = pytest.mark.virtual
Start = Callable[..., Gateway]
CONFIG = NAT + "serve http\nhttp.capture on\n"
ETHERNET, RAW = 1, 101
IN, OUT = 1, 2


@dataclass
class Kept:
    """A packet of a file."""

    interface: str
    link: int
    us: int
    length: int  # on the wire
    data: bytes
    way: int
    comment: str


def blocks(data: bytes) -> list[tuple[int, bytes]]:
    found = []
    while data:
        kind, size = struct.unpack_from("<II", data)
        assert size >= 12 and size % 4 == 0 and struct.unpack_from("<I", data, size - 4)[0] == size
        found.append((kind, data[8:size - 4]))
        data = data[size:]
    return found


def options(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        code, size = struct.unpack_from("<HH", data)
        if code == 0:
            assert len(data) == 4
            return found
        found[code] = data[4:4 + size]
        data = data[4 + (size + 3) // 4 * 4:]
    raise AssertionError("the options do not end")


def read(data: bytes) -> list[Kept]:
    """Reads a file strictly; scapy's reader must find as many packets."""
    (kind, head), *rest = blocks(data)
    assert kind == 0x0a0d0d0a and head == struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1)
    names: list[tuple[str, int]] = []
    found = []
    for kind, body in rest:
        if kind == 1:
            link, snap = struct.unpack_from("<HxxI", body)
            assert not found and snap == 0
            names.append((options(body[8:])[2].decode(), link))
            continue
        assert kind == 6
        number, high, low, kept, length = struct.unpack_from("<IIIII", body)
        more = options(body[20 + (kept + 3) // 4 * 4:])
        found.append(Kept(*names[number], high << 32 | low, length, body[20:20 + kept],
                          int.from_bytes(more.get(2, b""), "little"), more.get(1, b"").decode("ascii")))
    assert len([one for one in RawPcapNgReader(io.BytesIO(data))]) == len(found)
    return found


def load(web: Web, query: str = "", seconds: float = 1.0) -> list[Kept]:
    answer = web.get("/capture.pcapng" + query, seconds=seconds)
    assert answer.status == 200 and answer.fields["content-type"] == "application/octet-stream"
    return read(answer.body)


def udp(sport: int = 5000, size: int = 4) -> Packet:
    return IP(src=A.ip, dst=SERVER) / UDP(sport=sport, dport=53) / Raw(bytes(i & 255 for i in range(size)))


def numbered(i: int) -> Packet:
    return udp(5000, 1400) / Raw(struct.pack("!I", i))


@pytest.fixture
def web(start: Start) -> Web:
    return Web(start(CONFIG, "nat"))


def test_what_came_and_what_left(web: Web) -> None:
    """Both sides of a translated packet, byte for byte, with interface, way and time."""
    sent = only(web.gateway.lan(udp()), WAN)
    web.gateway.wait(2)
    web.gateway.lan(udp(5001))
    came, left, later, _ = [one for one in load(web) if UDP in Ether(one.data)]
    assert (came.interface, came.way, came.link) == (LAN, IN, ETHERNET)
    assert came.data == bytes(Ether(src=A.mac, dst=PORT_MAC[LAN]) / udp()) and came.length == len(came.data)
    assert (left.interface, left.way, left.data) == (WAN, OUT, bytes(sent.frame)[:len(left.data)])
    assert 1_900_000 < later.us - came.us < 2_200_000 and not came.comment


def test_drops_with_their_reasons(web: Web) -> None:
    """The frame as it came, the reason and its meaning; and a packet of our own, which has no frame."""
    web.gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=9999) / b"nobody's")
    web.gateway.change(f"route del default via {ROUTER.ip}")
    web.gateway.lan(udp())
    found = load(web, "?of=drops")
    assert len(found[0].comment) > len("dropped, no-mapping: ")
    assert found[0].link == ETHERNET and b"nobody's" in found[0].data and found[0].interface == WAN
    assert {one.comment.split(":")[0] for one in found} == {"dropped, no-mapping", "dropped, no-route"}
    assert not [one for one in load(web) if one.comment]


def test_one_session_on_both_sides(web: Web) -> None:
    """An endpoint selects what goes from it and to it, and ICMP errors about that."""
    sent = only(web.gateway.lan(udp(5000)), WAN)
    port = sent.ip[UDP].sport
    web.gateway.lan(udp(5002))
    web.gateway.wan(IP(src=SERVER, dst=OUTSIDE) / UDP(sport=53, dport=port) / b"yes")
    quote = IP(src=OUTSIDE, dst=SERVER) / UDP(sport=port, dport=53)
    web.gateway.wan(IP(src="198.51.100.99", dst=OUTSIDE) / ICMP(type=3, code=1) / quote)
    inside = load(web, f"?of=lan&end={A.ip}:5000")
    assert [one.way for one in inside] == [IN, OUT, OUT] and ICMP in Ether(inside[2].data)
    outside = load(web, f"?of=wan&end={OUTSIDE}%3A{port}")
    assert [one.way for one in outside] == [OUT, IN, IN]
    assert len(load(web, f"?end={A.ip}")) == 4 and len(load(web, f"?end={B.ip}")) == 0
    assert len(load(web, f"?end={SERVER}:53")) == 8


def test_tunnels_and_fragments(web: Web) -> None:
    """An IPv6 endpoint in a tunnel's packet; a later fragment has no ports, so its address counts."""
    inner = IPv6(src="2002:c000:204::1", dst="2001:db8::7") / UDP(sport=7, dport=8)
    web.gateway.lan(IP(src=A.ip, dst=SERVER, proto=41) / inner)
    assert len(load(web, "?of=lan&end=[2001:db8::7]:8")) == 1 == len(load(web, "?of=lan&end=2001%3Adb8%3A%3A7"))
    assert len(load(web, "?of=lan&end=[2001:db8::7]:9")) == 0
    web.gateway.lan(IP(src=A.ip, dst=SERVER, frag=10, proto=17) / Raw(bytes(24)))
    assert len(load(web, f"?of=lan&end={A.ip}:4444")) == 1


@pytest.mark.parametrize("query", ["?of=x", "?of=lan9", "?end=x", "?end=1.2.3", "?end=1.2.3.4:0", "?end=1.2.3.4:65536",
                                   "?end=::1:", "?end=[::1]", "?end=[1.2.3.4]:5", "?end=:5", "?end=[", "?end=]:5",
                                   "?end=[]:5", "?of=drops&end=%00", "?end=" + "1" * 200, "?of=%ff"])
def test_queries_that_select_nothing(web: Web, query: str) -> None:
    assert web.get("/capture.pcapng" + query).status == 400


@pytest.mark.parametrize("query", ["", "?", "?of=", "?of=all&end=", "?x=y", "?end=++&of=drops", "?of=wan&of=x"])
def test_queries_that_do(web: Web, query: str) -> None:
    assert web.get("/capture.pcapng" + query).status == 200


def test_off_is_the_default(start: Start) -> None:
    web = Web(start(NAT + "serve http\n", "nat"))
    web.gateway.lan(udp())
    assert web.get("/capture.pcapng").status == 404
    assert "off; serve http and http.capture on keep the last packets" in web.get("/capture").text
    assert web.gateway.stats()["http_errors"] == 1


def test_the_page(web: Web) -> None:
    web.gateway.lan(udp())
    page = web.get("/capture").text
    assert "keeping all: " in page and "<option>lan</option>\n<option>wan</option>" in page
    assert 'aria-current="page">Capture' in page


def test_long_frames_are_cut_and_say_how_long_they_were(start: Start) -> None:
    """Jumbo frames do not exist here; the longest is kept whole."""
    web = Web(start(CONFIG, "nat"))
    web.gateway.lan(udp(size=1472))
    came = [one for one in load(web, f"?of=lan&end={A.ip}") if len(one.data) > 1000]
    assert [(len(one.data), one.length) for one in came] == [(1514, 1514)]


def test_the_oldest_are_overwritten(start: Start) -> None:
    """A mebibyte of them: 650 frames of 1514 bytes; the rest is gone, and the numbers say so."""
    web = Web(start(CONFIG, "nat"))
    for first in range(0, 1000, 50):
        web.gateway.send_many([frame_of(A, numbered(i)) for i in range(first, first + 50)])
    found = [one for one in load(web, "?of=lan", seconds=20) if len(one.data) > 1000]
    numbers = [struct.unpack("!I", one.data[-4:])[0] for one in found]
    assert numbers == list(range(1000 - len(numbers), 1000)) and 340 < len(numbers) < 362  # the WAN has as many
    assert "overwritten" in web.get("/capture").text and not found[0].comment


def test_overwritten_while_it_is_read(start: Start) -> None:
    """A slow reader gets what is left, whole packets in order, and a comment where some are missing."""
    web = Web(start(CONFIG, "nat"))
    web.gateway.send_many([frame_of(A, numbered(i)) for i in range(300)])
    stream = web.open()
    web.say(stream, b"GET /capture.pcapng?of=lan HTTP/1.0\r\n\r\n")
    web.wait(0.005)
    for _ in range(8):
        web.gateway.send_many([frame_of(A, udp(5000, 1400)) for _ in range(100)])
    web.wait(3)
    assert stream.ended
    found = read(stream.received.partition(b"\r\n\r\n")[2])
    numbers = [struct.unpack("!I", one.data[-4:])[0] for one in found if len(one.data) > 1400]
    assert numbers == sorted(set(numbers)) and 0 < len(numbers) < 300


def test_its_own_packets_are_not_in_it(web: Web) -> None:
    """Two downloads in a row have the same packets; another TCP port of the gateway's is in it."""
    web.gateway.lan(udp())
    first = load(web)
    assert load(web) == first and not [one for one in first if TCP in Ether(one.data)]
    web.gateway.lan(IP(src=A.ip, dst=OWN) / TCP(sport=9, dport=81, flags="S"))
    web.gateway.lan(IP(src=A.ip, dst=SERVER) / TCP(sport=9, dport=80, flags="S"))
    assert len([one for one in load(web, "?of=lan") if TCP in Ether(one.data)]) >= 2


def test_the_console_chooses(start: Start) -> None:
    """`capture drops` and the like; what was kept before is forgotten."""
    web = Web(start(CONFIG, "nat"))
    web.gateway.lan(udp())
    assert web.gateway.lines("capture")[0].startswith("keeping all: ")
    assert web.gateway.lines(f"capture wan {SERVER}:53")[0].startswith(f"keeping wan of {SERVER}:53: 0 packets, ")
    web.gateway.lan(udp())
    web.gateway.lan(IP(src=A.ip, dst="198.51.100.9") / UDP(sport=1, dport=2))
    assert [one.interface for one in load(web)] == [WAN]
    assert "not all, drops or an interface" in web.gateway.lines("capture x y")[0]
    assert web.gateway.lines(f"capture {A.ip}")[0].startswith(f"keeping all of {A.ip}: 0 packets")
    web.gateway.lan(udp())
    web.gateway.lan(IP(src=A.ip, dst=SERVER) / ICMP(type=7))
    assert {one.interface for one in load(web)} == {LAN}
    assert web.gateway.lines("capture drops")[0].startswith("keeping drops: 0 packets")
    web.gateway.lan(udp())
    assert load(web) == load(web, "?of=drops") == []
    assert web.gateway.lines("capture [2001:db8::1]:53")[0].startswith("keeping all of [2001:db8::1]:53: ")


def test_others_may_not_have_it(start: Start) -> None:
    web = Web(start(CONFIG + "http.client 192.168.1.11/32\n", "nat"))
    stream = web.open()
    assert stream.ack is None or stream.reset
    assert web.get("/capture.pcapng", client=B).status == 200


def test_arp_and_vlans(start: Start) -> None:
    """Frames of all kinds are there; those of a VLAN as its interface has them."""
    web = Web(start(CONFIG, "nat"))
    web.gateway.send(LAN, Ether(src=A.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(pdst=OWN, psrc=A.ip, hwsrc=A.mac))
    kinds = [Ether(one.data).type for one in load(web, "?of=lan")]
    assert kinds.count(0x806) >= 2


def test_random_frames_with_a_selection(start: Start) -> None:
    """Whatever comes in is kept or left out, and the file stays readable."""
    web, draw = Web(start(CONFIG, "nat")), random.Random(7)
    for what in ("all", "all 192.0.2.1:7", "drops 2001:db8::1", "lan 69.0.0.1"):
        web.gateway.lines(f"capture {what}")
        for _ in range(300):
            kind = draw.choice((0x800, 0x86dd, 0x8100, 0x806))
            head = Ether(src=A.mac, dst=PORT_MAC[LAN], type=kind)
            first = draw.choice((0x45, 0x46, 0x4f, 0x60, 0x6f))
            size = draw.choice((0, 1, 12, 18, 19, 20, 38, 39, 60, 200))
            body = bytes([first, draw.randrange(256)]) + draw.randbytes(size)
            if len(body) > 40 and draw.random() < 0.7:
                at, kinds = (9, (1, 4, 6, 17, 41)) if first < 0x60 else (6, (0, 43, 44, 58, 60, 4, 41, 6))
                body = body[:at] + bytes([draw.choice(kinds)]) + body[at + 1:]
            web.gateway.send(LAN, bytes(head) + body, broken=True)
        for query in ("", "?of=drops", "?end=192.0.2.1:7"):
            load(web, query, seconds=2)
