#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_dnsmsg: messages of many record types, written by dnspython."""

import sys
from pathlib import Path

import dns.message
import dns.rrset

RECORDS = {
    "a": ["A 192.0.2.1", "A 192.0.2.2"],
    "aaaa": ["CNAME other.example.com.", "AAAA 2001:db8::1"],
    "negative": [],
    "mail": ["MX 10 mx1.example.com.", "MX 20 mx2.example.com."],
    "service": ["SRV 1 2 53 target.example.com.", 'NAPTR 1 2 "s" "x" "" replacement.example.com.'],
    "signed": ["A 192.0.2.1", "RRSIG A 8 3 300 20300101000000 20200101000000 1234 example.com. c2lnbmF0dXJl"],
    "odd": ["RP a.example.com. b.example.com.", "DNAME d.example.com.", "NSEC n.example.com. A AAAA",
            "TYPE65000 \\# 3 c0ff01"],
}
SOA = "SOA ns.example.com. root.example.com. 1 7200 3600 1209600 300"


def main() -> None:
    folder = Path(sys.argv[1])
    for name, records in RECORDS.items():
        query = dns.message.make_query("www.example.com.", "AAAA", use_edns=0)
        answer = dns.message.make_response(query)
        for record in records:
            kind, _, data = record.partition(" ")
            answer.answer.append(dns.rrset.from_text("www.example.com.", 300, "IN", kind, data))
        kind, _, data = SOA.partition(" ")
        answer.authority.append(dns.rrset.from_text("example.com.", 300, "IN", kind, data))
        for how in (0x01, 0x03, 0x07, 0xc6, 0x40):
            (folder / f"{name}-{how:02x}").write_bytes(bytes([how]) + answer.to_wire())
        (folder / f"{name}-query").write_bytes(b"\1" + query.to_wire())


main()
