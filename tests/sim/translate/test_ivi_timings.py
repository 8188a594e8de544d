# SPDX-License-Identifier: BSD-2-Clause
"""How long the steps of a translation take: one packet from time to time is timed."""

from __future__ import annotations

import pytest
from gateway import Gateway
from ivi import from4, from6, introduce, timings, to_four, to_six
from scapy.layers.inet import ICMP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest

pytestmark = pytest.mark.virtual


def test_timings(ivi: Gateway) -> None:
    """One packet from time to time is timed: each operation and direction has its row."""
    for _ in range(60):
        ivi.wait(0.04)  # longer than the interval between two timed packets
        for data in (UDP(), TCP()):
            from4(ivi, to_six() / data)
            from6(ivi, to_four() / data)
        from4(ivi, to_six() / ICMP())
        from6(ivi, to_four() / ICMPv6EchoRequest())
    found = timings(ivi)
    rows = ("address", "header", "tcp", "udp", "icmp", "known", "slow")
    assert list(found) == [f"{way} {row}" for way in ("4to6", "6to4") for row in rows]
    for way in ("4to6", "6to4"):
        assert found[f"{way} header"] == found[f"{way} address"] >= 10
        assert sum(found[f"{way} {row}"] for row in ("tcp", "udp", "icmp")) == found[f"{way} address"]
        assert found[f"{way} known"] >= 10
        assert 58 <= found[f"{way} known"] + found[f"{way} address"] <= 62


def test_timings_of_packets_that_the_fast_path_never_takes(ivi: Gateway) -> None:
    for _ in range(20):
        ivi.wait(0.04)
        for _ in range(2):
            from4(ivi, to_six() / ICMP())
            from6(ivi, to_four() / ICMPv6EchoRequest())
    found = timings(ivi)
    assert found["4to6 icmp"] == found["6to4 icmp"] == 20 and found["4to6 known"] == found["6to4 known"] == 0
    assert 0 < found["4to6 slow"] == found["6to4 slow"] < 20


def test_timings_cost_nothing_in_between(ivi: Gateway) -> None:
    """One packet of each direction is timed, however many arrive."""
    introduce(ivi)
    before = sum(timings(ivi).values())
    for _ in range(50):
        from4(ivi, to_six() / UDP())
        from6(ivi, to_four() / UDP())
    assert sum(timings(ivi).values()) == before
