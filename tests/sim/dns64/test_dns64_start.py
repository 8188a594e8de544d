# SPDX-License-Identifier: BSD-2-Clause
"""How DNS64 takes its configuration: files of mtd64-ng, missing keys, what it advertises."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from gateway import ADDRESSES, LAN, NAT, NEIGHBOURS, WAN, Gateway
from net6 import ADDRESSES6, NEIGHBOURS6
from resolver import (
    BASIC, DNS64, FOUR, OUR6, PREFIX, UPSTREAM, UPSTREAM2, Resolver, Start, Zone, addresses, inside, rr, silent,
)
from scapy.layers.inet6 import ICMPv6ND_RA, ICMPv6NDOptPrefixInfo, ICMPv6NDOptRDNSS
from simulator import Refused

pytestmark = pytest.mark.virtual

BOTH = ADDRESSES + NEIGHBOURS + ADDRESSES6 + NEIGHBOURS6 + "lan.ra off\n"

# A file as mtd64-ng reads it: comments of both kinds, also after values, blanks of all kinds, a prefix with host
# bits and with an octet 8 that is not zero, a timeout with many decimals.
MTD64 = f"""\
# settings of a small DNS64 server

// the servers that know
#nameserver defaults
nameserver {UPSTREAM}
nameserver\t{UPSTREAM2}

selection-mode round-robin \t // one after the other
dns64-prefix 2001:0db8:0063:ab01:cd02:ef03:0405:0607/96
debugging yes
timeout-time  0.500000\t\t// seconds
resend-attempts   3   # more than usual
response-maxlength  512
num-threads 30

port 53
"""


ROOT = Path(__file__).parents[3]


def test_the_file_as_shipped_with_a_fixed_address(start: Start, tmp_path: Path) -> None:
    """What docs/first-router.md does with it starts, with the router and the DNS server of the provider. So does the
    fixed address alone."""
    text = (ROOT / "docs/first-router.md").read_text(encoding="utf-8").replace("\\\n", " ")
    edits = next(line for line in text.splitlines() if line.startswith("    sed -i"))
    Path(tmp_path, "my.conf").write_text((ROOT / "boot/gateway.conf").read_text(encoding="utf-8"))
    subprocess.run(["bash", "-c", edits], cwd=tmp_path, check=True)
    made = Path(tmp_path, "my.conf").read_text(encoding="utf-8") + "dns64.cache 2000\n"
    gateway = start(made, "nat")
    printed = gateway.lines("print")
    assert {"wan.address 192.0.2.2/24", "gateway 192.0.2.1", "nameserver 192.0.2.1", "serve dns"} <= set(printed)
    assert not any("there is no server" in line for line in gateway.lines("log"))
    gateway = start(made.replace("nameserver 192.0.2.1", "nameserver default"), "nat")
    assert any("there is no server, and names outside get SERVFAIL" in line for line in gateway.lines("log"))


def test_a_file_of_mtd64(start: Start) -> None:
    zone = Zone(FOUR)
    resolver = Resolver(start, zone, BOTH, MTD64)
    assert resolver.addresses("four.example.") == ["2001:db8:63:ab01:cd02:ef03:c000:221"]
    log = resolver.gateway.lines("log")
    assert any("octet 8 should be zero" in line for line in log)
    assert any("num-threads" in line for line in log)
    assert any("dns four.example. type 28 from 192.168.1.10: asking" in line for line in log)
    assert [one.server for one in resolver.net.asked] in ([UPSTREAM, UPSTREAM2], [UPSTREAM2, UPSTREAM])
    printed = resolver.gateway.lines("print")
    assert "dns64-prefix 2001:db8:63:ab01:cd02:ef03::/96" in printed and "timeout-time 0.500" in printed
    # It fails: four attempts in two seconds.
    zone.instead = silent()
    before = len(zone.asked)
    assert resolver.ask("other.example.", "A", wait=2.1).rcode() == 2
    assert len(zone.asked) == before + 4
    # Reverse names under such a prefix too.
    zone.instead = None
    zone.sets[rr("33.2.0.192.in-addr.arpa.", 60, "PTR", "x.example.").name, 12] = rr(
        "33.2.0.192.in-addr.arpa.", 60, "PTR", "x.example."
    )
    import dns.reversename
    name = str(dns.reversename.from_address("2001:db8:63:ab01:cd02:ef03:c000:221"))
    assert [one.rdtype for one in resolver.ask(name, "PTR").answer] == [5, 12]


@pytest.mark.parametrize("config, wrong", [
    (BASIC, "nameserver: required by dns64"),
    (BASIC + "nameserver 192.168.1.1\n", "nameserver: one is the gateway's own address"),
    (BASIC + f"nameserver {OUR6}\n", "nameserver: one is the gateway's own address"),
    (BASIC + "nameserver fe80::1\n", "nameserver: a link-local address"),
    (f"nameserver {UPSTREAM}\n", "lan.address: an address is required by dns64"),
    (DNS64.replace("dns64.cache 2000", "dns64.cache 16000000"),
     "dns64.cache: not enough memory for so many records; 1"),
])
def test_what_is_missing(start: Start, config: str, wrong: str) -> None:
    with pytest.raises(Refused, match=wrong):
        start(config, "dns64")
    start(DNS64, "dns64")


@pytest.mark.parametrize("key, config, app", [("dns64.cache", DNS64, "dns64"), ("nat.sessions", NAT, "nat")])
def test_what_fits_in_memory(start: Start, key: str, config: str, app: str) -> None:
    """The message names the largest number that fits: it starts, and a much larger one does not."""
    config = "".join(line + "\n" for line in config.splitlines() if not line.startswith(key))
    with pytest.raises(Refused, match=f"{key}: not enough memory for so many.* fit$") as refused:
        start(f"{config}{key} 16000000\n", app)
    most = int(str(refused.value).split()[-2])
    assert most > 50000
    with pytest.raises(Refused, match=f"{key}: not enough memory"):
        start(f"{config}{key} {most + 1}\n", app)
    start(f"{config}{key} {most}\n", app)


@pytest.mark.parametrize("family", [4, 6])
def test_one_family_is_enough(start: Start, family: int) -> None:
    addresses_of = ADDRESSES + NEIGHBOURS if family == 4 else ADDRESSES6 + NEIGHBOURS6
    server = UPSTREAM if family == 4 else "2001:db8:f::53"
    config = addresses_of + f"lan.ra off\ndns64-prefix {PREFIX}/96\nnameserver {server}\n"
    resolver = Resolver(start, Zone(FOUR), config)
    from resolver import A, A6
    assert resolver.addresses("four.example.", client=A if family == 4 else A6) == [inside("192.0.2.33")]


def test_the_default_prefix(start: Start) -> None:
    resolver = Resolver(start, Zone(rr("four.example.", 300, "A", "8.8.8.8")), BOTH + f"nameserver {UPSTREAM}\n")
    assert addresses(resolver.ask("four.example.")) == ["64:ff9b::808:808"]


def advertised(gateway: Gateway) -> ICMPv6ND_RA:
    sent = [one for _ in range(20) for one in gateway.wait(1) if ICMPv6ND_RA in one.frame]
    assert sent and all(one.port == LAN != WAN for one in sent)
    return sent[0].frame[ICMPv6ND_RA]


def test_advertises_itself_as_server(start: Start) -> None:
    """RFC 8106, RFC 8781; it is no router (lifetime 0) and advertises no prefixes of the network."""
    config = DNS64.replace("lan.ra off\n", "") + "dns64-prefix 2001:db8:122::/48\n"
    message = advertised(start(config, "dns64"))
    assert message.routerlifetime == message.M == 0 and message.O == 1  # the same by DHCPv6 (RFC 8415)
    assert message[ICMPv6NDOptRDNSS].dns == [OUR6]
    assert ICMPv6NDOptPrefixInfo not in message
    # Scaled lifetime and length code, then the prefix: 0 is /96, 3 is /48.
    raw = bytes(message)
    assert bytes.fromhex("2602") in raw
    pref64 = [raw[at:at + 16] for at in range(16, len(raw), 8) if raw[at:at + 2] == bytes.fromhex("2602")]
    assert [one[3] & 7 for one in pref64] == [0, 3]
    assert [one[4:] for one in pref64] == [
        bytes.fromhex("20010db80064000000000000"),
        bytes.fromhex("20010db80122000000000000"),
    ]


def test_advertises_what_the_configuration_says(start: Start) -> None:
    config = DNS64.replace("lan.ra off\n", "") + "lan.rdnss 2001:db8::53\nlan.pref64 64:ff9b::/96\n"
    message = advertised(start(config, "dns64"))
    assert message[ICMPv6NDOptRDNSS].dns == ["2001:db8::53"]
    assert bytes.fromhex("0064ff9b") in bytes(message) and bytes.fromhex("20010db80064") not in bytes(message)


def test_advertises_nothing_without_a_prefix(start: Start) -> None:
    gateway = start(ADDRESSES + NEIGHBOURS + f"nameserver {UPSTREAM}\n", "dns64")
    assert not [one for _ in range(20) for one in gateway.wait(1) if ICMPv6ND_RA in one.frame]
