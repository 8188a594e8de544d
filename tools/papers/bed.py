# SPDX-License-Identifier: BSD-2-Clause
"""What a run was made with: the test bed, and the papers and procedures that the page speaks of."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from sections import table

# By the first four letters of a transcript's name: how its paper is cited, and what it is.
PAPERS = {
    "2012": ("Tsetse 2012", "A. K. Tsetse: Network Address Translation, 6to4 Tunneling, and IVI Translation on a Bare"
             " PC. Dissertation, Towson University, 2012."),
    "2015": ("Lencse and Répás 2015", "G. Lencse, S. Répás: Performance analysis and comparison of four DNS64"
             " implementations under different free operating systems. 2015."),
    "2016": ("Lencse 2016", "G. Lencse: Performance Estimation of the Mtd64-ng DNS64 Implementation. IJATES, 2016."),
    "2017": ("Lencse and Bakai 2017", "G. Lencse, D. Bakai: Design, Implementation and Performance Estimation of"
             " mtd64-ng, a New Tiny DNS64 Proxy. CIT, 2017."),
}  # fmt: skip
PROCEDURES = (
    "RFC 2544 and RFC 5180 (benchmarks of network devices), RFC 4814 (random ports), RFC 8219 (IPv6 transition), RFC"
    " 9004 (bursts), RFC 9693 (stateful NAT), RFC 3550 (jitter), ITU-T G.107 (E-model)."
)
# How the guests are tied to what measures them, by parts.
WIRED = (
    ("II, DNS-loop, DNS-search", "e1000", "streams to the load generator"),
    ("V-rtt, VII at the paper's rates", "e1000", "datagrams to the load generator"),
    ("VII at scaled rates, 8219, 9693", "virtio-net", "vhost-user, polled by the load generator"),
    ("XVI, V-tcp, VI, VIII, X, XII, apart, DNS-hosts", "e1000", "taps, between hosts in network namespaces"),
)
GUESTS = ("linux-image", "nftables", "tayga", "unbound", "bind9", "pdns-recursor")  # packages in the Linux guests
HOST = ("qemu-system-x86", "iperf3", "sip-tester", "curl", "nginx", "iputils-ping")  # packages of the hosts


def where(machines: dict[str, str]) -> str:
    """The machines of these parts; with the parts if there are several."""
    places: dict[str, list[str]] = {}
    for part, place in machines.items():
        places.setdefault(place, []).append(part)
    return "; ".join(f"{place} ({', '.join(parts)})" if len(places) > 1 else place for place, parts in places.items())


def versions(cache: Path) -> list[str]:
    """Names and versions of the packages that were fetched for the Linux guests into this folder."""
    found = []
    for name in GUESTS:
        files = sorted(cache.glob(f"{name}[-_][0-9]*.deb"))
        named = " ".join(files[-1].stem.split("_")[:2]).replace("%3a", ":") if files else f"{name} (not fetched here)"
        found.append(named)
    return found


def installed() -> list[str]:
    """Names and versions of the packages of this machine that measure; none where there is no dpkg."""
    try:
        said = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *HOST], capture_output=True,
                              text=True, check=False).stdout  # fmt: skip
    except OSError:
        return []
    return [line for line in said.splitlines() if re.search(r" \S", line)]


def sections(image: str, cache: Path) -> list[str]:
    """The section about the test bed. `image`: the SHA-256 of ours; `cache`: the folder of the guests' packages."""
    text = [
        "## Test bed", "", f"Our image has the SHA-256 {image[:16]}…. The guests run in QEMU without hardware support"
        " for virtualization (TCG). Their processors share one core; what measures them has the other.", "",
    ]  # fmt: skip
    for title, found in (("In the Linux guests", versions(cache)), ("Beside them", installed())):
        text += [f"{title}, when this page was written: {', '.join(found)}.", ""] if found else []
    return [*text, *table(["parts", "card", "tied by"], [list(row) for row in WIRED])]


def references() -> list[str]:
    """The section with the papers and the procedures."""
    lines = [f"* {cited}: {full}" for cited, full in PAPERS.values()]
    return ["## References", "", *lines, f"* Procedures: {PROCEDURES}", "",
            "The texts that we have of the papers of 2015 to 2017 carry no page numbers.", ""]  # fmt: skip
