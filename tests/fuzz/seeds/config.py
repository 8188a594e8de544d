#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Seeds for fuzz_config: configurations that start, and configurations that an application refuses.

Usage: seeds/config.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

NAT = "app nat\nlan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\ngateway 203.0.113.1\nnat.sessions 50\n"
TUN = "app 6to4\nlan.address 192.168.1.1/24\nwan.address 203.0.113.2/24\ngateway 203.0.113.1\nnat.sessions 50\n"
PLAIN = TUN + "6to4.nat off\n"
RD = "app 6to4\nwan.address 203.0.113.2/24\n6to4.nat off\n"
IVI = (
    "app ivi\nwan.address 198.51.100.1/24\ngateway 198.51.100.2\nlan.address 2001:db8:3::1/64\n"
    "ivi.format rfc6052\n"
)
FORM = IVI + "ivi.prefix 64:ff9b::/96\nivi.ipv4 192.0.2.0/24\n"
DNS = "app dns64\nlan.address 192.168.1.1/24\nlan.address 2001:db8:1::1/64\nnameserver 192.168.1.53\n"
FORWARD = "nat.forward tcp 8080 192.168.1.10:80\n"
TEXTS = {
    "wire": "app wire\n",
    "nat": NAT + FORWARD,
    "nat-pool": NAT + "nat.pool 203.0.113.8-203.0.113.11\nnat.pool 198.51.100.7\n" + FORWARD,
    "nat-pool-router": NAT + "nat.pool 203.0.113.1\n",
    "nat-pool-routers": NAT + "nat.pool 203.0.113.1-203.0.113.3\n",
    "nat-pool-network": NAT + "nat.pool 203.0.113.0-203.0.113.3\n",
    "nat-pool-lan": NAT + "nat.pool 192.168.1.9\n",
    "nat-pool-twice": NAT + "nat.pool 203.0.113.8\nnat.pool 203.0.113.8\n",
    "nat-pool-large": NAT + "nat.pool 198.18.0.0-198.18.7.255\n",
    "nat-pool-many": NAT + "nat.pool 198.18.0.0-198.18.3.255\n",
    "nat-forward-out": NAT + "nat.forward udp 53 198.51.100.1:53\n",
    "nat-forward-twice": NAT + FORWARD + FORWARD,
    "nat-forward-same": NAT + FORWARD + "nat.forward tcp 8081 192.168.1.10:80\n",
    "nat-large": NAT.replace("50", "16000000"),
    "nat-no-lan": NAT.replace("lan.address", "#"),
    "nat-no-wan": NAT.replace("wan.address", "#").replace("gateway", "#"),
    "nat-opening": NAT + "nat.tcp-opening-timeout 3\nnat.protocol41 192.168.1.6\nnat.hairpin off\nnat.host-limit 4\n",
    "6to4": TUN + "lan.address 2002:cb00:7102:1::1/64\n",
    "6to4-made": TUN,
    "6to4-fields": PLAIN + "6to4.dscp zero\n6to4.ecn zero\n6to4.mtu 1480\n6to4.mss-clamp 1220\n6to4.subnet 7\n",
    "6to4-wrong-lan": PLAIN + "lan.address 2002:cb00:7103:1::1/64\n",
    "6to4-native": PLAIN + "lan.address 2001:db8:1::1/64\nlan.address 2002:cb00:7102:1::1/64\n",
    "6to4-relay-private": PLAIN + "6to4.relay 10.0.0.1\n",
    "6to4-relay-own": PLAIN + "6to4.relay 203.0.113.2\n",
    "6to4-relay": PLAIN + "6to4.relay 198.51.100.7\n6to4.native-from relay\n",
    "6to4-native-from": PLAIN + "6to4.native-from relay\n",
    "6to4-anycast": PLAIN + "6to4.relay 192.88.99.1\n",
    "6to4-behind": PLAIN.replace("203.0.113", "10.9.9") + "6to4.address 203.0.113.2\n",
    "6to4-private": PLAIN.replace("203.0.113", "10.9.9"),
    "6to4-no-wan": PLAIN.replace("wan.address", "#").replace("gateway", "#"),
    "6to4-mtu": PLAIN + "wan.mtu 1280\n6to4.mtu 1480\n",
    "6to4-mss": PLAIN + "6to4.mss-clamp 1400\n",
    "6rd": RD + "6rd.prefix 2001:db8::/32\n6rd.mask 8\n6rd.relay 203.0.113.7\n",
    "6rd-odd": RD + "6rd.prefix 2001:db8::/29\n6rd.mask 5\nlan.address 192.168.1.1/24\n",
    "6rd-long": RD + "6rd.prefix 2001:db8::/56\n",
    "6rd-relay-out": RD + "6rd.prefix 2001:db8::/32\n6rd.mask 8\n6rd.relay 198.51.100.7\n",
    "6rd-mask": RD + "6rd.mask 8\n",
    "6rd-relay-only": RD + "6rd.relay 203.0.113.7\n",
    "6rd-and-6to4": RD + "6rd.prefix 2001:db8::/32\n6to4.address 203.0.113.2\n6to4.relay 198.51.100.7\n",
    "ivi": FORM,
    "ivi-format": FORM.replace("rfc6052", "ivi"),
    "ivi-length": FORM.replace("::/96", "::/95"),
    "ivi-octet": FORM.replace("64:ff9b::/96", "64:ff9b:0:0:ff00::/96"),
    "ivi-form": FORM.replace("64:ff9b::/96", "2001:db8::/32").replace("rfc6052", "ivi"),
    "ivi-no-prefix": IVI + "ivi.ipv4 192.0.2.0/24\n",
    "ivi-none": IVI,
    "ivi-only-prefix": IVI + "ivi.prefix 64:ff9b::/96\n",
    "ivi-share": FORM + "ivi.share 192.0.2.8/29 16 64\n",
    "ivi-share-40": FORM.replace("64:ff9b::/96", "2001:db8:100::/40") + "ivi.share 203.0.113.8/29 16 64\n",
    "ivi-share-twice": FORM.replace("64:ff9b::/96", "2001:db8:100::/40")
    + "ivi.share 203.0.113.8/29 16\nivi.share 203.0.113.8/30 16\n",
    "ivi-map-twice": FORM + "ivi.map 1.0.0.0/24 2001:db8:3::/120\nivi.map 1.0.0.0/24 2001:db8:4::/120\n",
    "ivi-map-twice-6": FORM + "ivi.map 1.0.0.0/24 2001:db8:3::/120\nivi.map 1.0.1.0/24 2001:db8:3::/120\n",
    "ivi-map-only": IVI + "ivi.map 198.51.100.0/24 2001:db8:3::/120\nivi.map 192.0.2.0/24 2001:db8:9::/120\n",
    "ivi-map-via": FORM + "route 2001:db8:9::/64 via 2001:db8:3::9\nivi.map 192.0.2.0/25 2001:db8:9::/121\n",
    "ivi-map-in-prefix": FORM.replace("64:ff9b::/96", "2001:db8::/32") + "ivi.map 1.0.0.0/24 2001:db8:3::/120\n",
    "ivi-wan": FORM.replace("192.0.2.0/24", "198.51.100.0/24"),
    "ivi-wan-31": FORM.replace("192.0.2.0/24", "198.51.100.0/24") + "wan.address 198.51.100.8/31\n",
    "ivi-icmp": FORM + "ivi.icmp-source 203.0.113.8\nivi.icmp-source 2001:db8:77::1\nivi.tos 46\nlan.ra off\n",
    "ivi-nets": FORM + "".join(f"lan.address 2001:db8:{n}::1/64\n" for n in range(4, 11)),
    "ivi-no-lan": FORM.replace("lan.address 2001:db8:3::1/64", ""),
    "ivi-no-wan": FORM.replace("wan.address", "#").replace("gateway", "#"),
    "dns64": DNS + "dns64.cache 1\ndns64-prefix 2001:db8:64:0:ff00::/96\nnum-threads 2\nresponse-maxlength 100\n",
    "dns64-lists": DNS + "dns64.client 10.0.0.0/8\ndns64.skip-client 10.1.0.0/16\ndns64.skip-name a.example\n"
    "dns64-prefix 64:ff9b::/96\ndns64-prefix 64:ff9b::/96\ndns64.map 0.0.0.0/1 none\n"
    "dns64.map 10.0.0.0/8 2001:db8::/32\n",
    "dns64-own": DNS + "nameserver 192.168.1.1\n",
    "dns64-own-6": DNS + "nameserver 2001:db8:1::1\n",
    "dns64-link-local": DNS + "nameserver fe80::1\n",
    "dns64-no-server": DNS.replace("nameserver", "#"),
    "dns64-no-lan": DNS.replace("lan.address", "#"),
    "dns64-large": DNS + "dns64.cache 16000000\n",
    "dns64-four": DNS.replace("lan.address 2001:db8:1::1/64", ""),
}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        for more in range(4):  # the size chooses how much memory there is
            (folder / f"seed-{name}-{more}").write_bytes(text.encode() + b"\n" * more)


if __name__ == "__main__":
    main()
