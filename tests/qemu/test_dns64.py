# SPDX-License-Identifier: BSD-2-Clause
"""The DNS64 server between real clients (dig, kdig, dnsperf, glibc) and real name servers (unbound, BIND, NSD)."""

import contextlib
import hashlib
import itertools
import os
import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import dns.message
import pytest
from labkit import dnslab
from labkit import lab as net
from labkit.dnslab import GATEWAY6, NATIVE, PREFIX, SERVERS, DnsLab, configuration, synthesised
from labkit.lab import Lab
from labkit.netns import Namespace, end_process
from labkit.wait import until

Boot = Callable[..., DnsLab]

TOOLS = os.path.join(os.path.dirname(__file__), "../../tools")
V4 = synthesised(net.FAR_SERVER)
BOTH = [address for pair in SERVERS.values() for address in pair]


class DnsNet:
    """The lab for all tests of the module, and the gateway that runs in it."""

    def __init__(self, lab: DnsLab) -> None:
        self.lab = lab
        self._runs: tuple[str, str] | None = None
        self._free = 0

    def prepare(self, nic: str) -> None:
        """Makes all name servers answer; the next gateway has these cards."""
        for kind in SERVERS:
            if not self.lab.serves(kind):
                self.lab.start_server(kind)
        for port in self.lab.ports:
            port.model = nic

    def boot(self, nic: str, conf: str) -> DnsLab:
        """A gateway on this NIC with this configuration; one that runs already, if it is the same and healthy."""
        machine = self.lab.machine
        if self._runs == (nic, conf) and machine is not None and machine.process.poll() is None:
            self.prepare(nic)
            return self.lab
        self.end()
        self.prepare(nic)
        self.lab.boot_dns(conf)
        self._free = self.lab.packets_free()
        self._runs = nic, conf
        return self.lab

    def end(self) -> None:
        """Checks that the running gateway has every packet free again: a leak fails the test."""
        machine, runs, self._runs = self.lab.machine, self._runs, None
        if runs is not None and machine is not None and machine.process.poll() is None:
            # A packet may wait for a neighbour for three seconds (RFC 4861 section 10).
            self.lab.check_no_leak(self._free, 5)
        self.lab.shut_down()


@pytest.fixture(scope="module")
def dns_net() -> Iterator[DnsNet]:
    """The lab with its three name servers."""
    with DnsLab() as lab:
        net_ = DnsNet(lab)
        yield net_
        net_.end()


@pytest.fixture
def boot_dns(nic: str, dns_net: DnsNet, track_lab: Callable[[Lab], None]) -> Boot:
    """A function that boots a DNS64 server with these upstream servers and these lines added to its configuration."""
    track_lab(dns_net.lab)

    def boot(servers: Sequence[str] = BOTH, lines: str = "") -> DnsLab:
        return dns_net.boot(nic, configuration(servers, lines))
    return boot


# ---- answers ----


@pytest.mark.parametrize("upstream", SERVERS)
def test_addresses(boot_dns: Boot, upstream: str) -> None:
    """AAAA records as they are, or synthesised from A records, after any chain; over IPv4 and IPv6, from either
    server."""
    lab = boot_dns(SERVERS[upstream])
    wanted = {
        "v4.lab.test": [V4],
        "v6.lab.test": [NATIVE],
        "dual.lab.test": [NATIVE],
        "mapped.lab.test": [V4],  # ::ffff:0:0/96 is no address for IPv6 hosts (RFC 6147 section 5.1.4)
        "alias.lab.test": [V4],
        "chain.lab.test": [V4],
        "v4.tree.lab.test": [V4],
        "any-name.w.lab.test": [synthesised("198.51.100.7")],
        "text.lab.test": [],
    }
    for server, tool in ((net.LAN_GATEWAY, "dig"), (GATEWAY6, "kdig")):
        for name, addresses in wanted.items():
            reply = dnslab.ask(lab.lan, server, name, "AAAA", tool=tool)
            assert (reply.status, reply.addresses) == ("NOERROR", addresses), reply.text
            assert {"qr", "rd", "ra"} <= reply.flags and not {"aa", "ad", "tc"} & reply.flags
    reply = dnslab.ask(lab.lan, GATEWAY6, "chain.lab.test", "AAAA")
    assert reply.answer == ["alias.lab.test. CNAME v4.lab.test.", "chain.lab.test. CNAME alias.lab.test.",
                            f"v4.lab.test. AAAA {V4}"]
    # The TTL of the SOA record, which authoritative servers send with its MINIMUM (RFC 2308 section 3).
    assert reply.ttl["AAAA"] <= (300 if upstream == "unbound" else 120)


@pytest.mark.one_card
@pytest.mark.parametrize("upstream", SERVERS)
def test_other_queries_as_upstream_answers_them(boot_dns: Boot, upstream: str) -> None:
    """Other types, names that do not exist, signatures: the client gets the upstream server's answer."""
    lab = boot_dns(SERVERS[upstream])
    questions = [("v4", "A"), ("many", "A"), ("alias", "A"), ("v4.tree", "A"), ("text", "TXT"), ("", "MX"),
                 ("", "SOA"), ("", "NS"), ("_s._udp", "SRV"), ("odd", "TYPE65280"), ("nobody", "AAAA"),
                 ("nobody", "A"), ("v4", "MX"), ("text", "TYPE65"), ("dual", "ANY")]
    for name, kind in questions:
        for more in ("+noedns", "+dnssec"):
            question = (f"{name}.lab.test".lstrip("."), kind, more, "+notcp")
            ours = dnslab.ask(lab.lan, net.LAN_GATEWAY, *question)
            theirs = dnslab.ask(lab.wan, SERVERS[upstream][0], *question)
            assert (ours.status, "tc" in ours.flags) == (theirs.status, "tc" in theirs.flags), ours.text + theirs.text
            if "tc" not in theirs.flags:
                assert ours.answer == theirs.answer, ours.text + theirs.text
            # The authority section is optional beside an answer.
            if not theirs.answer:
                assert ours.authority == theirs.authority, ours.text + theirs.text


def test_signed_data(boot_dns: Boot) -> None:
    """A validating client (DO and CD) gets the signed data; another one gets addresses that it can use."""
    lab = boot_dns(SERVERS["bind"])
    plain = dnslab.ask(lab.lan, GATEWAY6, "v4.lab.test", "AAAA", "+dnssec")
    assert plain.answer == [f"v4.lab.test. AAAA {V4}"]
    validating = dnslab.ask(lab.lan, GATEWAY6, "v4.lab.test", "AAAA", "+dnssec", "+cdflag")
    assert validating.answer == [] and "cd" in validating.flags
    assert {"SOA", "RRSIG"} <= {record.split()[1] for record in validating.authority}
    native = dnslab.ask(lab.lan, GATEWAY6, "v6.lab.test", "AAAA", "+dnssec")
    assert {record.split()[1] for record in native.answer} == {"AAAA", "RRSIG"}


def test_sizes(boot_dns: Boot) -> None:
    """An answer that does not fit is truncated, with TC; a client that then uses TCP gets all of it."""
    lab = boot_dns(SERVERS["bind"])
    for more, most in (((), 1232), (("+noedns",), 512), (("+bufsize=600",), 600), (("+bufsize=100",), 512)):
        reply = dnslab.ask(lab.lan, net.LAN_GATEWAY, "many.lab.test", "AAAA", *more)
        size = int(re.findall(r"MSG SIZE  rcvd: (\d+)", reply.text)[0])
        assert "tc" in reply.flags and most - 28 < size <= most and len(reply.addresses) > 15
    whole = dnslab.ask(lab.lan, GATEWAY6, "many.lab.test", "AAAA", "+tcp")
    assert len(set(whole.addresses)) == dnslab.MANY and "tc" not in whole.flags


def test_reverse(boot_dns: Boot) -> None:
    """dig -x of a synthesised address gives the IPv4 host's name; of another address, upstream's answer."""
    lab = boot_dns()
    reply = dnslab.ask(lab.lan, GATEWAY6, "-x", V4)
    assert sorted(record.split()[1:] for record in reply.answer) == [
        ["CNAME", "1.100.51.198.in-addr.arpa."], ["PTR", "v4.lab.test."]]
    assert dnslab.ask(lab.lan, GATEWAY6, "-x", synthesised("198.51.100.9")).answer == []
    assert dnslab.ask(lab.lan, GATEWAY6, "-x", net.FAR_SERVER).answer == ["1.100.51.198.in-addr.arpa. PTR v4.lab.test."]
    name = dnslab.ask(lab.lan, GATEWAY6, "-x", synthesised("192.0.0.170"))
    assert name.answer[0].endswith(" PTR ipv4only.arpa.")


def test_the_prefix_is_found(boot_dns: Boot) -> None:
    """A host queries ipv4only.arpa (RFC 7050); the gateway answers without upstream."""
    lab = boot_dns()
    asked = lab.console.stats()["dns_upstream_asked"]
    reply = dnslab.ask(lab.lan, GATEWAY6, "ipv4only.arpa", "AAAA")
    assert sorted(reply.addresses) == sorted(synthesised(f"192.0.0.{i}") for i in (170, 171))
    assert lab.console.stats()["dns_upstream_asked"] == asked


def test_edns(boot_dns: Boot) -> None:
    """Unknown versions get BADVERS, unknown options are ignored."""
    lab = boot_dns()
    assert dnslab.ask(lab.lan, GATEWAY6, "v4.lab.test", "AAAA", "+edns=1", "+noednsnegotiation").status == "BADVERS"
    for option in ("+ednsopt=65001:0102", "+nsid", "+cookie", "+subnet=192.0.2.0/24", "+padding=128"):
        assert dnslab.ask(lab.lan, GATEWAY6, "v4.lab.test", "AAAA", option).addresses == [V4]


def test_who_may_ask(boot_dns: Boot) -> None:
    """Clients in the networks of the gateway's own addresses, on both sides, are served; others are refused. The source
    of an answer is the address that the query went to."""
    lab = boot_dns()
    lab.wan.ip(f"route replace {net.LAN_GATEWAY} via {net.WAN_GATEWAY}")
    for server in (net.WAN_GATEWAY, dnslab.WAN_GATEWAY6, net.LAN_GATEWAY):
        assert dnslab.ask(lab.wan, server, "v4.lab.test", "AAAA").addresses == [V4]
    assert dnslab.ask(lab.wan, net.WAN_GATEWAY, "-b", net.FAR_SERVER, "v4.lab.test", "AAAA").status == "REFUSED"


def test_mtd64_ng_conf(nic: str, dns_net: DnsNet, track_lab: Callable[[Lab], None]) -> None:
    """An unchanged mtd64-ng.conf, beside a file with our addresses."""
    lab = dns_net.lab
    track_lab(lab)
    dns_net.end()
    dns_net.prepare(nic)
    theirs = lab.file("mtd64-ng.conf", f"""\
# The servers to ask.
nameserver {SERVERS["nsd"][0]}
nameserver {SERVERS["bind"][0]}
// How they are chosen: random or round-robin
selection-mode round-robin

dns64-prefix {PREFIX}/96
debugging yes
timeout-time 0.500000
resend-attempts 3
response-maxlength 512
num-threads 30
port 53
""")
    ours = configuration([]).replace(f"dns64-prefix {PREFIX}/96\n", "")
    lab.boot_dns(ours, modules=[theirs])
    for i in range(20):
        reply = dnslab.ask(lab.lan, GATEWAY6, f"n{i}.w.lab.test", "AAAA")
        assert reply.addresses == [synthesised("198.51.100.7")]
    sessions = lab.console.command("sessions")
    asked = [int(n) for n in re.findall(r"asked=(\d+)", sessions)]
    assert len(asked) == 2 and abs(asked[0] - asked[1]) <= 1, sessions
    assert "tc" in dnslab.ask(lab.lan, GATEWAY6, "many.lab.test", "A").flags


def test_router_advertisement(boot_dns: Boot) -> None:
    """A host learns the server and the prefix, and that the gateway is not a router."""
    lab = boot_dns()
    said = lab.lan.run("rdisc6", "-1", "-w", "1500", "br0").stdout
    assert re.search(rf"Recursive DNS server *: {GATEWAY6}\n", said), said
    assert re.search(r"Router lifetime *: +0 ", said), said
    # PREF64 (RFC 8781), for which rdisc6 has no name.
    with lab.lan.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as icmp:
        icmp.settimeout(10)
        icmp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        index = int(lab.lan.ip("-o link show br0").split(":")[0])
        icmp.sendto(bytes([133, 0, 0, 0, 0, 0, 0, 0]), ("ff02::2", 0, 0, index))
        data = b""
        while data[:1] != b"\x86":
            data = icmp.recv(1500)
    option = data.index(bytes([38, 2]))
    assert data[option + 4:option + 16] == socket.inet_pton(socket.AF_INET6, PREFIX)[:12]


# ---- load and failures ----


def dnsperf(lab: DnsLab, names: Sequence[str], seconds: float, rate: int, server: str = GATEWAY6,
            kind: str = "AAAA") -> dict[str, str]:
    """Runs dnsperf with each name once; gives its statistics."""
    file = lab.file("questions", "".join(f"{name} {kind}\n" for name in names))
    said = lab.lan.run("dnsperf", "-s", server, "-d", file, "-n", "1", "-l", str(seconds), "-Q", str(rate),
                       "-c", "4", "-t", "8", timeout=seconds + 30).stdout
    result = dict(re.findall(r"^ *([A-Z][A-Za-z ]+ ?(?:\(s\))?): +(\S.*)$", said, re.MULTILINE))
    result["all"] = said
    return result


def check_all_answered(result: dict[str, str], count: int) -> None:
    """Checks that no query was lost, and none got an error."""
    assert result["Queries sent"] == str(count), result["all"]
    assert result["Queries lost"].startswith("0 "), result["all"]
    assert result["Response codes"].startswith(f"NOERROR {count} "), result["all"]


def test_dnsperf(boot_dns: Boot) -> None:
    """New names at a rate that three name servers on the same host can serve, then the same names from the cache."""
    lab = boot_dns()
    names = [f"p{i}.w.lab.test" for i in range(1500)]
    check_all_answered(dnsperf(lab, names, 30, 600), len(names))
    check_all_answered(dnsperf(lab, names, 30, 2000), len(names))
    check_all_answered(dnsperf(lab, names, 30, 2000, net.LAN_GATEWAY, "A"), len(names))


@contextlib.contextmanager
def fakedns(space: Namespace, address: str, *options: str) -> Iterator[None]:
    """A server at this address that knows the names of dns64perf."""
    server = space.start(f"{TOOLS}/fakedns", "--listen", address, *options)
    try:
        yield
    finally:
        end_process(server)


FAULTS = ("--loss", "0.2", "--duplicate", "0.2", "--wrong-id", "0.1", "--wrong-name", "0.1", "--rcode", "2:0.1",
          "--delay", "0-30")


def reach_all_servers(lab: DnsLab) -> None:
    """Asks until every upstream server has answered. Before, few packets may wait for a neighbour and others are
    dropped, so at a high rate all attempts of a question may be lost where the host is slow."""
    names = (f"010-000-001-{i:03}.dns64perf.test" for i in itertools.count(1))

    def answered() -> bool:
        dnslab.ask(lab.lan, GATEWAY6, next(names), "AAAA")
        states = re.findall(r"^nameserver \S+ (\w+) ", lab.console.command("sessions"), re.MULTILINE)
        return bool(states) and set(states) == {"up"}
    until(answered, 20, "every server to answer")


@pytest.mark.one_card
def test_a_server_that_misbehaves(dns_net: DnsNet, boot_dns: Boot) -> None:
    """Beside a good server a bad one costs time, but every client gets an answer, and none is wrong."""
    lab = dns_net.lab
    share = ("--have-aaaa", "0.3")
    with fakedns(lab.wan, net.FAR_SERVER, *share, *FAULTS), fakedns(lab.wan, net.WAN_SERVER, *share):
        question = ("dig", f"@{net.WAN_SERVER}", "+tries=1", "+time=1", "+short", "10-0-0-1.dns64perf.test")
        until(lambda: "10.0.0.1" in lab.wan.run(*question, check=False).stdout, 20, "fakedns to answer")
        boot_dns([net.FAR_SERVER, net.WAN_SERVER])
        reach_all_servers(lab)
        before = lab.console.stats()
        done = lab.lan.run(f"{TOOLS}/dns64perf", "--no-csv", "--prefix", f"{PREFIX}/96", "--real", "0.3", GATEWAY6,
                           "53", "100.64.0.0/10", "600", "1", "1", "5000000", "4", check=False)
        assert "Valid answers: 600 (100.00%)" in done.stdout and done.returncode == 0, done.stdout + done.stderr
        stats = lab.console.stats()
    assert stats["dns_upstream_forged"] > before["dns_upstream_forged"]
    assert 300 < stats["dns_synthesised"] - before["dns_synthesised"] < 540


@pytest.mark.one_card
@pytest.mark.parametrize("death", ["port closed", "silence"])
def test_one_server_dies_and_comes_back(boot_dns: Boot, death: str) -> None:
    """Clients notice only a delay; the gateway stops using the server, and uses it again when it is back."""
    lab = boot_dns([SERVERS["nsd"][0], SERVERS["bind"][1]])
    rate, seconds = 100, 6
    names = [f"{death[0]}{i}.w.lab.test" for i in range(rate * seconds)]
    outcome: list[dict[str, str]] = []
    client = threading.Thread(target=lambda: outcome.append(dnsperf(lab, names, seconds + 20, rate)))
    asked = lab.console.stats()["dns_upstream_answered"]
    client.start()
    until(lambda: lab.console.stats()["dns_upstream_answered"] > asked + rate / 2, 10, "both servers at work")
    if death == "port closed":
        lab.stop_server("bind")
    else:
        lab.server("bind").send_signal(signal.SIGSTOP)
    try:
        until(lambda: lab.console.stats()["dns_upstream_up"] == 1, 10, "the server to be left out")
    finally:
        if death == "port closed":
            lab.start_server("bind")
        else:
            lab.server("bind").send_signal(signal.SIGCONT)
    until(lambda: lab.console.stats()["dns_upstream_up"] == 2, 10, "the server to be back")
    client.join()
    check_all_answered(outcome[0], len(names))
    assert float(re.findall(r"Average Latency \(s\): +[\d.]+ +\(min [\d.]+, max ([\d.]+)\)", outcome[0]["all"])[0]) < 2


@pytest.mark.one_card
def test_all_servers_die_and_come_back(boot_dns: Boot) -> None:
    """Known names are still answered (RFC 8767), others get SERVFAIL in time, and then everything works again."""
    lab = boot_dns(SERVERS["nsd"], "timeout-time 0.5\nresend-attempts 2\n")
    assert dnslab.ask(lab.lan, GATEWAY6, "short.lab.test", "AAAA").addresses == [V4]
    lab.stop_server("nsd")
    until(lambda: dnslab.ask(lab.lan, GATEWAY6, "short.lab.test", "AAAA").ttl["AAAA"] == 30, 10, "the record to expire")
    began = time.monotonic()
    assert dnslab.ask(lab.lan, GATEWAY6, "dead1.w.lab.test", "AAAA").status == "SERVFAIL"
    assert 1 < time.monotonic() - began < 2.5
    stale = dnslab.ask(lab.lan, GATEWAY6, "short.lab.test", "AAAA")
    assert stale.addresses == [V4] and stale.ttl["AAAA"] == 30
    assert len(dnslab.ask(lab.lan, GATEWAY6, "ipv4only.arpa", "AAAA").addresses) == 2
    lab.start_server("nsd")
    until(lambda: dnslab.ask(lab.lan, GATEWAY6, "dead2.w.lab.test", "AAAA").status == "NOERROR", 15,
          "new names to be answered again")
    until(lambda: dnslab.ask(lab.lan, GATEWAY6, "short.lab.test", "AAAA").ttl["AAAA"] <= 1, 10, "a fresh record")


@pytest.mark.one_card
def test_garbage(boot_dns: Boot) -> None:
    """Corrupted queries, and corrupted answers of one of two upstream servers: every client gets answers, nothing
    leaks."""
    draw = random.Random(6147)
    lab = boot_dns([net.FAR_SERVER, SERVERS["nsd"][0]])

    def wait_answer(client: socket.socket) -> None:
        """Waits until the gateway has handled all queries so far: it answers one that needs no upstream."""
        marked = dns.message.make_query("ipv4only.arpa", "A", id=0xabcd).to_wire()
        for _ in range(20):
            client.sendto(marked, (GATEWAY6, 53))
            try:
                while client.recv(4096)[:2] != marked[:2]:
                    pass
                return
            except TimeoutError:
                continue
        raise AssertionError("no answer any more")

    def bend(data: bytes) -> bytes:
        out = bytearray(data)
        for _ in range(draw.randrange(1, 6)):
            out[draw.randrange(len(out))] = draw.randrange(256)
        return bytes(out[:draw.randrange(len(out))] if draw.random() < 0.2 else out)

    with lab.wan.socket() as upstream, lab.wan.socket() as behind, lab.lan.socket(socket.AF_INET6) as client:
        upstream.bind((net.FAR_SERVER, 53))
        upstream.settimeout(0.2)
        behind.settimeout(1)
        client.settimeout(1)
        ending = threading.Event()

        def answer() -> None:
            while not ending.is_set():
                try:
                    question, who = upstream.recvfrom(4096)
                    behind.sendto(question, (SERVERS["nsd"][0], 53))
                    good = behind.recv(4096)
                except OSError:
                    continue
                for _ in range(draw.randrange(1, 4)):
                    upstream.sendto(bend(good), who)
        server = threading.Thread(target=answer)
        server.start()
        try:
            for i in range(3000):
                name = draw.choice(["v4", "chain", "v4.tree", "many", f"g{i}.w"]) + ".lab.test"
                question = dns.message.make_query(name, "AAAA", use_edns=draw.choice([None, 0])).to_wire()
                client.sendto(bend(question) if i % 10 else question, (GATEWAY6, 53))
                if i % 20 == 0:
                    wait_answer(client)
            for i in range(30):
                reply = dnslab.ask(lab.lan, GATEWAY6, f"h{i}.w.lab.test", "AAAA", tries=2)
                assert reply.status in ("NOERROR", "SERVFAIL", "FORMERR", "REFUSED", "NXDOMAIN", "NOTIMP"), reply.text
        finally:
            ending.set()
            server.join()
    stats = lab.console.stats()
    assert stats['dns_upstream_forged'] > 0 and stats["dns_formerr"] > 0
    until(lambda: dnslab.ask(lab.lan, GATEWAY6, "last.w.lab.test", "AAAA").addresses, 15, "good answers again")


# ---- whole networks ----


@pytest.mark.one_card
def test_a_page_through_the_translator(boot_dns: Boot, tmp_path: Path) -> None:
    """A Linux host without IPv4 fetches a page from an IPv4 server: its resolver uses DNS64, its packets `ivi`."""
    lab = boot_dns()
    lab.add_translator()
    content = random.Random(6052).randbytes(1 << 20)
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "page").write_bytes(content)
    resolv = lab.file("resolv.conf", f"nameserver {GATEWAY6}\n")

    def with_resolver(*argv: str) -> str:
        """Runs the program in a mount namespace in which this is the resolv.conf."""
        script = f"mount --bind {resolv} /etc/resolv.conf && exec \"$@\""
        return lab.lan.run("unshare", "--mount", "sh", "-c", script, "sh", *argv, timeout=60).stdout

    lab.lan.ip(f"address del {net.LAN_HOST}/24 dev br0")
    try:
        assert V4 in with_resolver("getent", "ahosts", "www.lab.test")
        with lab.web_server(str(tmp_path / "www")) as log:
            with_resolver("curl", "-sSf", "-o", str(tmp_path / "copy"), "http://www.lab.test/page")
            request = until(lambda: [line for line in Path(log).read_text().splitlines() if "GET /page" in line], 5,
                            "the request in the server's log")
        assert "v4.lab.test" in with_resolver("getent", "hosts", V4)
    finally:
        lab.lan.ip(f"address add {net.LAN_HOST}/24 dev br0")
    assert hashlib.sha256((tmp_path / "copy").read_bytes()).digest() == hashlib.sha256(content).digest()
    assert request[0].startswith(dnslab.HOST4 + " ")


def test_one_card(nic: str, make_lab: Callable[..., Lab]) -> None:
    """A machine with a single card, whose upstream server is in the LAN."""
    lab = make_lab((nic,))
    with fakedns(lab.lan, net.LAN_HOST):
        lab.lan.wait_port(53, "udp")
        lab.boot(f"app dns64\nlan nic0\nlan.address {net.LAN_GATEWAY}/24\nnameserver {net.LAN_HOST}\n"
                 f"dns64-prefix {PREFIX}/96\n", app="dns64")
        free = lab.packets_free()
        reply = dnslab.ask(lab.lan, net.LAN_GATEWAY, "198-051-100-001.dns64perf.test", "AAAA", tries=10, wait=1)
        assert reply.addresses == [V4]
        assert dnslab.ask(lab.lan, net.LAN_GATEWAY, "ipv4only.arpa", "AAAA").status == "NOERROR"
    lab.check_no_leak(free, 5)
