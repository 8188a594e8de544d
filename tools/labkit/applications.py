# SPDX-License-Identifier: BSD-2-Clause
"""What people do on a network, from a host of a BoxLab to a server in the WAN: web pages, git, ssh, FTP, apt-get, DNS
over TCP, a video as segments over HTTP, a call over UDP. By the way of `WAYS` it passes the translator (from the
IPv6-only host to an IPv4-only server, by name), is native IPv6, or passes the NAT44 beside the translator.

`Servers` runs the servers; each method of `Applications` is one use of one application, which raises an AssertionError
where anything is not as it was sent.
"""

import hashlib
import os
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from . import lab as net
from .nat64lab import BOTH, NAME, NATIVE, ROUTER6, BoxLab, v6
from .netns import Namespace, end_process
from .wait import until

_SSH_PORT, _ECHO_PORT = 2222, 7000
_HERE = os.path.dirname(os.path.abspath(__file__))
_ECHO = """\
import socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], int(sys.argv[2])))
while True:
    data, sender = s.recvfrom(2048)
    s.sendto(data, sender)
"""


@dataclass(frozen=True)
class Way:
    """From a host of the lab to the servers: what URLs say for their host, and where the call goes."""

    host: Callable[[BoxLab], Namespace]
    name: str
    phone: Callable[[BoxLab], str]


WAYS = {
    "nat64": Way(lambda lab: lab.lan, NAME, lambda lab: v6(net.FAR_SERVER, lab.prefix)),
    "native": Way(lambda lab: lab.lan, BOTH, lambda lab: NATIVE),
    "nat44": Way(lambda lab: lab.dual, net.FAR_SERVER, lambda lab: net.FAR_SERVER),
}
"""Native IPv6 needs `BoxLab.uplink6`, and Servers at NATIVE."""


class Servers:
    """The servers at the addresses `at`, and their files in `folder`. Use it as a context manager."""

    def __init__(self, lab: BoxLab, at: tuple[str, ...] = (net.FAR_SERVER,)) -> None:
        self.lab, self.at = lab, at
        self.folder = self._own("served")
        self._running: list[subprocess.Popen[Any]] = []
        os.mkdir(self.folder)
        self._make_files()
        self._make_repository()
        self._make_keys()

    def __enter__(self) -> "Servers":
        home = self._own("home")
        for address in self.at:
            # dropbear removes the file of -P when it ends.
            for argv in (
                ("python3", os.path.join(_HERE, "ftpserver.py"), address, self.folder),
                ("python3", "-c", _ECHO, address, str(_ECHO_PORT)),
                ("git", "daemon", f"--base-path={self.folder}", "--export-all", "--reuseaddr", f"--listen={address}"),
                ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$HOME" && exec "$@"', home, "dropbear", "-F",
                 "-E", "-s", "-r", self._own("host_key"), "-p", f"{_bracketed(address)}:{_SSH_PORT}", "-P",
                 self._own(f"ssh-{address}.pid")),
            ):
                self._running.append(self.lab.wan.start(*argv))
            with open(self._log(address), "wb") as log:
                self._running.append(self.lab.wan.start(
                    "python3", "-u", "-m", "http.server", "80", "--bind", address, "--directory", self.folder,
                    stdout=log, stderr=log))
            for port in (80, 21, 9418, _SSH_PORT):
                self._wait_port(address, port)
            self._wait_port(address, _ECHO_PORT, "udp")
        return self

    def _wait_port(self, address: str, port: int, kind: str = "tcp") -> None:
        option = {"tcp": "-tlnH", "udp": "-ulnH"}[kind]
        until(lambda: self.lab.wan.run("ss", option, f"src {_bracketed(address)}:{port}").stdout.strip(), 10,
              f"{kind} port {port} open at {address}")

    def clients(self, at: str) -> set[str]:
        """The addresses from which pages were fetched of the server at this address, as it saw them."""
        with open(self._log(at), encoding="utf-8") as log:
            return {line.split()[0] for line in log if "GET" in line}

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        for process in self._running:
            end_process(process)

    def _log(self, address: str) -> str:
        return self._own(f"web-{address}.log")

    def _own(self, name: str) -> str:
        return os.path.join(self.lab.directory, name)

    def _make_files(self) -> None:
        for name, size in (("page", 30_000), ("large", 8 << 20), ("segment", 500_000)):
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(os.urandom(size))

    def _make_repository(self) -> None:
        """A git repository, and beside it an apt repository with one package."""
        where = os.path.join(self.folder, "project.git")
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        work = self._own("work")
        subprocess.run(["git", *who, "init", "-q", work], check=True)
        for number in range(20):
            with open(os.path.join(work, f"file{number}"), "wb") as file:
                file.write(os.urandom(50_000))
        subprocess.run(["git", "-C", work, "add", "."], check=True)
        subprocess.run(["git", "-C", work, *who, "commit", "-qm", "all"], check=True)
        subprocess.run(["git", "clone", "-q", "--bare", work, where], check=True)
        package = self._own("package")
        os.makedirs(os.path.join(package, "DEBIAN"))
        os.makedirs(os.path.join(package, "usr/share/large"))
        os.chmod(os.path.join(package, "DEBIAN"), 0o755)
        control = "Package: large\nVersion: 1\nArchitecture: all\nMaintainer: a\nDescription: much\n"
        with open(os.path.join(package, "DEBIAN/control"), "w", encoding="ascii") as text:
            text.write(control)
        with open(os.path.join(package, "usr/share/large/file"), "wb") as file:
            file.write(os.urandom(2 << 20))
        built = os.path.join(self.folder, "large.deb")
        subprocess.run(["dpkg-deb", "-Znone", "--build", package, built], check=True, stdout=subprocess.DEVNULL)
        with open(built, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with open(os.path.join(self.folder, "Packages"), "w", encoding="ascii") as text:
            text.write(f"{control}Filename: ./large.deb\nSize: {os.path.getsize(built)}\nSHA256: {digest}\n")

    def _make_keys(self) -> None:
        home, key = self._own("home"), self._own("key")
        os.makedirs(os.path.join(home, ".ssh"), mode=0o700)
        os.chmod(home, 0o700)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        subprocess.run(["dropbearkey", "-t", "ed25519", "-f", self._own("host_key")], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.rename(key + ".pub", os.path.join(home, ".ssh/authorized_keys"))
        os.chmod(os.path.join(home, ".ssh/authorized_keys"), 0o600)


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


class Applications:
    """The applications of a host, by one of WAYS; `number` tells those apart that run at the same time."""

    def __init__(self, lab: BoxLab, servers: Servers, number: int = 0, way: str = "nat64") -> None:
        self.lab, self.servers, self.way = lab, servers, WAYS[way]
        self.host = self.way.host(lab)
        self.resolver = lab.resolv_conf()
        self.folder = os.path.join(lab.directory, f"got{number}")
        self._upload = f"uploaded{number}"
        os.mkdir(self.folder)

    def _run(self, *argv: str, timeout: float = 120) -> str:
        return self.host.run_resolving(self.resolver, *argv, timeout=timeout).stdout

    def _is_whole(self, name: str, copy: str) -> None:
        with open(os.path.join(self.servers.folder, name), "rb") as sent, open(copy, "rb") as got:
            assert sent.read() == got.read(), f"{name} is not as it was sent"

    def _fetch(self, url: str, name: str, *options: str) -> None:
        copy = os.path.join(self.folder, name)
        self._run("curl", "--silent", "--show-error", "--fail", "--output", copy, *options, url)
        self._is_whole(name, copy)

    def web(self) -> None:
        """A small page, a large file, and the page a second time on one connection."""
        page = f"http://{self.way.name}/page"
        self._fetch(page, "page", "--next", "--silent", "--fail", "--output", os.path.join(self.folder, "again"), page)
        self._is_whole("page", os.path.join(self.folder, "again"))
        self._fetch(f"http://{self.way.name}/large", "large")

    def video(self, seconds: float = 6) -> None:
        """A segment of half a megabyte each second; each comes before the next is due."""
        for _ in range(int(seconds)):
            begun = time.monotonic()
            self._fetch(f"http://{self.way.name}/segment", "segment")
            took = time.monotonic() - begun
            assert took < 2, f"a segment took {took:.1f} s"
            time.sleep(max(0.0, 1 - took))

    def git(self) -> None:
        """A clone of a repository of a megabyte."""
        copy = os.path.join(self.folder, "project")
        self._run("rm", "-rf", copy)
        self._run("git", "clone", "--quiet", f"git://{self.way.name}/project.git", copy)
        self._run("git", "-C", copy, "fsck", "--strict", "--no-progress")

    def ssh(self, lines: int = 40) -> None:
        """Keystrokes that are echoed one by one, then a file through the same server."""
        to = ["ssh", "-F", "none", "-i", os.path.join(self.lab.directory, "key"), "-o", "UserKnownHostsFile=/dev/null",
              "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
              "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3", "-p", str(_SSH_PORT),
              f"root@{self.way.name}"]
        wrapped = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', self.resolver]
        with subprocess.Popen(self.host.command([*wrapped, *to, "cat"]), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as shell:
            assert shell.stdin is not None and shell.stdout is not None
            for number in range(lines):
                shell.stdin.write(f"line {number}\n".encode())
                shell.stdin.flush()
                assert shell.stdout.readline() == f"line {number}\n".encode()
                time.sleep(0.05)
            shell.stdin.close()
            assert shell.wait(30) == 0
        with open(os.path.join(self.servers.folder, "large"), "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        said = self._run(*to, "cat", os.path.join(self.servers.folder, "large"), "|", "sha256sum")
        assert said.split()[0] == digest

    def ftp(self) -> None:
        """Passive transfers by EPSV in both directions (RFC 6384 section 6: no gateway is needed for them)."""
        url = f"ftp://anonymous:x@{self.way.name}/"
        self._fetch(url + "page", "page")
        self._run("curl", "--silent", "--show-error", "--fail", "--upload-file", os.path.join(self.folder, "page"),
                  url + self._upload)
        self._is_whole(self._upload, os.path.join(self.folder, "page"))

    def apt(self) -> None:
        """apt-get reads a repository and downloads a package, whose checksum it knows."""
        state = os.path.join(self.folder, "apt")
        for part in ("state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d", "log"):
            os.makedirs(os.path.join(state, part), exist_ok=True)
        with open(os.path.join(state, "etc/sources.list"), "w", encoding="ascii") as file:
            file.write(f"deb [trusted=yes] http://{self.way.name}/ ./\n")
        with open(os.path.join(state, "state/status"), "w", encoding="ascii"):
            pass
        options = [f"Dir::State={state}/state", f"Dir::State::status={state}/state/status", f"Dir::Etc={state}/etc",
                   f"Dir::Cache={state}/cache", f"Dir::Log={state}/log", "APT::Sandbox::User=root",
                   "Acquire::Languages=none", "Acquire::Retries=0", "Acquire::http::Proxy=false"]
        apt = ["apt-get", "-qq", *(word for option in options for word in ("-o", option))]
        self._run(*apt, "update")
        self._run("sh", "-c", 'cd "$0" && rm -f *.deb && exec "$@"', self.folder, *apt, "download", "large")
        (name,) = (name for name in os.listdir(self.folder) if name.endswith(".deb"))
        self._is_whole("large.deb", os.path.join(self.folder, name))

    def dns(self) -> None:
        """Questions over TCP, several on one connection."""
        said = self._run("dig", f"@{ROUTER6}", "+tcp", "+keepopen", "+short", NAME, "AAAA", f"many.{NAME[4:]}", "AAAA",
                         NAME, "A")
        lines = said.split()
        assert lines[0] == v6(net.FAR_SERVER, self.lab.prefix) and lines[-1] == net.FAR_SERVER and len(lines) > 50, said

    def call(self, seconds: float = 4, rate: int = 50) -> float:
        """A call: `rate` datagrams a second, which the other side sends back; gives the share that was lost."""
        number = self.way.phone(self.lab)
        with self.host.socket(socket.AF_INET6 if ":" in number else socket.AF_INET) as phone:
            phone.connect((number, _ECHO_PORT))
            phone.settimeout(0.5)
            got: set[bytes] = set()
            begun, sent = time.monotonic(), 0
            while time.monotonic() - begun < seconds:
                phone.send(sent.to_bytes(4, "big") * 43)
                sent += 1
                due = begun + sent / rate
                while (left := due - time.monotonic()) > 0:
                    phone.settimeout(left)
                    try:
                        got.add(phone.recv(2048))
                    except TimeoutError:
                        break
            phone.settimeout(0.5)
            try:
                while len(got) < sent:
                    got.add(phone.recv(2048))
            except TimeoutError:
                pass
        assert all(len(one) == 172 and one == one[:4] * 43 for one in got)
        lost = (sent - len(got)) / sent
        assert lost < 0.02, f"{lost:.1%} of the call is lost"
        return lost
