# SPDX-License-Identifier: BSD-2-Clause
"""How programs that know nothing of this project classify our NAT, through the real image.

coturn's turnutils_natdiscovery tests as in RFC 5780, stun-client as in RFC 3489; a STUN server with two addresses
outside answers both.
"""

import contextlib
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.wait import until

SECOND = "198.51.100.2"
PORT = 3478
FILTERINGS = {
    "endpoint-independent": "Endpoint Independent Filtering",
    "address-dependent": "Address Dependent Filtering",
    "address-and-port-dependent": "Address and Port Dependent Filtering",
}
CLASSIC = {  # stun-client's own spelling varies
    "endpoint-independent": r"Indepe?ndent Mapping, Independent Filter",
    "address-dependent": r"Indepe?ndent Mapping, Address Depen\w+ Filter",
    "address-and-port-dependent": r"Indepe?ndent Mapping, Port Dependent Filter",
}


@contextlib.contextmanager
def stun_server(lab: Lab) -> Iterator[None]:
    """coturn with two addresses and two ports outside, for STUN alone."""
    lab.wan.ip(f"address add {SECOND}/24 dev lo")
    log = Path(lab.directory) / "turnserver.log"
    conf = lab.file("turnserver.conf", "")
    with log.open("wb") as out:
        process = lab.wan.start(
            "turnserver", "-c", conf, "-S", "-L", net.FAR_SERVER, "-L", SECOND, "-p", str(PORT),
            "--no-cli", "--no-tls", "--no-dtls", "--log-file", "stdout", "--simple-log",
            "--pidfile", f"{lab.directory}/turnserver.pid", stdout=out, stderr=subprocess.STDOUT)
    try:
        def listens() -> bool:
            sockets = lab.wan.run("ss", "-Hlnu").stdout
            return all(f"{address}:{port}" in sockets
                       for address in (net.FAR_SERVER, SECOND) for port in (PORT, PORT + 1))
        until(listens, 15, "the STUN server to listen")
        yield
    finally:
        process.terminate()
        process.wait()


def discover(lab: Lab, *options: str) -> str:
    """The output of turnutils_natdiscovery."""
    result = lab.lan.run("turnutils_natdiscovery", *options, "-L", net.LAN_HOST, "-p", str(PORT), net.FAR_SERVER,
                         timeout=90, check=False)
    return result.stdout + result.stderr


@pytest.mark.parametrize("filtering", sorted(FILTERINGS))
def test_natdiscovery(boot_nat: Callable[[str], Lab], filtering: str) -> None:
    """Endpoint-independent mapping; the filtering that was configured."""
    lab = boot_nat("" if filtering == "address-dependent" else f"nat.filtering {filtering}\n")
    with stun_server(lab):
        assert "NAT with Endpoint Independent Mapping!" in discover(lab, "-m")
        assert f"NAT with {FILTERINGS[filtering]}!" in discover(lab, "-f")
        if filtering == "endpoint-independent":  # it sends from a port to which the client never sent
            assert "successful hairpinning" in discover(lab, "-H")


@pytest.mark.parametrize("filtering", sorted(CLASSIC))
def test_stun_client(boot_nat: Callable[[str], Lab], filtering: str) -> None:
    """The same classification, ports preserved, hairpinning."""
    lab = boot_nat("" if filtering == "address-dependent" else f"nat.filtering {filtering}\n")
    with stun_server(lab):
        said = lab.lan.run("stun", net.FAR_SERVER, timeout=90, check=False)
    text = said.stdout + said.stderr
    assert re.search(CLASSIC[filtering], text), text
    assert "preserves ports" in text, text
    assert "will hairpin" in text, text
