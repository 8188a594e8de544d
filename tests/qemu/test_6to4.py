# SPDX-License-Identifier: BSD-2-Clause
"""Real programs through the 6to4 gateway with its NAT on: IPv6 to a Linux guest's `sit` tunnel, IPv4 beside it.

The far site and the relay are Linux; the LAN host is Linux with its own autoconfiguration.
"""

import hashlib
import json
import random
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.peer import LinuxPeer, prefix
from labkit.sixlab import FAR_ROUTER, LAN_PREFIX, NATIVE_HOST, SITE_HOST, SixLab, global_address
from labkit.wait import until

Boot = Callable[[str], SixLab]

# The size that a tunnel packet may hold: `6to4.mtu` by default (RFC 4213 section 3.2).
TUNNEL_MTU = 1280
# An IPv6 header and an ICMPv6 echo header.
ECHO = 48
# 6to4 sites that do not exist: one behind the WAN router where no host answers ARP, and one at the router itself, which
# has no tunnel.
NO_HOST = prefix("192.0.2.99", 1) + "1"
NO_TUNNEL = prefix(net.FAR_SERVER, 1) + "1"


def interface_id(mac: str) -> str:
    """The last 64 bits of an address made from a MAC address (RFC 4291 appendix A), as Linux writes them."""
    b = [int(part, 16) for part in mac.split(":")]
    words = (b[0] ^ 2) << 8 | b[1], b[2] << 8 | 0xFF, 0xFE00 | b[3], b[4] << 8 | b[5]
    return ":".join(f"{word:x}" for word in words)


LINK_LOCAL = "fe80::" + interface_id(net.GATEWAY_MACS[0])


# ---- autoconfiguration ----


@pytest.mark.traffic
def test_slaac(six: SixLab) -> None:
    """A Linux host configures an address, an on-link route, a default route and the MTU of the tunnel."""
    assert global_address(six.lan, "lan0") == LAN_PREFIX.removesuffix(":") + interface_id(net.LAN_HOST_MAC)
    routes = six.lan.ip("-6 route show dev lan0")
    assert re.search(rf"^{LAN_PREFIX}/64 proto kernel ", routes, re.MULTILINE), routes
    default = rf"^default via {LINK_LOCAL} proto ra .*mtu {TUNNEL_MTU} hoplimit 64"
    assert re.search(default, routes, re.MULTILINE), routes


def test_unsolicited_advertisements(six: SixLab) -> None:
    """A host that sends no solicitation is configured when the gateway starts (RFC 4861 section 6.2.4)."""
    assert six.machine is not None
    six.lan.sysctl("ipv6.conf.lan0.router_solicitations", 0)
    try:
        six.lan.ip("link set lan0 down")
        six.lan.ip("link set lan0 up")
        six.plug()
        six.machine.qmp("system_reset")
        six.machine.wait_ready("6to4")
        until(lambda: global_address(six.lan, "lan0"), 20, "an address without a solicitation")
        six.wait_ping6()
    finally:
        six.lan.sysctl("ipv6.conf.lan0.router_solicitations", -1)


def test_last_advertisement(six: SixLab) -> None:
    """A gateway that is switched off announces it: hosts remove their default route at once (section 6.2.5)."""
    assert six.lan.ip("-6 route show default dev lan0")
    six.console.send("poweroff\r")
    until(lambda: not six.lan.ip("-6 route show default dev lan0"), 5, "the default route to go")
    assert six.machine is not None
    six.machine.wait_exit()


SERVERS = ("2001:db8:53::1", "2001:db8:53::2")
DOMAINS = ("example.net", "lab.example.org")
RA_LINES = "".join(f"lan.rdnss {a}\n" for a in SERVERS) + "".join(f"lan.dnssl {d}\n" for d in DOMAINS)


def test_rdisc6(boot_six: Boot) -> None:
    """The fields that ndisc6's rdisc6 reads in the advertisement that answers its solicitation."""
    lab = boot_six(RA_LINES)
    said = lab.lan.run("rdisc6", "-1", "-w", "1500", "lan0").stdout
    fields = dict(re.findall(r"^ *(\S.*?) *: +(.*?) *$", said, re.MULTILINE))
    wanted = {
        "Hop limit": r"64 \(.*\)",
        "Stateful address conf.": "No",
        "Stateful other conf.": "Yes",
        "Mobile home agent": "No",
        "Router preference": "low",  # RFC 6343 section 4.1
        "Neighbor discovery proxy": "No",
        "Router lifetime": r"1800 \(0x00000708\) seconds",
        "Reachable time": r"unspecified \(0x00000000\)",
        "Retransmit time": r"unspecified \(0x00000000\)",
        "Prefix": f"{LAN_PREFIX}/64",
        "On-link": "Yes",
        "Autonomous address conf.": "Yes",
        "Valid time": r"2592000 \(0x00278d00\) seconds",
        "Pref. time": r"604800 \(0x00093a80\) seconds",
        "MTU": rf"{TUNNEL_MTU} bytes \(valid\)",
        "Source link-layer address": net.GATEWAY_MACS[0],
    }
    for name, value in wanted.items():
        assert re.fullmatch(value, fields.get(name, "")), f"{name}\n{said}"
    assert f"from {LINK_LOCAL}\n" in said
    assert re.findall(r"Recursive DNS server *: (\S+)", said) == list(SERVERS)
    assert re.findall(r"DNS search list *: (.*?) *$", said, re.MULTILINE) == [" ".join(DOMAINS)]
    for seconds in re.findall(r"(?:DNS servers?|DNS search list) lifetimes? *: +(\d+)", said):
        assert int(seconds) >= 1800  # RFC 8106 section 5.1: at least three times the largest interval


def test_radvdump(boot_six: Boot) -> None:
    """radvd's radvdump prints the advertisement as an equivalent radvd.conf."""
    lab = boot_six(RA_LINES)
    log = Path(lab.directory, "radvdump")
    with log.open("wb") as file:
        lab.lan.start("stdbuf", "-oL", "radvdump", stdout=file)
    until(lambda: lab.lan.run("ss", "-6wanH").stdout, 10, "radvdump to listen")
    lab.lan.run("rdisc6", "-1", "-q", "lan0")
    until(lambda: "\n}; # End of interface definition" in log.read_text(), 10, "an advertisement")
    said = log.read_text()
    statements = [line.strip().rstrip(";") for line in said.splitlines() if line.strip().endswith(";")]
    for wanted in ("AdvManagedFlag off", "AdvOtherConfigFlag on", "AdvReachableTime 0", "AdvRetransTimer 0",
                   "AdvCurHopLimit 64", "AdvDefaultLifetime 1800", "AdvHomeAgentFlag off",
                   "AdvDefaultPreference low", "AdvSourceLLAddress on", f"AdvLinkMTU {TUNNEL_MTU}",
                   "AdvValidLifetime 2592000", "AdvPreferredLifetime 604800", "AdvOnLink on", "AdvAutonomous on",
                   "AdvRouterAddr off"):
        assert wanted in statements, f"{wanted}\n{said}"
    assert f"prefix {LAN_PREFIX}/64" in said
    assert f"RDNSS {' '.join(SERVERS)}" in said
    assert f"DNSSL {' '.join(DOMAINS)}" in said


# ---- traffic ----


@pytest.mark.traffic
def test_ping6(six: SixLab) -> None:
    """Echoes of every size that fits reach the far site, and their replies return."""
    for size in (0, 1, 56, 57, TUNNEL_MTU - ECHO - 1, TUNNEL_MTU - ECHO):
        said = six.lan.run("ping", "-6", "-n", "-c2", "-i0.2", "-W2", "-M", "do", "-s", str(size), SITE_HOST)
        assert " 2 received" in said.stdout


@pytest.mark.traffic
def test_ping6_in_fragments(six: SixLab) -> None:
    """Echoes that the host must fragment pass in both directions."""
    # Some of the first replies are lost until the far host knows the MTU of its router's tunnel.
    until(lambda: six.lan.run("ping", "-6", "-n", "-c1", "-W1", "-s", "4000", SITE_HOST, check=False).returncode == 0,
          10, "an echo in fragments")
    said = six.lan.run("ping", "-6", "-n", "-c3", "-i0.2", "-W2", "-s", "4000", SITE_HOST)
    assert " 3 received" in said.stdout


@pytest.mark.traffic
def test_native_host_through_the_relay(six: SixLab) -> None:
    """Other IPv6 networks are behind the relay; a packet passes the relay in both directions."""
    relay = six.far
    assert isinstance(relay, LinuxPeer)
    before = relay.counters("tun6to4")
    said = six.lan.run("ping", "-6", "-n", "-c5", "-i0.2", "-W2", NATIVE_HOST)
    assert " 5 received" in said.stdout
    after = relay.counters("tun6to4")
    assert after["rx"] - before["rx"] >= 5
    assert after["tx"] - before["tx"] >= 5


@pytest.mark.traffic
def test_far_host_begins(six: SixLab) -> None:
    """6to4 hosts are reachable: the far host may send first."""
    address = global_address(six.lan, "lan0")
    said = six.site.run("ping", "-6", "-n", "-c3", "-i0.2", "-W2", address)
    assert " 3 received" in said.stdout


@pytest.mark.traffic
def test_curl_50_megabytes(six: SixLab, tmp_path: Path) -> None:
    """A file arrives over the tunnel unchanged, while another one passes the NAT."""
    content = random.Random(6).randbytes(50 << 20)
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(content)
    small = content[:8 << 20]
    (tmp_path / "www" / "small").write_bytes(small)
    copy, other = tmp_path / "copy", tmp_path / "other"
    address = global_address(six.lan, "lan0")
    with six.web_server6(str(tmp_path / "www")) as log6, six.web_server(str(tmp_path / "www")) as log4:
        download4 = six.lan.start("curl", "-4", "-sSf", "-m", "100", "-o", str(other),
                                  f"http://{net.FAR_SERVER}/small", stderr=subprocess.PIPE)
        six.lan.run("curl", "-6", "-sSf", "-o", str(copy), f"http://[{SITE_HOST}]/file", timeout=120)
        _, errors = download4.communicate(timeout=100)
        assert download4.returncode == 0, errors.decode()
        six_log, four_log = Path(log6).read_text(), Path(log4).read_text()
    assert hashlib.sha256(copy.read_bytes()).digest() == hashlib.sha256(content).digest()
    assert hashlib.sha256(other.read_bytes()).digest() == hashlib.sha256(small).digest()
    assert f"{address} - - " in six_log
    assert f"{net.WAN_GATEWAY} - - " in four_log


def iperf3(lab: SixLab, *options: str) -> dict[str, dict[str, float]]:
    """The `end` part of iperf3's report."""
    server = lab.site.start("iperf3", "-s", "-1", "-B", SITE_HOST)
    lab.site.wait_port(5201)
    result = lab.lan.run("iperf3", "-6", "-J", "-c", SITE_HOST, "-t2", *options, timeout=40, check=False)
    report = json.loads(result.stdout)
    assert "error" not in report, report["error"]
    server.wait(10)
    end: dict[str, dict[str, float]] = report["end"]
    return end


@pytest.mark.traffic
@pytest.mark.parametrize("direction", ["up", "down"])
def test_iperf3_tcp(six: SixLab, direction: str, record_property: Callable[[str, object], None]) -> None:
    """Bulk TCP flows."""
    rate = iperf3(six, *(["-R"] if direction == "down" else []))["sum_received"]["bits_per_second"]
    record_property("mbit_per_s", round(rate / 1e6))
    assert rate > net.FLOWS


@pytest.mark.traffic
def test_iperf3_udp(six: SixLab) -> None:
    """10 Mbit/s of UDP datagrams as large as the tunnel allows; nearly all arrive."""
    end = iperf3(six, "-u", "-b10M", f"-l{TUNNEL_MTU - ECHO}")
    assert end["sum"]["packets"] > 1000
    # A busy host may stop QEMU for longer than the tap's queue of 1000 frames can bridge.
    assert end["sum"]["lost_percent"] < 10


# ---- paths and errors ----


@pytest.mark.traffic
def test_tracepath6(six: SixLab) -> None:
    """The gateway, the far router, the far host, and the MTU of the tunnel."""
    said = six.lan.run("tracepath", "-6", "-n", SITE_HOST).stdout
    hops = dict(re.findall(r"^ *(\d+): +(\S+) ", said, re.MULTILINE))
    assert hops["1"].startswith(LAN_PREFIX), said
    assert hops["2"] == prefix(FAR_ROUTER, 0) + "1", said
    assert hops["3"] == SITE_HOST, said
    assert f"Resume: pmtu {TUNNEL_MTU} hops 3 back 3" in said


def test_path_mtu_is_reported(six: SixLab) -> None:
    """A host that ignores the MTU of the advertisement gets packet too big."""
    six.lan.ip("link set lan0 mtu 1500")
    six.lan.sysctl("ipv6.conf.lan0.accept_ra_mtu", 0)
    try:
        six.wait_slaac()
        six.wait_ping6()
        said = six.lan.run("tracepath", "-6", "-n", SITE_HOST).stdout
        assert "1?: [LOCALHOST]" in said and "pmtu 1500" in said.splitlines()[0], said
        assert re.search(rf"^ 2: +{LAN_PREFIX}.* pmtu {TUNNEL_MTU}$", said, re.MULTILINE), said
        assert f"Resume: pmtu {TUNNEL_MTU} hops 3 back 3" in said
    finally:
        six.lan.sysctl("ipv6.conf.lan0.accept_ra_mtu", 1)
        six.wait_slaac()


@pytest.mark.traffic
def test_port_unreachable(six: SixLab) -> None:
    """An ICMPv6 error from the far host comes through the tunnel and reaches the right program."""
    with six.lan.socket(socket.AF_INET6) as client:
        client.connect((SITE_HOST, 9))
        client.settimeout(5)
        client.send(b"anyone there?")
        with pytest.raises(ConnectionRefusedError):
            client.recv(100)


@pytest.mark.traffic
def test_hop_limit(six: SixLab) -> None:
    """Each router on the path reports an expired hop limit."""
    for limit, router in ((1, LAN_PREFIX), (2, prefix(FAR_ROUTER, 0))):
        said = six.lan.run("ping", "-6", "-n", "-c1", "-W3", "-t", str(limit), SITE_HOST, check=False).stdout
        assert re.search(rf"^From {router}\S* icmp_seq=1 Time exceeded: Hop limit$", said, re.MULTILINE), said


@pytest.mark.traffic
def test_no_such_host_at_the_far_site(six: SixLab) -> None:
    """The far router's own error returns through the tunnel."""
    said = six.lan.run("ping", "-6", "-n", "-c1", "-W6", prefix(FAR_ROUTER, 1) + "99", check=False).stdout
    assert "Destination unreachable: Address unreachable" in said


@pytest.mark.parametrize("target", [NO_HOST, NO_TUNNEL], ids=["no host", "no tunnel"])
def test_ipv4_error_about_a_tunnel_packet(six: SixLab, target: str) -> None:
    """An ICMP error of an IPv4 router becomes an error to the IPv6 host (RFC 4213 section 3.4)."""
    said = six.lan.run("ping", "-6", "-n", "-c5", "-i1", "-W5", target, check=False, timeout=30).stdout
    assert re.search(rf"^From {LAN_PREFIX}\S* icmp_seq=\d+ Destination unreachable: Address unreachable$", said,
                     re.MULTILINE), said


def test_tunnel_packets_in_fragments(six: SixLab) -> None:
    """Where the IPv4 path has a small MTU, tunnel packets arrive in fragments, and pass in both directions."""
    size = str(TUNNEL_MTU - ECHO)
    try:
        for name in ("far0", "wan0"):
            six.wan.ip(f"link set {name} mtu 600")
        # The far router first learns that its tunnel packets, which must not be fragmented, are too large.
        until(lambda: six.lan.run("ping", "-6", "-n", "-c1", "-W1", "-s", size, SITE_HOST, check=False).returncode == 0,
              10, "an echo in fragments")
        said = six.lan.run("ping", "-6", "-n", "-c5", "-i0.2", "-W2", "-s", size, SITE_HOST)
        assert " 5 received" in said.stdout
    finally:
        for name in ("far0", "wan0"):
            six.wan.ip(f"link set {name} mtu 1500")


# ---- both at once, or one alone ----


@pytest.mark.traffic
def test_ipv4_beside_it(six: SixLab) -> None:
    """The same gateway translates IPv4: the server sees the gateway's address."""
    with six.wan.socket() as server, six.lan.socket() as client:
        server.bind((net.FAR_SERVER, 5000))
        server.settimeout(5)
        client.settimeout(5)
        client.sendto(b"who am I", (net.FAR_SERVER, 5000))
        data, source = server.recvfrom(100)
        assert (data, source[0]) == (b"who am I", net.WAN_GATEWAY)
        server.sendto(b"you are", source)
        assert client.recvfrom(100) == (b"you are", (net.FAR_SERVER, 5000))


def test_nat_off(boot_six: Boot) -> None:
    """With `6to4.nat off` IPv6 passes and IPv4 from the LAN does not; the gateway itself answers ping."""
    lab = boot_six("6to4.nat off\n")
    assert " 3 received" in lab.lan.run("ping", "-6", "-n", "-c3", "-i0.2", "-W2", SITE_HOST).stdout
    said = lab.lan.run("ping", "-4", "-n", "-c2", "-i0.2", "-W1", net.FAR_SERVER, check=False).stdout
    assert " 0 received" in said
