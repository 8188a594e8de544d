# SPDX-License-Identifier: BSD-2-Clause
"""One box on a LAN: `app nat64` with `serve dns64`, native IPv6 and NAT44 beside it. The IPv6-only host is configured
by nothing but our advertisements. With `--gateway linux` a guest with tayga, masquerade, unbound and radvd takes the
image's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from labkit import lab as net
from labkit import nat64lab
from labkit.applications import Applications, Servers
from labkit.dnslab import MANY, ZONE, ask
from labkit.lab import Lab
from labkit.nat64lab import BOTH, DUAL4, NAME, NATIVE, ROUTER6, BoxLab, v6
from labkit.netns import Namespace
from labkit.wait import until


@pytest.fixture
def lab(nic: str, track_lab: Callable[[Lab], None]) -> Iterator[BoxLab]:
    linux = nic == net.LINUX
    with BoxLab(("virtio", "virtio") if linux else (nic, nic)) as made:
        track_lab(made)
        if linux:
            made.boot_linux_box()
            yield made
            return
        made.boot(nat64lab.BOX, app="nat64")
        yield made
        assert made.console.stats()["nat64_sessions_created"] > 0


def seen(lab: BoxLab, host: Namespace, url: str, address: str = net.FAR_SERVER) -> str:
    """Fetches a page of the server at `address`; gives the client's address as the server saw it."""
    page = lab.file("index.html", "a page\n" * 20000)
    with lab.web_server(lab.directory, address=address) as log:
        lab.fetch(host, url, page + ".copy")
        with open(log, encoding="utf-8") as file:
            clients = [line.split()[0] for line in file if "GET" in line]
    with open(page + ".copy", encoding="utf-8") as file:
        assert file.read() == "a page\n" * 20000
    assert len(clients) == 1
    return clients[0]


def addresses(lab: BoxLab, name: str = BOTH) -> list[str]:
    return ask(lab.lan, ROUTER6, name, "AAAA", tries=3).addresses


@pytest.mark.traffic
@pytest.mark.long
@pytest.mark.one_card
def test_any_box(lab: BoxLab) -> None:
    """Pages by name for the IPv6-only host: of an IPv4-only server, and of one with both versions over native IPv6. A
    host with both versions passes the NAT44 beside it."""
    own = lab.join()
    assert seen(lab, lab.lan, f"http://{NAME}/index.html") == net.WAN_GATEWAY
    assert seen(lab, lab.dual, f"http://{net.FAR_SERVER}/index.html") == net.WAN_GATEWAY
    with lab.uplink6():
        lab.wait_uplink6()
        assert addresses(lab) == [NATIVE] and addresses(lab, NAME) == [v6(net.FAR_SERVER, lab.prefix)]
        assert seen(lab, lab.lan, f"http://{BOTH}/index.html", NATIVE) == own


@pytest.mark.one_card
def test_one_box(lab: BoxLab) -> None:
    """Pages by name for the IPv6-only host: of an IPv4-only server, and of one with both versions, which is reached by
    IPv4 until the WAN has IPv6. A host with both versions passes the NAT44 beside it. Nothing leaks.

    Not with Linux: unbound synthesises no address for a name that has one, whether the WAN has IPv6 or not, and the
    listing of sessions and the count of free packets are ours."""
    own = lab.join()
    free = lab.packets_free()
    assert seen(lab, lab.lan, f"http://{NAME}/index.html") == net.WAN_GATEWAY
    assert seen(lab, lab.lan, f"http://{BOTH}/index.html") == net.WAN_GATEWAY
    assert seen(lab, lab.dual, f"http://{net.FAR_SERVER}/index.html") == net.WAN_GATEWAY
    assert any(line.startswith(f"tcp {DUAL4}:") for line in lab.console.command("sessions").splitlines())
    with lab.uplink6():
        lab.wait_uplink6()
        assert addresses(lab) == [NATIVE] and addresses(lab, NAME) == [v6(net.FAR_SERVER)]
        assert seen(lab, lab.lan, f"http://{BOTH}/index.html", NATIVE) == own
    until(lambda: "::/0 via" not in lab.console.command("routes"), 20, "no default route for IPv6")
    assert addresses(lab) == [v6(net.FAR_SERVER)]
    lab.check_no_leak(free, 5)


@pytest.mark.long
@pytest.mark.one_card
@pytest.mark.parametrize("upstream", ["unbound", "bind"])
def test_upstream(nic: str, track_lab: Callable[[Lab], None], upstream: str) -> None:
    """unbound and BIND as upstream, the latter with signed zones: names become addresses under the prefix, also behind
    a chain of aliases, by a wildcard, and sixty at once; a page is fetched by such a name. Errors and signatures come
    through. Not with Linux, which would be tested for its own resolver."""
    with BoxLab((nic, nic)) as lab:
        track_lab(lab)
        line = lab.start_upstream(upstream)
        kept = [said for said in nat64lab.BOX.splitlines(keepends=True) if not said.startswith("nameserver")]
        lab.boot("".join(kept) + line, app="nat64")
        own = lab.join()
        for name in (NAME, BOTH, f"chain.{ZONE}", f"w1.w.{ZONE}"):
            four = "198.51.100.7" if name.startswith("w1") else net.FAR_SERVER
            assert addresses(lab, name) == [v6(four)], name
        assert len(ask(lab.lan, ROUTER6, f"many.{ZONE}", "AAAA", "+tcp", tries=3).addresses) == MANY
        assert ask(lab.lan, ROUTER6, f"none.{ZONE}", "AAAA", tries=3).status == "NXDOMAIN"
        assert ask(lab.lan, ROUTER6, f"text.{ZONE}", "AAAA", tries=3).answer == []
        assert ask(lab.lan, ROUTER6, f"text.{ZONE}", "TXT", tries=3).answer == [f'text.{ZONE}. TXT "one" "two"']
        signed = ask(lab.lan, ROUTER6, "+dnssec", "+cdflag", NAME, "A", tries=3)
        assert any(" RRSIG " in record for record in signed.answer) == (upstream == "bind"), signed.text
        assert seen(lab, lab.lan, f"http://{NAME}/index.html") == net.WAN_GATEWAY
        with lab.uplink6():
            lab.wait_uplink6()
            assert addresses(lab) == [NATIVE] and addresses(lab, NAME) == [v6(net.FAR_SERVER)]
            assert seen(lab, lab.lan, f"http://{BOTH}/index.html", NATIVE) == own
        assert lab.console.stats()["dns_upstream_forged"] == 0


@pytest.mark.traffic
@pytest.mark.long
@pytest.mark.one_card
@pytest.mark.parametrize("application", ["web", "git", "ssh", "ftp", "apt", "dns", "video", "call"])
def test_applications(lab: BoxLab, application: str) -> None:
    """The IPv6-only host and an IPv4-only server."""
    lab.join()
    with Servers(lab) as servers:
        getattr(Applications(lab, servers), application)()
