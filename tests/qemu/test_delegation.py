# SPDX-License-Identifier: BSD-2-Clause
"""`lan.prefix delegated` on the machine: Kea delegates a prefix, and a Linux host of the LAN has an address in it."""

from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.dhcplab import Kea6
from labkit.lab import Lab
from labkit.nat64lab import NATIVE, BoxLab
from labkit.wait import until

PREFIX, LENGTH = "2001:db8:64::", 60
CONF = net.NAT + "wan.address auto\nlan.prefix delegated\n"


@pytest.mark.one_card
def test_a_prefix_from_kea(nic: str, track_lab: Callable[[Lab], None]) -> None:
    """Delegated, advertised, used; renewed before its time; and given back to nobody when the carrier was away."""
    with BoxLab((nic, nic)) as lab:
        track_lab(lab)
        with lab.uplink6():
            machine = lab.boot(CONF, app="nat")
            server = Kea6(lab, PREFIX, LENGTH, valid=40)
            console = lab.console
            until(lambda: f"wan dhcp6 prefix {PREFIX}/{LENGTH}" in console.command("leases"), 40, "a prefix")
            lab.take_address()
            lab.wait_ping6(NATIVE)
            taken = console.stats()["dhcp6_taken"]
            until(lambda: console.stats()["dhcp6_taken"] > taken, 40, "a renewal")
            assert f"lan {PREFIX}1/64 valid" in console.command("addresses")
            machine.set_link(1, False)
            console.expect(r"wan: link down", 10)
            machine.set_link(1, True)
            lab.wait_ping6(NATIVE, 60)
            server.stop()
