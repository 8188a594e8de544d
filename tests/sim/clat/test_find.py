# SPDX-License-Identifier: BSD-2-Clause
"""The prefix and the address that `app clat` finds by itself: RFC 8781, RFC 7050, RFC 4862."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest
from customer import (
    ASKING,
    BASE,
    FAR,
    OWN6,
    PREFIX,
    begin,
    into,
    out,
    pref64,
    six,
    udp,
)
from gateway import PORT_MAC, WAN, A, Gateway, Sent, only
from net6 import OWN, ROUTER6
from scapy.layers.dns import DNS, DNSQR, DNSRR
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    IPv6,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from simulator import Refused
from uplink import NET2, R1, Start, hear, prefix

pytestmark = pytest.mark.virtual
AUTO = f"lan.address 192.168.1.1/24\nwan.address auto\nneighbour {A.ip} {A.mac}\nnat.sessions 256\n"
MADE = "2001:db8:20::c1:a700:2"  # in the router's network


def automatic(start: Start, *options: Packet, config: str = AUTO) -> Gateway:
    gateway = begin(start, config)
    hear(gateway, prefix(), *options)
    gateway.wait(6)
    return gateway


def test_rfc8781_the_prefix_of_the_router(start: Start) -> None:
    """The address is made in the WAN's network."""
    gateway = automatic(start, pref64())
    assert only(out(gateway, udp())).frame[IPv6].src == MADE
    assert any(f"the prefix of the translator is {PREFIX}/96, from a router" in line for line in gateway.lines("log"))
    hear(gateway, prefix(), pref64(lifetime=0))
    gateway.wait(1)
    assert any("not known any more" in line for line in gateway.lines("log"))
    hear(gateway, prefix(), pref64("2001:db8:6565::"))
    gateway.wait(1)
    assert only(out(gateway, udp())).frame[IPv6].dst == six(FAR, "2001:db8:6565::")


def test_rfc6052_section_2_2_a_prefix_of_the_router_that_cannot_be_used(start: Start) -> None:
    """It is as if it were not said: another one counts, also where that comes later."""
    gateway = automatic(start, pref64("2001:db8:0:0:100::"), pref64())
    assert only(out(gateway, udp())).frame[IPv6].dst == six(FAR)
    hear(gateway, prefix(), pref64(lifetime=0), pref64("2001:db8:0:0:100::"))
    gateway.wait(20)
    said = [line for line in gateway.lines("log") if "the prefix of the translator" in line]
    assert len(said) == 2 and "not known any more" in said[-1]


def test_rfc6052_section_2_2_a_prefix_that_cannot_be_used(start: Start) -> None:
    wrong = "clat.prefix must have zero in octet 8 (RFC 6052 section 2.2)"
    with pytest.raises(Refused, match=re.escape(wrong)):
        start(BASE + f"clat.prefix 2001:db8:0:0:100::/96\nclat.address {OWN6}\n", "clat")


def test_rfc4862_section_5_4_the_address_is_defended(start: Start) -> None:
    gateway = automatic(start, pref64())
    ask = (Ether(src=R1.mac, dst="33:33:ff:00:00:02") / IPv6(src=R1.local, dst="ff02::1:ff00:2", hlim=255)
           / ICMPv6ND_NS(tgt=MADE))
    answer = only([one for one in gateway.send(WAN, ask) if ICMPv6ND_NA in one.frame]).frame
    assert answer[ICMPv6ND_NA].tgt == MADE


def test_rfc4862_section_5_4_another_station_has_the_address(start: Start) -> None:
    """Another one is made, three at most."""
    gateway = begin(start, AUTO)
    hear(gateway, prefix(), pref64())
    claim = (Ether(src="52:54:00:00:02:99", dst="33:33:00:00:00:01") / IPv6(src=MADE, dst="ff02::1", hlim=255)
             / ICMPv6ND_NA(tgt=MADE, R=0, S=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr="52:54:00:00:02:99"))
    for _ in range(60):  # while it is tentative
        gateway.wait(0.1)
        if any(f"{MADE}/128 tentative" in line for line in gateway.lines("addresses")):
            gateway.send(WAN, claim)
            break
    gateway.wait(5)
    hear(gateway, prefix(), pref64())
    assert only(out(gateway, udp())).frame[IPv6].src == "2001:db8:20::c1:a800:2"


def test_another_network_of_the_wan(start: Start) -> None:
    """The address follows."""
    gateway = automatic(start, pref64())
    hear(gateway, prefix(valid=0, preferred=0), prefix(NET2), pref64())
    gateway.wait(7300)
    hear(gateway, prefix(NET2), pref64())
    gateway.wait(6)
    assert only(out(gateway, udp())).frame[IPv6].src == "2001:db8:21::c1:a700:2"


def question(sent: list[Sent]) -> Sent:
    """The one question for ipv4only.arpa."""
    found = [one for one in sent if one.port == WAN and UDP in one.frame and one.frame[UDP].dport == 53]
    assert len(found) == 1, found
    asked = DNS(bytes(found[0].frame[UDP].payload))
    assert asked.qd[0].qname == b"ipv4only.arpa." and asked.qd[0].qtype == 28 and asked.rd == 1
    return found[0]


def answered(to: Sent, *addresses: str, ttl: int = 600, **other: Any) -> Packet:
    asked = DNS(bytes(to.frame[UDP].payload))
    records = None
    for address in reversed(addresses):
        record = DNSRR(rrname="ipv4only.arpa.", type=28, ttl=ttl, rdata=address)
        records = record / records if records else record
    fields = {"id": asked.id, "qr": 1, "ra": 1, "qd": DNSQR(qname="ipv4only.arpa.", qtype=28), "an": records,
              "ancount": len(addresses)} | other
    return (IPv6(src=to.frame[IPv6].dst, dst=to.frame[IPv6].src)
            / UDP(sport=53, dport=to.frame[UDP].sport) / DNS(**fields))


@pytest.mark.parametrize("length", [96, 64, 56, 48, 40, 32])
def test_rfc7050_section_3_the_prefix_by_dns(start: Start, length: int) -> None:
    """All lengths of RFC 6052; octet 8 stays zero."""
    gateway = start(ASKING, "clat")
    gateway.sources[WAN] = None
    sent = gateway.hello + gateway.wait(4)
    net = int(IPv6Address("2001:db8:6464:6464:64:6464::")) >> 128 - length << 128 - length
    net &= ~(0xff << 56)
    four = int(IPv4Address("192.0.0.170"))
    bits = f"{four:032b}"
    place = [i for i in range(length, 128) if not 64 <= i < 72][:32]
    value = net | sum(1 << 127 - i for i, bit in zip(place, bits, strict=True) if bit == "1")
    to = question([one for one in sent if UDP in one.frame][:1])
    into(gateway, answered(to, str(IPv6Address(value))))
    gateway.wait(0.2)
    assert any(f"the prefix of the translator is {IPv6Address(net)}/{length}, from ipv4only.arpa" in line
               for line in gateway.lines("log"))
    assert len(out(gateway, udp())) == 1


def test_rfc7050_answers_that_do_not_count(start: Start) -> None:
    """Forged ones, and one without a translator's address; then it is asked again."""
    gateway = start(ASKING, "clat")
    gateway.sources[WAN] = None
    to = question([one for one in gateway.hello + gateway.wait(4) if UDP in one.frame][:1])
    good = six("192.0.0.170")
    into(gateway, answered(to, good, id=1 + DNS(bytes(to.frame[UDP].payload)).id & 0xffff))
    into(gateway, answered(to, good, qr=0))
    into(gateway, answered(to, six("192.0.0.1"), "2001:db8::1"))
    gateway.wait(0.2)
    assert not any("the prefix of" in line for line in gateway.lines("log"))
    again = question(gateway.wait(1.5))
    into(gateway, answered(again, good, ttl=60))
    gateway.wait(0.2)
    assert any("the prefix of the translator is" in line for line in gateway.lines("log"))


def test_rfc7050_section_3_the_lifetime(start: Start) -> None:
    """Asked again before the end; without an answer the prefix goes."""
    gateway = start(ASKING, "clat")
    gateway.sources[WAN] = None
    to = question([one for one in gateway.hello + gateway.wait(4) if UDP in one.frame][:1])
    into(gateway, answered(to, six("192.0.0.170"), ttl=600))
    assert [one for one in gateway.wait(470) if UDP in one.frame] == []
    assert [one for one in gateway.wait(30) if UDP in one.frame]
    gateway.wait(200)
    assert any("not known any more" in line for line in gateway.lines("log"))


def test_rfc6724_our_own_packets_have_another_address(start: Start) -> None:
    """What the resolver answers is not translated, even behind the provider's prefix. Its address has more in common
    with that of the translation."""
    near = f"nameserver 2001:db8:2::465\nneighbour 2001:db8:2::465 {ROUTER6.mac}\n"
    gateway = start(BASE + f"clat.address {OWN6}\n" + near, "clat")
    gateway.sources[WAN] = None
    sent = gateway.hello + gateway.wait(4)
    assert question([one for one in sent if UDP in one.frame][:1]).frame[IPv6].src == OWN[WAN]


def test_rfc7050_section_3_two_places(start: Start) -> None:
    """192.0.0.170 stands in the prefix, too; only where all bits behind it are zero it is meant."""
    gateway = start(ASKING, "clat")
    gateway.sources[WAN] = None
    to = question([one for one in gateway.hello + gateway.wait(4) if UDP in one.frame][:1])
    twice = "2001:db8:c000:aa::c000:aa"  # behind 32 and 96 bits
    into(gateway, answered(to, twice))
    gateway.wait(0.2)
    assert any("is 2001:db8:c000:aa::/96, from" in line for line in gateway.lines("log"))


def test_rfc7050_an_answer_without_a_prefix_keeps_the_one_in_force(start: Start) -> None:
    gateway = start(ASKING, "clat")
    gateway.sources[WAN] = None
    to = question([one for one in gateway.hello + gateway.wait(4) if UDP in one.frame][:1])
    into(gateway, answered(to, six("192.0.0.171"), ttl=600))
    again = question([one for one in gateway.wait(500) if UDP in one.frame][:1])
    into(gateway, answered(again, "2001:db8::1"))
    assert only(out(gateway, udp())).frame[IPv6].dst == six(FAR)


def test_rfc4193_a_unique_local_network_is_the_second_choice(start: Start) -> None:
    gateway = begin(start, AUTO)
    hear(gateway, prefix("fd00:1::"), prefix(), pref64())
    gateway.wait(6)
    assert only(out(gateway, udp())).frame[IPv6].src == MADE


def test_rfc8781_section_5_1_routers_before_name_servers(start: Start) -> None:
    gateway = begin(start, AUTO)
    server = IPv6Address("2001:db8:20::1").packed  # RFC 8106 section 5.1
    hear(gateway, prefix(), Raw(bytes([25, 3, 0, 0]) + (1800).to_bytes(4, "big") + server))
    asked: list[Sent] = []
    for _ in range(80):
        for one in gateway.wait(0.1):
            if ICMPv6ND_NS in one.frame and one.frame[ICMPv6ND_NS].tgt == "2001:db8:20::1":
                answer = (Ether(src=R1.mac, dst=PORT_MAC[WAN]) / IPv6(src="2001:db8:20::1", dst=one.ip6.src, hlim=255)
                          / ICMPv6ND_NA(tgt="2001:db8:20::1", R=1, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=R1.mac))
                asked += [got for got in gateway.send(WAN, answer) if UDP in got.frame]
            elif UDP in one.frame and one.frame[UDP].dport == 53:
                asked.append(one)
        if asked:
            break
    into(gateway, answered(asked[-1], six("192.0.0.170")), R1.mac)
    gateway.wait(0.2)
    assert any(f"is {PREFIX}/96, from ipv4only.arpa" in line for line in gateway.lines("log"))
    hear(gateway, prefix(), pref64("2001:db8:6565::"))
    gateway.wait(0.5)
    assert any("is 2001:db8:6565::/96, from a router" in line for line in gateway.lines("log"))


def test_rfc7050_an_answer_to_another_question(start: Start) -> None:
    gateway = start(ASKING, "clat")
    gateway.sources[WAN] = None
    to = question([one for one in gateway.hello + gateway.wait(4) if UDP in one.frame][:1])
    other = answered(to, six("192.0.0.170"), qd=DNSQR(qname="ipv4onlx.arpa.", qtype=28))
    into(gateway, other)
    gateway.wait(0.2)
    assert not any("the prefix of" in line for line in gateway.lines("log"))


def test_rfc7050_only_the_server_that_was_asked(start: Start) -> None:
    gateway = start(ASKING, "clat")
    gateway.sources[WAN] = None
    to = question([one for one in gateway.hello + gateway.wait(4) if UDP in one.frame][:1])
    forged = answered(to, six("192.0.0.170"))
    forged[IPv6].src = "2001:db8:2::66"
    into(gateway, forged)
    gateway.wait(0.2)
    assert not any("the prefix of" in line for line in gateway.lines("log"))


def test_rfc4862_section_5_4_nothing_leaves_with_a_tentative_address(start: Start) -> None:
    gateway = begin(start, settle=0)
    assert out(gateway, udp()) == []
    assert gateway.drops()["no-prefix64"] == 1
    gateway.wait(4)
    assert len(out(gateway, udp())) == 1


def test_rfc4861_section_6_3_4_a_prefix_that_is_not_on_the_link(start: Start) -> None:
    """An address may be made in it all the same."""
    gateway = begin(start, AUTO)
    hear(gateway, prefix(on_link=0), pref64())
    gateway.wait(6)
    assert only(out(gateway, udp())).frame[IPv6].src == MADE
