# SPDX-License-Identifier: BSD-2-Clause
"""Real programs through the translator: between an IPv6 host and an IPv4 host, and with tayga as the second translator
between two IPv6 hosts and between two IPv4 hosts. Each test of traffic has all six directions. The tests between IPv4
hosts use addresses of RFC 6052, the others those of RFC 6219.
"""

import hashlib
import ipaddress
import json
import random
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from labkit import lab as net
from labkit.ivilab import (HOME_HOST4, HOME_ROUTE, HOME_ROUTER4, HOME_TAYGA4, HOME_UPLINK4, HOME_UPSTREAM4,
                           HOST4, ROUTER4, SITE_HOST, SITE_HOST4, SITE_ROUTER, SITE_ROUTER4, TAYGA, IviLab,
                           from_site, link_length, v6)
from labkit.netns import Namespace
from labkit.peer import LinuxPeer
from labkit.wait import until

Boot = Callable[..., IviLab]
NO_DISCOVERY = {socket.AF_INET: (socket.IPPROTO_IP, 10, 0), socket.AF_INET6: (socket.IPPROTO_IPV6, 23, 0)}
BEHIND4 = "192.0.2.200"  # an IPv6 host behind the LAN host, on a link with a smaller MTU
DIRECTIONS = ("6to4", "4to6", "6to4to6", "6to4to6 back", "4to6to4", "4to6to4 back")
# A translator takes no ICMP in fragments (RFC 7915 section 1.2), so the first of two translators must make none.
CONFIGURATION = dict.fromkeys(DIRECTIONS[4:], (HOME_ROUTE + "ivi.lowest-ipv6-mtu 1500\n", "rfc6052"))

# The number of bytes that an IPv6 packet has more than the IPv4 packet that it was.
GROWTH = 20

# Linux sends echo replies without DF; tayga then fragments large ones, and they are lost: see CONFIGURATION.
SPLIT_ECHO = 1280 - 48


@dataclass(frozen=True)
class Way:
    """A client, a server, and the address that each has for the other."""

    lab: IviLab
    client: Namespace
    server: Namespace
    own: str  # the server's address
    target: str  # the server's address, as the client sees it
    seen: str  # the client's address, as the server sees it
    hops: tuple[str, ...]  # the routers' addresses, as the client sees them
    most: int = 0  # largest echo data, unless an MTU gives it

    @property
    def family(self) -> str:
        return "-6" if ":" in self.target else "-4"

    @property
    def url(self) -> str:
        return f"[{self.target}]" if ":" in self.target else self.target

    def ping(self, size: int, *options: str) -> None:
        ping(self.client, self.target, "-s", str(size), *options)


def ping(space: Namespace, target: str, *options: str) -> None:
    """Checks that two echoes are answered. Each is a ping of its own: ping hardly waits for the last reply of
    several."""
    for _ in range(2):
        said = space.run("ping", "-n", "-c1", "-W5", *options, target, check=False).stdout
        assert " 1 received" in said, said


def way(lab: IviLab, direction: str) -> Way:
    """The path in this direction; adds the hosts and translators that it needs to the lab."""
    server4, site = net.FAR_SERVER, lab.v6(SITE_HOST4)
    if direction == "6to4":
        return Way(lab, lab.lan, lab.wan, server4, lab.v6(server4), HOST4, (lab.v6(ROUTER4),))
    if direction == "4to6":
        return Way(lab, lab.wan, lab.lan, lab.host6, HOST4, lab.v6(net.WAN_SERVER), (net.WAN_GATEWAY,))
    if direction == "4to6to4":
        lab.add_home()
        hops = HOME_ROUTER4, HOME_TAYGA4, HOME_UPLINK4, HOME_UPSTREAM4, ROUTER4
        most = SPLIT_ECHO if isinstance(lab.machine, LinuxPeer) else 0
        return Way(lab, lab.home, lab.wan, server4, server4, HOME_HOST4, hops, most)
    if direction == "4to6to4 back":
        lab.add_home()
        hops = net.WAN_GATEWAY, HOST4, HOME_UPLINK4, HOME_TAYGA4, HOME_ROUTER4
        return Way(lab, lab.wan, lab.home, HOME_HOST4, HOME_HOST4, net.WAN_SERVER, hops, SPLIT_ECHO)
    lab.add_site()
    if direction == "6to4to6":
        hops = lab.v6(ROUTER4), lab.v6(net.WAN_SERVER), lab.v6(TAYGA), lab.v6("198.18.1.1"), lab.v6(SITE_ROUTER4)
        return Way(lab, lab.lan, lab.site, SITE_HOST, site, from_site(HOST4), hops)
    hops = SITE_ROUTER, from_site("198.18.1.1"), from_site(TAYGA), from_site("198.18.0.1"), from_site(net.WAN_GATEWAY)
    return Way(lab, lab.site, lab.lan, lab.host6, from_site(HOST4), site, hops)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "direction" in metafunc.fixturenames:
        # Module scope: the tests of a direction run together.
        metafunc.parametrize("direction", DIRECTIONS, scope="module")


@pytest.fixture
def path(direction: str, boot_ivi: Boot) -> Way:
    return way(boot_ivi(*CONFIGURATION.get(direction, ())), direction)


# ---- the IPv6 side ----


@pytest.mark.traffic
def test_no_address_from_the_advertisement(ivi: IviLab) -> None:
    """The host gets a route and the on-link prefix, but only the address that was configured by hand."""
    routes = ivi.lan.ip("-6 route show dev lan0")
    assert re.search(r"^default via fe80:\S+ proto ra ", routes, re.MULTILINE), routes
    addresses = re.findall(r"inet6 (\S+)/", ivi.lan.ip("-6 -o address show dev lan0 scope global"))
    assert addresses == [ivi.host6]


def test_rdisc6(ivi: IviLab) -> None:
    """A prefix that is on-link but makes no addresses (A = 0); a router of medium preference."""
    said = ivi.lan.run("rdisc6", "-1", "-w", "1500", "lan0").stdout
    fields = dict(re.findall(r"^ *(\S.*?) *: +(.*?) *$", said, re.MULTILINE))
    network = ivi.v6("192.0.2.0").removesuffix("::")
    wanted = {"Autonomous address conf.": "No", "On-link": "Yes", "Stateful address conf.": "No",
              "Prefix": f"{network}::/{link_length('ivi')}", "Router lifetime": r"1800 \(.*",
              "Router preference": "medium", "Source link-layer address": net.GATEWAY_MACS[0]}
    for name, value in wanted.items():
        assert re.fullmatch(value, fields.get(name, "")), f"{name}\n{said}"


# ---- traffic ----


@pytest.mark.traffic
def test_ping(path: Way) -> None:
    """Echoes of every size that fits."""
    largest = path.most or 1500 - (48 if path.family == "-6" else 28 + GROWTH)
    for size in {0, 1, 56, 57, 1232, min(1233, largest), largest - 1, largest}:
        path.ping(size)


@pytest.mark.traffic
def test_ping_of_the_gateway(ivi: IviLab) -> None:
    """The gateway answers on both sides."""
    ping(ivi.lan, ivi.v6(ROUTER4))
    ping(ivi.wan, net.WAN_GATEWAY)


def large_datagrams(client: Namespace, server: Namespace, own: str, target: str) -> str:
    """8 KB of UDP arrive in fragments and the answer returns, byte for byte; gives the client's address for the
    server."""
    data = random.Random(8).randbytes(8192)
    families = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in (own, target)]
    with server.socket(families[0]) as there, client.socket(families[1]) as here:
        there.bind((own, 5000))
        there.settimeout(5)
        here.settimeout(5)
        # Even where a path MTU is known, UDP may be fragmented.
        here.setsockopt(*NO_DISCOVERY[families[1]])
        there.setsockopt(*NO_DISCOVERY[families[0]])
        for _ in range(3):
            here.sendto(data, (target, 5000))
            got, source = there.recvfrom(65536)
            assert got == data
            there.sendto(got[::-1], source)
            answer, answerer = here.recvfrom(65536)
            assert (answer == data[::-1], answerer[0]) == (True, target)
        seen: str = source[0]
        return seen


@pytest.mark.traffic
def test_large_datagrams(path: Way) -> None:
    assert large_datagrams(path.client, path.server, path.own, path.target) == path.seen


def web_server(path: Way, directory: Path) -> "subprocess.Popen[bytes]":
    process = path.server.start("python3", "-u", "-m", "http.server", "80", "--bind", path.own, "--directory",
                                str(directory), stderr=subprocess.PIPE)
    path.server.wait_port(80)
    return process


@pytest.mark.traffic
def test_curl(path: Way, tmp_path: Path) -> None:
    """A file of 16 MB arrives unchanged; the server sees the client by an address of its own family."""
    content = random.Random(16).randbytes(16 << 20)
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(content)
    copy = tmp_path / "copy"
    server = web_server(path, tmp_path / "www")
    try:
        path.client.run("curl", "-sSf", "-o", str(copy), f"http://{path.url}/file", timeout=60)
    finally:
        server.terminate()
        _, log = server.communicate(timeout=10)
    assert hashlib.sha256(copy.read_bytes()).digest() == hashlib.sha256(content).digest()
    assert f"{path.seen} - - " in log.decode()


def iperf3(path: Way, *options: str) -> dict[str, dict[str, float]]:
    """The `end` part of iperf3's report."""
    server = path.server.start("iperf3", "-s", "-1", "-B", path.own)
    path.server.wait_port(5201)
    result = path.client.run("iperf3", path.family, "-J", "-c", path.target, "-t1", *options, timeout=40, check=False)
    report = json.loads(result.stdout)
    assert "error" not in report, report["error"]
    server.wait(10)
    end: dict[str, dict[str, float]] = report["end"]
    return end


@pytest.mark.traffic
def test_iperf3_tcp(path: Way, record_property: Callable[[str, object], None]) -> None:
    """Bulk TCP flows, up and down at once."""
    end = iperf3(path, "--bidir")
    for flow in ("sum_received", "sum_received_bidir_reverse"):
        rate = end[flow]["bits_per_second"]
        record_property(f"{flow}_mbit_per_s", round(rate / 1e6))
        assert rate > net.FLOWS, flow


@pytest.mark.traffic
def test_iperf3_udp(path: Way) -> None:
    """2 Mbit/s of UDP datagrams of the largest size; nearly all arrive."""
    end = iperf3(path, "-u", "-b2M", f"-l{1500 - 48}")
    assert end["sum"]["packets"] > 100
    # A busy host may stop QEMU for longer than the tap's queue of 1000 frames can bridge.
    assert end["sum"]["lost_percent"] < 10


# ---- paths and errors ----


def hops_of(said: str) -> dict[int, str]:
    return {int(n): host for n, host in re.findall(r"^ *(\d+):? +(\S+)", said, re.MULTILINE)}


@pytest.mark.parametrize("program", ["tracepath", "traceroute", "traceroute -I", "traceroute -T"])
def test_traceroute(path: Way, program: str) -> None:
    """The client sees every router on the path by an address of its own family, and the server at the end."""
    name, *options = program.split()
    if name == "traceroute":
        # By default it gives up on an answer that takes a few times as long as another one.
        options.append("-w5,1000,1000")
    said = path.client.run(name, *options, path.family, "-n", path.target).stdout
    hops = hops_of(said)
    assert hops == dict(enumerate((*path.hops, path.target), 1)), said
    if program == "tracepath":
        assert f"hops {len(path.hops) + 1} back {len(path.hops) + 1}" in said


@pytest.mark.traffic
def test_port_unreachable(path: Way) -> None:
    """The error of the server's host reaches the right program."""
    with path.client.socket(socket.AF_INET6 if path.family == "-6" else socket.AF_INET) as client:
        client.connect((path.target, 9))
        client.settimeout(5)
        client.send(b"anyone there?")
        with pytest.raises(ConnectionRefusedError):
            client.recv(100)


def test_no_such_host(ivi: IviLab) -> None:
    """An IPv6 host that does not answer, an IPv4 network without a route: the other side gets an error about each."""
    said = ivi.wan.run("ping", "-n", "-c1", "-W6", "192.0.2.99", check=False).stdout
    assert f"From {net.WAN_GATEWAY} icmp_seq=1 Destination Host Unreachable" in said
    ivi.wan.ip("route add unreachable 100.64.0.0/10")
    said = ivi.lan.run("ping", "-6", "-n", "-c1", "-W3", ivi.v6("100.64.0.1"), check=False).stdout
    ivi.wan.ip("route del unreachable 100.64.0.0/10")
    assert f"From {ivi.v6(net.WAN_SERVER)} icmp_seq=1 Destination unreachable: No route" in said


# ---- path MTU discovery ----


def fetch(client: Namespace, url: str, server: Namespace, own: str, folder: Path) -> None:
    """Transfers 5 MB by TCP."""
    content = random.Random(5).randbytes(5 << 20)
    (folder / "file").write_bytes(content)
    copy = folder / "copy"
    process = server.start("python3", "-m", "http.server", "80", "--bind", own, "--directory", str(folder))
    server.wait_port(80)
    try:
        client.run("curl", "-sSf", "-o", str(copy), f"http://{url}/file", timeout=60)
    finally:
        process.terminate()
        process.wait()
    assert copy.read_bytes() == content


@pytest.mark.traffic
def test_small_ipv4_link(ivi: IviLab, tmp_path: Path) -> None:
    """An IPv4 router's 1280 becomes 1300 for the IPv6 host (RFC 7915 section 4.2), which then sends this size."""
    there = way(ivi, "6to4to6")
    ivi.wan.ip("link set far0 mtu 1280")
    try:
        said = there.client.run("tracepath", "-6", "-n", there.target).stdout
        assert f"pmtu {1280 + GROWTH}" in said, said
        there.ping(1280 + GROWTH - 48, "-M", "do")
        ivi.forget_mtus()
        fetch(ivi.site, f"[{from_site(HOST4)}]", ivi.lan, ivi.host6, tmp_path)
    finally:
        ivi.wan.ip("link set far0 mtu 1500")
        ivi.forget_mtus()


@pytest.fixture
def small_ipv6_link(ivi: IviLab) -> Iterator[Namespace]:
    """The LAN host is a router, too: there is a host behind it, on a link with an MTU of 1280 bytes."""
    lan = ivi.lan
    home6, router6 = ivi.v6(BEHIND4), ivi.v6("192.0.2.201")
    home = Namespace("behind")
    try:
        lan.ip(f"link add small0 type veth peer name home0 netns {home.name}")
        lan.ip("link set small0 mtu 1280 up")
        home.ip("link set home0 mtu 1280 up")
        lan.sysctl("ipv6.conf.small0.disable_ipv6", 0)
        for space, name, own, other in ((lan, "small0", router6, home6), (home, "home0", home6, router6)):
            space.ip(f"-6 address add {own}/128 dev {name} nodad")
            space.ip(f"-6 route add {other}/128 dev {name}")
        home.ip(f"-6 route add default via {router6} dev home0")
        # For the gateway this host is in its own network: the router answers for it there.
        lan.sysctl("ipv6.conf.lan0.proxy_ndp", 1)
        lan.ip(f"-6 neighbour add proxy {home6} dev lan0")
        until(lambda: ivi.wan.run("ping", "-nc1", "-W1", BEHIND4, check=False).returncode == 0, 10, "the host behind")
        yield home
    finally:
        home.close()
        lan.run("ip", "link", "del", "small0", check=False)
        lan.ip(f"-6 neighbour del proxy {home6} dev lan0")
        ivi.forget_mtus()


@pytest.mark.traffic
def test_small_ipv6_link(ivi: IviLab, small_ipv6_link: Namespace, tmp_path: Path) -> None:
    """An IPv6 router's 1280 becomes 1260 for the IPv4 host (section 5.2), which then sends this size.

    A packet that may be fragmented is fragmented so that it fits (section 4.1).
    """
    said = ivi.wan.run("tracepath", "-n", BEHIND4).stdout
    assert f"pmtu {1280 - GROWTH}" in said, said
    there = Way(ivi, ivi.wan, small_ipv6_link, "", BEHIND4, "", ())
    there.ping(1280 - GROWTH - 28, "-M", "do")
    large_datagrams(ivi.wan, small_ipv6_link, ivi.v6(BEHIND4), BEHIND4)
    ivi.forget_mtus()
    fetch(small_ipv6_link, f"[{ivi.v6(net.FAR_SERVER)}]", ivi.wan, net.FAR_SERVER, tmp_path)


# ---- other configurations ----


def test_small_lan_mtu(boot_ivi: Boot) -> None:
    """The gateway's own interface has the small MTU: its error reports it, and large datagrams pass."""
    lab = boot_ivi("lan.mtu 1280\n")
    there = way(lab, "4to6")
    said = there.client.run("tracepath", "-n", there.target).stdout
    assert re.search(rf"^ \d: +{net.WAN_GATEWAY} .* pmtu {1280 - GROWTH}$", said, re.MULTILINE), said
    large_datagrams(lab.wan, lab.lan, lab.host6, HOST4)
    lab.forget_mtus()


def test_proxy_arp(boot_ivi: Boot) -> None:
    """ARP finds an IPv6 host whose IPv4 address is in the WAN's own network."""
    four = "203.0.113.65"
    lab = boot_ivi(f"ivi.ipv4 203.0.113.64/26\nroute {v6('203.0.113.64')}/66 via {v6(HOST4)}\n")
    lab.lan.ip(f"-6 address add {v6(four)}/128 dev lan0 nodad")
    ping(lab.wan, four)
    assert net.GATEWAY_MACS[1] in lab.wan.ip(f"neighbour show {four} dev wan0")


@pytest.fixture
def neighbour(ivi_net: Any) -> Iterator[Namespace]:
    """A second host on the LAN, which the first one reaches only through the gateway."""
    lab = ivi_net.lab
    space = Namespace("neighbour")
    try:
        lab.lan.ip("link add link lan0 name next0 type macvlan mode private")
        lab.lan.ip(f"link set next0 netns {space.name}")
        yield space
    finally:
        space.close()


def exchange(client: socket.socket, server: socket.socket, target: str) -> str:
    """Sends a datagram to the server's port at `target` and one back; gives the address that the server saw."""
    for end in (client, server):
        end.settimeout(5)
    client.sendto(b"who am I", (target, server.getsockname()[1]))
    data, source = server.recvfrom(100)
    assert data == b"who am I"
    server.sendto(b"you are", source)
    answer, answerer = client.recvfrom(100)
    assert (answer, answerer[0]) == (b"you are", target)
    host: str = source[0]
    return host


def test_mapped_hosts(boot_ivi: Boot, neighbour: Namespace) -> None:
    """Explicit mappings (RFC 7757): to IPv4 hosts, and between two mapped hosts by IPv4 addresses (section 4)."""
    hosts = {"198.18.2.1": "2001:db8:6::1", "198.18.2.2": "2001:db8:6::2"}
    (four, six), (next4, next6) = hosts.items()
    lab = boot_ivi("".join(f"ivi.map {a} {b}\n" for a, b in hosts.items()) + "lan.address 2001:db8:6::f/64\n")
    lab.wan.ip(f"route replace 198.18.2.0/24 via {net.WAN_GATEWAY}")
    lab.lan.ip(f"-6 address add {six}/128 dev lan0 nodad")
    neighbour.sysctl("ipv6.conf.next0.disable_ipv6", 0)
    neighbour.ip("link set next0 up")
    neighbour.ip(f"-6 address add {next6}/128 dev next0 nodad")
    for space, name in ((lab.lan, "lan0"), (neighbour, "next0")):
        until(lambda: "via fe80:" in space.ip(f"-6 route show default dev {name}"), 10,  # noqa: B023
              "a route")
    server6 = lab.v6(net.FAR_SERVER)
    with lab.wan.socket() as server, lab.lan.socket(socket.AF_INET6) as client:
        server.bind((net.FAR_SERVER, 5000))
        client.bind((six, 0))
        assert exchange(client, server, server6) == four
    before = lab.console.stats()["hairpinned_packets"]
    with neighbour.socket(socket.AF_INET6) as server, lab.lan.socket(socket.AF_INET6) as client:
        server.bind((next6, 5000))
        client.bind((six, 0))
        assert exchange(client, server, v6(next4)) == v6(four)
    assert lab.console.stats()["hairpinned_packets"] - before == 2


def test_shared_address(boot_ivi: Boot) -> None:
    """Four IPv6 hosts share an IPv4 address by ports and echo identifiers (RFC 7597 section 5.1), whichever side
    starts."""
    shared = "192.0.2.48"
    lab = boot_ivi(f"ivi.share {shared} 4 1024\n")
    base = int(ipaddress.IPv6Address(v6(shared)))
    # With 1024 ports in a row and a ratio of 4, port p belongs to set p / 1024 % 4.
    hosts = [str(ipaddress.IPv6Address(base | psid << 40)) for psid in range(4)]
    for host in hosts:
        lab.lan.ip(f"-6 address add {host}/128 dev lan0 nodad")
    with lab.wan.socket() as server:
        server.bind((net.FAR_SERVER, 5000))
        for psid, host in enumerate(hosts):
            with lab.lan.socket(socket.AF_INET6) as client:
                client.bind((host, 8192 + 1024 * psid + 7))
                assert exchange(client, server, lab.v6(net.FAR_SERVER)) == shared
            with lab.lan.socket(socket.AF_INET6) as server6, lab.wan.socket() as client4:
                server6.bind((host, 8192 + 1024 * psid + 8))
                assert exchange(client4, server6, shared) == lab.v6(net.WAN_SERVER)
            ping(lab.lan, lab.v6(net.FAR_SERVER), "-I", host, "-e", str(8192 + 1024 * psid + 9))
            with lab.lan.socket(socket.AF_INET6) as thief:
                thief.bind((host, 8192 + 1024 * (psid ^ 1) + 7))
                thief.connect((lab.v6(net.FAR_SERVER), 5000))
                thief.settimeout(5)
                thief.send(b"not mine")
                # ICMPv6 1/5, "source address failed ingress policy"
                with pytest.raises(PermissionError):
                    thief.recv(100)
    assert lab.console.stats()['drop{reason="port-set"}'] == len(hosts)


def test_timings(boot_ivi: Boot, nic: str) -> None:
    """The console reports the cycles of each part of the translation, in both directions."""
    lab = boot_ivi("")
    for direction in ("6to4", "4to6"):
        there = way(lab, direction)
        there.client.run("ping", there.family, "-q", "-f", "-c2500", there.target, timeout=60)
    said = lab.console.command("timings")
    rows = {way: (int(count), int(mean), int(most)) for way, count, mean, most in
            re.findall(r"^(\w+ \w+) count=(\d+) mean=(\d+) max=(\d+)", said, re.MULTILINE)}
    assert list(rows) == [f"{way} {row}" for way in ("4to6", "6to4")
                          for row in ("address", "header", "tcp", "udp", "icmp", "known", "slow")]
    for name in ("4to6 address", "4to6 header", "4to6 icmp", "6to4 address", "6to4 header", "6to4 icmp"):
        count, mean, most = rows[name]
        assert count >= 4 and 0 < mean <= most, said
