# SPDX-License-Identifier: BSD-2-Clause
"""A translator and a DNS64 server in one box: `app ivi` with `serve dns64`."""

from collections.abc import Callable

import pytest
from labkit import dnslab, ividns, ivilab
from labkit import lab as net
from labkit.ividns import IviDnsLab
from labkit.lab import Lab


@pytest.mark.one_card
def test_ipv6_only_host_and_ipv4_only_server(nic: str, track_lab: Callable[[Lab], None]) -> None:
    """The host gets a page by name; the name server is open to the inside only; nothing leaks."""
    with IviDnsLab((nic, nic)) as lab:
        track_lab(lab)
        lab.boot(ividns.CONFIGURATION, app="ivi")
        lab.join()
        free = lab.packets_free()
        page = lab.file("index.html", "a page\n")
        with lab.web_server(lab.directory) as log:
            lab.fetch(lab.lan, f"http://{ividns.NAME}/index.html", page + ".copy")
            with open(log, encoding="utf-8") as file:
                assert [line.split()[0] for line in file if "GET" in line] == [ivilab.HOST4]
        with open(page + ".copy", encoding="utf-8") as file:
            assert file.read() == "a page\n"
        reply = dnslab.ask(lab.lan, ividns.RESOLVER, "1.100.51.198.in-addr.arpa", "PTR")
        assert reply.answer == ["1.100.51.198.in-addr.arpa. PTR v4.lab.test."]
        answered = lab.console.stats()["dns_answers"]
        with pytest.raises(AssertionError, match="no answer"):
            dnslab.ask(lab.wan, net.WAN_GATEWAY, ividns.NAME, "A", wait=1)
        assert lab.console.stats()["dns_answers"] == answered
        lab.check_no_leak(free, 5)
