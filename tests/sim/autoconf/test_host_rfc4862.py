# SPDX-License-Identifier: BSD-2-Clause
"""Addresses of the WAN made as routers advertise: RFC 4862 sections 5.4 and 5.5."""

from __future__ import annotations

import pytest
from gateway import WAN, Gateway, Sent, only
from net6 import A6, FAR6, of_kind, send, solicited_node
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    ICMPv6ND_NA,
    ICMPv6ND_NS,
    ICMPv6NDOptDstLLAddr,
    IPv6,
)
from uplink import (
    AUTO,
    AUTO2,
    FOREVER,
    NA,
    NET,
    NET2,
    NS,
    R1,
    R2,
    Start,
    addresses,
    answering,
    begin,
    default_router,
    hear,
    prefix,
)

pytestmark = pytest.mark.virtual


def valid_s(gateway: Gateway, address: str = AUTO) -> int:
    """Seconds that an address is still valid, -1: for ever."""
    left = addresses(gateway)[address].split(", valid ")[1]
    return -1 if left.startswith("for ever") else int(left.split()[0])


def ping(gateway: Gateway, address: str) -> list[Sent]:
    return list(send(gateway, R1, IPv6(src=FAR6, dst=address) / ICMPv6EchoRequest()))


# --- making them (5.5.3, 5.4) ---------------------------------------------------------------------------------------


def test_s553d_an_address_from_prefix_and_mac(start: Start) -> None:
    """Tentative first; a probe to its solicited-node group, then it is announced and answers."""
    gateway = begin(start)
    sent = hear(gateway, prefix(), settle=0)
    assert ping(gateway, AUTO) == []
    sent += gateway.wait(4)
    probe = only([one for one in of_kind(sent, NS, WAN) if one.ip6.src == "::"])
    assert probe.frame[ICMPv6ND_NS].tgt == AUTO and probe.ip6.dst == solicited_node(AUTO)
    told = only(of_kind(sent, NA, WAN))
    assert told.frame[ICMPv6ND_NA].tgt == AUTO and 0.9 <= told.at - probe.at <= 1.2
    assert addresses(gateway)[AUTO].startswith("valid from fe80::1, valid 719")
    assert len(ping(gateway, AUTO)) == 1
    assert any(f"wan: address {AUTO}/128 added" in line for line in gateway.lines("log"))


@pytest.mark.parametrize("fields", [
    {"auto": 0}, {"length": 63}, {"length": 65}, {"length": 128}, {"valid": 100, "preferred": 101},
    {"valid": 0, "preferred": 0}, {"net": "fe80::"}, {"net": "ff02::"}, {"net": "::"},
])
def test_s553_no_address(start: Start, fields: dict[str, int]) -> None:
    """(a) A = 0, (b) link-local, (c) preferred over valid, (d) lifetime 0 or an identifier of another length."""
    gateway = begin(start)
    hear(gateway, prefix(**fields))
    assert addresses(gateway) == {}


def test_s54_somebody_has_the_address(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix(), settle=0.1)
    gateway.wait(0.2)
    na = IPv6(src=AUTO, dst="ff02::1", hlim=255) / ICMPv6ND_NA(tgt=AUTO, R=0, S=0, O=1)
    send(gateway, R2, na / ICMPv6NDOptDstLLAddr(lladdr=R2.mac))
    assert addresses(gateway)[AUTO].startswith("duplicate")
    gateway.wait(10)
    hear(gateway, prefix())
    assert ping(gateway, AUTO) == [] and addresses(gateway)[AUTO].startswith("duplicate")
    assert len([line for line in gateway.lines("log") if "somebody has" in line]) == 1


def test_an_address_of_the_configuration_stays(start: Start) -> None:
    """In the same prefix, even the same address: it has no lifetime."""
    gateway = begin(start, f"wan.address {AUTO}/64\n")
    hear(gateway, prefix(valid=30, preferred=5))
    gateway.wait(10)
    assert addresses(gateway) == {AUTO: "valid"}
    gateway.wait(60)
    assert addresses(gateway) == {AUTO: "valid"}


def test_several_prefixes_and_routers(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix(), prefix(NET2))
    answering(gateway, 5, R1)
    assert set(addresses(gateway)) == {AUTO, AUTO2}


# --- lifetimes (5.5.3 (e), 5.5.4) -------------------------------------------------------------------------------------


def test_s554_an_address_is_deprecated_then_invalid(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix(valid=300, preferred=100))
    gateway.wait(95)
    assert addresses(gateway)[AUTO].startswith("valid from")
    gateway.wait(10)
    assert addresses(gateway)[AUTO].startswith("deprecated from")
    assert len(ping(gateway, AUTO)) == 1
    gateway.wait(200)
    assert addresses(gateway) == {} and of_kind(ping(gateway, AUTO), 129) == []
    log = "\n".join(gateway.lines("log"))
    assert f"wan: address {AUTO} is deprecated" in log and f"wan: address {AUTO} removed" in log


def test_s554_the_link_outlives_the_address(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix(auto=0, valid=9000), prefix(on_link=0, valid=30, preferred=30))
    gateway.wait(29)
    assert AUTO in addresses(gateway)
    gateway.wait(3)
    assert addresses(gateway) == {} and f"{NET}/64 wan" in gateway.lines("routes")


def test_s553e_preferred_again(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix(preferred=5))
    gateway.wait(70)
    assert addresses(gateway)[AUTO].startswith("deprecated")
    hear(gateway, prefix(preferred=500))
    assert addresses(gateway)[AUTO].startswith("valid from")
    assert any(f"wan: address {AUTO} is preferred again" in line for line in gateway.lines("log"))


TWO_HOURS = 7200


@pytest.mark.parametrize(("remaining", "received", "then"), [
    (86400, 90000, 90000),  # 1: longer than what remains
    (86400, 7201, 7201),  # 1: longer than two hours
    (86400, 7200, TWO_HOURS),  # 3
    (86400, 60, TWO_HOURS),
    (86400, 0, TWO_HOURS),
    (FOREVER, 60, TWO_HOURS),
    (FOREVER, FOREVER, -1),
    (600, 700, 700),  # 1
    (600, 500, 600),  # 2: ignored
    (600, 0, 600),
    (600, FOREVER, -1),
])
def test_s553e_the_two_hour_rule(start: Start, remaining: int, received: int, then: int) -> None:
    gateway = begin(start)
    hear(gateway, prefix(valid=remaining, preferred=0))
    hear(gateway, prefix(valid=received, preferred=0))
    left = valid_s(gateway)
    assert left == -1 if then == -1 else then - 3 <= left <= then


def test_s553e_the_prefix_of_the_link_knows_no_two_hours(start: Start) -> None:
    """RFC 4861 section 6.3.4: at once."""
    gateway = begin(start)
    hear(gateway, prefix(valid=86400))
    hear(gateway, prefix(valid=0, preferred=0))
    assert f"{NET}/64 wan" not in gateway.lines("routes")
    assert valid_s(gateway) > TWO_HOURS - 3
    gateway.wait(5)
    out = of_kind(send(gateway, A6, IPv6(src=A6.ip, dst=NET + "77") / ICMPv6EchoRequest()), 128)
    assert only(out, WAN).frame.dst == R1.mac


def test_lifetimes_over_years(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix(valid=FOREVER, preferred=FOREVER), prefix(NET2, valid=FOREVER - 1, preferred=FOREVER - 1),
         lifetime=60000)
    gateway.leap(3 * 365 * 86400, 50)
    assert set(addresses(gateway)) == {AUTO, AUTO2}
    gateway.leap(140 * 365 * 86400, 50)
    assert set(addresses(gateway)) == {AUTO}


# --- the link, changes while it runs ----------------------------------------------------------------------------------


def test_the_carrier_comes_again(start: Start) -> None:
    """Addresses are tentative again (RFC 4862 section 5.4), router and prefixes stay."""
    gateway = begin(start)
    hear(gateway, prefix())
    gateway.wait(3)
    gateway.link(WAN, False)
    gateway.wait(10)
    gateway.link(WAN, True)
    gateway.wait(0.2)
    assert addresses(gateway)[AUTO].startswith("tentative")
    gateway.wait(4)
    assert addresses(gateway)[AUTO].startswith("valid")
    assert default_router(gateway) == R1.local


def test_renumbering(start: Start) -> None:
    """The new prefix serves new connections while the old one is deprecated."""
    gateway = begin(start)
    hear(gateway, prefix(valid=86400))
    gateway.wait(3)
    hear(gateway, prefix(valid=60, preferred=0), prefix(NET2))
    gateway.wait(3)
    states = {address: text.split()[0] for address, text in addresses(gateway).items()}
    assert states == {AUTO: "deprecated", AUTO2: "valid"}
    gateway.wait(TWO_HOURS - 20)
    assert set(addresses(gateway)) == {AUTO, AUTO2}
    hear(gateway, prefix(NET2))
    gateway.wait(40)
    assert set(addresses(gateway)) == {AUTO2}


def test_an_address_deleted_by_hand_comes_back(start: Start) -> None:
    gateway = begin(start)
    hear(gateway, prefix())
    gateway.wait(3)
    gateway.change(f"address del wan {AUTO}")
    gateway.wait(3)
    assert addresses(gateway)[AUTO].startswith("valid")


def test_an_inside_network_that_comes_later_wins(start: Start) -> None:
    """The uplink has advertised a prefix of the link that contains it."""
    gateway = begin(start)
    hear(gateway, prefix(NET, 48, auto=0))
    gateway.change("address add lan 2001:db8:20:5::1/64")
    gateway.wait(3)
    routes = gateway.lines("routes")
    assert "2001:db8:20:5::/64 lan" in routes and "2001:db8:20::/48 wan" in routes
    hear(gateway, prefix("2001:db8:20:5::", auto=0))
    assert "2001:db8:20:5::/64 wan" not in gateway.lines("routes")


# --- where there is no IPv6 on the WAN --------------------------------------------------------------------------------


@pytest.mark.parametrize("app", ["6to4"])
def test_an_application_without_ipv6_there_starts_all_the_same(start: Start, app: str) -> None:
    config = "lan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\nwan.address auto\ngateway 203.0.113.1\n"
    gateway = start(config, app)
    gateway.wait(10)
    assert any("wan.address auto: this application has no IPv6 on the WAN" in line for line in gateway.lines("log"))
    assert gateway.stats()["autoconf_solicitations"] == 0


def test_the_listing_config(start: Start) -> None:
    gateway = begin(start)
    assert "wan.address auto" in gateway.lines("print")
