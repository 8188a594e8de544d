# SPDX-License-Identifier: BSD-2-Clause
"""An IPv6-only Linux host behind a NAT64 and a DNS64 server in one box: `app nat64` with `serve dns64`."""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from labkit import lab as net
from labkit import mtr, nat64lab
from labkit.lab import Lab
from labkit.nat64lab import Nat64Lab


@pytest.fixture
def lab(nic: str, track_lab: Callable[[Lab], None]) -> Iterator[Nat64Lab]:
    with Nat64Lab((nic, nic)) as made:
        track_lab(made)
        made.boot(nat64lab.CONFIGURATION, app="nat64")
        yield made


@pytest.mark.long
@pytest.mark.one_card
def test_page_by_name(lab: Nat64Lab) -> None:
    """The host, which the gateway's advertisements configure, gets a page of an IPv4-only server by name."""
    lab.join()
    free = lab.packets_free()
    page = lab.file("index.html", "a page\n" * 200000)
    with lab.web_server(lab.directory) as log:
        lab.fetch(lab.lan, f"http://{nat64lab.NAME}/index.html", page + ".copy")
        with open(log, encoding="utf-8") as file:
            assert [line.split()[0] for line in file if "GET" in line] == [net.WAN_GATEWAY]
    with open(page + ".copy", encoding="utf-8") as file:
        assert file.read() == "a page\n" * 200000
    lab.check_no_leak(free, 5)


@pytest.mark.long
@pytest.mark.one_card
def test_pings_and_traceroute(lab: Nat64Lab) -> None:
    """Echoes of all sizes, fragments among them; each router on the way shows its own address (RFC 6146 section 3.4;
    RFC 7915 section 1.2 says nothing of ICMP in fragments, which are translated all the same)."""
    lab.join()
    target = nat64lab.v6(net.FAR_SERVER)
    for size in (8, 1232, 1400, 1452, 2000, 4000, 16000):
        said = lab.lan.run("ping", "-6", "-n", "-c1", "-W5", "-s", str(size), target, check=False).stdout
        assert " 1 received" in said, said
    said = lab.lan.run("traceroute", "-6", "-n", "-q1", "-w2", target, check=False).stdout
    hops = re.findall(r"^ *\d+ +(\S+)", said, re.M)
    assert hops[0] == nat64lab.ROUTER6 and hops[-1] == target, said
    for protocol in mtr.PROTOCOLS:
        seen = mtr.hops(lab.lan, target, protocol)
        assert seen[0] == (nat64lab.ROUTER6, 0) and seen[-1] == (target, 0), (protocol, seen)


def iperf3(lab: Nat64Lab, *options: str) -> dict[str, dict[str, float]]:
    """The `end` part of iperf3's report."""
    server = lab.wan.start("iperf3", "-s", "-1", "-B", net.FAR_SERVER)
    lab.wan.wait_port(5201)
    result = lab.lan.run("iperf3", "-6", "-J", "-c", nat64lab.v6(net.FAR_SERVER), "-t2", *options, timeout=40,
                         check=False)
    report = json.loads(result.stdout)
    assert "error" not in report, report["error"]
    server.wait(10)
    end: dict[str, dict[str, float]] = report["end"]
    return end


@pytest.mark.long
@pytest.mark.one_card
def test_iperf3(lab: Nat64Lab) -> None:
    """Bulk TCP in both directions, and datagrams in fragments: nearly all arrive."""
    lab.join()
    for options in ((), ("-R",)):
        assert iperf3(lab, *options)["sum_received"]["bits_per_second"] > net.FLOWS
    end = iperf3(lab, "-u", "-b5M", "-l4000")
    assert end["sum"]["packets"] > 200 and end["sum"]["lost_percent"] < 5
