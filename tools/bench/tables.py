# SPDX-License-Identifier: BSD-2-Clause
"""All samples, and the tables in which they are shown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import summary
from guest import ROWS
from measure import Sample

BULK_WAYS = ("up", "down", "both", "up8", "down8", "both8", "loss", "late")  # 8: eight connections

TABLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Guest instructions for a packet",
        ("insn_load", "insn_rate", "insn_load2", "insn_rate2", "insn_many2", "insn_new"),
    ),
    ("Guest instructions for a tunnel packet", ("insn_encap", "insn_decap", "insn_tunnel2")),
    (
        "Guest instructions for a translated packet (Linux plain: a forwarded one)",
        ("insn_to4", "insn_to6", "insn_xlat2", "insn_pairs", "insn_to4rate", "insn_to6rate"),
    ),
    (
        "Time of the vCPU thread, user + system",
        ("vcpu_load", "vcpu_to4", "vcpu_to6", "vcpu_rate", "vcpu_load2", "vcpu_rate2"),
    ),
    ("Round trip at 1,000 packets/s", ("rtt_median", "rtt_p99", "rtt_vcpu", "idle_vcpu")),
    ("Packets per second over sockets", ("pps_load", "pps_load2", "pps_to4", "pps_to6")),
    (
        "Packets per second over vhost-user",
        (
            "vhost_one",
            "vhost_both",
            "vhost_echo",
            "vhost_one10k",
            "vhost_both10k",
            "vhost_echo100k",
            "vhost_new",
        ),
    ),
    (
        "Tunnel packets per second over vhost-user",
        ("vhost_encap", "vhost_decap", "vhost_tunnel2", "vhost_duplex"),
    ),
    (
        "Translated packets per second over vhost-user (Linux plain: forwarded ones)",
        ("vhost_to4", "vhost_to6", "vhost_xlat2", "vhost_xlatduplex", "vhost_pairs"),
    ),
    (
        "Packets per second of vCPU time over vhost-user (where others use the core too)",
        (
            "vhostcpu_one",
            "vhostcpu_both",
            "vhostcpu_echo",
            "vhostcpu_one10k",
            "vhostcpu_both10k",
            "vhostcpu_echo100k",
            "vhostcpu_encap",
            "vhostcpu_decap",
            "vhostcpu_tunnel2",
            "vhostcpu_duplex",
            "vhostcpu_to4",
            "vhostcpu_to6",
            "vhostcpu_xlat2",
            "vhostcpu_xlatduplex",
            "vhostcpu_pairs",
        ),
    ),
    (
        "Guest instructions for an answer of a DNS64 server",
        ("insn_dnscold", "insn_dnshit", "insn_tcphit", "insn_tcpnew"),
    ),
    ("Answers of a DNS64 server over sockets", ("qps_dnscold", "qps_dnshit", "qpscpu_dnscold", "qpscpu_dnshit")),
    (
        "How long a client of a DNS64 server waits",
        ("waitmedian_dnscold", "waitp99_dnscold", "waitmedian_dnshit", "waitp99_dnshit"),
    ),
    (
        "Answers of a DNS64 server over vhost-user",
        ("vhost_dnscold", "vhost_dnshit", "vhostcpu_dnscold", "vhostcpu_dnshit"),
    ),
    ("A DNS64 server overloaded", ("over_dns", "offered_dns", "memory_dns")),
    ("Bulk TCP (iperf3)", tuple(f"bulk_{way}" for way in BULK_WAYS)),
    ("Bulk TCP, time of the vCPU thread", tuple(f"bulkcpu_{way}" for way in BULK_WAYS)),
    ("Start and rest", ("ready", "ready_wall", "idle_insn")),
)


class Table:
    """All samples, found by NIC, row and measure."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self.samples = list(samples)
        self.titles = {s.measure.key: s.measure.title for s in self.samples}
        self.units = {s.measure.key: s.measure.unit for s in self.samples}
        self.nics = list(dict.fromkeys(s.nic for s in self.samples))
        self.rows = [name for name in ROWS if any(s.row == name for s in self.samples)]

    def find(self, nic: str, row: str, key: str) -> list[Sample]:
        return [s for s in self.samples if (s.nic, s.row, s.measure.key) == (nic, row, key)]

    def figure(self, nic: str, row: str, key: str) -> summary.Figure | None:
        values = [s.value for s in self.find(nic, row, key) if not s.void and s.value == s.value]
        return summary.Figure(statistics.median(values), len(values)) if values else None

    def median(self, nic: str, row: str, key: str) -> float | None:
        found = self.figure(nic, row, key)
        return found.value if found else None
