# SPDX-License-Identifier: BSD-2-Clause
"""Bulk TCP where the host hands over super-segments: taps with offloads, and cards that take them or not."""

import hashlib
import json
import socket
import threading
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit import nat64lab
from labkit.ivilab import IviLab, v6
from labkit.lab import Lab, more_networks
from labkit.nat64lab import Nat64Lab
from labkit.netns import Namespace
from labkit.relay import BAD_SERVER, host_behind
from labkit.sixlab import SITE_HOST, SixLab
from labkit.wait import until
from supers import Supers

CARDS = [("virtio", "virtio"), ("virtio", "e1000"), ("e1000", "virtio"), ("virtio", "vmxnet3"), ("vmxnet3", "virtio")]
BLOCK = bytes(range(256)) * 4096  # 1 MB
PORT = 5001


def sent(connection: socket.socket, megabytes: int) -> str:
    """Sends blocks that are all different, and gives their digest."""
    digest = hashlib.sha256()
    for number in range(megabytes):
        block = number.to_bytes(8, "big") + BLOCK[8:]
        digest.update(block)
        connection.sendall(block)
    connection.shutdown(socket.SHUT_WR)
    return digest.hexdigest()


def received(connection: socket.socket) -> str:
    digest = hashlib.sha256()
    while data := connection.recv(1 << 20):
        digest.update(data)
    return digest.hexdigest()


def transfer(lab: Lab, megabytes: int, up: bool, timeout: float, to: str = net.FAR_SERVER,
             host: Namespace | None = None, own: str = net.FAR_SERVER) -> None:
    """One connection from the LAN, over which one side sends; the bytes arrive unchanged. The server is `host` (None:
    the WAN server), with the address `own`."""
    found: dict[str, str] = {}
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    far = host or lab.wan
    own_family = socket.AF_INET6 if ":" in own else socket.AF_INET
    with far.socket(own_family, socket.SOCK_STREAM) as listener, lab.lan.socket(family, socket.SOCK_STREAM) as client:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((own, PORT))
        listener.listen(1)
        listener.settimeout(10)
        client.settimeout(timeout)
        client.connect((to, PORT))
        server, _ = listener.accept()
        with server:
            server.settimeout(timeout)
            sender, receiver = (client, server) if up else (server, client)
            reader = threading.Thread(target=lambda: found.update(got=received(receiver)), daemon=True)
            reader.start()
            expected = sent(sender, megabytes)
            reader.join(timeout)
    assert found.get("got") == expected


def boot(make_lab: Callable[..., Lab], cards: tuple[str, str], lines: str = "") -> tuple[Lab, int]:
    lab = make_lab(cards, vnet_hdr=True)
    lab.boot(net.NAT + lines, app="nat")
    free = lab.packets_free()
    lab.wait_ping()
    return lab, free


def test_packets_are_large_where_a_card_hands_over_super_segments(make_lab: Callable[..., Lab]) -> None:
    """Without such a card 64 MB are enough for all 4096 packets, of which some 256 are in each receive ring. With one
    a quarter of the memory holds fewer, since they are large; of 40 MB it does not hold what two cards need, and they
    are small again."""
    for card, memory, large in (("e1000", 64, False), ("virtio", 64, True), ("virtio", 40, False)):
        lab = make_lab((card, card), vnet_hdr=True)
        lab.boot(net.NAT, app="nat", memory=memory)
        free = lab.packets_free()
        assert 1000 <= free <= 1500 if large else free >= 3500, (card, memory, free)


def watched(lab: Lab, megabytes: int, up: bool, timeout: float, to: str = net.FAR_SERVER) -> Supers:
    """A transfer, and what arrived at its receiver."""
    with Supers(*((lab.wan, "wan0") if up else (lab.lan, "lan0"))) as seen:
        transfer(lab, megabytes, up, timeout, to)
    return seen


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("cards", CARDS, ids="-".join)
def test_what_arrives_is_what_was_sent(make_lab: Callable[..., Lab], cards: tuple[str, str], up: bool) -> None:
    """From a card that hands over super-segments to one that takes them nearly all arrives in such."""
    lab, free = boot(make_lab, cards)
    seen = watched(lab, 64, up, 60)
    assert seen.largest <= 1500
    if "e1000" not in cards and cards[not up] == "virtio":  # vmxnet3 hands over none, but cuts them
        assert seen.super_bytes > 0.9 * seen.bytes > 0
    assert not lab.console.stats().get('drop{reason="offload"}', 0)
    lab.check_no_leak(free)


@pytest.mark.long
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("cards", CARDS, ids="-".join)
def test_gigabyte(make_lab: Callable[..., Lab], cards: tuple[str, str], up: bool) -> None:
    lab, free = boot(make_lab, cards)
    transfer(lab, 1024, up, 300)
    lab.check_no_leak(free)


def join(lab: Lab) -> tuple[str, Namespace, str]:
    """Boots the function of this lab; gives a server as the LAN host calls it, its namespace and its own address."""
    if isinstance(lab, SixLab):
        lab.boot_six()
        return SITE_HOST, lab.site, SITE_HOST
    if isinstance(lab, IviLab):
        lab.boot_ivi()
        return v6(net.FAR_SERVER), lab.wan, net.FAR_SERVER
    assert isinstance(lab, Nat64Lab)
    lab.boot(nat64lab.CONFIGURATION, app="nat64")
    lab.join()
    return nat64lab.v6(net.FAR_SERVER), lab.wan, net.FAR_SERVER


FUNCTIONS = pytest.mark.parametrize("kind", [SixLab, IviLab, Nat64Lab], ids=["6to4", "ivi", "nat64"])


@pytest.mark.long
@FUNCTIONS
@pytest.mark.parametrize("cards", [("virtio", "e1000"), ("e1000", "virtio")], ids="-".join)
def test_mixed_cards_of_each_function(track_lab: Callable[[Lab], None], kind: type[Lab],
                                      cards: tuple[str, str]) -> None:
    """What one card hands over as super-segments leaves by the other as segments, and the reverse."""
    with kind(cards, vnet_hdr=True) as lab:
        track_lab(lab)
        to, host, own = join(lab)
        free = lab.packets_free()
        for up in (True, False):
            transfer(lab, 64, up, 60, to, host, own)
        assert not lab.console.stats().get('drop{reason="offload"}', 0)
        lab.check_no_leak(free, 5)


def use_ecn(host: Namespace, hook: str, mark: str = "") -> None:
    """The host has ECN (RFC 3168), counts the flag CWR at a hook of its kernel, and `mark` is a further rule there."""
    host.sysctl("ipv4.tcp_ecn", 1)
    host.run("nft", "-f", "-", stdin=f"""
        table ip marks {{
            counter cwr {{}}
            chain seen {{
                type filter hook {hook} priority 0
                tcp dport {PORT} tcp flags & (cwr | syn) == cwr counter name cwr
                {mark}
            }}
        }}""".encode())


def count_cwr(host: Namespace) -> int:
    said = json.loads(host.run("nft", "-j", "list", "counters").stdout)
    return sum(int(entry["counter"]["packets"]) for entry in said["nftables"] if "counter" in entry)


@pytest.mark.parametrize("cards", [("virtio", "virtio"), ("virtio", "e1000"), ("e1000", "virtio")], ids="-".join)
def test_congestion_is_answered_once(make_lab: Callable[..., Lab], cards: tuple[str, str]) -> None:
    """CWR, which a sender sets once for each mark of congestion, arrives as often as it was sent: in the first segment
    of a super-segment alone, whether the gateway cuts it or the receiver's kernel."""
    lab, free = boot(make_lab, cards)
    use_ecn(lab.lan, "postrouting")
    use_ecn(lab.wan, "prerouting", f"tcp dport {PORT} ip ecn ect0 numgen inc mod 50 0 ip ecn set ce")
    seen = watched(lab, 32, True, 60)
    sent_cwr, got_cwr = count_cwr(lab.lan), count_cwr(lab.wan)
    assert 0 < 0.8 * sent_cwr <= got_cwr <= sent_cwr  # a lost segment is sent again without it
    assert (seen.cwr > 0) == (cards == ("virtio", "virtio"))
    lab.check_no_leak(free)


@pytest.mark.long
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@FUNCTIONS
def test_gigabyte_of_each_function(track_lab: Callable[[Lab], None], kind: type[Lab], up: bool) -> None:
    with kind(("virtio", "virtio"), vnet_hdr=True) as lab:
        track_lab(lab)
        to, host, own = join(lab)
        free = lab.packets_free()
        transfer(lab, 1024, up, 300, to, host, own)
        lab.check_no_leak(free, 5)


@pytest.mark.long
@pytest.mark.parametrize("side", ["lan", "wan"])
def test_small_mtu_on_one_side(make_lab: Callable[..., Lab], side: str) -> None:
    """The senders find the smaller MTU; segments that do not fit are never sent."""
    lab, free = boot(make_lab, ("virtio", "virtio"), f"{side}.mtu 1280\n")
    for up in (True, False):
        seen = watched(lab, 32, up, 120)
        assert seen.super_bytes > 0.9 * seen.bytes > 0
        # The hosts remember the smaller MTU for the way back too.
        assert seen.largest == 1280 if up == (side == "wan") else 1280 <= seen.largest <= 1500
    lab.check_no_leak(free)


@pytest.mark.long
@pytest.mark.parametrize(("loss", "late"), [(0.01, 0.0), (0.0, 0.05), (0.01, 0.05)])
@pytest.mark.parametrize("app", ["nat", "ivi"])
def test_loss_and_reordering(track_lab: Callable[[Lab], None], app: str, loss: float, late: float) -> None:
    """Behind the gateway segments get lost or overtake each other; a connection goes on both ways."""
    kind = IviLab if app == "ivi" else Lab
    with kind(("virtio", "virtio"), vnet_hdr=True) as lab, host_behind(lab.wan, loss, late) as (far, cable):
        track_lab(lab)
        if isinstance(lab, IviLab):
            lab.boot_ivi()
        else:
            lab.boot(net.NAT, app="nat")
            lab.wait_ping()
        free = lab.packets_free()
        to = v6(BAD_SERVER) if app == "ivi" else BAD_SERVER
        with Supers(lab.wan, "wan0") as seen:
            transfer(lab, 4, True, 60, to, far, BAD_SERVER)
        assert seen.super_bytes > 0
        transfer(lab, 4, False, 60, to, far, BAD_SERVER)
        assert (cable.lost > 0) == (loss > 0)
        assert not lab.console.stats().get('drop{reason="offload"}', 0)
        lab.check_no_leak(free, 5)


@pytest.mark.long
@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("kind", [IviLab, Nat64Lab], ids=["ivi", "nat64"])
def test_super_segments_are_translated(track_lab: Callable[[Lab], None], kind: type[Lab], up: bool) -> None:
    with kind(("virtio", "virtio"), vnet_hdr=True) as lab:
        track_lab(lab)
        to, _, _ = join(lab)
        free = lab.packets_free()
        seen = watched(lab, 64, up, 60, to)
        assert seen.super_bytes > 0.9 * seen.bytes > 0
        lab.check_no_leak(free, 5)


@pytest.mark.parametrize("kind", [IviLab, Nat64Lab], ids=["ivi", "nat64"])
def test_super_segments_over_ipv6_are_cut_for_vmxnet3(track_lab: Callable[[Lab], None], kind: type[Lab]) -> None:
    with kind(("vmxnet3", "virtio"), vnet_hdr=True) as lab:
        track_lab(lab)
        to, _, _ = join(lab)
        free = lab.packets_free()
        seen = watched(lab, 64, False, 60, to)
        assert seen.super_bytes == 0 < seen.bytes  # QEMU's card may not cut them
        assert seen.largest <= 1500
        lab.check_no_leak(free, 5)


@pytest.mark.long
def test_eight_cards_in_little_memory(make_lab: Callable[..., Lab]) -> None:
    """The rings of eight cards have most of the packets; super-segments pass with the others."""
    lab = make_lab(("virtio",) * 8, vnet_hdr=True)
    lab.boot(net.NAT + "nat.sessions 10000\n" + more_networks(8), app="nat", memory=16)
    free = lab.packets_free()
    lab.wait_ping()
    for up in (True, False):
        seen = watched(lab, 32, up, 60)
        assert seen.super_bytes > 0.5 * seen.bytes > 0
    lab.check_no_leak(free)


@pytest.mark.long
def test_restart_while_it_runs(make_lab: Callable[..., Lab]) -> None:
    """A gateway that starts again in the middle of a transfer forwards super-segments again and has all packets."""
    lab, free = boot(make_lab, ("virtio", "virtio"))
    with lab.wan.socket(kind=socket.SOCK_STREAM) as listener, lab.lan.socket(kind=socket.SOCK_STREAM) as client:
        listener.bind((net.FAR_SERVER, PORT + 1))
        listener.listen(1)
        client.settimeout(10)
        client.connect((net.FAR_SERVER, PORT + 1))
        server, _ = listener.accept()
        with server:
            stop = threading.Event()

            def flood() -> None:
                while not stop.is_set():
                    try:
                        client.send(BLOCK)
                    except (TimeoutError, OSError):
                        return

            def drain() -> None:
                try:
                    while server.recv(1 << 20):
                        pass
                except OSError:
                    pass

            threads = [threading.Thread(target=flood, daemon=True), threading.Thread(target=drain, daemon=True)]
            for thread in threads:
                thread.start()
            until(lambda: lab.console.stats()['rx_packets{if="lan"}'] > 1000, 20, "traffic")
            assert lab.machine
            lab.machine.qmp("system_reset")
            lab.machine.wait_ready("nat")
            stop.set()
    lab.wait_ping()
    transfer(lab, 32, True, 60)
    transfer(lab, 32, False, 60)
    lab.check_no_leak(free)
