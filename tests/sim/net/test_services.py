# SPDX-License-Identifier: BSD-2-Clause
"""A service beside a forwarder: `serve dns64` with `nat`, `6to4` and `ivi`.

Services serve the inside only, and a port of the gateway's own address belongs either to a socket of the gateway or to
a mapping of the NAT.
"""

from __future__ import annotations

import dns.flags
import dns.message
import dns.rcode
import dns.reversename
import pytest
from dnsstream import answers, opened, put, say
from gateway import LAN, NAT, OUTSIDE, PORT_MAC, ROUTER, WAN, A, B, Sent, only
from ivi import FOUR, FOUR_MAC, IVI, OWN4, SIX_MAC, World
from net6 import Host6
from resolver import FOUR as RECORD
from resolver import (
    OUR4,
    PREFIX,
    UPSTREAM,
    UPSTREAM2,
    Resolver,
    Start,
    Zone,
    addresses,
    check,
    datagram,
    inside,
    rr,
    silent,
    wire,
)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6NDOptPrefixInfo, ICMPv6NDOptRDNSS, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from simulator import Refused
from tunnel import COLOCATED, FAR, FAR6, HOST6, OWN6

pytestmark = pytest.mark.virtual

SERVE = f"serve dns64\ndns64.cache 2000\nnameserver {UPSTREAM}\n"
WITH_NAT = NAT + SERVE + f"dns64-prefix {PREFIX}/96\n"
WITH_TUNNEL = COLOCATED + "nat.sessions 256\n" + SERVE + f"dns64-prefix {PREFIX}/96\n"
UP = f"neighbour {UPSTREAM} {FOUR_MAC}\n"
WITH_IVI = IVI.config + SERVE + UP
T6 = Host6(LAN, HOST6, "fe80::a", A.mac)  # a host of the 6to4 site
SIX = Host6(LAN, IVI.six, "fe80::a", SIX_MAC)

# The application, its configuration, an inside client, and our address for it.
SETUPS = {
    "nat": ("nat", WITH_NAT, A, OUR4),
    "6to4-ipv4": ("6to4", WITH_TUNNEL, A, OUR4),
    "6to4-ipv6": ("6to4", WITH_TUNNEL, T6, OWN6),
    "ivi": ("ivi", WITH_IVI, SIX, IVI.own6),
}
OUTER = {"nat": OUTSIDE, "6to4": OUTSIDE, "ivi": OWN4}


class Setup(Resolver):
    """A resolver beside a forwarder, with a client inside."""

    def __init__(self, start: Start, which: str, more: str = "", **options: object) -> None:
        app, config, self.client, self.own = SETUPS[which]
        self.outer = OUTER[app]
        self.records = Zone(RECORD, rr("other.example.", 300, "A", "192.0.2.34"))
        super().__init__(start, self.records, config, more, app, **options)

    def look_up(self, name: str = "four.example.") -> list[str]:
        query = self.query(name)
        raw = self.raw(query, client=self.client, to=self.own)
        assert raw is not None
        return addresses(check(query, raw))

    def outside(self, packet: Packet) -> list[Sent]:
        """An IPv4 packet from the router on the WAN."""
        mac = FOUR_MAC if self.outer == OWN4 else ROUTER.mac
        return self.gateway.send(WAN, Ether(src=mac, dst=PORT_MAC[WAN], type=0x800) / packet)


@pytest.mark.parametrize("slow_path", [False, True], ids=["fast", "slow"])
@pytest.mark.parametrize("which", SETUPS)
def test_the_inside_is_served(start: Start, which: str, slow_path: bool) -> None:
    setup = Setup(start, which, slow_path=slow_path)
    got = setup.look_up()
    assert len(got) == 1 and (setup.outer == OWN4 or got == [inside("192.0.2.33")])
    assert setup.look_up() == got
    stream = opened(setup, client=setup.client, to=setup.own)
    query = setup.query("other.example.")
    say(setup, stream, query)
    assert len(addresses(answers(stream)[query.id])) == 1
    put(setup, stream.segment("FA"))
    assert {one.source for one in setup.net.asked} == {setup.outer}
    assert setup.gateway.drops() == {}


def test_listings_have_the_forwarder_and_the_service(start: Start) -> None:
    setup = Setup(start, "nat")
    setup.look_up()
    setup.gateway.lan(IP(src=A.ip, dst=FAR) / UDP(sport=4000, dport=7))
    sessions = setup.gateway.lines("sessions")
    assert len(sessions) == 2 and sessions[0].startswith("udp 192.168.1.10:4000") and UPSTREAM in sessions[1], sessions
    stats = setup.gateway.stats()
    assert (stats["nat_sessions"], stats["dns_queries"], stats["tcp_connections"]) == (1, 1, 0)


@pytest.mark.parametrize("world, pref64", [(IVI, None), (World("2001:db8:122:344::/96", "rfc6052"), 0)],
                         ids=["ivi", "rfc6052"])
def test_advertised_beside_a_translator(start: Start, world: World, pref64: int | None) -> None:
    """One advertisement has the prefix of the network, our address as DNS server, and the translator's prefix if hosts
    can use it (RFC 8781): not one with the octet 0xff."""
    config = (world.config + SERVE + UP).replace("lan.ra off\n", "")
    gateway = start(config, "ivi")
    [first, *_] = [one for _ in range(20) for one in gateway.wait(1) if ICMPv6ND_RA in one.frame]
    message = first.frame[ICMPv6ND_RA]
    assert message.routerlifetime > 0
    assert message[ICMPv6NDOptPrefixInfo].prefix and message[ICMPv6NDOptRDNSS].dns == [world.own6]
    raw = bytes(message)
    found = [raw[at + 3] & 7 for at in range(16, len(raw), 8) if raw[at:at + 2] == bytes.fromhex("2602")]
    assert found == ([] if pref64 is None else [pref64])


# --- the outside ---------------------------------------------------------------------------------------


def queries_from(setup: Setup, source: str, target: str) -> list[Packet]:
    """A query over UDP, and a SYN, to port 53."""
    query = wire(setup.query("four.example."))
    return [datagram(source, target, 4000, 53, query), IP(src=source, dst=target) / TCP(sport=4000, dport=53, seq=9)]


@pytest.mark.parametrize("more", ["", "dns64.client ::/0\ndns64.client 0.0.0.0/0\n"], ids=["default", "any-client"])
@pytest.mark.parametrize("source", ["198.18.0.9", UPSTREAM], ids=["stranger", "upstream"])
@pytest.mark.parametrize("which", SETUPS)
def test_the_outside_is_not_served(start: Start, which: str, source: str, more: str) -> None:
    """The upstream server, whose address anybody on the WAN may have, is no client either."""
    setup = Setup(start, which, more)
    setup.look_up()
    before = setup.gateway.stats()
    for packet in queries_from(setup, source, setup.outer):
        assert setup.outside(packet) == []
    assert setup.gateway.wait(1) == []
    after = setup.gateway.stats()
    assert after["dns_queries"] == before["dns_queries"] and after["tcp_segments_in"] == before["tcp_segments_in"]
    assert setup.gateway.drops() == {"no-service": 2}


@pytest.mark.parametrize("which", ["nat", "6to4-ipv4"])
def test_our_inside_address_is_not_there_outside(start: Start, which: str) -> None:
    setup = Setup(start, which)
    for packet in queries_from(setup, "198.18.0.9", OUR4):
        assert setup.outside(packet) == []
    assert setup.gateway.drops() == {"foreign": 2}


def test_nobody_is_served_through_a_tunnel(start: Start) -> None:
    setup = Setup(start, "6to4-ipv6")
    query = wire(setup.query("four.example."))
    for inner in (datagram(FAR6, OWN6, 4000, 53, query),
                  IPv6(src=FAR6, dst=OWN6) / TCP(sport=4000, dport=53, seq=9)):
        assert setup.outside(IP(src=FAR, dst=OUTSIDE, proto=41) / Raw(bytes(inner))) == []
    assert setup.gateway.stats()["dns_queries"] == 0
    assert setup.gateway.drops() == {"no-service": 2}


def test_nobody_is_served_through_a_translation(start: Start) -> None:
    """192.0.2.254 stands for our own IPv6 address."""
    setup = Setup(start, "ivi")
    for packet in queries_from(setup, FOUR, IVI.own4):
        error = only(setup.outside(packet), WAN)
        assert error.ip[ICMP].type == 3 and error.ip[ICMP].code == 13
    assert setup.gateway.stats()["dns_queries"] == 0
    assert setup.gateway.drops() == {"own-address": 2}


def test_a_forwarded_port_53_stays_forwarded(start: Start) -> None:
    """The server of an inside host can be reached from outside, and by our outer address from inside."""
    forward = f"nat.forward udp 53 {B.ip}:53\nnat.forward tcp 53 {B.ip}:53\n"
    setup = Setup(start, "nat", forward)
    for packet in queries_from(setup, "198.18.0.9", OUTSIDE):
        sent = only(setup.outside(packet), LAN)
        assert (sent.ip.dst, sent.ip.payload.dport) == (B.ip, 53)
    for packet in queries_from(setup, A.ip, OUTSIDE):
        sent = only(setup.gateway.lan(packet), LAN)
        assert (sent.ip.dst, sent.ip.payload.dport) == (B.ip, 53)
    assert setup.look_up() == [inside("192.0.2.33")]
    assert opened(setup).ack is not None


# --- clients -------------------------------------------------------------------------------------------


def refused(setup: Setup, source: str, name: str = "four.example.") -> bool:
    query = setup.query(name)
    raw = setup.raw(query, client=setup.client, to=setup.own, sport_of=source)
    assert raw is not None
    return check(query, raw).rcode() == dns.rcode.REFUSED


@pytest.mark.parametrize("which, behind, more", [
    ("nat", "10.0.0.1", "route 10.0.0.0/8 via 192.168.1.10\n"),
    ("6to4-ipv4", "10.0.0.1", "route 10.0.0.0/8 via 192.168.1.10\n"),
], ids=["nat", "6to4"])
def test_the_clients_are_the_inside_prefixes(start: Start, which: str, behind: str, more: str) -> None:
    """A host behind a router of the inside is no client unless the configuration says so."""
    setup = Setup(start, which, more)
    assert not refused(setup, A.ip)
    assert refused(setup, behind)
    setup = Setup(start, which, more + "dns64.client 10.0.0.0/8\n")
    assert not refused(setup, behind)
    assert refused(setup, A.ip)


def test_clients_by_their_link_local_addresses(start: Start) -> None:
    setup = Setup(start, "ivi")
    own = "fe80::ff:fe00:1"
    query = setup.query("four.example.")
    setup.send(query, client=SIX, to=own, sport_of="fe80::a")
    solicitation = [one for one in setup.net.other if one.port == LAN]
    assert setup.net.got or solicitation, "the answer is on its way"
    assert setup.gateway.stats()["dns_refused"] == 0


# --- the prefix of a translator ------------------------------------------------------------------------

FORMS = [IVI, World("2001:db8:100::/40", "rfc6052"), World("2001:db8:122:344::/96", "rfc6052")]


def translated(world: World) -> dict[str, tuple[str, str, Host6, str]]:
    client = Host6(LAN, world.six, "fe80::a", SIX_MAC)
    return {"ivi": ("ivi", world.config + SERVE + UP, client, world.own6)}


@pytest.mark.parametrize("world", FORMS, ids=lambda world: f"{world.form}{world.prefix[-3:]}")
def test_the_prefix_follows_the_translator(start: Start, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are the addresses that the translator translates; reverse names of these lead back."""
    monkeypatch.setitem(SETUPS, "ivi", translated(world)["ivi"])
    setup = Setup(start, "ivi")
    there = world.v6("192.0.2.33")
    assert setup.look_up() == [there]
    reverse = rr("33.2.0.192.in-addr.arpa.", 60, "PTR", "four.example.")
    setup.records.sets[reverse.name, 12] = reverse
    query = setup.query(dns.reversename.from_address(there).to_text(), "PTR")
    raw = setup.raw(query, client=setup.client, to=setup.own)
    assert raw is not None
    answer = check(query, raw)
    assert [one.target.to_text() for rrset in answer.answer for one in rrset
            if rrset.rdtype == 12] == ["four.example."]
    # A server of the IPv4 world: the address that a client gets is the one that is translated.
    far = rr("far.example.", 300, "A", FOUR)
    setup.records.sets[far.name, 1] = far
    [target] = setup.look_up("far.example.")
    packet = IPv6(src=world.six, dst=target) / UDP(sport=4000, dport=7)
    frame = Ether(src=SIX_MAC, dst=PORT_MAC[LAN], type=0x86dd) / packet
    assert only(setup.gateway.send(LAN, frame), WAN).ip.dst == FOUR


def test_a_given_prefix_wins(start: Start) -> None:
    setup = Setup(start, "ivi", f"dns64-prefix {PREFIX}/96\n")
    assert setup.look_up() == [inside("192.0.2.33")]


def test_a_translator_without_a_prefix(start: Start) -> None:
    """By ivi.map alone: there is no prefix to follow, and the log says so."""
    config = "".join(f"{line}\n" for line in IVI.config.splitlines() if not line.startswith("ivi."))
    config += "ivi.map 192.0.2.0/24 2001:db8:ffc0:2::/120\n" + SERVE + UP
    resolver = Resolver(start, Zone(RECORD), config, app="ivi")
    log = resolver.gateway.lines("log")
    assert any("dns64-prefix: the translator has no prefix to follow" in line for line in log), log


# --- ports ---------------------------------------------------------------------------------------------

NATS = ["nat", "6to4-ipv4"]


@pytest.mark.parametrize("which", NATS)
def test_a_host_with_the_source_port_of_our_query(start: Start, which: str) -> None:
    """It asks the same server from the same port. Each gets its own answer."""
    setup = Setup(start, which)
    setup.net.delivers = False
    setup.send(setup.query("four.example."), client=setup.client, to=setup.own)
    ours = setup.net.asked[-1]
    outer = set()
    for host in (A, B):
        sent = only(setup.gateway.ip_from(host, IP(src=host.ip, dst=UPSTREAM) / UDP(sport=ours.port, dport=53) /
                                          Raw(b"of the host")), WAN)
        outer.add(int(sent.ip[UDP].sport))
        back = only(setup.gateway.wan(IP(src=UPSTREAM, dst=OUTSIDE) / UDP(sport=53, dport=sent.ip[UDP].sport) /
                                      Raw(b"to the host")), LAN)
        assert (back.ip.dst, back.ip[UDP].dport, bytes(back.ip[UDP].payload)) == (host.ip, ours.port, b"to the host")
    assert len(outer) == 2 and not outer & {one.port for one in setup.net.asked}
    setup.net.delivers = True
    for one in setup.net.asked[:]:
        for answer in setup.records(one.message):
            assert isinstance(answer, dns.message.Message)
            setup.net.deliver(setup.outside(IP(src=UPSTREAM, dst=OUTSIDE) / UDP(sport=53, dport=one.port) /
                                            Raw(wire(answer))))
    assert [addresses(got.message) for got in setup.net.got] == [[inside("192.0.2.33")]]
    assert setup.gateway.stats()["nat_sessions"] == 2


@pytest.mark.parametrize("which", NATS)
def test_no_host_gets_the_port_of_the_service(start: Start, which: str) -> None:
    setup = Setup(start, which)
    for l4 in (UDP(sport=53, dport=53), TCP(sport=53, dport=53, flags="S")):
        sent = only(setup.gateway.lan(IP(src=A.ip, dst=UPSTREAM) / l4), WAN)
        assert sent.ip.payload.sport not in (0, 53)


@pytest.mark.parametrize("which", NATS)
def test_a_forged_answer_reaches_no_host(start: Start, which: str) -> None:
    """Datagrams to the port of our query from elsewhere, and with a wrong ID, reach neither a host nor a client."""
    setup = Setup(start, which, "nat.filtering endpoint-independent\n" if which == "nat" else "")
    setup.net.delivers = False
    setup.send(setup.query("four.example."), client=setup.client, to=setup.own)
    ours = setup.net.asked[-1]
    setup.gateway.lan(IP(src=A.ip, dst=UPSTREAM) / UDP(sport=ours.port, dport=53) / Raw(b"of the host"))
    for source, sport in (("198.18.0.9", 53), (UPSTREAM, 54), (UPSTREAM2, 53), (UPSTREAM, 53)):
        assert setup.outside(IP(src=source, dst=OUTSIDE) / UDP(sport=sport, dport=ours.port) / Raw(bytes(12))) == []
    assert setup.net.got == []


@pytest.mark.parametrize("which", NATS)
def test_ports_are_given_back(start: Start, which: str) -> None:
    """The port of an answered query and one that timed out can be a host's own port again."""
    setup = Setup(start, which)
    setup.look_up()
    setup.records.instead = silent()
    setup.send(setup.query("other.example."), client=setup.client, to=setup.own)
    setup.wait(60)
    for one in setup.net.asked:
        sent = only(setup.gateway.lan(IP(src=A.ip, dst=UPSTREAM) / UDP(sport=one.port, dport=53)), WAN)
        assert sent.ip[UDP].sport == one.port
    setup.gateway.sim.command("check")


def cut(setup: Setup) -> None:
    """Answers over UDP have TC, so that queries go over TCP."""
    def instead(query: dns.message.Message) -> dns.message.Message | None:
        if getattr(query, "tcp", False):
            return None
        answer = dns.message.make_response(query, recursion_available=True)
        answer.flags |= dns.flags.TC
        return answer
    setup.records.instead = instead


@pytest.mark.parametrize("which", NATS)
def test_our_connections_and_those_of_hosts(start: Start, which: str) -> None:
    """A host connects to the same server from the source port of our connection; resets and errors about one do not
    reach the other."""
    setup = Setup(start, which)
    cut(setup)
    assert setup.look_up() == [inside("192.0.2.33")]
    [stream] = [one for one in setup.net.streams if one.port == WAN]
    ours = stream.dport
    syn = only(setup.gateway.lan(IP(src=A.ip, dst=UPSTREAM) / TCP(sport=ours, dport=53, seq=100, flags="S")), WAN)
    theirs = int(syn.ip[TCP].sport)
    assert theirs != ours
    back = only(setup.outside(IP(src=UPSTREAM, dst=OUTSIDE) / TCP(sport=53, dport=theirs, seq=7, ack=101, flags="SA")),
                LAN)
    assert (back.ip.dst, back.ip[TCP].dport) == (A.ip, ours)
    assert setup.outside(IP(src=UPSTREAM, dst=OUTSIDE) /
                         TCP(sport=53, dport=ours, seq=stream.seq, flags="R")) == []
    assert setup.gateway.stats()["tcp_reset"] == 1
    # The port is free again: a host may have it.
    sent = only(setup.gateway.ip_from(B, IP(src=B.ip, dst=UPSTREAM) / TCP(sport=ours, dport=53, seq=9, flags="S")), WAN)
    assert sent.ip[TCP].sport == ours


@pytest.mark.parametrize("which", NATS)
def test_errors_about_our_queries(start: Start, which: str) -> None:
    """An ICMP error about our own datagram or segment is for us; one about a host's is the host's."""
    setup = Setup(start, which)
    setup.net.delivers = False
    frames = []
    deliver = setup.net.take
    setup.net.take = lambda sent: frames.append(sent) or deliver(sent)  # type: ignore[assignment, func-returns-value]
    setup.send(setup.query("four.example."), client=setup.client, to=setup.own)
    ours = next(one for one in frames if one.port == WAN and UDP in one.ip)
    theirs = IP(src=A.ip, dst=UPSTREAM) / UDP(sport=ours.ip[UDP].sport, dport=53) / Raw(b"x")
    host = only(setup.gateway.lan(theirs), WAN)
    for kind, code in ((3, 3), (3, 1), (11, 0), (12, 0)):
        assert setup.outside(IP(src="198.18.0.9", dst=OUTSIDE) / ICMP(type=kind, code=code) /
                             Raw(ours.raw[14:])) == []
        got = only(setup.outside(IP(src="198.18.0.9", dst=OUTSIDE) / ICMP(type=kind, code=code) /
                                 Raw(host.raw[14:])), LAN)
        assert got.ip.dst == A.ip and got.ip[ICMP].type == kind
    assert setup.gateway.drops() == {"icmp-type": 4}


@pytest.mark.parametrize("own", ["203.0.113.2", "198.18.5.2"], ids=["first-address", "second-address"])
def test_own_addresses_in_the_pool(start: Start, own: str) -> None:
    """The WAN has two networks, and either of its addresses is the NAT's."""
    server = "198.18.5.53" if own == "198.18.5.2" else "203.0.113.53"
    config = (f"lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\nwan.address 198.18.5.2/24\n"
              f"gateway 203.0.113.1\nnat.pool {own}-{own}\nnat.sessions 256\nneighbour {server} {ROUTER.mac}\n"
              f"neighbour {A.ip} {A.mac}\nserve dns64\ndns64.cache 2000\nnameserver {server}\n"
              f"dns64-prefix {PREFIX}/96\n")
    records = Zone(RECORD)
    resolver = Resolver(start, records, config, app="nat")
    resolver.net.servers[server] = records
    resolver.net.delivers = False
    resolver.send(resolver.query("four.example."))
    for ours in resolver.net.asked:
        assert ours.source == own
        sent = only(resolver.gateway.lan(IP(src=A.ip, dst=server) / UDP(sport=ours.port, dport=53)), WAN)
        assert sent.ip.src == own and sent.ip[UDP].sport != ours.port
    resolver.gateway.sim.command("check")


# --- bad configurations --------------------------------------------------------------------------------


@pytest.mark.parametrize("app, config, what", [
    ("nat", NAT + "serve dns46\n", 'serve: unknown "dns46", nearest: dns64 (there are: dns64, dns, http)'),
    ("nat", WITH_NAT + "serve dns64\n", "serve: dns64 is given twice"),
    ("nat", NAT + "serve dns64\n", "nameserver: required by dns64"),
    ("6to4", COLOCATED + "serve dns64\n", "nameserver: required by dns64"),
    ("ivi", IVI.config + "serve dns64\n", "nameserver: required by dns64"),
    ("dns64", "serve dns64\nwan.address 203.0.113.2/24\nnameserver 203.0.113.53\n",
     "lan.address: an address is required by dns64"),
], ids=["unknown", "twice", "nat-server", "6to4-server", "ivi-server", "no-address"])
def test_bad_configurations(start: Start, app: str, config: str, what: str) -> None:
    with pytest.raises(Refused) as caught:
        start(config, app)
    assert what in str(caught.value)


def test_a_bridge_takes_no_services(start: Start) -> None:
    """One file may serve several applications: the bridge leaves them out, and says so."""
    gateway = start(SERVE, "wire")
    assert any("serve: a bridge has no addresses" in line for line in gateway.lines("log"))
    query = IP(src=A.ip, dst="192.168.1.1") / UDP(sport=1, dport=53)
    assert len(gateway.send(LAN, Ether(dst=PORT_MAC[LAN]) / query)) == 1


def test_app_dns64_is_serve_dns64(start: Start) -> None:
    """The service is not started twice, and there is no forwarder."""
    config = "lan.address 192.168.1.1/24\n" + f"neighbour {A.ip} {A.mac}\n" + SERVE + f"dns64-prefix {PREFIX}/96\n"
    gateway = start(config, "dns64")
    assert gateway.lan(IP(src=A.ip, dst="198.51.100.7") / UDP(sport=1, dport=7)) == []
    assert gateway.drops() == {"not-dns": 1}


def test_without_serve_port_53_is_the_forwarders(start: Start) -> None:
    gateway = start(NAT, "nat")
    sent = only(gateway.lan(IP(src=A.ip, dst="198.51.100.7") / UDP(sport=53, dport=53)), WAN)
    assert sent.ip[UDP].sport == 53
