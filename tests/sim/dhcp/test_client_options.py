# SPDX-License-Identifier: BSD-2-Clause
"""What the DHCP client takes from the options of a lease: RFC 2132, RFC 3396, RFC 3442."""

from __future__ import annotations

import pytest
from gateway import A, INSIDE, LAN, WAN, Gateway
from leases import (
    CLASSLESS,
    CONFIG,
    DISCOVER,
    DNS,
    MASK,
    MINE,
    MTU,
    NET_ROUTER,
    OFFER,
    OTHER,
    OVERLOAD,
    QUICK,
    ROUTER,
    SERVER_ID,
    STATIC,
    TIME,
    TYPE,
    WHY,
    Server,
    Start,
    Uplink,
    begin,
    encode,
    ip,
    lease,
    messages,
    said,
    state,
    u32,
)
from scapy.layers.inet import ICMP, IP, UDP
from scapy.packet import Raw

pytestmark = pytest.mark.virtual
SECOND_ROUTER = "203.0.113.7"


def routes(gateway: Gateway) -> list[str]:
    """The routes that a lease gave."""
    return sorted(line for line in gateway.lines("routes") if " via " in line)


def classless(*given: tuple[str, int, str]) -> bytes:
    return b"".join(bytes((length,)) + ip(net)[:(length + 7) // 8] + ip(via) for net, length, via in given)


def with_options(start: Start, **given: bytes | None) -> Gateway:
    """A gateway with a lease that has these options; the names are those of `leases`."""
    codes = {"routers": ROUTER, "static": STATIC, "classless": CLASSLESS, "mtu": MTU, "dns": DNS, "mask": MASK}
    gateway = begin(start, Server(options={codes[name]: value for name, value in given.items()})).gateway
    assert state(gateway) == "bound"
    return gateway


def test_rfc3442_classless_routes_count_alone(start: Start) -> None:
    """Host parts are cut off, the default route is one of them, options 3 and 33 do not count."""
    gateway = with_options(start, classless=classless(("0.0.0.0", 0, SECOND_ROUTER), ("10.1.2.3", 8, NET_ROUTER),
                                                      ("198.18.129.0", 17, NET_ROUTER)),
                           routers=ip(NET_ROUTER), static=ip("172.16.0.0", NET_ROUTER))
    assert routes(gateway) == [f"0.0.0.0/0 via {SECOND_ROUTER} wan", f"10.0.0.0/8 via {NET_ROUTER} wan",
                               f"198.18.128.0/17 via {NET_ROUTER} wan"]


def test_rfc3442_without_a_default_route_there_is_none(start: Start) -> None:
    gateway = with_options(start, classless=classless(("10.0.0.0", 8, NET_ROUTER)))
    assert routes(gateway) == [f"10.0.0.0/8 via {NET_ROUTER} wan"]


@pytest.mark.parametrize("given", [b"\x21" + ip("10.0.0.0", NET_ROUTER), b"\x18\x0a", b"\x18", b"\x08\x0a\xcb\0\x71",
                                   classless(("10.0.0.0", 8, "0.0.0.0"))])
def test_rfc3442_what_is_malformed_is_named(start: Start, given: bytes) -> None:
    """The routes in front of it count."""
    gateway = with_options(start, classless=classless(("192.0.2.0", 24, NET_ROUTER)) + given)
    assert routes(gateway) == [f"192.0.2.0/24 via {NET_ROUTER} wan"]
    assert said(gateway, "a classless route")


def test_rfc3396_a_long_option_in_several_pieces(start: Start) -> None:
    """More than 255 bytes of routes; 16 of them are taken."""
    given = [(f"10.{number}.0.0", 24, NET_ROUTER) for number in range(40)]
    assert len(classless(*given)) > 255
    gateway = with_options(start, classless=classless(*given))
    assert len(routes(gateway)) == 16 and f"10.15.0.0/24 via {NET_ROUTER} wan" in routes(gateway)
    assert said(gateway, "routes behind the first 16")


def test_s58_static_routes(start: Start) -> None:
    """Networks of their class, or hosts; never a default route."""
    gateway = with_options(start, static=ip("10.0.0.0", NET_ROUTER, "192.0.2.7", SECOND_ROUTER, "0.0.0.0",
                                            SECOND_ROUTER) + b"\1")
    assert routes(gateway) == [f"0.0.0.0/0 via {NET_ROUTER} wan", f"10.0.0.0/8 via {NET_ROUTER} wan",
                               f"192.0.2.7/32 via {SECOND_ROUTER} wan"]
    assert said(gateway, "a static route that none may be") and said(gateway, "a static route that is malformed")


def test_s35_several_routers(start: Start) -> None:
    """They are all there, and the first that answers is used; without one there is no default route."""
    server = Server(options={ROUTER: ip(SECOND_ROUTER, NET_ROUTER, "127.0.0.1")})
    uplink = begin(start, server)
    gateway = uplink.gateway
    for _ in range(20):
        uplink.settle(gateway.lan(IP(src=A.ip, dst="198.51.100.7") / UDP(sport=5000, dport=53) / Raw(b"x")))
        uplink.run(1)
    assert routes(gateway) == [f"0.0.0.0/0 via {router} wan" for router in (NET_ROUTER, SECOND_ROUTER)]
    assert next(line for line in gateway.lines("routes") if " via " in line).split()[2] == NET_ROUTER
    assert said(gateway, "a router that is no host")
    assert routes(with_options(start, routers=None)) == []


@pytest.mark.parametrize("router", ["192.0.2.1", MINE, "203.0.113.255", "192.168.1.9"])
def test_routers_that_cannot_be(start: Start, router: str) -> None:
    gateway = with_options(start, routers=ip(router))
    assert routes(gateway) == [] and said(gateway, f"route 0.0.0.0/0 via {router} of the lease is not used")


@pytest.mark.parametrize(("net", "length"), [("192.168.1.0", 24), ("192.168.1.128", 25), ("192.168.1.9", 32)])
def test_routes_to_the_lan_are_not_taken(start: Start, net: str, length: int) -> None:
    """Or the packets of its hosts would go out."""
    gateway = with_options(start, classless=classless((net, length, NET_ROUTER), ("10.0.0.0", 8, NET_ROUTER)))
    assert routes(gateway) == [f"10.0.0.0/8 via {NET_ROUTER} wan"]
    assert said(gateway, f"route {net}/{length} via {NET_ROUTER} of the lease is not used: it has addresses of lan")


@pytest.mark.parametrize(("net", "length"), [("192.168.0.0", 16), ("192.168.0.0", 23), ("128.0.0.0", 1)])
def test_routes_around_the_lan_are_taken(start: Start, net: str, length: int) -> None:
    """The longer prefix counts: packets to hosts of the LAN stay inside."""
    gateway = with_options(start, classless=classless((net, length, NET_ROUTER)))
    assert routes(gateway) == [f"{net}/{length} via {NET_ROUTER} wan"]
    answer = gateway.lan(IP(src=A.ip, dst=INSIDE) / ICMP(id=7, seq=1) / Raw(b"x"))
    assert [one.port for one in answer] == [LAN]


def test_a_route_of_no_use_is_said_once(start: Start) -> None:
    """Not at each renewal; again when it had gone meanwhile."""
    server = Server(lease=20, options={CLASSLESS: classless(("192.168.1.0", 24, NET_ROUTER))})
    uplink = begin(start, server)

    def times() -> int:
        return sum("of the lease is not used" in line for line in uplink.gateway.lines("log"))

    uplink.run(100)
    assert times() == 1 and uplink.gateway.stats()["dhcp_taken"] > 4
    server.options = {CLASSLESS: classless(("10.0.0.0", 8, NET_ROUTER))}
    uplink.run(20)
    server.options = {CLASSLESS: classless(("192.168.1.0", 24, NET_ROUTER))}
    uplink.run(20)
    assert times() == 2


def test_routes_follow_a_renewal(start: Start) -> None:
    """What both leases have stays as it is; the mask may change; at the end all go."""
    server = Server(lease=600, options={CLASSLESS: classless(("10.0.0.0", 8, NET_ROUTER), ("0.0.0.0", 0, NET_ROUTER))})
    uplink = begin(start, server)
    gateway = uplink.gateway
    server.options = {CLASSLESS: classless(("0.0.0.0", 0, NET_ROUTER), ("172.16.0.0", 12, NET_ROUTER))}
    before = len(gateway.lines("log"))
    uplink.run(310)
    assert routes(gateway) == [f"0.0.0.0/0 via {NET_ROUTER} wan", f"172.16.0.0/12 via {NET_ROUTER} wan"]
    log = "\n".join(gateway.lines("log")[before:])
    assert "route 10.0.0.0/8 removed" in log and "0.0.0.0/0 removed" not in log
    server.options = {MASK: ip("255.255.255.128"), ROUTER: ip(NET_ROUTER)}
    uplink.run(310)
    assert lease(gateway) == f"{MINE}/25" and routes(gateway) == [f"0.0.0.0/0 via {NET_ROUTER} wan"]
    uplink.settle(gateway.act("release"))
    assert routes(gateway) == [] and "203.0.113" not in str(gateway.lines("interfaces"))


@pytest.mark.parametrize(("mtu", "taken"), [(1500, 1500), (1400, 1400), (1280, 1280), (1279, 1500), (576, 1500),
                                            (1501, 1500), (0, 1500)])
def test_s51_mtu(start: Start, mtu: int, taken: int) -> None:
    """From 1280 to that of the interface; else it is named and not used. It goes with the lease."""
    server = Server(options={MTU: mtu.to_bytes(2, "big")})
    uplink = begin(start, server)
    gateway = uplink.gateway
    assert said(gateway, "an MTU that is below 1280") == (mtu != 1500 and taken == 1500)

    def largest() -> int:
        """The MTU that an ICMP error names; 1500 when the packet is forwarded."""
        packet = IP(src=A.ip, dst="198.51.100.7", flags="DF") / UDP(sport=5000, dport=53) / Raw(bytes(1472))
        sent = uplink.settle(gateway.lan(packet))
        errors = [one.ip[ICMP].nexthopmtu for one in sent if one.port == LAN and ICMP in one.frame]
        return errors[0] if errors else 1500

    assert largest() == taken
    uplink.settle(gateway.act("release"))
    server.options = {}
    uplink.settle(gateway.act("renew"))
    assert state(gateway) == "bound" and largest() == 1500


def test_s51_the_mtu_of_the_configuration_is_the_largest(start: Start) -> None:
    """A lease lowers it; what is above is named once, not at each renewal."""
    server = Server(options={MTU: (1300).to_bytes(2, "big")}, lease=100)
    uplink = begin(start, server, config=QUICK + "wan.mtu 1400\n")
    gateway = uplink.gateway
    assert said(gateway, "the MTU is now 1300")
    server.options = {MTU: (1450).to_bytes(2, "big")}
    uplink.run(200)
    assert said(gateway, "the MTU is now 1400") and state(gateway) == "bound"
    assert sum("an MTU that is below 1280" in line for line in gateway.lines("log")) == 1


def test_s95_options_in_the_fields_of_names(start: Start) -> None:
    """Option 52: `file`, then `sname`."""
    server = Server(silent={DISCOVER})
    uplink = begin(start, server)
    asked = server.heard[0]
    frame = server.reply(OFFER, asked, options={TYPE: b"\2", OVERLOAD: b"\3"}, file=encode({TIME: u32(900)}) + b"\xff",
                         sname=encode({SERVER_ID: ip(server.address), MASK: ip("255.255.255.0")}))
    uplink.settle(uplink.gateway.send(WAN, frame))
    assert lease(uplink.gateway) == f"{MINE}/24"
    broken = begin(start, server := Server(silent={DISCOVER})).gateway
    assert broken.send(WAN, server.reply(OFFER, server.heard[0], options={TYPE: b"\2", OVERLOAD: b"\4"})) == []
    assert said(broken, "bad option overload") and broken.drops()["dhcp-bad"] == 1


@pytest.mark.parametrize(("given", "length"), [("10.9.8.7", 8), ("172.20.0.9", 16), ("203.0.113.50", 24)])
def test_s33_without_a_mask_the_class_counts(start: Start, given: str, length: int) -> None:
    uplink = begin(start, Server(given, options={MASK: None, ROUTER: None}))
    assert lease(uplink.gateway) == f"{given}/{length}"


def test_dns_servers_are_listed_and_asked(start: Start) -> None:
    """`nameserver default`: those of the lease, while it is in force."""
    server = Server(options={DNS: ip("198.51.100.53", "198.51.100.54", "127.0.0.1")}, lease=600)
    config = QUICK + "lan.address 2001:db8:1::1/64\n"
    config += "dns64-prefix 64:ff9b::/96\nserve dns64\nnat.sessions 256\ndns64.cache 0\nnameserver default\n"
    uplink = begin(start, server, config=config)
    gateway = uplink.gateway
    gateway.wait(0.1)
    listed = [line.split()[2] for line in gateway.lines("addresses") if line.startswith("wan nameserver")]
    assert listed == ["198.51.100.53", "198.51.100.54"]
    assert [line.split()[1] for line in gateway.lines("sessions") if line.startswith("nameserver")] == listed
    assert said(gateway, "nameserver 198.51.100.53 is named by the lease of the WAN")
    assert said(gateway, "a DNS server that is no host")
    server.options = {DNS: ip("198.51.100.54", "198.51.100.55")}
    uplink.run(320)
    assert {line.split()[1] for line in gateway.lines("sessions") if line.startswith("nameserver")} == {
        "198.51.100.54", "198.51.100.55"}
    uplink.settle(gateway.act("release"))
    gateway.wait(0.2)
    assert [line for line in gateway.lines("sessions") if line.startswith("nameserver")] == []
    assert [line for line in gateway.lines("addresses") if line.startswith("wan nameserver")] == []


@pytest.mark.parametrize("app", ["nat", "6to4", "ivi", "nat64", "dns64", "route6"])
def test_each_application_starts_before_the_lease_and_follows_it(start: Start, app: str) -> None:
    """What the LAN gets does not wait."""
    config = CONFIG + "wan.dhcp-probe off\n"
    if app in ("ivi", "nat64"):
        config += "lan.address 2001:db9:1::1/64\n"
    if app == "ivi":
        config += "ivi.prefix 2001:db8::/32\nivi.ipv4 198.51.100.0/24\n"
    if app == "dns64":
        config += "lan.address 2001:db8:1::1/64\nnameserver default\ndns64-prefix 64:ff9b::/96\n"
    server = Server(options={ROUTER: None})
    if app == "6to4":  # a private address makes no site
        server = Server("198.18.5.6", "198.18.5.254", options={ROUTER: None})
    gateway = start(config, app)
    pinged = gateway.lan(IP(src=A.ip, dst="192.168.1.1") / ICMP())
    assert app == "route6" or [one.port for one in pinged] == [LAN]
    uplink = Uplink(gateway, server)
    uplink.run(3)
    assert state(gateway) == "bound"
    server.gives = OTHER if app != "6to4" else "198.18.5.7"
    uplink.settle(gateway.act("renew"))
    uplink.run(3)
    assert lease(gateway) == f"{server.gives}/24"
    uplink.settle(gateway.act("release"))
    assert messages(uplink.run(3)) == [] and WHY


def test_a_bridge_has_no_lease(start: Start) -> None:
    gateway = start("wan.address dhcp\n", "wire")
    assert messages(gateway.wait(5)) == [] and said(gateway, "wan.address dhcp: this application has no addresses")


@pytest.mark.parametrize("silent", [600, 3600])
def test_renew_without_a_lease_asks_at_once(start: Start, silent: int) -> None:
    """However long the client has waited without an answer."""
    server = Server(silent={DISCOVER})
    uplink = begin(start, server)
    uplink.run(silent, 10)
    assert lease(uplink.gateway) is None
    server.silent.clear()
    asked = messages(uplink.settle(uplink.gateway.act("renew")) + uplink.run(0.3), DISCOVER)
    assert asked
    uplink.run(1)
    assert state(uplink.gateway) == "bound"
