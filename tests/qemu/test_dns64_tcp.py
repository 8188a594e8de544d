# SPDX-License-Identifier: BSD-2-Clause
"""DNS over TCP between Linux and the gateway (dig, kdig, dnsperf), over good and bad cables, and under attack.

Every frame is captured, and tshark checks what TCP must not do."""

import os
import random
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import dns.message
import pytest
from labkit import dnslab
from labkit import lab as net
from labkit.dnslab import GATEWAY6, SERVERS, DnsLab, configuration, synthesised
from labkit.lab import Lab
from labkit.netns import Namespace
from labkit.relay import BadCable
from labkit.wait import until

pytestmark = pytest.mark.one_card

V4 = synthesised(net.FAR_SERVER)
FAR, FAR6 = "192.168.1.9", "2001:db8:1::9"

# What tshark reports for a cable that loses and reorders frames.
OF_LOSS = {"retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order", "lost_segment",
           "duplicate_ack", "ack_lost_segment"}
FLAGS = sorted(OF_LOSS | {"zero_window", "zero_window_probe", "zero_window_probe_ack", "window_full", "keep_alive",
                          "keep_alive_ack", "reused_ports"})


class Net:
    """A gateway with one upstream server, whose frames are captured."""

    def __init__(self, lab: DnsLab, directory: Path, server: str = "nsd") -> None:
        self.lab = lab
        self.pcap = [str(directory / f"{name}.pcap") for name in ("lan", "wan")]
        for port, file in zip(lab.ports, self.pcap):
            port.pcap = file
        lab.start_server(server)
        lab.boot_dns(configuration(SERVERS[server], ""))
        self.free = lab.packets_free()

    def end(self) -> None:
        """Ends the gateway; every packet must be free again after idle connections are closed."""
        self.lab.check_no_leak(self.free, 30)
        self.lab.shut_down()

    def complaints(self, port: int) -> Counter[str]:
        """What tshark reports about the frames of one card."""
        fields = [word for flag in FLAGS for word in ("-e", f"tcp.analysis.{flag}")]
        said = self.lab.lan.run("tshark", "-r", self.pcap[port], "-o", "tcp.check_checksum:TRUE", "-Y",
                                "tcp.analysis.flags or tcp.checksum.status == \"Bad\" or _ws.malformed",
                                "-T", "fields", *fields, "-e", "tcp.checksum.status", "-e", "tcp.checksum",
                                "-e", "eth.src", "-e", "_ws.malformed", timeout=120).stdout
        found: Counter[str] = Counter()
        for line in said.splitlines():
            values = line.split("\t")
            found.update(flag for flag, value in zip(FLAGS, values) if value)
            status, checksum, sender = values[len(FLAGS):-1]
            # Where its card computes no checksums, Linux writes all ones for zero in every protocol
            # (skb_checksum_help): one segment in 65,536, which tshark reports as bad.
            of_linux = checksum == "0xffff" and sender != net.GATEWAY_MACS[port]
            if status == "0" and not of_linux:
                found["bad checksum"] += 1
            if values[-1]:
                found["malformed"] += 1
        return found


@pytest.fixture
def wire(nic: str, make_dns_lab: Callable[..., DnsLab], tmp_path: Path) -> Iterator[Net]:
    """A gateway whose frames are captured; a test that reads the capture calls end() itself."""
    yield Net(make_dns_lab(nic), tmp_path)


@pytest.fixture
def make_dns_lab(track_lab: Callable[[Lab], None]) -> Iterator[Callable[..., DnsLab]]:
    """A function that makes labs, which end with the test."""
    made: list[DnsLab] = []

    def make(nic: str) -> DnsLab:
        lab = DnsLab()
        made.append(lab)
        track_lab(lab)
        for port in lab.ports:
            port.model = nic
        return lab
    yield make
    for lab in made:
        lab.close()


def dnsperf(lab: DnsLab, space: Namespace, names: list[str], *more: str, server: str = GATEWAY6,
            seconds: int = 60, kind: str = "AAAA") -> str:
    """Each name once over; what dnsperf says, of which no question may be unanswered."""
    file = lab.file("questions", "".join(f"{name} {kind}\n" for name in names))
    said = space.run("dnsperf", "-s", server, "-d", file, "-n", "1", "-l", str(seconds), "-t", "30", *more,
                     timeout=seconds + 60).stdout
    assert re.search(rf"Queries sent: +{len(names)}$", said, re.M), said
    assert re.search(r"Queries lost: +0 ", said), said
    assert re.search(rf"Response codes: +NOERROR {len(names)} ", said), said
    return said


def join(lab: DnsLab, far: Namespace, cable: str) -> None:
    """Puts `far` into the LAN, whose end of the cable is `cable`: a second client."""
    lab.lan.ip(f"link set {cable} master br0 up")
    far.ip("link set far0 up")
    far.ip(f"address add {FAR}/24 dev far0")
    dnslab.open_ipv6(far, "far0", f"{FAR6}/64")
    for own in (net.LAN_GATEWAY, GATEWAY6):
        until(lambda: far.run("ping", "-c1", "-W1", "-n", own, check=False).returncode == 0, 30,  # noqa: B023
              f"{own} to be reached")


def test_dig_and_kdig(wire: Net) -> None:
    """Single queries, several on one connection, and answers larger than a datagram, towards clients and upstream."""
    lab = wire.lab
    for server in (net.LAN_GATEWAY, GATEWAY6):
        for tool in ("dig", "kdig"):
            reply = dnslab.ask(lab.lan, server, "v4.lab.test", "AAAA", "+tcp", tool=tool)
            assert (reply.status, reply.addresses) == ("NOERROR", [V4]), reply.text
    said = lab.lan.run("kdig", f"@{GATEWAY6}", "+tcp", "+keepopen", *(
        word for i in range(50) for word in ("-q", f"k{i}.w.lab.test", "-t", "AAAA"))).stdout
    assert said.count("status: NOERROR") == 50
    assert said.count(synthesised("198.51.100.7")) == 50
    # Sixty AAAA records: UDP gives TC, and dig repeats the query over TCP.
    said = lab.lan.run("dig", f"@{GATEWAY6}", "many.lab.test", "AAAA").stdout
    assert said.count(dnslab.PREFIX) == dnslab.MANY and "(TCP)" in said
    # The upstream server also truncates when it may not send more than 512 bytes.
    said = lab.lan.run("dig", f"@{net.LAN_GATEWAY}", "+tcp", "+noedns", "many.lab.test", "A").stdout
    assert said.count("198.51.100.") >= dnslab.MANY
    stats = lab.console.stats()
    assert stats["tcp_accepted"] >= 7 and stats["tcp_retransmitted"] == 0
    wire.end()
    assert wire.complaints(0) == Counter()
    assert wire.complaints(1) == Counter()


def test_dnsperf(wire: Net) -> None:
    """Thousands of queries on many connections, answered from upstream and from the cache."""
    lab = wire.lab
    names = [f"t{i}.w.lab.test" for i in range(3000)]
    dnsperf(lab, lab.lan, names, "-m", "tcp", "-c", "50", "-Q", "600", seconds=30)
    dnsperf(lab, lab.lan, names, "-m", "tcp", "-c", "100", "-q", "500", server=net.LAN_GATEWAY)
    stats = lab.console.stats()
    assert stats["tcp_accepted"] == 150
    wire.end()
    bad = wire.complaints(0)
    assert not set(bad) - {"window_full"}, bad


def test_long_answers(nic: str, make_dns_lab: Callable[..., DnsLab], tmp_path: Path) -> None:
    """Hundreds of queries at once on a connection, whose answers of 2 KB each must all be fetched over TCP; and signed
    queries, which go to upstream unchanged over TCP, and upstream does not know their key."""
    # Asked for so much at once, NSD 4.6 may stop in the middle of an answer: it closes the connection, or is silent.
    wire = Net(make_dns_lab(nic), tmp_path, "bind")
    lab = wire.lab
    names = [f"a{i}.l.lab.test" for i in range(800)]
    for server in (GATEWAY6, net.LAN_GATEWAY):
        dnsperf(lab, lab.lan, names, "-m", "tcp", "-c", "2", "-q", "400", server=server, kind="TXT")
    said = lab.lan.run("kdig", f"@{GATEWAY6}", "+tcp", "-y", "hmac-sha256:key.:c2VjcmV0", "v4.lab.test", "A").stdout
    assert "status: NOTAUTH" in said or "BADKEY" in said, said
    stats = lab.console.stats()
    assert stats["dns_upstream_tcp"] >= 800 and stats["dns_relayed"] == 1
    assert stats["dns_servfail"] == stats["tcp_timeout"] == 0
    wire.end()
    assert not set(wire.complaints(0)) - {"window_full", "zero_window", "zero_window_probe", "zero_window_probe_ack"}
    assert not set(wire.complaints(1)) - {"window_full"}


@pytest.mark.parametrize("loss, late", [(0.05, 0.0), (0.05, 0.2)], ids=["loss", "loss and reordering"])
def test_a_bad_cable(wire: Net, loss: float, late: float) -> None:
    """5 % of the frames are lost, others are late: every query is still answered."""
    lab = wire.lab
    far = lab._namespace("far")
    cable = BadCable((far, "far0"), (lab.lan, "bad0"), loss=loss, late=late)
    try:
        join(lab, far, "bad0")
        names = [f"b{i}.w.lab.test" for i in range(1500)]
        dnsperf(lab, lab.lan, names, "-Q", "600", seconds=30)  # fills the cache
        dnsperf(lab, far, names, "-m", "tcp", "-c", "20", "-q", "200", seconds=90)
        dnsperf(lab, far, names, "-m", "tcp", "-c", "20", "-q", "200", server=net.LAN_GATEWAY, seconds=90)
        said = far.run("dig", f"@{GATEWAY6}", "+tcp", "+tries=3", "+time=20", "many.lab.test", "AAAA").stdout
        assert said.count(dnslab.PREFIX) == dnslab.MANY
    finally:
        cable.close()
    assert cable.lost > 50
    assert lab.console.stats()["tcp_retransmitted"] > 0
    wire.end()
    bad = wire.complaints(0)
    # When bytes are missing, tshark takes the middle of a message for its beginning. An acknowledgment that was sent
    # before a FIN and arrives after it looks like a keep-alive.
    reordered = {"keep_alive", "keep_alive_ack"} if late else set[str]()
    assert not set(bad) - OF_LOSS - reordered - {"window_full", "malformed"}, bad


def segment(source: str, target: str, sport: int, flags: int, seq: int, ack: int = 0) -> bytes:
    """An IPv4 packet with a bare TCP segment."""
    addresses = socket.inet_aton(source) + socket.inet_aton(target)
    tcp = struct.pack("!HHIIBBHHH", sport, 53, seq, ack, 5 << 4, flags, 1000, 0, 0)
    total = sum(struct.unpack("!16H", addresses + b"\0\6" + struct.pack("!H", len(tcp)) + tcp))
    total = (total & 0xffff) + (total >> 16)
    total = ~(total + (total >> 16)) & 0xffff
    tcp = tcp[:16] + struct.pack("!H", total) + tcp[18:]
    return struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0) + addresses + tcp


class Attack:
    """Repeats a step in a thread until the block ends."""

    def __init__(self, step: Callable[[], None], pause: float) -> None:
        self._step, self._pause = step, pause
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.count = 0

    def _run(self) -> None:
        while not self._ending.wait(self._pause):
            self._step()
            self.count += 1

    def __enter__(self) -> "Attack":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()


def test_syn_flood(wire: Net) -> None:
    """Forged SYNs and segments with any flags: UDP clients and real TCP clients do not notice them."""
    lab = wire.lab
    draw = random.Random(4987)
    names = [f"s{i}.w.lab.test" for i in range(1500)]
    with lab.lan.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        def flood() -> None:
            for _ in range(20):
                source = f"192.168.1.{draw.randrange(100, 250)}"
                flags = 2 if draw.random() < 0.8 else draw.randrange(64)
                raw.sendto(segment(source, net.LAN_GATEWAY, draw.randrange(1, 65536), flags, draw.getrandbits(32),
                                   draw.getrandbits(32)), (net.LAN_GATEWAY, 0))
        with Attack(flood, 0.005) as attack:
            until(lambda: lab.console.stats()["tcp_cookies_sent"], 20, "more half-open connections than there may be")
            dnsperf(lab, lab.lan, names, "-Q", "300", "-c", "4", seconds=30)
            dnsperf(lab, lab.lan, names, "-m", "tcp", "-c", "10", "-Q", "500", server=net.LAN_GATEWAY, seconds=30)
            stats = lab.console.stats()
    assert attack.count > 100
    assert stats["tcp_cookies_sent"] > 1000 and stats["tcp_half_open"] <= 257
    assert stats["tcp_cookies_good"] >= 1, "a real client connected with a cookie"
    wire.end()


def test_clients_that_hold_on(wire: Net) -> None:
    """Connections that send no query, send half of one, or never read: they end, and other clients are served
    meanwhile. A further connection of the same client may lose to those that it holds, so `far` asks."""
    lab = wire.lab
    far = lab._namespace("far")
    lab.lan.ip(f"link add others0 type veth peer name far0 netns {far.name}")
    join(lab, far, "others0")
    question = dns.message.make_query("many.lab.test", "AAAA").to_wire()
    framed = struct.pack("!H", len(question)) + question
    held: list[socket.socket] = []
    for i in range(300):
        with lab.lan.entered():
            one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        one.settimeout(5)
        one.connect((net.LAN_GATEWAY, 53))
        one.setblocking(False)
        if i % 3:
            try:
                one.send(framed * 100 if i % 3 == 1 else framed[:-3])
            except BlockingIOError:
                pass
        held.append(one)
    # Until upstream has answered, this host's queries fill its share of the waiting places.
    # What they hold may be free by then: on a busy host the gateway has ended them.
    packets = []

    def answered() -> bool:
        stats = lab.console.stats()
        packets.append(stats["tcp_packets_held"])
        return stats["dns_waiting"] == 0
    until(answered, 20, "the first questions to be answered")
    assert max(packets) > 0
    names = [f"h{i}.w.lab.test" for i in range(1500)]
    dnsperf(lab, far, names, "-Q", "300", "-c", "4", seconds=30)
    dnsperf(lab, far, names, "-m", "tcp", "-c", "10", "-Q", "500", seconds=30)
    until(lambda: lab.console.stats()["tcp_packets_held"] == 0, 20, "the packets held for them to be freed")
    for one in held:
        one.close()
    assert dnslab.ask(lab.lan, GATEWAY6, "v4.lab.test", "AAAA", "+tcp").addresses == [V4]
    wire.end()
    assert os.path.getsize(wire.pcap[0]) > 1000
