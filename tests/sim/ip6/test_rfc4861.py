# SPDX-License-Identifier: BSD-2-Clause
"""Neighbour discovery (RFC 4861 section 7), and its bounds against scanning (RFC 6583)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from gateway import LAN, PORT_MAC, WAN, Gateway, Sent, only
from ivi import FAR, FOUR, IVI, World, from4, start_ivi, to_six
from net6 import (
    A6, B6, FAR6, OWN, OWN_LOCAL, PLAIN6, ROUTER6, SIX, Host6, Start, advertise, frame, group_mac, kind6, of_kind, send,
    solicit, solicited_node, start6, state_of,
)
from scapy.layers.inet import UDP
from scapy.layers.inet6 import (
    ICMPv6EchoRequest, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_Redirect, ICMPv6NDOptDstLLAddr, ICMPv6NDOptSrcLLAddr, IPv6,
    IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, in6_chksum,
)
from scapy.packet import Packet, Raw

pytestmark = pytest.mark.virtual

NS, NA = 135, 136
SIDES = pytest.mark.parametrize("host", [A6, ROUTER6], ids=["lan", "wan"])


@pytest.fixture
def six(start: Start) -> Gateway:
    return start6(start, PLAIN6)


def flags(sent: Sent) -> str:
    """R, S and O flags of an advertisement."""
    return "".join(letter for letter, bit in (("R", 128), ("S", 64), ("O", 32)) if sent.raw[58] & bit)


def to_host(number: int = 0, host: Host6 = A6) -> IPv6:
    """A packet that the gateway must deliver to a host on the LAN."""
    return IPv6(src=FAR6, dst=host.ip) / UDP(sport=number)


def numbers(sent: Sequence[Sent]) -> list[int]:
    return [one.frame[UDP].sport for one in sent]


def deliver(gateway: Gateway, number: int = 0, host: Host6 = A6) -> list[Sent]:
    """Sends such a packet from outside; gives the frames that leave on the LAN. The router is known."""
    return [one for one in send(gateway, ROUTER6, to_host(number, host)) if one.port == LAN]


def learn(gateway: Gateway, host: Host6 = A6) -> None:
    """The host answers the gateway's solicitation, so that it is reachable."""
    question = only(deliver(gateway, 0, host), LAN)
    assert kind6(question) == (NS, 0)
    assert numbers(send(gateway, host, advertise(host, question.ip6.src))) == [0]
    assert state_of(gateway, host.ip) == "reachable"


# --- solicitations that are answered (7.2.3, 7.2.4) -----------------------------------------------------------------


@SIDES
@pytest.mark.parametrize("local", [True, False], ids=["link-local", "global"])
def test_s724_answers_for_its_addresses(six: Gateway, host: Host6, local: bool) -> None:
    own = (OWN_LOCAL if local else OWN)[host.port]
    source = host.local if local else host.ip
    sent = only(send(six, host, solicit(host, own, src=source)), host.port)
    assert kind6(sent) == (NA, 0) and flags(sent) == "RSO"
    assert (sent.ip6.src, sent.ip6.dst, sent.ip6.hlim, sent.frame.dst) == (own, source, 255, host.mac)
    assert sent.frame[ICMPv6ND_NA].tgt == own
    assert sent.frame[ICMPv6NDOptDstLLAddr].lladdr == PORT_MAC[host.port]
    assert state_of(six, source) == "stale"


def test_s724_answers_a_unicast_solicitation(six: Gateway) -> None:
    """As in reachability probes, with the link-layer address option or without."""
    send(six, A6, solicit(A6, OWN[LAN]))
    with_option = solicit(A6, OWN[LAN], dst=OWN[LAN])
    without = IPv6(src=A6.ip, dst=OWN[LAN], hlim=255) / ICMPv6ND_NS(tgt=OWN[LAN])
    for packet in (with_option, without):
        sent = only(send(six, A6, packet), LAN)
        assert flags(sent) == "RSO" and sent.frame.dst == A6.mac


def test_s724_answers_a_host_without_address(six: Gateway) -> None:
    """The answer goes to all nodes, not solicited: the host checks whether the address is free."""
    packet = IPv6(src="::", dst=solicited_node(OWN[LAN]), hlim=255) / ICMPv6ND_NS(tgt=OWN[LAN])
    sent = only(send(six, A6, packet), LAN)
    assert (sent.ip6.src, sent.ip6.dst, flags(sent)) == (OWN[LAN], "ff02::1", "RO")
    assert sent.frame.dst == group_mac("ff02::1")
    assert six.lines("neighbours") == []


def test_s727_anycast_address_does_not_override(six: Gateway) -> None:
    sent = only(send(six, A6, solicit(A6, "2001:db8:1::")), LAN)
    assert flags(sent) == "RS" and sent.ip6.src == OWN[LAN] and sent.frame[ICMPv6ND_NA].tgt == "2001:db8:1::"


def test_answers_no_other_address(six: Gateway) -> None:
    for target in (B6.ip, "2001:db8:1::1:1", FAR6):
        assert send(six, A6, solicit(A6, target, dst="ff02::1")) == []
    assert send(six, A6, solicit(A6, OWN[WAN], dst="ff02::1")) == []
    assert send(six, A6, solicit(A6, OWN_LOCAL[WAN], dst="ff02::1")) == []
    assert six.drops() == {"nd-other": 5}
    assert six.lines("neighbours") == []


def test_groups_that_it_has_not_joined(six: Gateway) -> None:
    assert send(six, A6, solicit(A6, B6.ip)) == []
    assert six.drops() == {"multicast": 1}


def test_solicitation_from_an_address_of_another_network(six: Gateway) -> None:
    """A host may solicit from any of its addresses: it is answered, but this address does not become a neighbour."""
    sent = only(send(six, A6, solicit(A6, OWN[LAN], src="2001:db8:77::1")), LAN)
    assert sent.ip6.dst == "2001:db8:77::1" and sent.frame.dst == A6.mac
    assert six.lines("neighbours") == []
    assert send(six, A6, IPv6(src="2001:db8:77::1", dst=OWN[LAN], hlim=255) / ICMPv6ND_NS(tgt=OWN[LAN])) == []
    assert six.drops() == {"nd-bad": 1}


# --- invalid messages (7.1) ----------------------------------------------------------------------


def question(**fields: object) -> Packet:
    return solicit(A6, OWN[LAN], **fields)


def with_body(body: bytes, source: str = A6.ip, target: str = OWN[LAN], hops: int = 255, code: int = 0,
              kind: int = NS) -> Packet:
    """A message with a correct checksum and any bytes after the target."""
    packet = IPv6(src=source, dst=target, hlim=hops, nh=58)
    raw = bytearray(bytes([kind, code, 0, 0]) + body)
    raw[2:4] = in6_chksum(58, packet, bytes(raw)).to_bytes(2, "big")
    return packet / Raw(bytes(raw))


TARGET = bytes(4) + bytes.fromhex("20010db8000100000000000000000001")
MAC_A = bytes.fromhex(A6.mac.replace(":", ""))


@pytest.mark.parametrize("packet", [
    question(hlim=254),
    question(hlim=1),
    with_body(TARGET + b"\1\1" + MAC_A, code=1),
    with_body(TARGET[:-1]),
    with_body(TARGET[:4]),
    with_body(bytes(4) + bytes.fromhex("ff02" + 14 * "00")),
    with_body(TARGET + bytes(8)),
    with_body(TARGET + b"\1\1" + MAC_A + b"\x0e\0" + bytes(6)),
    with_body(TARGET + b"\1\2" + MAC_A),
    with_body(TARGET + b"\1\1" + MAC_A[:5]),
    with_body(TARGET + b"\1\1\x33\x33\0\0\0\1"),
    IPv6(src="::", dst=OWN[LAN], hlim=255) / ICMPv6ND_NS(tgt=OWN[LAN]),
    IPv6(src="::", dst="ff02::1", hlim=255) / ICMPv6ND_NS(tgt=OWN[LAN]),
    solicit(A6, OWN[LAN], src="::"),
    IPv6(src=A6.ip, dst=OWN[LAN], hlim=255) / IPv6ExtHdrFragment(nh=58) / ICMPv6ND_NS(tgt=OWN[LAN]),
    IPv6(src=A6.ip, dst=OWN[LAN], hlim=255) / IPv6ExtHdrDestOpt() / ICMPv6ND_NS(tgt=OWN[LAN]),
], ids=["hops-254", "hops-1", "code", "short-by-one", "no-target", "group-target", "option-of-length-0",
        "second-option-of-length-0", "option-beyond-the-end", "option-cut", "group-as-mac", "nameless-to-unicast",
        "nameless-to-all", "nameless-with-mac", "atomic-fragment", "behind-a-header"])
def test_s711_invalid_solicitation(six: Gateway, packet: Packet) -> None:
    """Fragments: RFC 6980."""
    assert send(six, A6, packet) == []
    assert six.drops() == {"nd-bad": 1}
    assert six.lines("neighbours") == []


def test_s711_wrong_checksum(six: Gateway) -> None:
    raw = bytearray(bytes(question()))
    raw[43] ^= 1
    assert send(six, A6, bytes(raw), broken=True) == []
    assert six.drops() == {"icmp-checksum": 1}


def test_s71_unknown_options_are_skipped(six: Gateway) -> None:
    packet = with_body(TARGET + b"\x0e\1nonce!" + b"\xfd\2" + bytes(14) + b"\1\1" + MAC_A)
    assert kind6(only(send(six, A6, packet), LAN)) == (NA, 0)
    assert state_of(six, A6.ip) == "stale"


@pytest.mark.parametrize("packet", [
    advertise(A6, OWN[LAN], hlim=254),
    advertise(A6, "ff02::1", s=1),
    advertise(A6, OWN[LAN], target="ff02::5", src=A6.ip),
    with_body(TARGET, code=1, kind=NA),
    with_body(TARGET[:-1], kind=NA),
    with_body(TARGET + bytes(8), kind=NA),
    IPv6(src="::", dst=OWN[LAN], hlim=255) / ICMPv6ND_NA(tgt=A6.ip),
    IPv6(src=A6.ip, dst=OWN[LAN], hlim=255) / IPv6ExtHdrFragment(nh=58) / ICMPv6ND_NA(tgt=A6.ip),
], ids=["hops", "solicited-to-all", "group-target", "code", "short", "option-of-length-0", "nameless", "fragment"])
def test_s712_invalid_advertisement(six: Gateway, packet: Packet) -> None:
    deliver(six)
    assert send(six, A6, packet) == []
    assert six.drops() == {"nd-bad": 1}
    assert state_of(six, A6.ip) == "asking"
    send(six, A6, advertise(A6, OWN[LAN]))  # so that nothing waits at the end


def test_s8_redirects_are_ignored(six: Gateway) -> None:
    learn(six)
    packet = IPv6(src=ROUTER6.local, dst=OWN[WAN], hlim=255) / ICMPv6ND_Redirect(tgt=A6.local, dst=FAR6)
    assert send(six, ROUTER6, packet) == []
    assert six.drops() == {"nd-other": 1}


@pytest.mark.parametrize("kind", ["question", "answer"])
def test_another_host_with_our_address(six: Gateway, kind: str) -> None:
    """It is logged, and the gateway learns nothing from it."""
    if kind == "question":
        send(six, A6, solicit(A6, OWN_LOCAL[LAN], src=OWN[LAN]))
    else:
        send(six, A6, advertise(A6, "ff02::1", target=OWN[LAN], s=0))
    assert six.drops() == {"nd-bad": 1}
    assert any(OWN[LAN] in line and "claims" in line for line in six.lines("log"))
    assert six.lines("neighbours") == []


def test_our_own_frames_are_reflected(six: Gateway) -> None:
    """Frames that a network reflects are no conflict."""
    nameless = IPv6(src="::", dst=solicited_node(OWN[LAN]), hlim=255) / ICMPv6ND_NS(tgt=OWN[LAN])
    sent = only(send(six, A6, nameless), LAN)
    assert six.send(LAN, sent.raw) == []
    assert six.drops() == {"nd-other": 1}
    assert not any("claims" in line for line in six.lines("log"))


# --- solicitations (7.2.2) -----------------------------------------------------------------------------------


def test_s722_solicits_and_sends_waiting_packets_in_order(six: Gateway) -> None:
    sent = only(deliver(six, 1), LAN)
    assert kind6(sent) == (NS, 0)
    assert (sent.ip6.src, sent.ip6.dst, sent.ip6.hlim) == (OWN[LAN], solicited_node(A6.ip), 255)
    assert sent.frame.dst == group_mac(solicited_node(A6.ip))
    assert sent.frame[ICMPv6ND_NS].tgt == A6.ip
    assert sent.frame[ICMPv6NDOptSrcLLAddr].lladdr == PORT_MAC[LAN]
    for number in (2, 3):
        assert deliver(six, number) == []
    assert six.stats()["packets_kept"] == 3
    sent_on = send(six, A6, advertise(A6, OWN[LAN]))
    assert numbers(sent_on) == [1, 2, 3] and {one.frame.dst for one in sent_on} == {A6.mac}
    assert six.stats()["packets_kept"] == 0 and six.drops() == {}


def test_s722_queue_keeps_the_latest(six: Gateway) -> None:
    for number in range(10):
        deliver(six, number)
    assert numbers(send(six, A6, advertise(A6, OWN[LAN]))) == [6, 7, 8, 9]
    assert six.drops() == {"neighbour-queue": 6}


def test_s722_solicits_three_times_a_second_apart(six: Gateway) -> None:
    first = only(deliver(six), LAN)
    sent = six.wait(10)
    asked = [first.at] + [one.at for one in of_kind(sent, NS, LAN)]
    assert len(asked) == 3
    assert all(0.95 <= later - sooner <= 1.15 for sooner, later in zip(asked, asked[1:], strict=False))
    assert six.drops() == {"no-neighbour": 2}  # the packet, and the error, whose addressee does not answer either
    assert state_of(six, A6.ip) is None
    assert kind6(only(deliver(six), LAN)) == (NS, 0)  # and the gateway solicits again
    six.wait(10)


def test_s722_link_local_neighbours(six: Gateway) -> None:
    """The solicitation comes from our link-local address, on the interface of the packet."""
    sent = send(six, A6, IPv6(src=A6.local, dst=OWN_LOCAL[LAN]) / ICMPv6EchoRequest(data=b"1"))
    asked = only(sent, LAN)
    assert (asked.ip6.src, asked.frame[ICMPv6ND_NS].tgt) == (OWN_LOCAL[LAN], A6.local)
    answered = only(send(six, A6, advertise(A6, OWN_LOCAL[LAN], target=A6.local)), LAN)
    assert kind6(answered) == (129, 0) and answered.frame.dst == A6.mac
    sent = send(six, ROUTER6, IPv6(src=A6.local, dst=OWN_LOCAL[WAN]) / ICMPv6EchoRequest(data=b"2"))
    assert only(sent, WAN).frame[ICMPv6ND_NS].tgt == A6.local  # on another interface it is another neighbour
    six.wait(5)


def test_s723_solicitation_of_a_host_answers_ours(six: Gateway) -> None:
    """A host that solicits has given its MAC address."""
    assert kind6(only(deliver(six, 5), LAN)) == (NS, 0)
    sent = send(six, A6, solicit(A6, OWN[LAN]))
    assert sorted(one.frame.dst for one in sent) == [A6.mac] * 2
    assert numbers([one for one in sent if UDP in one.frame]) == [5]
    assert state_of(six, A6.ip) == "delay"


# --- advertisements (7.2.5) ---------------------------------------------------------------------------------------


def test_s725_unsolicited_advertisement_creates_no_entry(six: Gateway) -> None:
    assert send(six, A6, advertise(A6, OWN[LAN])) == []
    assert send(six, A6, advertise(A6, "ff02::1", s=0)) == []
    assert six.lines("neighbours") == []
    assert six.drops() == {"nd-other": 2}


def test_s725_first_advertisement(six: Gateway) -> None:
    """Without a link-layer address it is ignored; an unsolicited one makes the entry stale."""
    deliver(six, 1)
    assert send(six, A6, IPv6(src=A6.ip, dst=OWN[LAN], hlim=255) / ICMPv6ND_NA(tgt=A6.ip, S=1)) == []
    assert state_of(six, A6.ip) == "asking"
    assert numbers(send(six, A6, advertise(A6, OWN[LAN], s=0, o=0))) == [1]
    assert state_of(six, A6.ip) == "delay"  # stale, and used at once


@pytest.mark.parametrize(("s", "o", "other", "state", "moves"), [
    (1, 1, True, "reachable", True),
    (1, 0, True, "stale", False),
    (0, 0, True, "stale", False),
    (0, 1, True, "stale", True),
    (1, 0, False, "reachable", False),
    (0, 0, False, "reachable", False),
    (0, 1, False, "reachable", False),
], ids=["solicited-override", "solicited", "neither", "override", "same-solicited", "same", "same-override"])
def test_s725_advertisements_about_a_reachable_neighbour(six: Gateway, s: int, o: int, other: bool, state: str,
                                                         moves: bool) -> None:
    learn(six)
    send(six, A6, advertise(A6, OWN[LAN], s=s, o=o, mac=B6.mac if other else A6.mac))
    assert state_of(six, A6.ip) == state
    assert only(deliver(six), LAN).frame.dst == (B6.mac if moves else A6.mac)


def test_s725_advertisement_without_override_does_not_change_a_stale_entry(six: Gateway) -> None:
    send(six, A6, solicit(A6, OWN[LAN]))
    send(six, A6, advertise(A6, OWN[LAN], s=1, o=0, mac=B6.mac))
    assert state_of(six, A6.ip) == "stale"
    assert only(deliver(six), LAN).frame.dst == A6.mac


def test_s723_solicitation_changes_the_mac_of_an_entry(six: Gateway) -> None:
    learn(six)
    send(six, A6, solicit(Host6(LAN, A6.ip, A6.local, B6.mac), OWN[LAN]))
    assert state_of(six, A6.ip) == "stale"
    assert only(deliver(six), LAN).frame.dst == B6.mac


def test_s723_solicitation_does_not_make_reachable_stale(six: Gateway) -> None:
    learn(six)
    send(six, A6, solicit(A6, OWN[LAN]))
    assert state_of(six, A6.ip) == "reachable"


def test_fixed_entries_stay(start: Start) -> None:
    six = start6(start, SIX)
    send(six, A6, solicit(Host6(LAN, A6.ip, A6.local, B6.mac), OWN[LAN]))
    send(six, A6, advertise(A6, OWN[LAN], mac=B6.mac))
    assert state_of(six, A6.ip) == "static"
    assert only(deliver(six), LAN).frame.dst == A6.mac
    six.link(LAN, False)
    six.link(LAN, True)
    six.wait(5)
    assert only(deliver(six), LAN).frame.dst == A6.mac


# --- unreachability (7.3) ------------------------------------------------------------------------------------


def test_s733_states(six: Gateway) -> None:
    """Reachable, stale, delay, probe: packets are forwarded in each state, and an advertisement makes it reachable."""
    learn(six)
    six.wait(14.8)
    assert state_of(six, A6.ip) == "reachable"  # 30 s times 0.5 to 1.5
    six.wait(30.5)
    assert state_of(six, A6.ip) == "stale"
    assert six.wait(60) == []  # an unused entry is not probed
    assert numbers(deliver(six, 7)) == [7]
    assert state_of(six, A6.ip) == "delay"
    sent = six.wait(4.8)
    assert sent == [] and numbers(deliver(six, 8)) == [8]
    probe = only(six.wait(0.4), LAN)
    assert kind6(probe) == (NS, 0) and state_of(six, A6.ip) == "probing"
    assert (probe.frame.dst, probe.ip6.dst, probe.ip6.src) == (A6.mac, A6.ip, OWN[LAN])  # by unicast
    assert numbers(deliver(six, 9)) == [9]
    send(six, A6, advertise(A6, OWN[LAN], o=0))
    assert state_of(six, A6.ip) == "reachable"


def test_s733_three_probes_then_address_resolution(six: Gateway) -> None:
    learn(six)
    six.wait(46)
    deliver(six)
    probes = of_kind(six.wait(9), NS)
    assert len(probes) == 3 and {one.frame.dst for one in probes} == {A6.mac}
    assert state_of(six, A6.ip) is None
    assert only(deliver(six), LAN).frame.dst == group_mac(solicited_node(A6.ip))
    six.wait(5)


def test_reachable_time_is_random(six: Gateway) -> None:
    """RFC 4861 section 6.3.2: random, so that hosts do not send probes at the same time."""
    hosts = [Host6(LAN, f"2001:db8:1::a:{n:x}", "fe80::1", f"52:54:00:00:03:{n:02x}") for n in range(1, 21)]
    for host in hosts:
        learn(six, host)
    left = []
    for _ in range(46):
        left.append(sum(state_of(six, host.ip) == "reachable" for host in hosts))
        six.wait(1)
    assert left[14] == 20 and left[45] == 0 and 1 < left[30] < 19


def test_unused_entries_expire(six: Gateway) -> None:
    send(six, A6, solicit(A6, OWN[LAN]))
    six.wait(590)
    assert state_of(six, A6.ip) == "stale"
    six.wait(20)
    assert state_of(six, A6.ip) is None


def test_link_down_forgets(six: Gateway) -> None:
    learn(six)
    deliver(six, 1, B6)
    six.link(LAN, False)
    assert six.lines("neighbours") == []
    assert six.drops() == {"link-down": 1}


# --- bounds (RFC 6583) ------------------------------------------------------------------------------------------


def scan(gateway: Gateway, first: int, n: int, source: str = FAR6) -> list[Sent]:
    """Sends packets from outside to addresses that no host has; the checksums that leave are not checked."""
    raw = bytes(frame(ROUTER6, IPv6(src=source, dst="2001:db8:1:0:1::") / UDP()))
    frames = [(WAN, raw[:50] + at.to_bytes(4, "big") + raw[54:]) for at in range(first, first + n)]
    return [one for sent in gateway.send_many(frames) for one in sent]


@pytest.mark.parametrize(("networks", "burst", "rate"), [(1, 32, 125), (100, 64, 500)], ids=["one", "many"])
def test_scan_causes_solicitations_at_a_bounded_rate(six: Gateway, networks: int, burst: int, rate: int) -> None:
    """At most 500 new neighbours a second are solicited, with bursts of 64; for one client a quarter of it, for one
    network half. Further packets are dropped."""
    def part(turn: int) -> int:
        return sum(len(of_kind(scan(six, turn * 2000 + n * (2000 // networks), 2000 // networks,
                                    f"2001:db8:f:{n:x}:{turn:x}::7"), NS)) for n in range(networks))

    asked = part(0)
    assert asked == burst
    for turn in range(1, 11):
        six.wait(0.1)
        asked += part(turn)
    assert abs(asked - burst - rate) <= 5
    assert six.stats()["packets_kept"] <= 64
    six.wait(10)


def found_in_a_scan(gateway: Gateway, rate: int, hosts: Sequence[Host6], source: str) -> int:
    """Scans this many addresses a second, and meanwhile sends a packet to each host, which answers the solicitation for
    it. Gives the number of hosts to which another packet can then be delivered."""
    found = 0
    for turn, host in enumerate(hosts):
        asked = []
        for step in range(10):
            scan(gateway, (turn * 10 + step) * rate, rate // 100)
            if step == 5:
                asked = of_kind(send(gateway, ROUTER6, IPv6(src=source, dst=host.ip) / UDP(sport=7)), NS, LAN)
            if step == 6 and asked:
                send(gateway, host, advertise(host, asked[0].ip6.src))
            gateway.wait(0.01)
        again = send(gateway, ROUTER6, IPv6(src=source, dst=host.ip) / UDP(sport=8))
        found += [one.frame.dst for one in again] == [host.mac]
    gateway.wait(10)
    return found


HOSTS = [Host6(LAN, f"2001:db8:1::c:{n:x}", "fe80::1", f"52:54:00:00:05:{n:02x}") for n in range(1, 41)]


@pytest.mark.parametrize("rate", [1000, 5000])
def test_scan_does_not_keep_others_from_new_hosts(six: Gateway, rate: int) -> None:
    """Hosts that were never heard of, and whose packets come from another host than the scan."""
    assert found_in_a_scan(six, rate, HOSTS, "2001:db8:e::7") == 40


@pytest.mark.parametrize("how", ["link", "time"])
@pytest.mark.parametrize("rate", [1000, 5000])
def test_scan_does_not_prevent_solicitations_for_known_hosts(six: Gateway, rate: int, how: str) -> None:
    """Hosts that answered once and have expired since have a budget of their own, whichever host scans."""
    for host in HOSTS:
        learn(six, host)
        six.wait(0.1)
    if how == "time":
        six.wait(700)
    else:
        six.link(LAN, False)
        six.link(LAN, True)
        six.wait(3)  # until our addresses are in use again
    assert state_of(six, HOSTS[0].ip) is None
    assert found_in_a_scan(six, rate, HOSTS, FAR6) == 40


def asked_for(gateway: Gateway, host: Host6, first: int, n: int, source: str = "") -> int:
    """How many solicitations a LAN host's packets cause to addresses of the WAN that no host has."""
    packets = [IPv6(src=source or host.ip, dst=f"2001:db8:2::f:{first + k:x}") / UDP() for k in range(n)]
    sent = gateway.send_many([(LAN, frame(host, packet)) for packet in packets])
    return len(of_kind([one for some in sent for one in some], NS, WAN))


def test_scan_by_a_host_leaves_others_of_its_network_their_solicitations(six: Gateway) -> None:
    """A client on the same network is a MAC address, not the network, which it shares with all others there."""
    for host in (A6, B6):
        send(six, host, solicit(host, OWN[LAN]))
    assert asked_for(six, A6, 1, 100) == 32
    assert asked_for(six, B6, 1001, 20) == 20
    six.wait(10)


def test_host_with_many_addresses_has_one_budget(start: Start) -> None:
    """Also in several networks of an interface; all addresses without a known MAC address together are one client."""
    nets = range(1, 4)
    six = start6(start, PLAIN6 + "".join(f"lan.address 2001:db8:a:{n}::1/64\n" for n in nets))
    for n in nets:
        source = f"2001:db8:a:{n}::10"
        send(six, A6, solicit(A6, f"2001:db8:a:{n}::1", src=source))
        assert state_of(six, source) == "stale"
    assert sum(asked_for(six, A6, 100 * n, 30, f"2001:db8:a:{n}::10") for n in nets) == 32
    assert sum(asked_for(six, B6, 1000 + 100 * n, 30, f"2001:db8:a:{n}::11") for n in nets) == 32
    six.wait(10)


def test_solicitations_of_the_gateway_have_their_own_budget(six: Gateway) -> None:
    """Neither a scan from one of our networks nor one from an unknown host there uses up the gateway's own budget."""
    assert asked_for(six, B6, 1, 100) == 32
    ping = IPv6(src=FAR6, dst=OWN[LAN]) / ICMPv6EchoRequest()
    assert kind6(only(send(six, ROUTER6, ping), WAN)) == (NS, 0)
    six.wait(10)


@pytest.mark.parametrize("world", [IVI, World("2001:db8:122:344::/96", "rfc6052")], ids=["ivi", "rfc6052"])
def test_scan_by_one_ipv4_host_leaves_others_their_solicitations(start: Start, world: World) -> None:
    """IPv4 hosts are separate clients, although their IPv6 addresses may differ in the last bits only."""
    gateway = start_ivi(start, world)
    for number in range(100):
        from4(gateway, to_six(src=FAR, dst=f"192.0.2.{number + 100}") / UDP())
    found = []
    for number in range(20):
        found += from4(gateway, to_six(src=FOUR, dst=f"192.0.2.{number + 200}") / UDP())
    assert sum(one.raw[54] == 135 for one in found) == 20
    gateway.wait(5)


def test_scan_does_not_evict_known_neighbours(six: Gateway) -> None:
    hosts = [Host6(LAN, f"2001:db8:1::a:{n:x}", "fe80::1", f"52:54:00:00:03:{n:02x}") for n in range(1, 41)]
    for host in hosts:
        send(six, host, solicit(host, OWN[LAN]))
        six.wait(0.01)
    for turn in range(40):
        scan(six, turn * 200, 200)
        six.wait(0.1)
    assert [state_of(six, host.ip) for host in hosts] == ["stale"] * 40
    six.wait(10)


def test_scan_leaves_room_for_a_new_host(six: Gateway) -> None:
    """The oldest pending entries are evicted: a host that answers soon is found (the first packet may be lost)."""
    for turn in range(40):
        host = Host6(LAN, f"2001:db8:1::b:{turn:x}", "fe80::1", f"52:54:00:00:04:{turn:02x}")
        six.wait(0.1)
        scan(six, turn * 300, 20, f"2001:db8:f:{turn + 1:x}::7")
        assert kind6(only(deliver(six, turn, host), LAN)) == (NS, 0)
        scan(six, turn * 300 + 30, 20, f"2001:db8:f:{turn + 1:x}::7")
        send(six, host, advertise(host, OWN[LAN]))
        assert numbers(deliver(six, 99, host)) == [99]
    assert sum(line.split()[3] == "asking" for line in six.lines("neighbours")) <= 256
    six.wait(10)


def test_scan_from_outside_gets_errors(start: Start) -> None:
    six = start6(start, PLAIN6 + f"neighbour {ROUTER6.ip} {ROUTER6.mac}\n")
    scan(six, 0, 64)
    errors = of_kind(six.wait(5), 1)
    assert 0 < len(errors) <= 64
    assert six.stats()["packets_kept"] == 0


def test_flood_of_solicitations_evicts_no_neighbour_in_use(start: Start) -> None:
    """From made-up addresses of the network: no reachable neighbour is evicted, and none that is being resolved."""
    six = start6(start, PLAIN6 + f"neighbour {ROUTER6.ip} {ROUTER6.mac}\n")
    packet = IPv6(src=FAR6, dst=A6.ip) / UDP()

    def flood(first: int) -> None:
        questions = [solicit(B6, OWN[LAN], src=f"2001:db8:1::{first + n:x}:{n * 7919 % 65521:x}") for n in range(1500)]
        six.send_many([(LAN, frame(B6, question, to=group_mac(solicited_node(OWN[LAN])))) for question in questions])

    send(six, ROUTER6, packet)
    flood(0x1000)
    answer = send(six, A6, advertise(A6, OWN[LAN]))
    assert [one.frame.dst for one in answer] == [A6.mac]  # the packet that waited
    flood(0x2000)
    assert only(send(six, ROUTER6, packet), LAN).frame.dst == A6.mac
