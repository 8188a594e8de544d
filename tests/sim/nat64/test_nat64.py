# SPDX-License-Identifier: BSD-2-Clause
"""The application `nat64`: first of all a datagram there and back."""

from __future__ import annotations

from gateway import LAN, Gateway, only
from scapy.layers.inet import UDP
from six4 import FAR, SIX, Start, in_udp, out_udp, six_of, start64


def test_there_and_back(start: Start) -> None:
    gateway = start64(start)
    port = out_udp(gateway, 5000)
    answer = only(in_udp(gateway, port), LAN).ip6
    assert (answer.src, answer.dst) == (six_of(FAR), SIX)
    assert (answer[UDP].sport, answer[UDP].dport, bytes(answer[UDP].payload)) == (53, 5000, b"answer")
