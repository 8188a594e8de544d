# SPDX-License-Identifier: BSD-2-Clause
"""The time of day on the machine, told by chrony in the WAN."""

import calendar
import re
import time
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.dhcplab import DHCP_NAT, Dnsmasq, Server
from labkit.lab import Lab
from labkit.wait import until


def chrony(lab: Lab) -> Server:
    """A server that has the host's time and never sets it."""
    conf = lab.file("chrony.conf", f"local stratum 8\nallow all\ncmdport 0\npidfile {lab.directory}/chrony.pid\n")
    return Server(lab, "chrony", "chronyd", "-x", "-d", "-u", "root", "-f", conf)


@pytest.mark.one_card
@pytest.mark.parametrize("named_by", ["key", "lease"])
def test_the_time_of_chrony(nic: str, named_by: str, make_lab: Callable[..., Lab]) -> None:
    """The machine has the host's time within two seconds, and log lines have the date."""
    lab = make_lab((nic, nic))
    chrony(lab)
    if named_by == "key":
        lab.boot(f"{net.NAT}time-server {net.WAN_SERVER}\n", app="nat")
    else:
        Dnsmasq(lab, f"--dhcp-option=option:ntp-server,{net.WAN_SERVER}")
        lab.boot(DHCP_NAT + "wan.dhcp-probe off\n", app="nat")
    console = lab.console

    def known() -> float | None:
        """How far the machine's time is from ours."""
        found = re.search(r"^time (\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)Z from ", console.command("time"), re.M)
        return found and time.time() - calendar.timegm(tuple(int(part) for part in found.groups()))

    until(lambda: known() is not None, 60, "the time")
    away = known()
    assert away is not None and -1 < away < 3
    assert f"time-server {net.WAN_SERVER}" in console.command("time")
    until(lambda: re.search(rf"^\d+\.\d+ 20\d\d-\d\d-\d\dT[\d:]+Z time 20.* from {net.WAN_SERVER}",
                            console.command("log"), re.M), 5, "a line with a date")
