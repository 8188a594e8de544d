# SPDX-License-Identifier: BSD-2-Clause
"""The load generator, between the two ends of a wire that this program plays: what it sends and what it says."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools" / name) for name in ("bench", ".")]

import guest
import loadgen

SIDES = ("lan", "wan")
WIRE = guest.Row("wire", "a wire", False, "wire", "wire", hops=0)


class Wire:
    """Passes frames from one side of the generator to the other. `treat` is called with the number of each frame from
    the LAN; it returns False for one that is lost, and may sleep. While `stuck`, nothing is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sockets = {side: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for side in SIDES}
        for side, one in self.sockets.items():
            one.bind(str(folder / f"wire-{side}-qemu"))
            one.settimeout(0.02)
        self.treat: Callable[[int], bool] = lambda number: True
        self.stuck = False
        self.ended = False
        self.frames: list[bytes] = []
        self.back: list[bytes] = []  # those from the WAN
        self.threads = [threading.Thread(target=self.relay, args=ends) for ends in (SIDES, SIDES[::-1])]
        for thread in self.threads:
            thread.start()

    def relay(self, source: str, target: str) -> None:
        while not self.ended:
            if self.stuck:
                time.sleep(0.005)
                continue
            try:
                frame = self.sockets[source].recv(2000)
                if source == "wan":
                    self.back.append(frame)
                else:
                    self.frames.append(frame)
                    if not self.treat(len(self.frames) - 1):
                        continue
                self.sockets[target].sendto(frame, str(self.folder / f"wire-{target}-gen"))
            except (TimeoutError, FileNotFoundError, ConnectionRefusedError):
                continue

    def again(self, treat: Callable[[int], bool] = lambda number: True) -> None:
        self.frames.clear()
        self.treat = treat

    def end(self) -> None:
        self.ended = True
        for thread in self.threads:
            thread.join()
        for one in self.sockets.values():
            one.close()


@pytest.fixture(name="program", scope="module")
def fixture_program() -> Path:
    subprocess.run([sys.executable, str(ROOT / "tools" / "bench" / "run"), "--build"], check=True)
    return ROOT / "build" / "bench" / "gen"


@pytest.fixture(name="ends")
def fixture_ends(program: Path, tmp_path: Path) -> Iterator[tuple[Wire, loadgen.LoadGen]]:
    wire = Wire(tmp_path)
    cores = sorted(os.sched_getaffinity(0))
    setup = guest.Setup("e1000", "dgram", tmp_path, {}, (cores[0], cores[-1]))
    load = loadgen.LoadGen(program, guest.Guest(WIRE, setup, tmp_path))
    try:
        yield wire, load
    finally:
        load.stop()
        wire.end()


Ends = tuple[Wire, loadgen.LoadGen]


def test_an_open_phase_loses_what_the_guest_has_no_room_for(ends: Ends) -> None:
    wire, load = ends
    wire.stuck = True
    time.sleep(0.05)
    asks = bytes.fromhex("ffffffffffff0200000000010806" "0001080006040001020000000001c0a80101000000000000c0a8010a")
    wire.sockets["lan"].sendto(asks.ljust(60, b"\0"), str(wire.folder / "wire-lan-gen"))
    said = load.run(seconds=1, rate=400, open=1)
    due = 400 * said["seconds"]
    assert due - 40 <= said["sent"] + said["behind"] <= due + 2 and said["lost"] == said["sent"]
    assert said["refused"] >= said["sent"] - 50  # the rest stands in the kernel's queue
    assert said["behind"] < 150  # a refused packet does not delay the next one
    wire.stuck = False
    time.sleep(0.2)
    load.tell("idle 0.1")
    replies = [frame for frame in wire.frames if frame[12:14] == b"\x08\x06"]
    assert len(replies) == 1 and len(wire.frames) - 1 == said["sent"] - said["refused"]


def test_a_phase_that_is_not_open_waits_for_room(ends: Ends) -> None:
    wire, load = ends
    wire.stuck = True
    threading.Timer(0.3, lambda: setattr(wire, "stuck", False)).start()
    said = load.run(seconds=1, rate=1000)
    assert said["refused"] == said["behind"] == said["lost"] == 0 and said["sent"] >= 950


@pytest.mark.parametrize("open_phase", [True, False])
def test_only_an_open_phase_leaves_out_what_is_overdue(ends: Ends, open_phase: bool) -> None:
    """The generator is stopped for a fifth of a second."""
    wire, load = ends
    load.tell("idle 0.1")

    def hold_up() -> None:
        os.kill(load.process.pid, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(load.process.pid, signal.SIGCONT)

    threading.Timer(0.3, hold_up).start()
    said = load.run(seconds=1, rate=2000, open=int(open_phase))
    if open_phase:
        assert 350 <= said["behind"] <= 2000 and 1950 <= said["sent"] + said["behind"] <= 2010
    else:
        assert said["behind"] == 0 and said["sent"] >= 1950
    assert wire.frames


def test_delays(ends: Ends) -> None:
    wire, load = ends

    def treat(number: int) -> bool:
        if number % 50 == 30:
            time.sleep(0.007)
        return True

    wire.again(treat)
    said = load.run(seconds=2, rate=100, open=1)
    spread, change = said["one_way_us"], said["one_way_us_change"]
    assert spread["median"] < 7000 <= spread["p999"] <= spread["max"]
    assert change["min"] < -3000 and change["max"] > 3000 and abs(change["median"]) < 3000


def test_it_halts_at_a_loss(ends: Ends) -> None:
    wire, load = ends
    wire.again(lambda number: number != 100)
    said = load.run(seconds=20, rate=500, open=1, halt=1)
    assert said["seconds"] < 10 and said["lost"] == 1
    wire.again()
    said = load.run(seconds=0.5, rate=50, open=1, halt=1)  # an old loss counts no more
    assert said["seconds"] >= 0.5 and said["lost"] == 0


@pytest.mark.parametrize("open_phase", [True, False])
def test_it_does_not_wait_for_what_was_lost(ends: Ends, open_phase: bool) -> None:
    wire, load = ends
    wire.again(lambda number: number not in (100, 199))
    said = load.run(seconds=20, rate=500, flows=200, once=1, open=int(open_phase))
    assert said["sent"] == 200 and said["lost"] == 2 and said["seconds"] < 10


def test_last_loss_after_the_rate_was_lowered(ends: Ends) -> None:
    wire, load = ends
    words = {"seconds": 1.5, "rate": 500, "step": 0.5, "then": 100, "open": 1, "flows": 1}
    wire.again(lambda number: not 240 <= number < 260)
    said = load.run(**words)
    assert 60 <= said["last_loss_ms"] <= 400 and 300 <= said["sent"] + said["behind"] <= 360
    wire.again(lambda number: number != 100)
    assert load.run(**words)["last_loss_ms"] < 0
    wire.again()
    assert load.run(**words)["last_loss_ms"] is None
    assert load.run(seconds=0.1, rate=100, open=1).get("last_loss_ms") is None
    with pytest.raises(loadgen.LoadError, match="out of range"):
        load.run(seconds=1, then=100)


def ports(frames: list[bytes]) -> list[tuple[int, int]]:
    return [struct.unpack_from("!HH", frame, 34) for frame in frames if frame[12:14] == b"\x08\x00"]  # type: ignore[misc]


def test_ports_are_scattered_when_asked(ends: Ends) -> None:
    """RFC 4814, section 4.5: clients 1024 to 65535, servers 1 to 49151, not in order."""
    wire, load = ends
    load.run(seconds=5, once=1, window=8, flows=2000)
    plain = ports(wire.frames)
    assert [client for client, _ in plain] == list(range(1024, 3024)) and {server for _, server in plain} == {7000}
    wire.again()
    said = load.run(seconds=5, once=1, window=8, flows=2000, answers=1, scatter=1)
    clients, servers = zip(*ports(wire.frames))
    assert said["answered"] == 2000 and said["bad"] == 0
    assert len(set(clients)) == 2000 and min(clients) >= 1024 and 25_000 < statistics.mean(clients) < 42_000
    assert len(set(servers)) > 1000 and min(servers) >= 1 and max(servers) <= 49151
    steps = [abs(one - two) for one, two in itertools.pairwise(clients)]
    assert statistics.median(steps) > 5000 and len(set(steps)) > 500


def tcp_of(frame: bytes) -> tuple[int, int, int]:
    """Sequence number, acknowledgement and flags."""
    seq, ack, _, flags = struct.unpack_from("!IIBB", frame, 38)
    return seq, ack, flags


def test_some_flows_are_tcp(ends: Ends) -> None:
    """A connection begins with SYN and is answered so; later segments lie within what was acknowledged. Checksums are
    those that scapy computes."""
    wire, load = ends
    said = load.run(seconds=5, once=1, window=8, flows=20, size=72, tcp=8, answers=1)
    assert said["answered"] == 20 and said["bad"] == 0
    opened = {frame[23]: tcp_of(frame) for frame in wire.frames if frame[12:14] == b"\x08\x00"}
    assert sum(frame[23] == 6 for frame in wire.frames) == 16 and opened[6] == (100000, 0, 0x02)
    wire.again()
    said = load.run(seconds=5, once=1, window=8, flows=20, size=72, tcp=8, answers=1)
    assert said["answered"] == 20 and said["bad"] == 0
    later = [frame for frame in wire.frames if frame[12:14] == b"\x08\x00"]
    assert {tcp_of(frame) for frame in later if frame[23] == 6} == {(100001, 200001, 0x18)}
    for frame in later:
        packet = Ether(frame)
        del packet[IP].payload.chksum
        assert bytes(packet) == frame
    said = load.run(seconds=5, once=1, window=8, flows=20, answers=1)  # the same ports, UDP in all of them
    assert said["answered"] == 20 and said["bad"] == 0
    for words in ({"tcp": 11, "size": 72}, {"tcp": 1, "size": 71}):
        with pytest.raises(loadgen.LoadError, match="out of range"):
            load.run(seconds=1, **words)


@pytest.mark.parametrize("answer", [True, False])
def test_answers_over_tcp(ends: Ends, answer: bool) -> None:
    """What a server sends, as an answer or on its own account."""
    wire, load = ends
    load.run(seconds=5, once=1, window=8, flows=10, size=72, tcp=10, answers=1)
    assert {tcp_of(frame) for frame in wire.back if frame[23] == 6} == {(200000, 100001, 0x12)}
    wire.back.clear()
    words = {"answers": 1, "once": 1, "window": 8} if answer else {"back": 1, "rate": 100}
    said = load.run(seconds=1, flows=10, size=72, tcp=10, **words)
    assert said["bad"] == said["lost"] == 0 and said["answered"] >= 10
    assert {tcp_of(frame) for frame in wire.back if frame[23] == 6} == {(200001, 100001, 0x18)}
