# SPDX-License-Identifier: BSD-2-Clause
"""Native IPv6 that `nat` and `nat64` route between WAN and LAN: the filter (lan.filter, forward6), errors, sizes, and
IPv4 beside it. The WAN's router advertises, and the LAN hosts are configured by our advertisements."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import pytest
from labkit import lab as net
from labkit import nat64lab
from labkit.lab import Lab
from labkit.nat64lab import HOST6, NATIVE, ROUTER6, BoxLab

NAT6 = f"{net.NAT}lan.address {ROUTER6}/64\nwan.address auto\n"
CONF = {"nat": NAT6, "nat64": nat64lab.BOX}


class Native:
    """A lab whose WAN has IPv6, with a gateway that runs `app`."""

    def __init__(self, lab: BoxLab, app: str) -> None:
        self.lab, self.app = lab, app

    def boot(self, more: str = "") -> None:
        self.lab.boot(CONF[self.app] + more, app=self.app)
        assert self.lab.take_address() == HOST6
        self.lab.wait_uplink6()

    def reaches_lan(self, port: int) -> bool:
        """Whether a TCP connection from the WAN to the LAN host comes about."""
        server = self.lab.lan.start("python3", "-m", "http.server", str(port), "--bind", HOST6)
        self.lab.lan.wait_port(port)
        tried = self.lab.wan.run("curl", "--silent", "--output", "/dev/null", "--connect-timeout", "3", "--interface",
                                 NATIVE, f"http://[{HOST6}]:{port}/", check=False).returncode
        server.terminate()
        server.wait()
        return tried == 0


@pytest.fixture(params=["nat", "nat64"])
def native(request: pytest.FixtureRequest, nic: str, track_lab: Callable[[Lab], None]) -> Iterator[Native]:
    with BoxLab((nic, nic)) as lab:
        track_lab(lab)
        with lab.uplink6():
            yield Native(lab, request.param)


def bulk(native: Native, *options: str) -> float:
    """Bits a second of iperf3 over native IPv6."""
    server = native.lab.wan.start("iperf3", "-s", "-1", "-B", NATIVE)
    native.lab.wan.wait_port(5201)
    report = json.loads(native.lab.lan.run("iperf3", "-6", "-J", "-c", NATIVE, "-t2", *options, timeout=40,
                                           check=False).stdout)
    assert "error" not in report, report["error"]
    server.wait(10)
    return float(report["end"]["sum_received"]["bits_per_second"])


@pytest.mark.long
@pytest.mark.one_card
def test_out_and_back(native: Native) -> None:
    """Pages, bulk traffic, pings of all sizes, both kinds of traceroute; and IPv4 through the NAT beside it."""
    native.boot()
    lab = native.lab
    free = lab.packets_free()
    page = lab.file("index.html", "a page\n" * 100000)
    with lab.web_server(lab.directory, address=NATIVE) as log:
        lab.lan.run("curl", "--silent", "--fail", "--output", page + ".copy", f"http://[{NATIVE}]/index.html")
        with open(log, encoding="utf-8") as file:
            assert [line.split()[0] for line in file if "GET" in line] == [HOST6]
    for options in ((), ("-R",)):
        assert bulk(native, *options) > 10e6
    for size in (8, 1232, 1452, 4000):
        assert " 1 received" in lab.lan.run("ping", "-6", "-n", "-c1", "-W5", "-s", str(size), NATIVE,
                                            check=False).stdout, size
    for host, words, hops in ((lab.lan, ("-6", NATIVE), [ROUTER6, NATIVE]),
                              (lab.dual, ("-4", net.FAR_SERVER), [net.LAN_GATEWAY, net.FAR_SERVER])):
        said = host.run("traceroute", words[0], "-n", "-q1", "-w2", words[1], check=False).stdout
        assert re.findall(r"^ *\d+ +(\S+)", said, re.M) == hops, said
    stats = lab.console.stats()
    assert stats["filter6_sessions_created"] > 3 and stats[f"{native.app}_sessions_created"] > 0
    lab.check_no_leak(free, 5)


@pytest.mark.long
@pytest.mark.one_card
def test_the_filter(native: Native) -> None:
    """Nobody outside opens a connection, but by forward6; echo requests come in (RFC 4890 section 4.3.1)."""
    native.boot(f"forward6 tcp [{HOST6}]:8080\n")
    assert native.reaches_lan(8080)
    assert not native.reaches_lan(8081)
    stats = native.lab.console.stats()
    assert stats['drop{reason="unsolicited"}'] > 0
    assert " 1 received" in native.lab.wan.run("ping", "-6", "-n", "-c1", "-W5", "-I", NATIVE, HOST6,
                                               check=False).stdout
    native.boot("lan.filter off\n")
    assert native.reaches_lan(8081)


@pytest.mark.long
@pytest.mark.one_card
def test_a_smaller_mtu_outside(native: Native) -> None:
    """Packet Too Big is for hosts inside; the transfer goes on with smaller packets (RFC 8201)."""
    native.boot("wan.mtu 1280\n")
    assert bulk(native) > net.FLOWS
    shown = native.lab.lan.ip(f"-6 route get {NATIVE}")
    assert "mtu 1280" in shown, shown
