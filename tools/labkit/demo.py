# SPDX-License-Identifier: BSD-2-Clause
"""`make run`: the gateway at work between a LAN host and a WAN server, shown step by step."""

import contextlib
import dataclasses
import hashlib
import os
import re
import sys
from collections.abc import Callable

from . import clatlab, dnslab, ividns, ivilab, nat64lab, sixlab
from . import lab as net
from .clatlab import ClatLab
from .dnslab import DnsLab
from .ividns import IviDnsLab
from .ivilab import IviLab
from .lab import Lab
from .machine import Machine
from .nat64lab import BoxLab, Nat64Lab
from .netns import Namespace
from .sixlab import SixLab
from .terminal import attach
from .wait import Timeout

_SIZE = 8 << 20
_LARGE = 50 << 20
_BESIDE = "192.168.1.9"  # the server's address in the LAN host's network
_SHOWN = re.compile(r"[rt]x_(packets|bytes)|forwarded|nat_|tunnel_|ivi_|nat64_|clat_|packets_free|uptime|cpu_busy")


class Failed(AssertionError):
    """Traffic did not pass correctly."""


def _say(text: str) -> None:
    print(text, flush=True)


def _ping(lab: Lab, server: str, host: str = net.LAN_HOST) -> None:
    lab.wait_ping(server)
    result = lab.lan.run("ping", "-n", "-c3", "-i0.2", "-w5", server)
    lines = [line for line in result.stdout.splitlines() if "bytes from" in line or "packets transmitted" in line]
    _say(f"\nLAN host {host} pings the server {server} through the gateway:")
    for line in lines:
        _say("    " + line)


def _download(lab: Lab, server: str, serve: Callable[[str], contextlib.AbstractContextManager[str]],
              client: Namespace | None = None, who: str = "LAN host", name: str = "", copies: str = "",
              size: int = _SIZE) -> str:
    """Fetches a file from the server, whose web server `serve` runs; gives the line of its log.

    `who` fetches, in the namespace `client` (None: the LAN host). With `name` the URL has this name of the server; the
    lab is then an IviDnsLab or a Nat64Lab. `copies` tells downloads from one server apart; `size` is that of the file.
    """
    directory = os.path.join(lab.directory, f"www-{server}{copies}")
    os.mkdir(directory)
    content = os.urandom(size)
    with open(os.path.join(directory, "file.bin"), "wb") as file:
        file.write(content)
    copy = os.path.join(lab.directory, "copy.bin")
    url = f"http://{name or (f'[{server}]' if ':' in server else server)}/file.bin"
    with serve(directory) as log:
        _say(f"\n{who} fetches {url} ({size >> 20} MB over TCP):")
        if name:
            assert isinstance(lab, (IviDnsLab, Nat64Lab))
            _say("    " + lab.fetch(client or lab.lan, url, copy))
        else:
            result = (client or lab.lan).run("curl", "--silent", "--show-error", "--fail", "--output", copy,
                                 "--write-out", "%{size_download} bytes in %{time_total} s", url, timeout=120)
            _say("    " + result.stdout)
        with open(log, encoding="utf-8") as file:
            request = next((line.strip() for line in file if "GET /file.bin" in line), "")
    with open(copy, "rb") as file:
        got = hashlib.sha256(file.read()).hexdigest()
    sent = hashlib.sha256(content).hexdigest()
    _say(f"    sha256 of what was sent  {sent}\n    sha256 of what arrived   {got}")
    if got != sent:
        raise Failed("the file changed on the way")
    _say("\nThe line in the server's log:\n    " + request)
    return request


def _expect_client(request: str, client: str, who: str) -> None:
    if not request.startswith(client + " "):
        raise Failed(f"the server did not see {who} {client}")


def _nat(lab: Lab) -> None:
    _ping(lab, net.FAR_SERVER)
    request = _download(lab, net.FAR_SERVER, lab.web_server)
    _expect_client(request, net.WAN_GATEWAY, "the gateway's address")
    _say(f"    so the server saw the gateway's address {net.WAN_GATEWAY}, not the LAN host's")


def _wire(lab: Lab) -> None:
    lab.wan.ip(f"address add {_BESIDE}/24 dev wan0")
    _ping(lab, _BESIDE)
    request = _download(lab, _BESIDE, lambda directory: lab.web_server(directory, address=_BESIDE))
    _expect_client(request, net.LAN_HOST, "the LAN host's address")
    _say(f"    so the server saw the LAN host itself, {net.LAN_HOST}, as on one cable")


def _6to4(lab: Lab) -> None:
    assert isinstance(lab, SixLab)
    address = lab.wait_slaac()
    _say(f"\nThe LAN host made itself the address {address}\n"
         f"    from the gateway's router advertisement: 2002:, then {net.WAN_GATEWAY} in hexadecimal")
    _ping(lab, sixlab.SITE_HOST)
    request = _download(lab, sixlab.SITE_HOST, lab.web_server6)
    _expect_client(request, address, "the LAN host's address")
    _say("    so IPv6 passed untranslated; between the two gateways there is only IPv4")
    _nat(lab)


def _hexadecimal(address: str) -> str:
    return " ".join(f"{int(octet):02x}" for octet in address.split("."))


def _ivi(lab: Lab) -> None:
    assert isinstance(lab, IviLab)
    lab.join()
    server6 = lab.v6(net.FAR_SERVER)
    _say(f"\nThe LAN host has no IPv4 address; it has {lab.host6}, which is {ivilab.HOST4} outside:\n"
         f"    the prefix 2001:db8:, ff, and the IPv4 address in hexadecimal, {_hexadecimal(ivilab.HOST4)}.\n"
         f"    For it the server {net.FAR_SERVER} ({_hexadecimal(net.FAR_SERVER)}), which has no IPv6 address, is "
         f"{server6}")
    _ping(lab, server6, lab.host6)
    request = _download(lab, server6, lab.web_server)
    _expect_client(request, ivilab.HOST4, "the LAN host's IPv4 address")
    _say(f"    so the server saw {ivilab.HOST4}, an IPv4 client")
    request = _download(lab, ivilab.HOST4, lab.web_server6, lab.wan, "The other way round: the WAN server")
    seen = request.split()[0]
    if seen != lab.v6(net.WAN_SERVER):
        raise Failed(f"the LAN host saw the client {seen}")
    _say(f"    so the LAN host saw an IPv6 client: {net.WAN_SERVER} is {_hexadecimal(net.WAN_SERVER)}")


def _question(lab: Lab, name: str, addresses: list[str], gateway: str = dnslab.GATEWAY6) -> None:
    reply = dnslab.ask(lab.lan, gateway, name, "AAAA", tries=3)
    _say(f"\nLAN host asks the gateway for the IPv6 addresses of {name}:")
    for record in reply.answer:
        _say("    " + record)
    _say(f"    {reply.status}, after {reply.milliseconds} ms")
    if reply.addresses != addresses:
        raise Failed(f"the answer for {name} is wrong")


def _dns64(lab: Lab) -> None:
    assert isinstance(lab, DnsLab)
    lab.wait_answer(dnslab.GATEWAY6)
    made = dnslab.synthesised(net.FAR_SERVER)
    _question(lab, "www.lab.test", [made])
    _say(f"    which the gateway made of the IPv4 address {net.FAR_SERVER}: there is no other")
    _question(lab, "www.lab.test", [made])
    _say("    this time out of its cache")
    _question(lab, "v6.lab.test", [dnslab.NATIVE])
    _say("    which is the host's own: who has IPv6 is reached over IPv6")
    _say(f"\nA second gateway, which runs `ivi`, translates what is for {dnslab.PREFIX}/96.")
    lab.add_translator()
    _ping(lab, made, dnslab.HOST6)
    request = _download(lab, made, lab.web_server)
    _expect_client(request, dnslab.HOST4, "the LAN host's IPv4 address")
    _say(f"    so an IPv6 host fetched a file from an IPv4 server, which saw {dnslab.HOST4}")


def _ivi_dns64(lab: Lab) -> None:
    assert isinstance(lab, IviDnsLab)
    lab.join()
    server6 = lab.v6(net.FAR_SERVER)
    _say(f"\nThe LAN host has IPv6 only, {lab.host6}; the server {ividns.NAME} has IPv4 only, {net.FAR_SERVER}.\n"
         "    The gateway translates between them (`app ivi`) and is the host's DNS server (`serve dns64`).")
    _question(lab, ividns.NAME, [server6], ividns.RESOLVER)
    _say(f"    which the gateway made of {net.FAR_SERVER} in the form that its translator uses")
    request = _download(lab, net.FAR_SERVER, lab.web_server, name=ividns.NAME)
    _expect_client(request, ivilab.HOST4, "the LAN host's IPv4 address")
    _say(f"    so an IPv6-only host fetched a page by name from an IPv4-only server, which saw {ivilab.HOST4}")


def _nat64(lab: Lab) -> None:
    assert isinstance(lab, BoxLab)
    address = lab.join()
    server6 = nat64lab.v6(net.FAR_SERVER)
    _say(f"\nThe LAN host has IPv6 only; it made itself {address} from the gateway's router advertisement.\n"
         f"    The server {nat64lab.NAME} has IPv4 only, {net.FAR_SERVER}. The gateway translates between them\n"
         "    (`app nat64`) and is the host's DNS server (`serve dns64`).")
    _question(lab, nat64lab.NAME, [server6], nat64lab.ROUTER6)
    _say(f"    which the gateway made of {net.FAR_SERVER} with the prefix of its translator, {nat64lab.PREFIX}")
    _ping(lab, server6, address)
    request = _download(lab, net.FAR_SERVER, lab.web_server, name=nat64lab.NAME)
    _expect_client(request, net.WAN_GATEWAY, "the gateway's address")
    _say(f"    so an IPv6-only host fetched a page by name from an IPv4-only server, which saw {net.WAN_GATEWAY},\n"
         "    the one IPv4 address that all hosts of the LAN share")
    _say(f"\nA second host of the LAN has IPv4 too, {nat64lab.DUAL4}; NAT44 is beside the NAT64, with the same ports.")
    request = _download(lab, net.FAR_SERVER, lab.web_server, lab.dual, "The second host", copies="second")
    _expect_client(request, net.WAN_GATEWAY, "the gateway's address")
    _question(lab, nat64lab.BOTH, [server6], nat64lab.ROUTER6)
    _say("    which has an IPv6 address of its own, but the WAN has no IPv6 yet")
    with lab.uplink6():
        lab.wait_uplink6()
        _say("\nNow a router of the WAN advertises IPv6 (`wan.address auto`).")
        _question(lab, nat64lab.BOTH, [nat64lab.NATIVE], nat64lab.ROUTER6)
        request = _download(lab, nat64lab.NATIVE, lambda directory: lab.web_server(directory, address=nat64lab.NATIVE),
                            name=nat64lab.BOTH)
        _expect_client(request, address, "the LAN host's address")
        _say("    so native IPv6 is routed, through the filter `lan.filter`, and nothing is translated")


def _clat(lab: Lab) -> None:
    assert isinstance(lab, ClatLab)
    _say(f"\nThe LAN host has IPv4 only, and so has the server {net.FAR_SERVER}. Between the customer's gateway\n"
         "    (`app clat`) and the provider's (`app nat64`) there is IPv6 only.")
    _say("    " + lab.wait_line("log", "the prefix of the translator is"))
    _ping(lab, net.FAR_SERVER)
    request = _download(lab, net.FAR_SERVER, lab.web_server, size=_LARGE)
    _expect_client(request, net.WAN_GATEWAY, "the provider's address")
    _say(f"    so an IPv4 host fetched a file from an IPv4 server over IPv6; the server saw {net.WAN_GATEWAY},\n"
         "    the provider's IPv4 address")
    heard = lab.call()
    _say(f"\nLAN host calls the server by UDP: {heard} of {clatlab.CALL_PACKETS} datagrams of "
         f"{clatlab.CALL_BYTES} bytes came back")
    if heard < clatlab.CALL_PACKETS * 98 // 100:
        raise Failed("the call lost more than one datagram in fifty")


def _dns_lab(nic: str) -> Lab:
    lab = DnsLab((nic, nic))
    try:
        lab.start_server("nsd")
    except BaseException:
        lab.close()
        raise
    return lab


@dataclasses.dataclass(frozen=True)
class Scenario:
    """What is shown for an application: the configuration for its network, the traffic, the network."""

    conf: str
    traffic: Callable[[Lab], None]
    lab: Callable[[str], Lab] = lambda nic: Lab((nic, nic))
    more: str = ""  # further parts of the network, beside the common ones
    hosts: tuple[str, str] = (net.LAN_HOST, net.LAN_GATEWAY)  # the LAN host and the gateway's LAN side
    app: str = ""  # the gateway's `app`, where it is not the name of the scenario


SCENARIOS = {
    "nat": Scenario(net.NAT, _nat),
    "wire": Scenario("app wire\n" + net.NETWORK, _wire),
    "6to4": Scenario(sixlab.SIX, _6to4, lambda nic: SixLab((nic, nic), far="image"),
                     f"\n    and behind it a second gateway, {sixlab.FAR_ROUTER} -- host {sixlab.SITE_HOST}"),
    "ivi": Scenario(ivilab.configuration(), _ivi, lambda nic: IviLab((nic, nic)),
                    hosts=(ivilab.v6(ivilab.HOST4), ivilab.v6(ivilab.ROUTER4))),
    "ivi-dns64": Scenario(ividns.CONFIGURATION, _ivi_dns64, lambda nic: IviDnsLab((nic, nic)),
                          f"\n    and in the WAN the name server {dnslab.SERVERS['nsd'][0]} (nsd)",
                          (ivilab.v6(ivilab.HOST4), ividns.RESOLVER), "ivi"),
    "nat64": Scenario(nat64lab.BOX, _nat64, lambda nic: BoxLab((nic, nic)),
                      f"\n    and in the WAN the name server {dnslab.SERVERS['nsd'][0]} (nsd)",
                      ("with IPv6 only", nat64lab.ROUTER6)),
    "clat": Scenario(clatlab.CONFIGURATION, _clat, lambda nic: ClatLab((nic, nic)),
                     f"\n    and between them a second gateway, {nat64lab.ROUTER6} (nat64), "
                     "behind a cable with IPv6 only"),
    "dns64": Scenario(dnslab.configuration(dnslab.SERVERS["nsd"]), _dns64, _dns_lab,
                      f"\n    and in the WAN the name server {', '.join(dnslab.SERVERS['nsd'])} (nsd)",
                      (dnslab.HOST6, dnslab.GATEWAY6)),
}


def run(app: str, nic: str, start: Callable[[Lab, str], Machine]) -> int:
    """Boots, passes traffic and shows it; then the user's terminal is the console. Gives 0 if the traffic passed.

    `start` starts the machine in a lab; it gets the configuration for the lab's network.
    """
    if app not in SCENARIOS:
        print(f"run: no such scenario: {app} (there is: {', '.join(SCENARIOS)})", file=sys.stderr)
        return 2
    scenario = SCENARIOS[app]
    passed = False
    with scenario.lab(nic) as lab:
        _say(f"LAN host {scenario.hosts[0]} -- gateway {scenario.hosts[1]} | {net.WAN_GATEWAY} -- "
             f"WAN server {net.WAN_SERVER}, {net.FAR_SERVER}{scenario.more}")
        machine = start(lab, scenario.conf)
        try:
            ms = machine.wait_ready(scenario.app or app)
            _say(f"Gateway booted in QEMU with two {nic} NICs: {app} ready {ms} ms after its entry point")
            scenario.traffic(lab)
            passed = True
        except (AssertionError, OSError, RuntimeError) as error:
            _say(f"\nFAILED: {error}")
        _show_stats(lab)
        _say("\nTraffic passed." if passed else "\nTraffic did NOT pass.")
        if sys.stdin.isatty() and machine.process.poll() is None:
            _say("You are at the gateway's console (COM1). `help` lists the commands; Ctrl-] leaves.\n")
            attach(machine)
    return 0 if passed else 1


def _show_stats(lab: Lab) -> None:
    try:
        stats = lab.console.stats()
    except (Timeout, ValueError, OSError) as error:
        _say(f"\nThe gateway's console does not answer: {error}")
        return
    _say("\nFrom the gateway's `stats`:")
    for name, value in stats.items():
        if _SHOWN.match(name) or value:
            _say(f"    {name} {value}")
