# SPDX-License-Identifier: BSD-2-Clause
"""A gateway between inside networks and an outside one, in virtual time; or the image in QEMU (image.py) in its place.

    lan:  192.168.1.0/24  A .10, B .11 -- .1 gateway .2 -- .1 router, NEAR .9  wan: 203.0.113.0/24
    lan2: 192.168.2.0/24  C .10 --------- .1
    lan3: 192.168.3.0/24  D .10 --------- .1

Only some tests have lan2 and lan3. Every frame that leaves is checked against oracle.py; every gateway is checked for
leaks at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address, ip_network

import oracle
from image import MACS, Image
from labkit.wait import until
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from simulator import Simulator

LAN, WAN, LAN2, LAN3 = "lan", "wan", "lan2", "lan3"
PORT_MAC = MACS
BROADCAST = "ff:ff:ff:ff:ff:ff"


@dataclass(frozen=True)
class Host:
    """A host on one of the networks."""

    port: str
    ip: str
    mac: str


A = Host(LAN, "192.168.1.10", "52:54:00:00:01:0a")
B = Host(LAN, "192.168.1.11", "52:54:00:00:01:0b")
ROUTER = Host(WAN, "203.0.113.1", "52:54:00:00:02:01")
NEAR = Host(WAN, "203.0.113.9", "52:54:00:00:02:09")
C = Host(LAN2, "192.168.2.10", "52:54:00:00:03:0a")
D = Host(LAN3, "192.168.3.10", "52:54:00:00:04:0a")
HOSTS = (A, B, ROUTER, NEAR)
INSIDE, OUTSIDE = "192.168.1.1", "203.0.113.2"  # the gateway's own addresses
SERVER, SERVER2 = "198.51.100.7", "198.51.100.8"  # behind the router

ADDRESSES = f"""\
lan.address {INSIDE}/24
wan.address {OUTSIDE}/24
gateway {ROUTER.ip}
"""
# Fixed neighbours: only the tests of ARP need ARP.
NEIGHBOURS = "".join(f"neighbour {host.ip} {host.mac}\n" for host in HOSTS)
NAT = ADDRESSES + NEIGHBOURS + "nat.sessions 256\n"
INSIDE2, INSIDE3 = "192.168.2.1", "192.168.3.1"
# Two further networks of the inside, to be added to a configuration.
MORE = f"""\
lan2 nic2
lan2.address {INSIDE2}/24
neighbour {C.ip} {C.mac}
lan3 nic3
lan3.address {INSIDE3}/24
neighbour {D.ip} {D.mac}
"""


@dataclass(frozen=True)
class Sent:
    """A frame that the gateway sent."""

    port: str
    raw: bytes
    at: float  # seconds since the gateway started

    @cached_property
    def frame(self) -> Packet:
        return Ether(self.raw)

    @property
    def ip(self) -> Packet:
        assert IP in self.frame, self.frame.summary()
        packet: Packet = self.frame[IP]
        return packet

    @property
    def ip6(self) -> Packet:
        assert IPv6 in self.frame, self.frame.summary()
        packet: Packet = self.frame[IPv6]
        return packet

    @property
    def arp(self) -> Packet:
        assert ARP in self.frame, self.frame.summary()
        packet: Packet = self.frame[ARP]
        return packet

    @property
    def quote(self) -> bytes:
        """The bytes that an ICMP error quotes, as they are on the wire."""
        return self.raw[14 + (self.raw[14] & 15) * 4 + 8:]

    def __repr__(self) -> str:
        return f"<{self.port} {self.at:.3f} {self.frame.summary()}>"


class Gateway:
    """One gateway, from its start to `finish`."""

    def __init__(self, sim: Simulator | Image, config: str = NAT, app: str = "nat", *, seed: int = 1,
                 packets: int = 512, now: float = 1, slow_path: bool = False,
                 ring: int = 0, memory: int = 0, large: bool = False, rests: bool = False) -> None:
        self.sim = sim
        self.start = now  # booting has taken a moment
        self.ports = [LAN, WAN]
        self.cards = {port: f"nic{number}" for number, port in enumerate(PORT_MAC)}
        self.tags: dict[str, int] = {}
        self.mtu = dict.fromkeys(PORT_MAC, 1500)
        self.sources: dict[str, set[str] | None] = {port: None for port in PORT_MAC} | {WAN: set()}
        self.networks: dict[str, list[IPv4Network | IPv6Network]] = {port: [] for port in PORT_MAC}
        sim.command(f"reset {seed}")
        sim.command(f"option packets {packets}")
        if memory:
            sim.command(f"option memory {memory}")
        if ring:
            sim.command(f"option ring {ring}")
        if large:
            sim.command("option large on")
        if rests:  # otherwise all parts have their turn at least ten times a second
            sim.command("option rests on")
        sim.command(f"option now {now}")
        sim.command(f"option slow-path {'on' if slow_path else 'off'}")
        for line in config.splitlines():
            sim.command(f"config {line}")
            self._note(line)
        if app in ("wire", "route6", "ivi", "dns64"):
            self.sources[WAN] = None
        self.app = app
        self.checked = app != "wire"
        self.hello = self._read(sim.command(f"start {app}"))
        self.free = self.stats()["packets_free"]
        assert self.free == packets - ring or not sim.virtual

    def note(self, lines: str) -> None:
        """Tells the oracle of addresses, in lines as of the configuration, that the gateway makes by itself."""
        for line in lines.splitlines():
            self._note(line)

    def _note(self, line: str) -> None:
        """Notes what the oracle must know of the configuration."""
        words = line.split()
        if len(words) < 2:
            return
        port, _, name = words[0].partition(".")
        if port in PORT_MAC and port not in self.ports:
            self.ports.append(port)
        if words[0] in PORT_MAC:
            self.cards[port], _, tag = words[1].partition(".")
            if tag:
                self.tags[port] = int(tag)
        if port in PORT_MAC and name == "mtu":
            self.mtu[port] = int(words[1])
        if words[1] == "dhcp":
            own = self.sources[WAN]
            assert own is not None
            own.add("0.0.0.0")
        if words[1] in ("auto", "dhcp"):
            return
        if port in PORT_MAC and name == "address":
            self.networks[port].append(ip_network(words[1], strict=False))
        if words[0] == "route":
            for networks in self.networks.values():
                if any(ip_address(words[3]) in network for network in networks):
                    networks.append(ip_network(words[1]))
                    break
        if words[0] == "wan.address":
            own = self.sources[WAN]
            assert own is not None
            own.add(words[1].split("/")[0])
        if words[0] in ("nat.pool", "nat64.pool"):
            own = self.sources[WAN]
            assert own is not None
            first, _, last = words[1].partition("-")
            numbers = range(int(IPv4Address(first)), int(IPv4Address(last or first)) + 1)
            own.update(str(IPv4Address(number)) for number in numbers)

    def _card(self, port: str) -> str:
        """The first interface with the same card: frames come and go under its name."""
        return next(other for other in self.ports if self.cards[other] == self.cards[port])

    def mac(self, port: str) -> str:
        """The gateway's MAC address on an interface."""
        return PORT_MAC[self._card(port)]

    def tagged(self, port: str, frame: bytes) -> tuple[str, bytes]:
        """The card of an interface, and a frame as it is on its cable."""
        if port not in self.ports:
            return port, frame
        if port in self.tags:
            frame = frame[:12] + b"\x81\0" + self.tags[port].to_bytes(2, "big") + frame[12:]
        return self._card(port), frame

    def _untagged(self, card: str, frame: bytes) -> tuple[str, bytes]:
        """The interface of a frame that left, and the frame without its tag."""
        if not self.tags:
            return card, frame
        tag = int.from_bytes(frame[14:16], "big") if frame[12:14] == b"\x81\0" else 0
        port = next(port for port in self.ports if self._card(port) == card and self.tags.get(port, 0) == tag)
        return port, frame[:12] + frame[16:] if tag else frame

    def _read(self, answer: Iterable[str], transport: bool = True) -> list[Sent]:
        sent = []
        for line in answer:
            words = line.split()
            assert words[0] == "tx", line
            port, raw = self._untagged(words[1], bytes.fromhex(words[2]))
            one = Sent(port, raw, int(words[3]) / 1e6 - self.start)
            if self.checked:
                oracle.check_frame(one.raw, self.mac(one.port), self.mtu[one.port], self.sources[one.port],
                                   transport=transport)
                if self.app == "6to4" and one.port == WAN:
                    oracle.check_uplink(one.raw, transport=transport)
                if len(self.ports) > 2 and one.port != WAN:
                    oracle.check_destination(one.raw, self.networks[one.port])
            sent.append(one)
        return sent

    # --- frames and time ---------------------------------------------------------------------

    def send(self, port: str, frame: Packet | bytes, *, broken: bool = False) -> list[Sent]:
        """Passes a frame to the gateway; gives the frames that leave at once. `broken`: the transport part of the frame
        is not right, so that of the answer need not be right either."""
        card, raw = self.tagged(port, bytes(frame))
        return self._read(self.sim.command(f"rx {card} {raw.hex()}"), transport=not broken)

    def send_many(self, frames: Sequence[tuple[str, Packet | bytes]]) -> list[list[Sent]]:
        """Passes many frames to the gateway, faster than `send`; gives the frames that leave at once, for each
        frame."""
        tagged = [self.tagged(port, bytes(frame)) for port, frame in frames]
        answers = self.sim.batch([f"rx {card} {raw.hex()}" for card, raw in tagged])
        return [self._read(answer) for answer in answers]

    def send_bulk(self, command: str) -> list[Sent]:
        """Passes a partial packet to the gateway, by a command of `gwsim`; gives the frames that leave at once."""
        return self._read(self.sim.command(command))

    def ip_from(self, host: Host, packet: Packet | bytes, *, broken: bool = False) -> list[Sent]:
        """Sends an IP packet from a host."""
        header = Ether(src=host.mac, dst=self.mac(host.port), type=oracle.ETHERTYPE_IP)
        return self.send(host.port, header / (packet if isinstance(packet, Packet) else Raw(packet)), broken=broken)

    def lan(self, packet: Packet | bytes, *, broken: bool = False) -> list[Sent]:
        """Sends an IP packet from host A."""
        return self.ip_from(A, packet, broken=broken)

    def wan(self, packet: Packet | bytes, *, broken: bool = False) -> list[Sent]:
        """Sends an IP packet from the router."""
        return self.ip_from(ROUTER, packet, broken=broken)

    def wait(self, seconds: float, *, broken: bool = False) -> list[Sent]:
        """Lets time pass; gives the frames that leave meanwhile. `broken`: as in `send`, for a packet that waited."""
        return self._read(self.sim.command(f"time {seconds:.6f}"), transport=not broken)

    def leap(self, seconds: float, turns: int = 1) -> list[Sent]:
        """Lets time pass in which MAIN runs only `turns` times, the last one at the end."""
        return self._read(self.sim.command(f"leap {seconds:.6f} {turns}"))

    def busy(self, seconds: float) -> list[Sent]:
        """Lets time pass as under load: MAIN runs once a millisecond, whatever it has left to do."""
        return self._read(self.sim.command(f"busy {round(seconds * 1000)}"))

    def link(self, port: str, up: bool) -> list[Sent]:
        return self._read(self.sim.command(f"link {port} {'up' if up else 'down'}"))

    def card(self, port: str, runs: bool) -> list[Sent]:
        return self._read(self.sim.command(f"card {port} {'run' if runs else 'stall'}"))

    def change(self, words: str) -> list[Sent]:
        """Changes an address or a route, as the console commands `address` and `route` do. From then on the oracle
        knows the addresses of the WAN that there are now, and no other may be the source of a frame."""
        own = self.sources[WAN]
        command, how, *rest = words.split()
        if own is not None and command == "address" and rest[0] == WAN and ":" not in rest[1]:
            if how == "add":
                own = own | {rest[1].split("/")[0]}
            else:
                own = own - {rest[1].split("/")[0]}
        answer = self.sim.command(f"change {words}")
        self.sources[WAN] = own
        return self._read(answer)

    def apply(self, config: str) -> list[Sent]:
        """Gives the keys that count at once the values of another configuration, as `apply` in the editor does. The
        addresses of the WAN are the caller's to note."""
        return self._read(self.sim.command("apply " + ";".join(config.splitlines())))

    # --- what it reports --------------------------------------------------------------------------

    def stats(self) -> dict[str, int]:
        return {name: int(value) for name, value in (line.rsplit(" ", 1) for line in self.sim.command("stats"))}

    def drops(self) -> dict[str, int]:
        """The reasons that occurred, with their counts."""
        found = {}
        for name, value in self.stats().items():
            reason = re.fullmatch(r'drop\{reason="(.*)"\}', name)
            if reason and value:
                found[reason[1]] = value
        return found

    def stop(self) -> list[Sent]:
        """Tells the gateway that the machine is about to stop."""
        return self._read(self.sim.command("stop"))

    def act(self, command: str) -> list[Sent]:
        """release or renew, of the lease of the WAN."""
        return self._read(self.sim.command(command))

    def lines(self, listing: str) -> list[str]:
        """sessions, neighbours, routes, interfaces, drops, log or print."""
        return self.sim.command(listing)

    # --- the end ----------------------------------------------------------------------------------

    def finish(self, *, broken: bool = False) -> None:
        """Checks that all packets are free again after a second without a frame in either direction."""
        if not self.sim.virtual:
            until(lambda: self.stats()["packets_free"] >= self.free, 8, f"packets_free back at {self.free}")
            return
        for port in self.ports:
            self.card(port, True)
        if self.app == "nat64":
            self.wait(3, broken=broken)  # fragments wait for the others of their packet
        for _ in range(8):
            if not self.wait(1, broken=broken):
                break
        else:
            raise AssertionError("never silent")
        stats = self.stats()
        assert stats["packets_free"] == self.free, f"{self.free - stats['packets_free']} packets lost"
        assert stats["packets_kept"] == 0
        self.sim.command("check")


def only(sent: Sequence[Sent], port: str | None = None) -> Sent:
    """The only frame in the list."""
    assert len(sent) == 1, f"{len(sent)} frames: {list(sent)}"
    assert port is None or sent[0].port == port, sent
    return sent[0]
