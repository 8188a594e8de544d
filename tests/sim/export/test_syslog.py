# SPDX-License-Identifier: BSD-2-Clause
"""The log, and the NAT's events, as syslog messages: RFC 5424, RFC 5426, RFC 6587, RFC 6888."""

from __future__ import annotations

import re
from typing import Any

import pytest
from collector import SERVER, SERVER_MAC, SYSLOG, datagrams, message, messages
from gateway import INSIDE, PORT_MAC, WAN, A, B, Gateway, Sent
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from simulator import Refused
from uplink import Start

pytestmark = pytest.mark.virtual
OURS, FAR = "203.0.113.2", "198.51.100.7"
BASE = (f"lan.address {INSIDE}/24\nwan.address {OURS}/24\ngateway 203.0.113.1\n"
        "neighbour 203.0.113.1 52:54:00:00:02:01\n"
        f"neighbour {A.ip} {A.mac}\nneighbour {B.ip} {B.mac}\nnat.sessions 4096\n")
CONFIG = BASE + f"neighbour {SERVER} {SERVER_MAC}\nsyslog {SERVER}\n"


def begin(start: Start, config: str = CONFIG, app: str = "nat", **options: Any) -> tuple[Gateway, list[Sent]]:
    """A gateway, and what it sent while it wrote lines to its log."""
    gateway = start(config, app, **options)
    sent = gateway.hello
    for i in range(3):
        sent += note(gateway, i) + gateway.wait(1)
    return gateway, sent


def note(gateway: Gateway, i: int = 0, via: str = "203.0.113.1") -> list[Sent]:
    """Two lines for the log."""
    return (gateway.change(f"route add 10.99.{i}.0/24 via {via}")
            + gateway.change(f"route del 10.99.{i}.0/24"))


def test_rfc5424_the_log(start: Start) -> None:
    """All lines, from the first one on, with what section 6 wants of a header; without a clock the time is "-"."""
    gateway, sent = begin(start)
    found = messages(sent)
    assert found and all((one.pri, one.time, one.host, one.id) == (30, "-", OURS, "log") for one in found)
    assert len({one.process for one in found}) == 1 and not any(re.match(r"\d+\.\d", one.text) for one in found)
    assert "route 10.99.2.0/24 removed" in [one.text for one in found]
    more = messages(note(gateway, 9) + gateway.wait(1))
    assert [one.text for one in more] == ["route 10.99.9.0/24 via 203.0.113.1 added", "route 10.99.9.0/24 removed"]
    assert gateway.stats()["syslog_messages"] == len(found) + len(more)
    assert gateway.stats()["syslog_lost"] == 0


def test_rfc5426_section_3_1_one_message_a_datagram(start: Start) -> None:
    """From an unprivileged port that stays, to port 514, with a checksum (section 3.6)."""
    _, sent = begin(start)
    frames = [one.frame for one in sent if UDP in one.frame and one.frame[UDP].dport == SYSLOG]
    assert len({frame[UDP].sport for frame in frames}) == 1 and frames[0][UDP].sport >= 1024
    assert all(frame[UDP].chksum and frame[Ether].dst == SERVER_MAC for frame in frames)


@pytest.mark.parametrize(("value", "shown"), [
    (SERVER, f"{SERVER}:514"), (f"udp:{SERVER}:5140", f"{SERVER}:5140"), (f"tcp:{SERVER}:601", f"tcp:{SERVER}:601"),
    ("2001:db8:2::5", "[2001:db8:2::5]:514"), ("[2001:db8:2::5]", "[2001:db8:2::5]:514"),
    ("tcp:[2001:db8:2::5]:1", "tcp:[2001:db8:2::5]:1")])
def test_receivers_as_they_are_written(start: Start, value: str, shown: str) -> None:
    gateway = start(BASE + f"syslog {value}\n")
    assert f"syslog {shown}" in gateway.lines("print")


@pytest.mark.parametrize("value", ["", "x", "tcp:", "udp:x", f"{SERVER}:0", f"{SERVER}:65536", f"{SERVER}:", "[::1]",
                                   "224.0.0.1", "[2001:db8::5", f"[{SERVER}]", f"[{SERVER}]:514", f"tls:{SERVER}",
                                   f"{SERVER} 514", "2001:db8:2::5]:5", "0.0.0.0", f"udp:tcp:{SERVER}"])
def test_receivers_that_are_none(start: Start, value: str) -> None:
    with pytest.raises(Refused, match="syslog"):
        start(BASE + f"syslog {value}\n")


def test_a_second_server_gets_all_too(start: Start) -> None:
    gateway, sent = begin(start, CONFIG + f"syslog udp:{SERVER}:5140\n")
    assert [one.text for one in messages(sent)] == [one.text for one in messages(sent, port=5140)] != []
    assert len(gateway.lines("receivers")) == 2


def test_the_first_datagram_waits_for_its_neighbour(start: Start) -> None:
    """Nothing is lost while the server's hardware address is asked for."""
    gateway = start(BASE + f"syslog {SERVER}\n")
    sent = gateway.hello
    for i in range(30):
        sent += note(gateway, i)
    sent += gateway.wait(0.1)
    asks = [one for one in sent if ARP in one.frame and one.frame[ARP].pdst == SERVER]
    assert asks and not datagrams(sent, SYSLOG)
    reply = Ether(src=SERVER_MAC, dst=PORT_MAC[WAN]) / ARP(op=2, hwsrc=SERVER_MAC, psrc=SERVER, hwdst=PORT_MAC[WAN],
                                                         pdst=OURS)
    got = messages(gateway.send(WAN, reply) + gateway.wait(1))
    assert len(got) == gateway.stats()["syslog_messages"] and got
    assert not {"unresolved", "neigh-queue"} & set(gateway.drops())


def udp(sport: int = 5000, src: str = A.ip, dst: str = FAR) -> IP:
    return IP(src=src, dst=dst) / UDP(sport=sport, dport=53) / Raw(b"x")


def test_rfc6888_req_12_sessions(start: Start) -> None:
    """Protocol, both endpoints of ours, when it began and ended; and no remote address."""
    gateway, _ = begin(start, CONFIG + "nat.log sessions\nnat.udp-timeout 10\n")
    sent = gateway.lan(udp())
    port = next(one.ip[UDP].sport for one in sent if one.port == WAN and one.frame[UDP].dport == 53)
    (one,) = messages(sent + gateway.wait(1), "session")
    assert one.pri == 134 and one.text == ""
    assert one.data == {"event": "begin", "proto": "17", "inside": A.ip, "inport": "5000", "outside": OURS,
                        "outport": str(port)}
    (end,) = messages(gateway.wait(15), "session")
    assert end.data == one.data | {"event": "end"}
    assert FAR not in str(one) + str(end)


@pytest.mark.parametrize(("packet", "proto", "ports"), [
    (TCP(sport=1000, dport=80, flags="S"), 6, True), (ICMP(type=8, id=77), 1, True), (Raw(bytes(20)), 47, False)])
def test_other_protocols(start: Start, packet: Any, proto: int, ports: bool) -> None:
    gateway, _ = begin(start, CONFIG + "nat.log sessions\n")
    ip = IP(src=A.ip, dst=FAR, **({} if ports else {"proto": proto}))
    (one,) = messages(gateway.lan(ip / packet) + gateway.wait(1), "session")
    assert (one.data["event"], one.data["proto"]) == ("begin", str(proto))
    wanted = {6: "1000", 1: "77", 47: "0"}[proto]
    assert one.data["inport"] == wanted and (one.data["outport"] == "0") == (not ports)


def test_log_off_is_the_default(start: Start) -> None:
    gateway, _ = begin(start)
    assert not messages(gateway.lan(udp()) + gateway.wait(1), "session")


@pytest.mark.parametrize("app", ["nat", "nat64"])
def test_events_need_a_receiver(start: Start, app: str) -> None:
    more = "lan.address 2001:db8:1::1/64\n" if app == "nat64" else ""
    with pytest.raises(Refused, match=re.escape(f"{app}.log: needs a receiver, syslog or ipfix")):
        start(BASE.replace("nat.sessions", f"{app}.sessions") + more + f"{app}.log sessions\n", app)


def test_a_burst_is_sent_whole(start: Start) -> None:
    """Two thousand sessions at once, more than one turn sends."""
    gateway, _ = begin(start, CONFIG + "nat.log sessions\n", packets=4096)
    sent = []
    for first in range(0, 2000, 100):
        batch = [Ether(src=A.mac, dst=PORT_MAC["lan"]) / udp(10000 + i) for i in range(first, first + 100)]
        sent += [one for some in gateway.send_many([("lan", frame) for frame in batch]) for one in some]
    sent += gateway.wait(2)
    found = messages(sent, "session")
    assert sorted(int(one.data["inport"]) for one in found) == list(range(10000, 12000))
    assert gateway.stats()["syslog_lost"] == 0


def test_a_load_that_lasts(start: Start) -> None:
    """20,000 sessions a second that begin and end, under load: 40 messages in each millisecond of MAIN."""
    gateway, _ = begin(start, CONFIG.replace("4096", "16384") + "nat.log sessions\n", packets=4096)
    frame = Ether(src=A.mac, dst=PORT_MAC["lan"]) / udp()
    frame[UDP].chksum = 0
    raw = bytes(frame)
    batch = [("lan", raw[:34] + port.to_bytes(2, "big") + raw[36:]) for port in range(10000, 14000)]
    gateway.send_many(batch)
    assert len(messages(gateway.busy(0.1), "session")) == len(batch)


def test_what_is_lost_is_counted_and_told(start: Start) -> None:
    """While there is no way to the server the log goes on; afterwards the server hears how much is gone."""
    gateway = start(BASE.replace("gateway 203.0.113.1\n", "") + "syslog 198.18.0.9\n")
    for i in range(300):
        note(gateway, i % 256)
    gateway.wait(2)
    assert gateway.stats()["syslog_messages"] == 0
    assert gateway.lines("receivers") == ["syslog 198.18.0.9 port 514 waiting, 0 lost"]
    kept = len(gateway.lines("log"))
    sent = messages(gateway.change("route add 198.18.0.0/24 via 203.0.113.1") + gateway.wait(5))
    lost = gateway.stats()["syslog_lost"]
    assert sent[0].pri == 28 and sent[0].text == f"messages that were not sent in time: {lost}"
    assert 150 < lost < 601 and len(sent) + lost in (602, 603) and len(sent) >= kept


def test_a_message_is_whole(start: Start) -> None:
    """What the longest line of the log makes fits (RFC 5424 section 6.1: 480 bytes everywhere)."""
    _, sent = begin(start)
    for data in datagrams(sent, SYSLOG):
        assert message(data)


def test_wire_has_no_address_to_send_from(start: Start) -> None:
    gateway = start(f"syslog {SERVER}\n", "wire")
    gateway.wait(1)
    assert gateway.stats()["syslog_messages"] == 0


def test_what_is_said_without_a_link_comes_later(start: Start) -> None:
    gateway, _ = begin(start, CONFIG + "nat.log sessions\n")
    gateway.link(WAN, False)
    lost = note(gateway, 7) + gateway.lan(udp()) + gateway.wait(3)
    assert not datagrams(lost, SYSLOG)
    got = messages(gateway.link(WAN, True) + gateway.wait(1) + gateway.wait(1))
    assert "route 10.99.7.0/24 removed" in [one.text for one in got]
    assert gateway.stats()["syslog_lost"] == 0


@pytest.mark.parametrize("code", [1, 3, 13])
def test_a_server_that_refuses(start: Start, code: int) -> None:
    """ICMP errors about the messages change nothing: they may be forged, and the server may be back at any time."""
    gateway, sent = begin(start)
    refused = [one.frame for one in sent if UDP in one.frame and one.frame[UDP].dport == SYSLOG]
    for frame in refused:
        error = IP(src=SERVER, dst=OURS) / ICMP(type=3, code=code) / Raw(bytes(frame[IP])[:28])
        assert not gateway.send(WAN, Ether(src=SERVER_MAC, dst=PORT_MAC[WAN]) / error)
    got = messages(note(gateway, 8) + gateway.wait(1))
    assert [one.text for one in got][-1] == "route 10.99.8.0/24 removed"
    assert gateway.stats()["syslog_lost"] == 0 and gateway.lines("receivers")[0].endswith("sending, 0 lost")
