# SPDX-License-Identifier: BSD-2-Clause
"""The application `wire`: a frame that arrives on one interface leaves on the other, byte for byte."""

import random
from collections.abc import Callable

from frames import Wire
from labkit import lab as net
from labkit.lab import Lab
from labkit.wait import until

_BURST = 64


def _probe(sender: Wire, receiver: Wire) -> None:
    """Waits until frames pass in this direction: just after its start an e1000 loses some."""
    probe = b"\xff" * 6 + b"\x02\0\0\0\0\1" + b"\x88\xb5" + b"probe" + bytes(60 - 19)

    def passed() -> bool:
        sender.send(probe)
        return receiver.receive(0.2) == probe
    until(passed, 15, "a frame through the wire")
    # Late copies of the probe would be counted as the test's frames.
    until(lambda: receiver.receive(0.3) is None, 5, "silence")


def test_frames_unchanged(nic: str, make_lab: Callable[..., Lab]) -> None:
    """Frames of every kind and of all lengths from 60 to 1514 pass in order in both directions."""
    lab = make_lab((nic, nic), hosts=False)
    dice = random.Random(1)
    with Wire(lab.lan, "lan0") as lan, Wire(lab.wan, "wan0") as wan:
        lab.boot(net.NETWORK, "app=wire", app="wire")
        free = lab.packets_free()
        for sender, receiver in ((lan, wan), (wan, lan)):
            _probe(sender, receiver)
            # Any destination, also group addresses, and any type: `wire` does not check them.
            frames = [dice.randbytes(length) for length in (60, 61, 1513, 1514, *(range(60, 1515, 7)))]
            for start in range(0, len(frames), _BURST):
                burst = frames[start:start + _BURST]
                for frame in burst:
                    sender.send(frame)
                for frame in burst:
                    assert receiver.receive(10) == frame
        lab.check_no_leak(free)


def test_hosts_see_each_other(nic: str, make_lab: Callable[..., Lab]) -> None:
    """Two hosts of one network communicate as on one cable, and each sees the other's own MAC address."""
    lab = make_lab((nic, nic))
    lab.wan.ip("address add 192.168.1.9/24 dev wan0")
    lab.boot(net.NETWORK, "app=wire", app="wire")
    lab.wait_ping("192.168.1.9")
    lab.lan.run("ping", "-n", "-c20", "-i0.01", "-W2", "-M", "do", "-s", "1472", "192.168.1.9")
    assert net.WAN_SERVER_MAC in lab.lan.ip("neighbour show 192.168.1.9")
    assert lab.console.stats()["forwarded_packets"] >= 40
