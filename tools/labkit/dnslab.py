# SPDX-License-Identifier: BSD-2-Clause
"""The test network of the DNS64 server: clients in the LAN, name servers in the WAN, a translator beside it.

    namespace lan                 gateway (QEMU)             namespace wan
    br0 192.168.1.2           ,-- nic0 .1     nic1 .2 ------ wan0 203.0.113.1
        2001:db8:1::2 -- lan0 '        ::1         ::2            2001:db8:2::1, ::53, ::54, ::55
              |                                              lo   198.51.100.1, .53, .54, .55
              |                   translator (QEMU, ivi)
              '--------- low0 --- nic0 ::64   nic1 .2 ------ far0 192.0.2.1

unbound, BIND and NSD serve the same zone in the WAN, each on its own addresses (`NameServers`). `add_translator` adds
the translator, which gives the LAN host the IPv4 address 192.0.2.33.
"""

import dataclasses
import os
import re
import subprocess
from collections.abc import Sequence
from typing import Any

from . import lab as net
from .lab import Lab
from .machine import Hardware, Machine, Port
from .netns import Namespace, end_process
from .wait import until

HOST6, GATEWAY6, LAN6 = "2001:db8:1::2", "2001:db8:1::1", "2001:db8:1::/64"
WAN_SERVER6, WAN_GATEWAY6 = "2001:db8:2::1", "2001:db8:2::2"
NATIVE = "2001:db8:2::80"
"""The address of v6.lab.test."""
PREFIX = "2001:db8:64::"
"""The /96 prefix of synthesised addresses."""

TRANSLATOR6, TRANSLATOR4, TRANSLATOR_ROUTER = "2001:db8:1::64", "192.0.2.2", "192.0.2.1"
HOST4 = "192.0.2.33"
"""The LAN host's IPv4 address outside the translator."""
TRANSLATOR_MACS = ("52:54:00:12:38:00", "52:54:00:12:38:01")

SERVERS = {
    "unbound": ("198.51.100.53", "2001:db8:2::53"),
    "bind": ("198.51.100.54", "2001:db8:2::54"),
    "nsd": ("198.51.100.55", "2001:db8:2::55"),
}
"""The addresses of each name server."""

ZONE = "lab.test"
REVERSE = "100.51.198.in-addr.arpa"
MANY = 60
"""The number of A records of many.lab.test: they fit into an answer of 1232 bytes, but not as AAAA records."""
_ZONES = {
    ZONE: f"""\
$TTL 300
@       SOA   ns hostmaster 1 3600 600 86400 120
        NS    ns
        MX    10 v4
ns      A     {SERVERS["nsd"][0]}
v4      A     {net.FAR_SERVER}
www     A     {net.FAR_SERVER}
v6      AAAA  {NATIVE}
dual    A     {net.FAR_SERVER}
        AAAA  {NATIVE}
mapped  A     {net.FAR_SERVER}
        AAAA  ::ffff:{net.FAR_SERVER}
alias   CNAME v4
chain   CNAME alias
loop    CNAME loop2
loop2   CNAME loop
v4.sub  A     {net.FAR_SERVER}
tree    DNAME sub
text    TXT   "one" "two"
_s._udp SRV   1 2 53 v4
odd     TYPE65280 \\# 4 01020304
short 1 A     {net.FAR_SERVER}
*.w     A     198.51.100.7
*.l     TXT   {" ".join(f'"{i}{"x" * 240}"' for i in range(8))}
""" + "".join(f"many A 198.51.100.{i + 1}\n" for i in range(MANY)),
    REVERSE: """\
$TTL 300
@       SOA   ns.lab.test. hostmaster.lab.test. 1 3600 600 86400 120
        NS    ns.lab.test.
1       PTR   v4.lab.test.
""",
}

_UNBOUND = """\
server:
  directory: "{directory}"
  chroot: ""
  username: ""
  pidfile: "{directory}/unbound.pid"
  use-syslog: no
  do-daemonize: no
  interface: {four}
  interface: {six}
  access-control: 0.0.0.0/0 allow
  access-control: ::/0 allow
  module-config: "iterator"
  local-zone: "test." nodefault
  local-zone: "100.51.198.in-addr.arpa." nodefault
remote-control:
  control-enable: no
"""
_UNBOUND_ZONE = """\
auth-zone:
  name: "{zone}"
  zonefile: "{file}"
  for-downstream: no
  for-upstream: yes
  fallback-enabled: no
"""
_BIND = """\
options {{
  directory "{directory}";
  pid-file none;
  session-keyfile none;
  listen-on port 53 {{ {four}; }};
  listen-on-v6 port 53 {{ {six}; }};
  recursion no;
  dnssec-validation no;
  allow-query {{ any; }};
  notify no;
}};
controls {{ }};
"""
_BIND_ZONE = """\
zone "{zone}" {{ type primary; file "{file}"; dnssec-policy default; inline-signing yes; }};
"""
_NSD = """\
server:
  ip-address: {four}
  ip-address: {six}
  username: ""
  chroot: ""
  zonesdir: "{directory}"
  database: ""
  zonelistfile: "{directory}/zone.list"
  xfrdfile: "{directory}/xfrd.state"
  xfrdir: "{directory}"
  pidfile: "{directory}/nsd.pid"
  rrl-ratelimit: 0
remote-control:
  control-enable: no
"""
_NSD_ZONE = """\
zone:
  name: "{zone}"
  zonefile: "{file}"
"""
_PROGRAMS = {
    "unbound": (_UNBOUND, _UNBOUND_ZONE, ("unbound", "-d", "-c")),
    "bind": (_BIND, _BIND_ZONE, ("named", "-g", "-n", "1", "-c")),
    "nsd": (_NSD, _NSD_ZONE, ("nsd", "-d", "-c")),
}


def configuration(servers: Sequence[str], lines: str = "") -> str:
    """The gateway's configuration, with these name servers and these lines added."""
    return f"""\
app dns64
{net.NETWORK}lan.address {GATEWAY6}/64
wan.address {WAN_GATEWAY6}/64
{"".join(f"nameserver {server}" + chr(10) for server in servers)}dns64-prefix {PREFIX}/96
{lines}"""


def synthesised(address: str) -> str:
    """The synthesised address of `address` under PREFIX, as dig writes it."""
    a, b, c, d = (int(part) for part in address.split("."))
    return f"{PREFIX}{a << 8 | b:x}:{c << 8 | d:x}"


def open_ipv6(space: Namespace, name: str, *addresses: str) -> None:
    """Gives `name` these IPv6 addresses, and no others of global scope."""
    space.sysctl("ipv6.conf.default.disable_ipv6", 0)
    space.sysctl(f"ipv6.conf.{name}.autoconf", 0)
    space.sysctl(f"ipv6.conf.{name}.disable_ipv6", 0)
    for address in addresses:
        space.ip(f"-6 address replace {address} dev {name} nodad")


@dataclasses.dataclass(frozen=True)
class Reply:
    """The output of dig or kdig: a section is a list of records, "name TYPE data", sorted, names in lower case."""

    status: str
    flags: frozenset[str]
    answer: list[str]
    authority: list[str]
    ttl: dict[str, int]  # the minimum for each record type in the answer
    text: str

    @property
    def milliseconds(self) -> str:
        """The time until the answer, as dig reports it."""
        return re.findall(r"Query time: (\d+) msec", self.text)[0]

    @property
    def addresses(self) -> list[str]:
        """The addresses of the AAAA records in the answer."""
        return [record.split()[2] for record in self.answer if record.split()[1] == "AAAA"]


def ask(space: Namespace, server: str, *question: str, tool: str = "dig", tries: int = 1, wait: int = 6) -> Reply:
    """Sends a query with dig or kdig, whose arguments are `question`; an answer with TC is accepted as it is."""
    retry = f"+tries={tries}" if tool == "dig" else f"+retry={tries - 1}"
    said = space.run(tool, f"@{server}", retry, f"+time={wait}", "+ignore", *question,
                     timeout=tries * wait + 30, check=False).stdout
    head = re.search(r"status: (\w+)[;,] id: \d+\n;; [Ff]lags: ([a-z ]+);", said)
    if head is None:
        raise AssertionError(f"{tool} @{server} {' '.join(question)}: no answer\n{said}")
    sections: dict[str, list[str]] = {}
    ttl: dict[str, int] = {}
    for name, body in re.findall(r"^;; (ANSWER|AUTHORITY) SECTION:\n((?:[^;\n].*\n)*)", said, re.MULTILINE):
        for line in body.splitlines():
            owner, seconds, _, kind, data = line.split(None, 4)
            sections.setdefault(name, []).append(f"{owner.lower()} {kind} {data.lower()}")
            if name == "ANSWER":
                ttl[kind] = min(int(seconds), ttl.get(kind, 1 << 31))
    return Reply(head[1], frozenset(head[2].split()), sorted(sections.get("ANSWER", [])),
                 sorted(sections.get("AUTHORITY", [])), ttl, said)


class NameServers(Lab):
    """A Lab with name servers in the WAN. They run until `stop_server` or the end of the lab."""

    def __init__(self, nics: Sequence[str] = ("e1000", "e1000"), **options: Any) -> None:
        self._servers: dict[str, subprocess.Popen[bytes]] = {}
        super().__init__(nics, **options)

    def start_server(self, kind: str) -> None:
        """Starts the name server, with its zones; it answers when this function returns."""
        options, zone_options, command = _PROGRAMS[kind]
        four, six = SERVERS[kind]
        directory = os.path.join(self.directory, kind)
        os.makedirs(directory, exist_ok=True)
        text = options.format(directory=directory, four=four, six=six)
        for zone, records in _ZONES.items():
            file = self.file(os.path.join(kind, zone), f"$ORIGIN {zone}.\n{records}")
            text += zone_options.format(zone=zone, file=file)
        path = self.file(os.path.join(kind, "conf"), text)
        with open(os.path.join(directory, "log"), "ab") as log:
            server = self.wan.start(*command, path, stdout=log, stderr=subprocess.STDOUT)
        self._servers[kind] = server

        def answers() -> bool:
            if server.poll() is not None:
                with open(os.path.join(directory, "log"), encoding="utf-8", errors="replace") as said:
                    raise AssertionError(f"{kind} ended: {said.read()[-2000:]}")
            asked = self.wan.run("dig", "+tries=1", "+time=1", f"@{four}", ZONE, "SOA", check=False)
            return "status: NOERROR" in asked.stdout
        until(answers, 20, f"{kind} to answer")

    def stop_server(self, kind: str) -> None:
        """Ends the name server; its port is then closed."""
        end_process(self._servers.pop(kind))

    def serves(self, kind: str) -> bool:
        """Whether a name server runs."""
        return kind in self._servers

    def server(self, kind: str) -> "subprocess.Popen[bytes]":
        """The process of a name server that runs."""
        return self._servers[kind]


class DnsLab(NameServers):
    """A Lab for the DNS64 server, with a bridge for several hosts in the LAN."""

    def __init__(self, nics: Sequence[str] = ("e1000", "e1000"), **options: Any) -> None:
        super().__init__(nics, **options)
        self._translator: Machine | None = None

    def _address_hosts(self) -> None:
        super()._address_hosts()
        self.lan.ip("link add br0 type bridge")
        self.lan.ip(f"link set br0 address {net.LAN_HOST_MAC} up")
        self.lan.ip("link set lan0 master br0")
        self.lan.ip("address flush dev lan0")
        self.lan.ip(f"address add {net.LAN_HOST}/24 dev br0")
        for four, _ in SERVERS.values():
            self.wan.ip(f"address add {four}/32 dev lo")
        self.plug()

    def plug(self) -> None:
        """Plugs both cables in, and restores the routes and addresses that the hosts lost while they were out."""
        self.lan.ip("link set lan0 up")
        self.wan.ip("link set wan0 up")
        self.lan.ip(f"route replace default via {net.LAN_GATEWAY}")
        open_ipv6(self.lan, "br0", f"{HOST6}/64")
        open_ipv6(self.wan, "wan0", f"{WAN_SERVER6}/64", *(f"{six}/64" for _, six in SERVERS.values()))
        # While its WAN address is tentative the gateway asks from its address in the LAN.
        self.wan.ip(f"-6 route replace {LAN6} via {WAN_GATEWAY6}")

    def machines(self) -> list[Machine]:
        """Every running machine."""
        return [*super().machines(), *([self._translator] if self._translator is not None else [])]

    # ---- the gateway ----

    def boot_dns(self, conf: str, **hardware: Any) -> Machine:
        """Boots the gateway and waits until it answers the LAN host over IPv4, and over IPv6 if it has it."""
        self.plug()
        machine = self.boot(conf, app="dns64", **hardware)
        for gateway in (net.LAN_GATEWAY, *([GATEWAY6] if GATEWAY6 in conf else [])):
            self.wait_answer(gateway)
        return machine

    def wait_answer(self, gateway: str = net.LAN_GATEWAY, timeout: float = 20) -> None:
        """Waits until the gateway answers a query that needs no upstream."""
        def answers() -> bool:
            try:
                return ask(self.lan, gateway, "ipv4only.arpa", "A", wait=1).status == "NOERROR"
            except AssertionError:
                return False
        until(answers, timeout, f"{gateway} to answer")

    # ---- the translator ----

    def add_translator(self) -> None:
        """Adds a second gateway, running `ivi`, through which the LAN host reaches IPv4."""
        taps = []
        for space, name in ((self.lan, "low0"), (self.wan, "far0")):
            tap = space.tap(name)
            self._cleanup.callback(os.close, tap)
            space.ip(f"link set {name} up")
            taps.append(tap)
        self.lan.ip("link set low0 master br0")
        self.wan.ip(f"address add {TRANSLATOR_ROUTER}/24 dev far0")
        conf = self.file("translator.conf", f"""\
app ivi
lan nic0
wan nic1
lan.address {TRANSLATOR6}/64
wan.address {TRANSLATOR4}/24
gateway {TRANSLATOR_ROUTER}
ivi.prefix {PREFIX}/96
ivi.format rfc6052
ivi.map {HOST4} {HOST6}
lan.ra off
""")
        ports = [Port("e1000", tap, mac) for tap, mac in zip(taps, TRANSLATOR_MACS)]
        self._translator = Machine(Hardware(modules=[conf]), ports)
        self._cleanup.callback(self._translator.close)
        self._translator.wait_ready("ivi")
        self.lan.ip(f"-6 route replace {PREFIX}/96 via {TRANSLATOR6}")
