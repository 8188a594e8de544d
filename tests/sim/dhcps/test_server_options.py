# SPDX-License-Identifier: BSD-2-Clause
"""What the DHCP server tells: RFC 2132, RFC 3397, RFC 3442, RFC 8910, RFC 8925."""

from __future__ import annotations

import pytest
from gateway import Gateway
from lanclients import (
    ACK,
    CLIENT_ID,
    CONFIG,
    DISCOVER,
    HOST_NAME,
    INSIDE,
    NAK,
    PARAMETERS,
    POOL,
    REQUEST,
    Answer,
    Client,
    Start,
    ip,
    leases,
    mac_of,
)
from leases import QUICK, Server, Uplink, u32
from scapy.layers.l2 import ARP, Ether
from simulator import Refused

pytestmark = pytest.mark.virtual
DNS64 = "serve dns64\ndns64.cache 0\nnat.sessions 256\nnameserver 203.0.113.53\n"


def told(start: Start, config: str, *codes: int) -> dict[int, bytes]:
    """The options of an offer to a client that asks for these (none given: for none by name)."""
    options = {PARAMETERS: bytes(codes)} if codes else {}
    offer = Client(start(CONFIG + config, "nat"), options=options).discover()
    assert offer is not None
    return offer.options


def test_only_what_a_client_asks_for(start: Start) -> None:
    options = told(start, "lan.domain home.test\n", 1, 15)
    assert options[15] == b"home.test" and not {3, 6, 28, 119} & set(options)
    assert {1, 51, 53, 54, 58, 59} <= set(options)


def test_option_6_a_server_of_ours(start: Start) -> None:
    assert told(start, DNS64, 6)[6] == ip(INSIDE)


def test_option_6_servers_of_the_configuration(start: Start) -> None:
    config = "nameserver 198.51.100.53\nnameserver 2001:db8::53\nnameserver 198.51.100.54\n"
    assert told(start, config, 6)[6] == ip("198.51.100.53", "198.51.100.54")
    assert 6 not in told(start, "", 6)


def test_option_6_servers_of_the_lease(start: Start) -> None:
    """Those of the WAN, once it has a lease."""
    pool = f"lan.dhcp {POOL[0]}-{POOL[-1]}\n"
    uplink = Uplink(start(QUICK + pool, "nat"), Server(options={6: ip("198.51.100.53")}))
    client = Client(uplink.gateway, options={PARAMETERS: b"\x06"})
    uplink.run(5)
    offer = client.discover()
    assert offer is not None and offer.options[6] == ip("198.51.100.53")


def test_option_26_the_mtu(start: Start) -> None:
    assert told(start, "lan.mtu 1400\n", 26)[26] == b"\x05\x78"


@pytest.mark.parametrize(("given", "code", "value"), [
    ("42 192.168.1.9 192.168.1.8", 42, ip("192.168.1.9", "192.168.1.8")),
    ("3 192.168.1.9", 3, ip("192.168.1.9")),
    ("6 9.9.9.9,1.1.1.1", 6, ip("9.9.9.9", "1.1.1.1")),
    ("114 https://portal.test/x", 114, b"https://portal.test/x"),
    ("119 a.test b.a.test", 119, b"\1a\4test\0\1b\1a\4test\0"),
    ("121 10.0.0.0/8 via 192.168.1.9", 121, b"\x08\x0a" + ip("192.168.1.9")),
    ("26 1280", 26, b"\x05\x00"), ("58 77", 58, u32(77)), ("43 hex:0a0B", 43, b"\x0a\x0b"),
    ("252 http://192.168.1.9/wpad", 252, b"http://192.168.1.9/wpad"), ("138 192.168.1.9", 138, ip("192.168.1.9")),
    ("15 other.test", 15, b"other.test")])
def test_an_option_by_number(start: Start, given: str, code: int, value: bytes) -> None:
    """It replaces the one that the server makes."""
    assert told(start, f"lan.dhcp-option {given}\nlan.domain home.test\n", code)[code] == value


def test_rfc3397_the_domain_is_searched(start: Start) -> None:
    assert told(start, "lan.domain home.test\n", 119)[119] == b"\4home\4test\0"


def test_a_boot(start: Start) -> None:
    """Options 66 and 67 are in the header too, where boot ROMs look."""
    gateway = start(CONFIG + "lan.dhcp-option 66 192.168.1.9\nlan.dhcp-option 67 pxelinux.0\n", "nat")
    offer = Client(gateway, options={PARAMETERS: b"\x42\x43"}).discover()
    assert offer is not None and offer.siaddr == "192.168.1.9" and offer.file == b"pxelinux.0"
    assert offer.options[66] == b"192.168.1.9" and offer.options[67] == b"pxelinux.0"


def test_what_has_no_room_is_left_out(start: Start) -> None:
    """A client without option 57 takes 576 bytes; one that says more gets more."""
    config = "".join(f"lan.dhcp-option {code} {'x' * 120}\n" for code in range(224, 230))
    gateway = start(CONFIG + config, "nat")
    offer = Client(gateway).discover()
    assert offer is not None and len(offer.sent.raw) <= 14 + 576 and 224 in offer.options and 229 not in offer.options
    offer = Client(gateway, options={57: b"\x05\xdc"}).discover()
    assert offer is not None and all(code in offer.options for code in range(224, 230))


def test_rfc8925_a_host_that_can_do_without_ipv4(start: Start) -> None:
    """It is told how long, and no address is kept; one that does not ask gets an address."""
    gateway = start(CONFIG + "lan.dhcp-v6only 1800\nlan.address 2001:db8:1::1/64\nlan.pref64 64:ff9b::/96\n", "nat")
    offer = Client(gateway, options={PARAMETERS: b"\x01\x6c"}).discover()
    assert offer is not None and offer.options[108] == u32(1800) and offer.yiaddr == "0.0.0.0"
    assert not leases(gateway)
    offer = Client(gateway, mac_of(2), options={PARAMETERS: b"\x01"}).discover()
    assert offer is not None and 108 not in offer.options and offer.yiaddr in POOL
    assert 108 not in told(start, "", 108)


def asked(gateway: Gateway, number: int) -> Answer:
    """What the server offers to another host that could do without IPv4."""
    offer = Client(gateway, mac_of(number), options={PARAMETERS: b"\x01\x6c"}).discover()
    assert offer is not None
    return offer


def test_rfc8925_section_3_3_no_nat64(start: Start) -> None:
    """Hosts need IPv4 then. The log says so once, and nothing where the key is not given."""
    gateway = start(CONFIG + "lan.dhcp-v6only 1800\nlan.address 2001:db8:1::1/64\n", "nat")
    offer = asked(gateway, 1)
    assert 108 not in offer.options and offer.yiaddr in POOL
    gateway.wait(10)
    said = [line for line in gateway.lines("log") if "dhcp-v6only" in line]
    assert len(said) == 1 and "lan.dhcp-v6only: hosts are not told, since no translator's prefix works" in said[0]


@pytest.mark.parametrize("more", ["", "lan.ra off\n"])
def test_rfc8925_section_3_3_beside_nat64(start: Start, more: str) -> None:
    """While the WAN has an IPv4 address."""
    gateway = start(CONFIG + "lan.dhcp-v6only 1800\nlan.address 2001:db8:1::1/64\nnat64.sessions 256\n" + more, "nat64")
    gateway.wait(1)
    assert asked(gateway, 1).options[108] == u32(1800)
    assert not [line for line in gateway.lines("log") if "dhcp-v6only" in line]
    gateway.change("address del wan 203.0.113.2/24")
    assert 108 not in asked(gateway, 2).options
    gateway.change("address add wan 203.0.113.2/24")
    assert 108 in asked(gateway, 3).options


# --- static leases -----------------------------------------------------------------------------


def test_a_static_lease(start: Start) -> None:
    """Outside of the pool and inside; nobody else gets it."""
    gateway = start(CONFIG + f"lan.dhcp-static {mac_of(1)} 192.168.1.20 printer\n"
                    f"lan.dhcp-static {mac_of(2)} {POOL[3]}\n", "nat")
    assert Client(gateway, mac_of(1)).lease() == "192.168.1.20"
    assert leases(gateway)["192.168.1.20"].startswith(f"bound {mac_of(1)} printer, ")
    given = [Client(gateway, mac_of(i)).lease(POOL[3]) for i in range(3, 12)]
    assert sorted([*given, POOL[3]]) == POOL
    assert Client(gateway, mac_of(2), options={61: b"\0x"}).lease() == POOL[3]


def test_a_static_lease_is_moved_to(start: Start) -> None:
    """A client that had another address before is refused it."""
    gateway = start(CONFIG + f"lan.dhcp-static {mac_of(1)} 192.168.1.20\n", "nat")
    answer = Client(gateway, mac_of(1)).renew(POOL[0])
    assert answer is not None and answer.kind == NAK
    other = Client(gateway, mac_of(2)).reboot("192.168.1.20")
    assert other is not None and other.kind == NAK


def test_a_static_lease_in_use_by_somebody_else(start: Start) -> None:
    """The log says who; meanwhile its owner has an address of the pool."""
    gateway = start(CONFIG + f"lan.dhcp-static {mac_of(1)} 192.168.1.20\n", "nat")
    client = Client(gateway, mac_of(1))
    asked = gateway.send("lan", client.frame(DISCOVER))[0].frame[ARP]
    assert asked.pdst == "192.168.1.20"
    gateway.send("lan", Ether(src=mac_of(99), dst=asked.hwsrc) / ARP(op=2, hwsrc=mac_of(99), psrc="192.168.1.20",
                                                                    hwdst=asked.hwsrc, pdst="0.0.0.0"))
    gateway.wait(1)
    assert any(f"192.168.1.20 is in use already, says {mac_of(99)}" in line for line in gateway.lines("log"))
    assert client.lease() in POOL
    gateway.wait(601)
    assert client.lease() == "192.168.1.20"


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "name"), [
    (b"Laptop", "laptop"), (b"laptop.home.test", "laptop"), (b"nul\0", "nul"), (b"a b", ""), (b"-x", ""), (b"x-", ""),
    (b"a" * 63, "a" * 63), (b"a" * 64, ""), (b"\xff\xfe", ""), (b".", "")])
def test_rfc1123_the_name_of_a_host(start: Start, said: bytes, name: str) -> None:
    gateway = start(CONFIG, "nat")
    mine = Client(gateway, options={HOST_NAME: said}).lease()
    assert leases(gateway)[mine].split(",")[0].split()[2:] == ([name] if name else [])


def test_rfc4702_the_name_as_labels(start: Start) -> None:
    gateway = start(CONFIG, "nat")
    mine = Client(gateway, options={81: b"\x05\0\0\x06laptop\4home\0"}).lease()
    assert leases(gateway)[mine].startswith(f"bound {mac_of(1)} laptop,")
    other = Client(gateway, mac_of(2), options={81: b"\0\0\0phone.home"}).lease()
    assert leases(gateway)[other].startswith(f"bound {mac_of(2)} phone,")


def test_the_first_keeps_its_name(start: Start) -> None:
    gateway = start(CONFIG + f"lan.dhcp-static {mac_of(9)} 192.168.1.20 nas\n", "nat")
    first = Client(gateway, options={HOST_NAME: b"phone"}).lease()
    second = Client(gateway, mac_of(2), options={HOST_NAME: b"PHONE"})
    third = Client(gateway, mac_of(3), options={HOST_NAME: b"nas"}).lease()
    address = second.lease()
    assert " phone," in leases(gateway)[first] and "phone" not in leases(gateway)[address]
    assert "nas" not in leases(gateway)[third]
    Client(gateway).release(first)
    answer = second.renew(address)
    assert answer is not None and answer.kind == ACK and " phone," in leases(gateway)[address]


# --- the configuration -------------------------------------------------------------------------


@pytest.mark.parametrize("line", [
    "lan.dhcp 192.168.2.1-192.168.2.9", "lan.dhcp 192.168.1.9-192.168.1.8", "lan.dhcp 192.168.1.9",
    "lan.dhcp 192.168.0.1-192.168.1.9", "lan.dhcp 10.0.0.0-10.1.0.0", "lan.dhcp-static 02:00:00:00:00:01 10.0.0.1",
    f"lan.dhcp-static 02:00:00:00:00:01 {INSIDE}", "lan.dhcp-static 02:00:00:00:00:01 192.168.1.255",
    "lan.dhcp-static 02:00:00:00:00:01 192.168.1.20 a.b", "lan.dhcp-static 03:00:00:00:00:01 192.168.1.20",
    "lan.dhcp-option 53 1", "lan.dhcp-option 26 70000", "lan.dhcp-option 6 x", "lan.dhcp-option 43 hex:0",
    "lan.dhcp-option 300 x", "lan.dhcp-option 121 10.0.0.0/8", "lan.dhcp-lease 5"])
def test_what_is_wrong_is_named(start: Start, line: str) -> None:
    with pytest.raises(Refused, match=line.split()[0]):
        start(CONFIG + line + "\n", "nat")


@pytest.mark.parametrize("second", [f"{mac_of(1)} 192.168.1.21", f"{mac_of(2)} 192.168.1.20",
                                    f"{mac_of(2)} 192.168.1.21 A"])
def test_duplicates_are_refused(start: Start, second: str) -> None:
    with pytest.raises(Refused, match="twice"):
        start(CONFIG + f"lan.dhcp-static {mac_of(1)} 192.168.1.20 a\nlan.dhcp-static {second}\n", "nat")


def test_each_network_has_its_own(start: Start) -> None:
    more = "lan2 nic2\nlan2.address 192.168.2.1/24\nlan2.dhcp 192.168.2.10-192.168.2.19\nlan2.domain second.test\n"
    gateway = start(CONFIG + more + "lan.domain first.test\n", "nat")
    assert Client(gateway).lease() in POOL
    offer = Client(gateway, port="lan2", server="192.168.2.1").discover()
    assert offer is not None and offer.yiaddr.startswith("192.168.2.1") and offer.address(3) == "192.168.2.1"
    assert offer.options[15] == b"second.test"
    assert {address[:10] for address in leases(gateway)} == {"192.168.1.", "192.168.2."}


@pytest.mark.parametrize("app", ["nat", "ivi", "6to4", "nat64", "clat"])
def test_it_works_beside_every_forwarder(start: Start, app: str) -> None:
    more = {"ivi": "lan.address 2001:db8:ffcb:71:fe00::/64\nivi.prefix 2001:db8::/32\nivi.ipv4 192.0.2.0/24\n",
            "6to4": "", "nat64": "lan.address 2001:db8:1::1/64\n", "nat": "", "clat": "wan.address auto\n"}[app]
    assert Client(start(CONFIG + more, app)).lease() in POOL


# What clients in the field ask for (option 55), and how they name themselves (option 61); from their sources and from
# captures: NetworkManager 1.42 (nettools n-dhcp4), Windows 10 and 11, macOS 13, Android 13, ChromeOS, dhcpcd 9.
LISTS = {
    "NetworkManager": ([1, 2, 6, 12, 15, 26, 28, 121, 3, 33, 40, 41, 42, 119, 249, 252, 17], b"\x01%mac"),
    "NetworkManager-duid": ([1, 2, 6, 12, 15, 26, 28, 121, 3, 33, 40, 41, 42, 119, 249, 252, 17],
                            b"\xff\x12\x34\x56\x78\x00\x04" + bytes(range(16))),
    "Windows": ([1, 3, 6, 15, 31, 33, 43, 44, 46, 47, 119, 121, 249, 252], b"\x01%mac"),
    "macOS": ([1, 121, 3, 6, 15, 108, 114, 119, 252, 95, 44, 46], b"\x01%mac"),
    "Android": ([1, 3, 6, 15, 26, 28, 51, 58, 59, 43, 114, 108], None),
    "ChromeOS": ([1, 33, 3, 6, 15, 26, 28, 51, 54, 58, 59, 119, 121, 252], b"\xff%mac\x00\x01%mac"),
    "dhcpcd": (
        [1, 121, 33, 3, 6, 12, 15, 26, 28, 42, 51, 54, 58, 59, 119],
        b"\xff\x00\x00\x00\x01\x00\x03\x00\x01%mac"),
}
FULL = ("lan.domain home.test\nnameserver 198.51.100.53\nlan.dhcp-option 42 192.168.1.5\n"
        "lan.dhcp-option 249 hex:0a\nlan.dhcp-option 252 http://wpad/\n")


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("flags", [0, 0x8000])
def test_the_lists_of_clients_in_the_field(start: Start, name: str, flags: int) -> None:
    """Each gets a lease, what it asks for as far as there is something to tell, and nothing else."""
    asked, identifier = LISTS[name]
    gateway = start(CONFIG + FULL, "nat")
    client = Client(gateway, options={PARAMETERS: bytes(asked), 57: b"\x05\xdc", HOST_NAME: b"laptop"})
    if identifier is not None:
        client.options[CLIENT_ID] = identifier.replace(b"%mac", bytes.fromhex(client.mac.replace(":", "")))
    offer = client.discover(flags=flags)
    assert offer is not None
    assert offer.sent.frame.dst == ("ff:ff:ff:ff:ff:ff" if flags else client.mac)
    always = {51, 53, 54, 58, 59, CLIENT_ID} if identifier is not None else {51, 53, 54, 58, 59}
    ours = {1, 3, 6, 15, 26, 28, 42, 119, 249, 252}
    assert set(offer.options) - always - {1} <= set(asked) & ours
    assert {1, 3, 6, 15} <= set(offer.options) and set(asked) & {42, 249, 252} <= set(offer.options)
    ack = client.select(offer.yiaddr, flags=flags)
    assert ack is not None and ack.kind == ACK and ack.yiaddr == offer.yiaddr
    assert {code: ack.options[code] for code in ack.options if code != 53} == {
        code: offer.options[code] for code in offer.options if code != 53}
    again = client.send(REQUEST, ciaddr=ack.yiaddr, source=client.mac, to=INSIDE)
    assert [one.kind for one in again] == [ACK]
