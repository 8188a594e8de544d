# SPDX-License-Identifier: BSD-2-Clause
"""Which figures of ours stand beside which columns of the papers, and what is the same, differs or cannot be said."""

from __future__ import annotations

from dataclasses import dataclass

from paper import OFFERED, VII, most_in_vii


@dataclass(frozen=True)
class Curve:
    """One line of a plot: what the paper measured, or what we did."""

    title: str
    key: str  # the paper's: a column, or TABLE/COLUMN of another table; ours: a row of the bench


@dataclass(frozen=True)
class Comparison:
    """One quantity of a table: the paper's two systems beside our two."""

    table: str  # as the paper numbers it
    title: str
    name: str  # of the transcript
    x: str  # its column that varies
    x_title: str
    theirs: tuple[Curve, Curve]  # the bare PC (or the paper's own server), and what it is compared with
    part: str
    what: str
    ours: tuple[Curve, Curve]
    less_is_better: bool
    differs: str  # what is not the same, in words
    beside: Curve | None = None  # a row of ours that stands beside: mostly what the test network itself costs
    only: tuple[str, str] | None = None  # of the transcript those rows that have this value in this column
    times: int = 1  # what the paper's x is multiplied by
    plateau: bool = False  # systems are compared by the most that each reaches, not point by point
    offered: bool = False  # x is a rate that was offered: a system that processed all of it was not full
    scale: str = ""  # a quantity of our peer's, by which the paper's rates were multiplied
    ranked: bool = True  # False: another comparison of the same figures stands in the summary
    beside_theirs: Curve | None = None  # a column of the paper that stands beside
    same: str = ""  # what is the same, where it is not what SAME says of the part


def _dissertation(bare: str, linux: str) -> tuple[Curve, Curve]:
    return Curve("bare PC", bare), Curve("Linux", linux)


def _ours(row: str, linux: str) -> tuple[Curve, Curve]:
    return Curve("Baregate", row), Curve("Linux guest", linux)


NAT = _ours("nat", "linux-nat")
FLOOR = Curve("floor", "wire")
NO_NAT_MBPS = Curve("no NAT", "no_nat_mbps")
SITE = _ours("6to4", "linux-sit")
FILE, LOAD = "file_kb", "load_mbps"
COLOCATED = _dissertation("colocated_bare", "colocated_linux")
# By part: what is the same as in the paper, and what ours cannot say.
SAME = {
    "V-rtt": "The sizes of IP packets, and one NAT between two networks.",
    "V-tcp": "16 TCP connections at once, the packet sizes, one NAT between two networks.",
    "VI": "The sizes of the files, and one NAT between client and server.",
    "VII": "The rates offered (or their ratio to what Linux takes), and that a packet counts which came out.",
    "VIII": "The sizes of the files, 50 Mbit/s of IPv6 behind, 6to4 and NAT in one box.",
    "X": "G.711, SIP to set up, the loads behind, 6to4 and NAT in one box.",
    "apart": "NAT and 6to4 in one box or in two, each of either system; the files or the echo requests.",
    "XII": "100 echo requests of 1,400 bytes (fewer with --quick), and the loads behind.",
    "DNS-loop": "The number of questions in flight; every name is new.",
}
EMULATED = "what a Pentium 4 needs: an emulator has no caches and no buses"
CANNOT = {
    "V-rtt": f"{EMULATED}; a round trip here is mostly the emulator's and the scheduler's.",
    "V-tcp": f"{EMULATED}.",
    "VI": f"{EMULATED}.",
    "VII": f"{EMULATED}; nor whether the paper's plateau was the processor's or the card's.",
    "VIII": f"{EMULATED}; nor what one box alone adds, since two stand in a row.",
    "X": f"{EMULATED}; nor how a person would judge a call.",
    "apart": f"{EMULATED}; nor any rate: the boxes of one combination share a core.",
    "XII": f"{EMULATED}; nor the share of a processor of its own cards, which are emulated in the same thread.",
    "DNS-loop": "how they would do on the paper's machines.",
}
RFC_WORDS = (
    "The paper does not give the sizes of its frames; ours have 72 bytes, in 20 flows. A connection of ours is opened"
    " and then repeats one segment, which is not answered."
)
CALLS = "Twenty calls of 5 seconds of sipp with G.711 take the place of one call of three minutes."
JITTER = f"{CALLS} Jitter is RFC 3550's mean."
PAIR = (
    "Two gateways of the same kind stand back to back and share one processor core; the paper had one between a"
    " network with a tunnel and one without."
)
WHOLE = (
    "The paper calls the time both that to download a file and that between GET and 200 OK. Its figures grow with the"
    " file, so ours are of the whole file, from the request to its last byte."
)


def _processed() -> tuple[Comparison, ...]:
    """Table VII: the paper's rates and scaled ones, TCP and the mix."""
    found = []
    for title, mix, columns in (
        ("TCP", "", _dissertation("bare_pps", "linux_pps")),
        ("80 % TCP, 20 % UDP", " of the mix", _dissertation("bare_mix_pps", "linux_mix_pps")),
    ):
        found += [
            Comparison(
                "VII", f"processed packets by offered, {title}", VII, OFFERED, "offered, packets/s", columns, "VII",
                f"processed at the paper's rates{mix}, packets/s", NAT, False, RFC_WORDS, plateau=True, offered=True,
            ),
            Comparison(
                "VII", f"the same, rates scaled to our Linux guest, {title}", VII, OFFERED,
                "offered, packets/s of the paper", columns, "VII", f"processed at scaled rates{mix}, packets/s", NAT,
                False, RFC_WORDS + " Every rate is multiplied by the most that our Linux guest processed in a search"
                f" before the series, divided by the {most_in_vii(columns[1].key):,.0f} of the paper's Linux. This is"
                " over vhost-user.", plateau=True, offered=True, scale=f"most processed{mix}, packets/s",
            ),
        ]  # fmt: skip
    return tuple(found)


COMPARISONS: tuple[Comparison, ...] = (
    Comparison(
        "V", "round trip through NAT", "2012-v-nat-rtt-throughput", "packet_bytes", "IP packet, bytes",
        _dissertation("bare_rtt_ms", "linux_rtt_ms"), "V-rtt", "round trip, ms", NAT, True,
        "The paper sent 200 echo requests a size; ours are UDP packets, 1,000 a second, each answered."
        " Packets of more than 1,460 bytes are left out.", FLOOR,
        beside_theirs=Curve("no NAT", "no_nat_rtt_ms"),
    ),
    Comparison(
        "V", "TCP through NAT, 16 connections", "2012-v-nat-rtt-throughput", "packet_bytes", "IP packet, bytes",
        _dissertation("bare_mbps", "linux_mbps"), "V-tcp", "TCP, Mbit/s", NAT, False,
        "The paper's links carry 100 Mbit/s; ours have no limit. iperf3 takes the place of LanTraffic, seconds that of"
        " ten minutes. Packets of 40 and 64 bytes hold no TCP segment of Linux. The paper's figures must include"
        " headers, since its packets of 40 bytes hold nothing else; ours are of the data.", FLOOR,
        beside_theirs=NO_NAT_MBPS,
    ),
    Comparison(
        "V", "the same over links of 100 Mbit/s", "2012-v-nat-rtt-throughput", "packet_bytes", "IP packet, bytes",
        _dissertation("bare_mbps", "linux_mbps"), "V-tcp", "TCP over links of 100 Mbit/s, Mbit/s", NAT, False,
        "What the hosts send goes through a token bucket of 100 Mbit/s, frame by frame with what Ethernet adds; the"
        " paper's links were of that speed. The rest as above.", FLOOR,
        beside_theirs=NO_NAT_MBPS,
    ),
    Comparison(
        "VI", "TCP connection through NAT", "2012-vi-nat-http", FILE, "file, KB",
        _dissertation("bare_connection_ms", "linux_connection_ms"), "VI", "connection, ms", NAT, True,
        "curl and nginx take the places of http_load and IIS. The time is curl's, not a capture's.", FLOOR,
    ),
    Comparison(
        "VI", "HTTP response through NAT", "2012-vi-nat-http", FILE, "file, KB",
        _dissertation("bare_response_ms", "linux_response_ms"), "VI", "response, ms", NAT, True,
        "From the request to the first byte of the answer.", FLOOR,
    ),
    *_processed(),
    Comparison(
        "VIII", "TCP connection through 6to4 with NAT in one box", "2012-viii-6to4-connection", FILE, "file, KB",
        COLOCATED, "VIII", "connection, ms", SITE, True, PAIR + " 50 Mbit/s of UDP run behind.",
    ),
    Comparison(
        "IX", "HTTP response through 6to4 with NAT in one box", "2012-ix-6to4-response", FILE, "file, KB",
        COLOCATED, "VIII", "whole file, ms", SITE, True, f"{PAIR} {WHOLE}",
    ),
    Comparison(
        "IX", "the same to the first byte", "2012-ix-6to4-response", FILE, "file, KB", COLOCATED, "VIII",
        "response, ms", SITE, True, "As above, but ours is the time from the request to the first byte of the answer.",
        ranked=False,
    ),
    Comparison(
        "X", "jitter of a call", "2012-x-6to4-jitter", LOAD, "behind, Mbit/s", COLOCATED, "X", "jitter, ms", SITE, True,
        f"{PAIR} {JITTER}",
    ),
    Comparison(
        "XI", "set-up of a call", "2012-xi-6to4-call-setup", LOAD, "behind, Mbit/s", COLOCATED, "X", "call set-up, ms",
        SITE, True, f"{PAIR} {CALLS} From INVITE to 200.",
    ),
    Comparison(
        "XIII", "throughput of a call", "2012-xiii-6to4-voip-throughput", LOAD, "behind, Mbit/s", COLOCATED, "X",
        "RTP, kbit/s", SITE, False, f"{PAIR} {CALLS} RTP packets of 172 bytes, 50 a second: 68.8 kbit/s are sent.",
    ),
    Comparison(
        "XIV", "loss of a call", "2012-xiv-6to4-voip-loss", LOAD, "behind, Mbit/s", COLOCATED, "X", "RTP lost, %", SITE,
        True, f"{PAIR} {CALLS} The paper gives no unit; percent are assumed. Ours are of the packets that the caller"
        " sent; late ones are not among them.",
    ),
    Comparison(
        "XII", "ping6 by the traffic behind", "2012-xii-6to4-rtt", LOAD, "behind, Mbit/s",
        COLOCATED, "XII", "ping6, ms", SITE, True, PAIR + " Packets behind have 1,280 bytes; the paper gives no size.",
    ),
    Comparison(
        "XV", "processor by the traffic behind", "2012-xv-6to4-cpu", LOAD, "behind, Mbit/s",
        _dissertation("bare", "linux"), "XII", "vCPU above idle, %", SITE, True,
        PAIR + " Ours is the time of the first gateway's vCPU thread less that when idle; it includes the emulation of"
        " the cards. The paper's links carry 100 Mbit/s, so that its gateway has the same load from there on; ours have"
        " no limit.", same="The loads behind up to 100 Mbit/s, 6to4 and NAT in one box.",
    ),
    Comparison(
        "2016 II, IV", "DNS64, time of 256 answers", "2016-iv-dns64", "clients", "questions in flight",
        (Curve("mtd64-ng", "mean_ms"), Curve("BIND", "2016-ii-dns64/mean_ms")), "DNS-loop", "256 answers, ms",
        (Curve("Baregate", "dns64"), Curve("BIND", "linux-bind")), True,
        "mtd64-ng ran with 16 threads on four ARM cores; ours and BIND have one core each.", ranked=False,
    ),
    Comparison(
        "2016 II, IV", "DNS64, answers a second", "2016-iv-dns64", "clients", "questions in flight",
        (Curve("mtd64-ng", "queries_per_s"), Curve("BIND", "2016-ii-dns64/queries_per_s")), "DNS-loop", "answers/s",
        (Curve("Baregate", "dns64"), Curve("BIND", "linux-bind")), False,
        "As above. No name was asked before.",
    ),
    Comparison(
        "2016 III, II", "DNS64, answers a second, MTD64", "2016-iii-dns64", "clients", "questions in flight",
        (Curve("MTD64", "queries_per_s"), Curve("BIND", "2016-ii-dns64/queries_per_s")), "DNS-loop", "answers/s",
        (Curve("Baregate", "dns64"), Curve("BIND", "linux-bind")), False,
        "As above; ours are the same figures, beside an older server of the paper's authors.", ranked=False,
    ),
)


APART = (
    "All boxes of a combination share one core, so two of them are slower for that alone. 10 Mbit/s run behind"
    " the fetches (the paper: 50), and 10 to 30 behind the echo requests and the calls. The gateway at the far end is"
    " ours in all."
)


def _apart() -> tuple[Comparison, ...]:
    """Tables VIII to XIV, co-located against decoupled: the paper's columns are also the rows of ours."""
    behind = "behind, Mbit/s"
    tables = (
        ("VIII", "TCP connection", "2012-viii-6to4-connection", FILE, "file, KB", "connection, ms", APART),
        ("IX", "HTTP response", "2012-ix-6to4-response", FILE, "file, KB", "whole file, ms", f"{APART} {WHOLE}"),
        ("X", "jitter of a call", "2012-x-6to4-jitter", LOAD, behind, "jitter, ms", f"{APART} {JITTER}"),
        ("XI", "set-up of a call", "2012-xi-6to4-call-setup", LOAD, behind, "call set-up, ms", f"{APART} {CALLS}"),
        ("XIII", "throughput of a call", "2012-xiii-6to4-voip-throughput", LOAD, behind, "RTP, kbit/s",
         f"{APART} {CALLS}"),
        ("XIV", "loss of a call", "2012-xiv-6to4-voip-loss", LOAD, behind, "RTP lost, %", f"{APART} {CALLS}"),
        ("XII", "ping6", "2012-xii-6to4-rtt", LOAD, behind, "ping6, ms", APART),
    )
    pairs = (
        ("two boxes: bare against Linux", ("bare_bare", "two bare"), ("linux_linux", "two Linux")),
        ("NAT on bare, 6to4 on Linux, against the reverse", ("bare_linux", "bare NAT"), ("linux_bare", "Linux NAT")),
        ("bare: one box against two", ("colocated_bare", "one box"), ("bare_bare", "two boxes")),
        ("Linux: one box against two", ("colocated_linux", "one box"), ("linux_linux", "two boxes")),
    )
    found = []
    for table, title, name, x, x_title, what, differs in tables:
        for kind, first, second in pairs:
            curves = (Curve(first[1], first[0]), Curve(second[1], second[0]))
            found.append(Comparison(
                table, f"{title}, {kind}", name, x, x_title, curves, "apart", what, curves, table != "XIII", differs
            ))  # fmt: skip
    return tuple(found)


COMPARISONS += _apart()


def _of_2015() -> tuple[Comparison, ...]:
    """The paper of 2015: servers under Linux on three machines, as forwarders (BIND and PowerDNS) and as recursors."""
    found = []
    rows = {"Unbound": "linux-unbound", "BIND": "linux-bind", "PowerDNS": "linux-pdns"}
    for machine, first in (("Pentium III", 1), ("Atom", 7), ("Opteron", 13)):
        for kind, one, other, tables in (
            ("forwarders", "PowerDNS", "BIND", (first + 2, first)),
            ("recursors", "Unbound", "BIND", (first + 4, first + 3)),
            ("recursors", "Unbound", "PowerDNS", (first + 4, first + 5)),
        ):
            named = [f"2015-{number}-dns64" for number in tables]
            found.append(Comparison(
                f"2015, {tables[0]} and {tables[1]}", f"DNS64 {kind}, {one} against {other}, {machine}", named[0],
                "clients", "questions in flight",
                (Curve(one, "requests_per_s"), Curve(other, f"{named[1]}/requests_per_s")), "DNS-loop", "answers/s",
                (Curve(one, rows[one]), Curve(other, rows[other])), False,
                "Each client of the paper had four questions in flight; with one or two the clients were the limit, so"
                " the most of each server is compared. Ours forward to one server. The paper's machine has one core"
                " (Pentium III), two (Atom) or four (Opteron), ours one.",
                Curve("Baregate", "dns64"), ("system", "Linux"), 4, plateau=True,
            ))  # fmt: skip
    return tuple(found)


COMPARISONS += _of_2015()

# Tables without a verdict, and why.
ABSENT = (
    ("II, XVI", "internal timings", "no verdict: no single ratio; they stand side by side below."),
    ("2015, other servers and systems", "TOTD; OpenBSD and FreeBSD", "not measured: they are not in Debian."),
    ("2016 I", "worker threads", "not measured: Baregate has no threads."),
    ("2017, 2 and 3", "the highest rate at which all are answered, by threads",
     "no verdict: Baregate has no threads. The search of RFC 8219, section 9.2, stands below with that paper's best"
     " figures."),
)
