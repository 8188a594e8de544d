# SPDX-License-Identifier: BSD-2-Clause
"""Each network card that QEMU emulates and the gateway drives: NAT, bulk, carrier, multicast, overload."""

import hashlib
import random
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.vlanlab import VlanLab
from labkit.wait import until

I8255X = ("i82550", "i82551", "i82557a", "i82557b", "i82557c", "i82558a", "i82558b", "i82559a", "i82559b", "i82559c",
          "i82559er", "i82562", "i82801")
# One of each family's cards runs all tests; QEMU's 8255x always have a carrier.
FULL = ("i82559c", "rtl8139", "pcnet", "e1000e", "vmxnet3", "tulip", "ne2k_pci")
WITHOUT_SET_LINK = (*I8255X, "tulip", "ne2k_pci")
# QEMU's NE2000 writes over frames in its ring when that is full to the page.
OVERWRITTEN = ("tx_errors", "nic_resets")
# All others that QEMU 7.2 has for PCI, but a switch and one for RDMA.
OTHERS = (*(model for model in I8255X if model not in FULL), "e1000-82544gc", "e1000-82545em", "virtio-legacy",
          "virtio-modern")

MakeLab = Callable[..., Lab]


def boot(make_lab: MakeLab, *cards: str, lines: str = "") -> tuple[Lab, int]:
    lab = make_lab(cards)
    lab.boot(net.NAT + lines, app="nat")
    free = lab.packets_free()
    lab.wait_ping()
    return lab, free


def fetch(lab: Lab, directory: Path, megabytes: int) -> None:
    """A file arrives unchanged, from the WAN and to it."""
    content = random.Random(megabytes).randbytes(megabytes << 20)
    (directory / "www").mkdir()
    (directory / "www" / "file").write_bytes(content)
    copy = directory / "copy"
    with lab.web_server(str(directory / "www")):
        lab.lan.run("curl", "-sSf", "-o", str(copy), f"http://{net.FAR_SERVER}/file", timeout=90)
    assert hashlib.sha256(copy.read_bytes()).digest() == hashlib.sha256(content).digest()
    with lab.wan.socket(kind=socket.SOCK_STREAM) as listener, lab.lan.socket(kind=socket.SOCK_STREAM) as client:
        listener.bind((net.FAR_SERVER, 5000))
        listener.listen(1)
        client.settimeout(60)
        client.connect((net.FAR_SERVER, 5000))
        server, _ = listener.accept()
        server.settimeout(60)
        digest = hashlib.sha256()
        with server, ThreadPoolExecutor(1) as pool:
            sent = pool.submit(client.sendall, content)
            left = len(content)
            while left:
                data = server.recv(min(left, 1 << 18))
                assert data
                digest.update(data)
                left -= len(data)
            sent.result()
    assert digest.digest() == hashlib.sha256(content).digest()


def check_no_errors(lab: Lab, *names: str) -> None:
    """No card counts an error or was reset; or only these counters are 0."""
    stats = lab.console.stats()
    names = names or ("rx_errors", "tx_errors", "nic_resets")
    bad = {name: value for name, value in stats.items() if value and name.startswith(names)}
    assert not bad


@pytest.mark.parametrize("card", (*FULL, *(pytest.param(card, marks=pytest.mark.long) for card in OTHERS)))
def test_nat(card: str, make_lab: MakeLab, tmp_path: Path) -> None:
    """Two of a kind forward frames of each size, and bulk both ways."""
    lab, free = boot(make_lab, card, card)
    for size in (0, 1, 18, 56, 1471, 1472):
        # It fails without two replies. With -W it would wait for two round trips only.
        lab.lan.run("ping", "-n", "-c2", "-i0.02", "-w10", "-M", "do", "-s", str(size), net.FAR_SERVER)
    fetch(lab, tmp_path, 16 if card in FULL and card != "ne2k_pci" else 2)
    assert re.search(r"^lan \S+ \S+ link=up ", lab.console.command("interfaces"), re.M)
    check_no_errors(lab, *(OVERWRITTEN if card == "ne2k_pci" else ()))
    lab.check_no_leak(free)


@pytest.mark.parametrize("card", [
    *(card for card in FULL if card not in WITHOUT_SET_LINK),
    *(pytest.param(card, marks=pytest.mark.long) for card in OTHERS if card not in WITHOUT_SET_LINK)])
def test_carrier(card: str, make_lab: MakeLab) -> None:
    """The cable is pulled out and plugged in again, also while frames are to be sent."""
    lab, free = boot(make_lab, card, card)
    machine = lab.machine
    assert machine is not None
    for _ in range(3):
        with lab.lan.socket() as sender:
            for index in range(200):
                sender.sendto(b"x" * 1000, (net.FAR_SERVER, 9))
                if index == 100:
                    machine.set_link(1, False)
        machine.console.expect("wan: link down", 10)
        machine.set_link(1, True)
        machine.console.expect("wan: link up", 10)
        lab.wait_ping()
    lab.check_no_leak(free, 5)


@pytest.mark.parametrize("card", FULL)
def test_overload(card: str, make_lab: MakeLab) -> None:
    """A flood that fills the ring of a processor that is too slow; afterwards all is as before."""
    lab, free = boot(make_lab, card, card)
    with lab.lan.socket() as sender:
        for _ in range(20000):
            sender.sendto(b"x" * 18, (net.FAR_SERVER, 9))
    lab.wait_ping()
    stats = lab.console.stats()
    assert stats['rx_packets{if="lan"}'] > 100
    lab.lan.run("ping", "-n", "-c20", "-i0.02", "-W2", net.FAR_SERVER)
    lab.check_no_leak(free, 5)


@pytest.mark.parametrize("card", FULL)
def test_groups(card: str, make_lab: MakeLab) -> None:
    """The card passes the groups of IPv6 neighbour discovery, and others not."""
    lab = make_lab((card, card))
    lab.boot(net.NAT + "lan.address 2001:db8:1::1/64\n", app="nat")
    lab.lan.sysctl("ipv6.conf.lan0.disable_ipv6", 0)
    lab.lan.ip("address add 2001:db8:1::2/64 dev lan0 nodad")

    def answered() -> bool:
        return lab.lan.run("ping", "-6", "-n", "-c1", "-W1", "2001:db8:1::1", check=False).returncode == 0
    until(answered, 15, "echo reply over IPv6")

    def received() -> float:
        return lab.console.stats()['rx_packets{if="lan"}']
    before = received()
    with lab.lan.socket() as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(net.LAN_HOST))
        for index in range(1024):  # all values of a hash, of which some pass
            sender.sendto(b"x", (f"239.1.2.{index % 256}", 9))
    lab.wait_ping()
    assert received() - before < 512


@pytest.fixture
def vlan_lab(card: str, track_lab: Callable[[Lab], None]) -> Iterator[VlanLab]:
    """A lab whose gateway has this one card, in two VLANs; it ends with the test."""
    lab = VlanLab(card, (20, 4094))
    track_lab(lab)
    yield lab
    lab.close()


@pytest.mark.parametrize("card", FULL)
def test_vlans(card: str, vlan_lab: VlanLab) -> None:
    """Frames with a VLAN tag pass both ways, up to the longest, which the tag makes 1518 bytes long without FCS."""
    lab = vlan_lab
    network = net.NETWORK.replace("lan nic0\nwan nic1\n", "lan nic0.20\nwan nic0.4094\n")
    lab.boot("app nat\n" + network, app="nat")
    free = lab.packets_free()
    lab.wait_ping()
    for size in (0, 1, 14, 18, 56, 1468, 1471, 1472):
        # With a deadline it sends until three have come back, and fails if they do not.
        lab.lan.run("ping", "-n", "-c3", "-i0.02", "-w10", "-M", "do", "-s", str(size), net.FAR_SERVER)
    check_no_errors(lab)
    stats = lab.console.stats()
    assert not any(stats.get(f'drop{{reason="{reason}"}}') for reason in ("vlan", "vlan-nested", "offload"))
    lab.check_no_leak(free, 5)


def test_all_in_one_machine(make_lab: MakeLab, tmp_path: Path) -> None:
    """A card of each driver in one machine."""
    cards = (*(card for card in FULL if card != "e1000e"), "e1000", "virtio")  # a machine has eight at most
    lab = make_lab(cards)
    lab.boot(net.NAT + net.more_networks(len(cards)), app="nat")
    for host in lab.inside:
        lab.wait_ping(host=host)
    fetch(lab, tmp_path, 2)
    check_no_errors(lab)


def test_cards_of_the_papers(make_lab: MakeLab, tmp_path: Path) -> None:
    """The gateway of the dissertation had three: an 82540, an 8255x, and a 3Com, for which QEMU has no model."""
    cards = ("e1000", "i82559c", "rtl8139")
    lab = make_lab(cards)
    lab.boot(net.NAT + net.more_networks(len(cards)), app="nat")
    for host in lab.inside:
        lab.wait_ping(host=host)
    fetch(lab, tmp_path, 2)
    check_no_errors(lab)


def test_hw(make_lab: MakeLab) -> None:
    """`hw` names the processor, every PCI device, and the registers of each card's PHY."""
    cards = ("i82559c", "pcnet", "tulip", "e1000", "rtl8139", "vmxnet3", "virtio", "ne2k_pci")
    lab = make_lab(cards)
    lab.boot(net.NAT + net.more_networks(len(cards)), app="nat")
    until(lambda: lab.console.command("hw").count("link=up") == len(cards), 20, "the links")
    said = lab.console.command("hw")
    assert re.search(r"^cpu .* id=[0-9a-f]{8} ", said, re.M)
    assert re.search(r"^acpi revision=\d+ timer=[0-9a-f]{4}$", said, re.M)
    assert re.search(r"^pci 00:01\.1 8086:7010 .* class=0101", said, re.M)
    for name, more in (("i8255x", " status=7"), ("pcnet", " csr0="), ("tulip", " status=702c "),
                       ("e1000", " status=79"),
                       ("rtl8139", " msr="), ("vmxnet3", " link=3e80001 "), ("virtio-net", ""), ("ne2k", " isr=")):
        assert re.search(rf"^card \w+ {name} pci 00:\w\w\.0 [0-9a-f:]{{17}} link=up.*{more}", said, re.M), said
    lab.wait_ping()
