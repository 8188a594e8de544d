# SPDX-License-Identifier: BSD-2-Clause
"""The lab itself: the demonstration run, the user's console, and that no process remains."""

import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from labkit.lab import NETWORK
from labkit.machine import ROOT
from labkit.wait import Timeout, until

_LAB = os.path.join(ROOT, "tools", "lab")
_RUN = os.path.join(ROOT, "tools", "run")


def _children(pid: int) -> list[int]:
    """The process ids of all descendants of a process."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found += [child, *_children(child)]
    return found


@pytest.fixture
def outside() -> dict[str, str]:
    """An environment in which tools/lab makes its own sandbox, as it does for a user."""
    return {name: value for name, value in os.environ.items() if name != "BAREGATE_LAB_OUTSIDE"}


def test_run_without_terminal(outside: dict[str, str]) -> None:
    """`make run` ends by itself and reports what it saw, and its status is 0."""
    result = subprocess.run([_RUN, "nat"], env=outside, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=90, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    for text in ("0% packet loss", "sha256", "203.0.113.2", "Traffic passed.", "nat_sessions "):
        assert text in result.stdout


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that is also visible in a sandbox inside ours, which hides /tmp."""
    os.makedirs(f"{ROOT}/build", exist_ok=True)
    with tempfile.TemporaryDirectory(dir=f"{ROOT}/build") as name:
        yield Path(name)


def test_demo_with_own_configuration(outside: dict[str, str], shared: Path) -> None:
    """A file with a comment in Latin-1, an option on the command line, and the frames of both NICs."""
    conf = shared / "own.conf"
    conf.write_bytes(NETWORK.encode() + "lan.mtu 1280  # für kurze Rahmen\n".encode("latin-1"))
    result = subprocess.run([_LAB, "demo", "--conf", conf, "--append", "app=nat", "--pcap", shared / "frames"],
                            env=outside, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90,
                            check=False)
    assert result.returncode == 0 and "Traffic passed." in result.stdout, result.stdout + result.stderr
    lan, wan = ([*frame_lengths((shared / "frames" / f"nic{n}.pcap").read_bytes())] for n in (0, 1))
    # The server begins with longer packets than lan.mtu allows, and is told so.
    assert len(lan) > 5000 and len(wan) > 5000 and max(lan) == 1280 + 14 and max(wan) == 1500 + 14


def frame_lengths(pcap: bytes) -> Iterator[int]:
    """The lengths of the frames in a pcap file of this machine's byte order."""
    at = 24
    while at < len(pcap):
        length = int.from_bytes(pcap[at + 8:at + 12], sys.byteorder)
        yield int.from_bytes(pcap[at + 12:at + 16], sys.byteorder)
        at += 16 + length


@pytest.mark.parametrize("options", [("--nic", "e1000", "--nic", "virtio"), ("--no-hosts",)])
def test_demo_refuses_what_it_cannot_do(outside: dict[str, str], options: tuple[str, ...]) -> None:
    """Two models, and options that would leave it without traffic."""
    result = subprocess.run([_LAB, "demo", *options], env=outside, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and result.stderr


def test_run_6to4_without_terminal(outside: dict[str, str]) -> None:
    """`make run APP=6to4` reaches a far 6to4 site and an IPv4 server through the same gateway."""
    result = subprocess.run([_RUN, "6to4"], env=outside, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=120, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    for text in ("2002:cb00:7102:1:", "[2002:c000:202:1::10]/file.bin", "Traffic passed."):
        assert text in result.stdout
    assert result.stdout.count("sha256 of what arrived") == 2


def test_run_ivi_without_terminal(outside: dict[str, str]) -> None:
    """`make run APP=ivi`: an IPv6 host fetches from an IPv4 server, and an IPv4 host from an IPv6 server."""
    result = subprocess.run([_RUN, "ivi"], env=outside, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=90, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    for text in ("0% packet loss", "[2001:db8:ffc6:3364:100::]/file.bin", "http://192.0.2.33/file.bin",
                 "    192.0.2.33 - - [", "    2001:db8:ffcb:71:100:: - - [", "Traffic passed."):
        assert text in result.stdout
    assert result.stdout.count("sha256 of what arrived") == 2


def test_run_dns64_without_terminal(outside: dict[str, str]) -> None:
    """`make run APP=dns64` shows a synthesised address, a native one, and a page from the former."""
    result = subprocess.run([_RUN, "dns64"], env=outside, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=120, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    for text in ("www.lab.test. AAAA 2001:db8:64::c633:6401", "v6.lab.test. AAAA 2001:db8:2::80",
                 "which saw 192.0.2.33", "dns_synthesised 2", "Traffic passed."):
        assert text in result.stdout


def test_run_ivi_dns64_without_terminal(outside: dict[str, str]) -> None:
    """`make run APP=ivi-dns64`: an IPv6-only host fetches a page by name from an IPv4-only server."""
    result = subprocess.run([_RUN, "ivi-dns64"], env=outside, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=90, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    for text in ("www.lab.test. AAAA 2001:db8:ffc6:3364:100::", "http://www.lab.test/file.bin",
                 "bytes from 2001:db8:ffc6:3364:100::", "    192.0.2.33 - - [", "dns_synthesised", "Traffic passed."):
        assert text in result.stdout


def test_run_without_a_gateway_fails(outside: dict[str, str], tmp_path: Path) -> None:
    """A file that is no image, or no file: a line that says so and a status that is not 0."""
    for kernel in (_LAB, str(tmp_path / "none.elf")):
        result = subprocess.run([_LAB, "demo", "--kernel", kernel], env=outside, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=90, check=False)
        assert result.returncode not in (0, None)
        assert result.stdout + result.stderr


def _ended(pids: list[int]) -> bool:
    return not any(os.path.exists(f"/proc/{pid}") for pid in pids)


@pytest.mark.parametrize("way", ["SIGTERM", "SIGKILL", "SIGINT", "command ends"])
def test_no_process_remains(outside: dict[str, str], way: str) -> None:
    """However the lab ends, QEMU and the command in it end too."""
    script = "echo started; read word; case $word in end) exit 0;; esac; sleep 1000"
    # A new session stands for the terminal's foreground group, which gets Ctrl-C.
    lab = subprocess.Popen([_LAB, "run", "--", "sh", "-c", script], env=outside, start_new_session=True,
                           # The tests' parent may ignore Ctrl-C, as a shell's background jobs do.
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert lab.stdin is not None and lab.stdout is not None
    try:
        assert lab.stdout.readline() == b"started\n"
        family = _children(lab.pid)
        names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in family]
        assert any(name.startswith("qemu") for name in names), names
        if way == "SIGINT":
            os.killpg(lab.pid, signal.SIGINT)
        elif way.startswith("SIG"):
            lab.send_signal(signal.Signals[way])
        else:
            lab.stdin.write(b"end\n")
            lab.stdin.flush()
        status = lab.wait(15)
        assert (status == 0) == (way == "command ends"), status
        until(lambda: _ended(family), 10, f"the end of {names}")
    finally:
        lab.kill()
        lab.wait()
        lab.stdin.close()
        lab.stdout.close()


def test_exit_status_is_the_commands(outside: dict[str, str]) -> None:
    """`tools/lab exec` and `run` return the status of the command."""
    assert subprocess.run([_LAB, "exec", "--", "sh", "-c", "exit 7"], env=outside, check=False).returncode == 7
    assert subprocess.run([_LAB, "run", "--", "sh", "-c", "exit 8"], env=outside, check=False).returncode == 8


class _Terminal:
    """A program on a terminal of its own."""

    def __init__(self, argv: list[str], environment: dict[str, str]) -> None:
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.execvpe(argv[0], argv, environment)
        self.text = ""

    def type(self, keys: bytes) -> None:
        os.write(self._fd, keys)

    def expect(self, text: str, timeout: float = 60) -> None:
        """Waits until `text` has been printed after the last expected text."""
        deadline = time.monotonic() + timeout
        while text not in self.text:
            if not select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise Timeout(f"{text!r} not in {self.text[-2000:]!r}")
            try:
                self.text += os.read(self._fd, 65536).decode("utf-8", "replace")
            except OSError:
                raise Timeout(f"ended before {text!r}: {self.text[-2000:]!r}") from None
        self.text = self.text.split(text, 1)[1]

    def wait(self) -> int:
        """Reads to the end; gives the exit status."""
        try:
            while select.select([self._fd], [], [], 30)[0] and os.read(self._fd, 65536):
                pass
        except OSError:
            pass  # EIO: the program closed the terminal.
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        os.close(self._fd)


@pytest.fixture
def terminal(outside: dict[str, str]) -> Iterator[_Terminal]:
    program = _Terminal([_RUN, "nat"], outside)
    yield program
    program.close()


@pytest.mark.parametrize("way", ["escape", "poweroff"])
def test_run_leaves_the_user_at_the_console(terminal: _Terminal, way: str) -> None:
    """On a terminal the run ends at the gateway's prompt; Ctrl-] leaves it, and so does `poweroff`."""
    terminal.expect("Traffic passed.")
    terminal.expect("> ")
    terminal.type(b"routes\r")
    terminal.expect("192.168.1.0/24")
    terminal.type(b"\x1d" if way == "escape" else b"poweroff\r")
    assert terminal.wait() == 0
