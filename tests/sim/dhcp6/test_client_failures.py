# SPDX-License-Identifier: BSD-2-Clause
"""The DHCPv6 client of the WAN where servers refuse, and what a person asks it for: RFC 8415."""

from __future__ import annotations

from itertools import pairwise

import pytest
from delegation import (
    AUTO,
    CONFIRM,
    DECLINE,
    DELEGATED,
    MANAGED,
    MINE,
    NOT_ON_LINK,
    OTHER,
    PREFIX,
    RELEASE,
    RENEW,
    REQUEST,
    SOL_MAX_RT,
    SOLICIT,
    UNSPEC,
    Message,
    Server6,
    Start,
    Uplink6,
    advertised,
    begin,
    leases,
    option,
    own,
    state,
    status,
)
from gateway import WAN

pytestmark = pytest.mark.virtual


def heard(server: Server6, *kinds: int) -> list[Message]:
    return [one for one in server.heard if one.kind in kinds]


def test_18_2_8_decline(start: Start) -> None:
    """Another station has the address: the server hears of it, and another address is asked for."""
    server = Server6(addresses=[MINE])
    uplink = Uplink6(start(DELEGATED, "nat"), server)
    uplink.taken.add(MINE)
    uplink.run(2)
    uplink.hear(MANAGED)
    for _ in range(80):
        uplink.run(0.1)
        if heard(server, DECLINE):
            server.addresses = [OTHER]
    declined = heard(server, DECLINE)
    assert len(declined) == 1 and declined[0].addresses() == [MINE] and declined[0].prefixes() == []
    assert uplink.gateway.stats()["dhcp6_declined"] == 1
    uplink.run(20, 1)
    assert own(uplink.gateway, WAN) == [OTHER + "/128"] and PREFIX in leases(uplink.gateway)


def test_18_2_10_3_not_on_link(start: Start) -> None:
    """After a flap the server says that the address is of another link: it goes, and is asked for again."""
    server = Server6(addresses=[MINE], prefixes=[])
    uplink = begin(start, server, config=AUTO, flags=MANAGED)
    assert leases(uplink.gateway) == [MINE + "/128"]
    server.silent = {CONFIRM}
    uplink.flap()
    uplink.run(4)
    confirm = heard(server, CONFIRM)[0]
    assert confirm.addresses() == [MINE]
    server.addresses = [OTHER]
    uplink.settle(uplink.gateway.send(WAN, server.reply(confirm, body=status(NOT_ON_LINK))))
    assert leases(uplink.gateway) == []
    uplink.run(4)
    assert leases(uplink.gateway) == [OTHER + "/128"]


def test_18_2_10_unspec_fail(start: Start) -> None:
    """A renewal that fails for no reason takes nothing: it is asked for again."""
    server = Server6(t1=100, t2=400)
    uplink = begin(start, server)
    server.silent = {RENEW}
    uplink.run(105, 1)
    asked = heard(server, RENEW)
    uplink.gateway.send(WAN, server.reply(asked[-1], body=status(UNSPEC, b"busy")))
    assert state(uplink.gateway) == "renewing" and leases(uplink.gateway) == [PREFIX]
    assert uplink.gateway.drops() == {"dhcp6-refused": 1}
    server.silent = set()
    uplink.run(60, 1)
    assert state(uplink.gateway) == "bound" and len(heard(server, RENEW)) > len(asked)


@pytest.mark.parametrize(("preference", "least", "most"), [(255, 0, 0.3), (254, 0.9, 1.5)])
def test_18_2_1_preference_255(start: Start, preference: int, least: float, most: float) -> None:
    """It is taken at once; others may still offer something better until the first time is over."""
    begin(start, server := Server6(preference=preference))
    waited = heard(server, REQUEST)[0].at - heard(server, SOLICIT)[0].at
    assert least <= waited <= most


def test_21_24_sol_max_rt(start: Start) -> None:
    """Also of an Advertise that offers nothing."""
    server = Server6(prefixes=[], more=option(SOL_MAX_RT, (60).to_bytes(4, "big")))
    begin(start, server, seconds=400)
    gaps = [b.at - a.at for a, b in pairwise(heard(server, SOLICIT))]
    assert len(gaps) >= 8 and all(gap <= 67 for gap in gaps) and all(gap >= 53 for gap in gaps[-2:])


def test_18_2_7_release_and_renew(start: Start) -> None:
    """By hand: the prefix goes at once, and nothing is asked for until `renew`."""
    server = Server6()
    uplink = begin(start, server)
    uplink.settle(uplink.gateway.act("release"))
    assert [one.prefixes() for one in heard(server, RELEASE)] == [[PREFIX]]
    uplink.run(60, 1)
    assert state(uplink.gateway) == "released" and leases(uplink.gateway) == []
    assert len(heard(server, SOLICIT)) == 1 and len(heard(server, RELEASE)) == 1
    uplink.settle(uplink.gateway.act("renew"))
    uplink.run(5)
    assert leases(uplink.gateway) == [PREFIX]
    uplink.settle(uplink.gateway.act("renew"))
    uplink.run(1)
    assert len(heard(server, RENEW)) == 1 and state(uplink.gateway) == "bound"


def test_a_release_that_nobody_confirms(start: Start) -> None:
    """Section 18.2.7: it is repeated some times, and then it is over."""
    server = Server6(silent={RELEASE})
    uplink = begin(start, server)
    uplink.settle(uplink.gateway.act("release"))
    uplink.run(120, 1)
    assert 2 <= len(heard(server, RELEASE)) <= 5 and state(uplink.gateway) == "released"


def test_nat64_with_a_delegated_prefix(start: Start) -> None:
    """Its hosts have addresses of the prefix, and learn of it."""
    uplink = begin(start, Server6(), app="nat64")
    assert leases(uplink.gateway) == [PREFIX] and "2001:db8:a0::1/64" in own(uplink.gateway)
    assert "2001:db8:a0::" in advertised(uplink.run(60, 1))
