# SPDX-License-Identifier: BSD-2-Clause
"""A Linux guest: the reference of the benchmarks, and a peer in the lab.

Builds a kernel and a small initramfs from Debian's packages, without root: it downloads the packages, unpacks them into
one folder, and archives only the files that the guest's role needs. It sorts the modules into loading order itself (by
the `depends=` notes in them), so the guest needs no modprobe and no module index. The initramfs is uncompressed,
because under TCG unpacking costs more than loading.

    python3 linuxguest.py BUILD_DIR ROLE      builds and prints the two paths
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

# The modules for each kind of card. Those that they need (mii, 8390) are found by their notes.
NIC_MODULES = {
    "e1000": ("e1000",),
    "e1000e": ("e1000e",),
    "e100": ("e100",),
    "rtl8139": ("8139too", "8139cp"),
    "pcnet": ("pcnet32",),
    "tulip": ("tulip",),
    "vmxnet3": ("vmxnet3",),
    "ne2k_pci": ("ne2k-pci",),
    "virtio": ("virtio_pci", "virtio_net"),
}


def nic_kind(model: str) -> str:
    """The key of NIC_MODULES for a card of QEMU, with its options or without."""
    name = model.partition(",")[0]
    if name.startswith("i82"):
        return "e100"
    return name if name in NIC_MODULES else name.partition("-")[0]

_INIT = r"""#!/bin/busybox sh
# First program of the Linux guest. Its parameters stand on the kernel's command line (guest.KEY=).
/bin/busybox mkdir -p /proc /sys /dev /run /etc
/bin/busybox --install -s /bin
export PATH=/sbin:/usr/sbin:/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
for word in $(cat /proc/cmdline); do
	case $word in guest.*=*) export "${word#guest.}" ;; esac
done
for list in "$nic" role; do
	while read -r module; do insmod "/modules/$module" 2>/dev/null; done <"/modules/$list.list"
done
ip link set lo up
tries=0
while [ ! -e "/sys/class/net/eth$((${ports:-2} - 1))" ] && [ $tries -lt 100 ]; do
	sleep 0.05
	tries=$((tries + 1))
done
"""

# ---- the roles of the benchmarks. Their parameters are lan, wan, gateway, offloads, sessions, show; those with IPv6
# also have lan6, the tunnel tunnel6, the translator prefix6 and hosts4 ----

_NO_IPV6 = r"""
for port in eth0 eth1; do
	echo 1 >/proc/sys/net/ipv6/conf/$port/disable_ipv6
done
"""

_BRIDGE = r"""
brctl addbr br0
brctl addif br0 eth0
brctl addif br0 eth1
for port in eth0 eth1 br0; do ip link set $port up; done
"""

_ROUTER = r"""
echo 1 >/proc/sys/net/ipv4/ip_forward
ip addr add "$lan" dev eth0
ip addr add "$wan" dev eth1
ip link set eth0 up
ip link set eth1 up
ip route add default via "$gateway"
"""

_RULES = r"""
nft -f /etc/rules.nft || echo "ruleset refused"
echo "$sessions" >/proc/sys/net/netfilter/nf_conntrack_max
echo 262144 >/sys/module/nf_conntrack/parameters/hashsize
for key in conntrack_udp_timeout conntrack_udp_timeout_stream flowtable_udp_timeout; do
	[ -e /proc/sys/net/netfilter/nf_$key ] && echo 300 >/proc/sys/net/netfilter/nf_$key
done
"""

_TUNNEL = r"""
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
ip -6 addr add "$lan6" dev eth0
ip tunnel add tun6to4 mode sit local "${wan%/*}" ttl 64
ip link set tun6to4 up
ip -6 addr add "$tunnel6" dev tun6to4
"""

_TRANSLATOR = r"""
for key in ipv4/ip_forward ipv6/conf/all/forwarding; do echo 1 >/proc/sys/net/$key; done
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip addr add "$wan" dev eth1
ip -6 addr add "$lan6" dev eth0
for port in eth0 eth1; do ip link set $port up; done
ip route add default via "$gateway"
printf 'ipv4-addr %s\nprefix %s\ntun-device nat64\n' "${hosts4%.*}.254" "$prefix6" >/etc/tayga.conf
tayga -c /etc/tayga.conf --mktun
ip link set nat64 up
ip route add "$hosts4" dev nat64
ip -6 route add "$prefix6" dev nat64
tayga -c /etc/tayga.conf
"""

# Its pool of IPv4 addresses is for the IPv6 hosts; the rules give all of them the WAN's address.
_NAT64 = r"""
for key in ipv4/ip_forward ipv6/conf/all/forwarding; do echo 1 >/proc/sys/net/$key; done
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip addr add "$wan" dev eth1
ip -6 addr add "$lan6" dev eth0
for port in eth0 eth1; do ip link set $port up; done
ip route add default via "$gateway"
printf 'ipv4-addr 10.64.0.1\nprefix %s\ntun-device nat64\ndynamic-pool 10.64.0.0/16\n' "$prefix6" >/etc/tayga.conf
tayga -c /etc/tayga.conf --mktun
ip link set nat64 up
ip route add 10.64.0.0/16 dev nat64
ip -6 route add "$prefix6" dev nat64
tayga -c /etc/tayga.conf
"""

_MEASURED = r"""
read -r up idle </proc/uptime
echo "ready app=linux-$role uptime=$up kernel=$(uname -r)"
for port in eth0 eth1; do
	[ "$offloads" = on ] || for what in gro gso tso tx rx; do
		ethtool -K $port $what off >/dev/null 2>&1
	done
	echo "offloads $port on: $(ethtool -k $port 2>/dev/null | grep ': on' | cut -d: -f1 | tr '\n' ' ')"
done
echo "settled"
if [ "$show" = on ]; then
	[ -e /etc/rules.nft ] && nft list ruleset
	while sleep 5; do
		cat /proc/net/dev /proc/interrupts
		wc -l /proc/net/nf_conntrack
		dmesg | tail -5
	done
fi
while :; do sleep 86400; done
"""

_MASQUERADE = """table ip nat {
	chain out {
		type nat hook postrouting priority srcnat;
		oifname "eth1" masquerade
	}
}
"""

_FILTER = """table ip filter {
	chain through {
		type filter hook forward priority filter; policy drop;
		ct state established,related accept
		iifname "eth0" accept
	}
}
"""

_FLOWTABLE = """table inet filter {
	flowtable fast {
		hook ingress priority filter; devices = { eth0, eth1 };
	}
	chain through {
		type filter hook forward priority filter; policy drop;
		meta l4proto { tcp, udp } ct state established flow add @fast
		ct state established,related accept
		iifname "eth0" accept
	}
}
"""

# ---- DNS64 servers, which only forward: their files under /etc are their configuration ----

_DNS64 = r"""
ip addr add "$lan" dev eth0
ip addr add "$wan" dev eth1
ip -6 addr add "$lan6" dev eth0
ip link set eth0 up
ip link set eth1 up
echo root:x:0:0::/:/bin/sh >/etc/passwd
for file in /etc/*.conf; do
	sed -i "s,UPSTREAM,$upstream,;s,PREFIX,$prefix," "$file"
done
@server@ &
while ! grep -q ':0035 ' /proc/net/udp6; do
	sleep 0.05
done
"""

# Its console reports how much memory the server used at most, in kB.
_TELLS = r"""
while read -r line; do
	[ "$line" = memory ] && sed -n 's/^VmHWM:[^0-9]*/memory /p' /proc/$(pidof @program@)/status
done
"""

_UNBOUND = """server:
	directory: "/etc"
	chroot: ""
	username: ""
	pidfile: ""
	use-syslog: no
	do-daemonize: no
	interface: ::0
	access-control: ::0/0 allow
	num-threads: 1
	module-config: "dns64 iterator"
	dns64-prefix: PREFIX
	local-zone: "test." nodefault
	outgoing-range: 4096
	num-queries-per-thread: 2048
	so-rcvbuf: 4m
	incoming-num-tcp: 64
	minimal-responses: yes
forward-zone:
	name: "."
	forward-addr: UPSTREAM
"""

_BIND = """options {
	directory "/run";
	pid-file none;
	session-keyfile none;
	listen-on { none; };
	listen-on-v6 { any; };
	allow-query { any; };
	allow-recursion { any; };
	forwarders { UPSTREAM; };
	forward only;
	dnssec-validation no;
	dns64 PREFIX { clients { any; }; };
	recursive-clients 10000;
	minimal-responses yes;
	querylog no;
};
controls { };
"""

_PDNS = """local-address=::
allow-from=::/0
forward-zones-recurse=.=UPSTREAM
dns64-prefix=PREFIX
dnssec=off
threads=1
pdns-distributes-queries=no
max-mthreads=4096
socket-dir=/run
security-poll-suffix=
disable-syslog=yes
quiet=yes
loglevel=1
"""

# ---- the roles of the lab: a machine that runs the commands that it gets on its console ----

_OBEY = r"""
umask 022
echo root:x:0:0::/:/bin/sh >/etc/passwd
dmesg -n 1
stty -echo </dev/console
echo "ready app=linux-$role"
while read -r line; do
	(eval "$line") 2>&1 </dev/null
	echo "status $?"
done
"""


@dataclass(frozen=True)
class Role:
    """What a guest is for: the contents of its initramfs, and what init runs after the common part."""

    script: str
    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    rules: str = ""  # for nft
    packages: tuple[str, ...] = field(default=("busybox-static",))
    files: tuple[tuple[str, str], ...] = ()  # their text


_NFT = ("crc32c_generic", "nf_tables", "nft_chain_nat", "nft_masq", "nft_ct")
_TOOLS = ("usr/sbin/nft", "sbin/ethtool", "usr/sbin/ethtool")
_PACKAGES = ("nftables", "ethtool", "busybox-static")


def _measured(script: str, modules: tuple[str, ...] = (), rules: str = "", more: tuple[str, ...] = ()) -> Role:
    """A role of the benchmarks; `more` are packages, each with a program of the same name in usr/sbin."""
    programs = (*_TOOLS, *(f"usr/sbin/{name}" for name in more))
    return Role(script + (_RULES if rules else "") + _MEASURED, modules, programs, rules, (*more, *_PACKAGES))


def _dns64(package: str, program: str, server: str, file: str, text: str) -> Role:
    """A role of the benchmarks with a console; `server` is the command, `file` its configuration."""
    script = (_DNS64 + _MEASURED.partition('if [ "$show"')[0] + _TELLS).replace("@server@", server)
    script = script.replace("@program@", os.path.basename(program))
    return Role(script, (), (program, *_TOOLS), "", (package, "ethtool", "busybox-static"), ((file, text),))


ROLES = {
    "nat": _measured(_NO_IPV6 + _ROUTER, _NFT, _MASQUERADE + _FILTER),
    "flowtable": _measured(
        _NO_IPV6 + _ROUTER,
        (*_NFT, "nft_flow_offload", "nf_flow_table", "nf_flow_table_inet"),
        _MASQUERADE + _FLOWTABLE,
    ),
    "route": _measured(_NO_IPV6 + _ROUTER),
    "bridge": _measured(_NO_IPV6 + _BRIDGE, ("bridge",)),
    "sit": _measured(_ROUTER + _TUNNEL, (*_NFT, "sit"), _MASQUERADE),
    "translator": _measured(_TRANSLATOR, ("tun",), more=("tayga",)),
    "nat64": _measured(_NAT64, (*_NFT, "tun"), _MASQUERADE, ("tayga",)),
    "unbound": _dns64("unbound", "usr/sbin/unbound", "unbound -c /etc/unbound.conf", "etc/unbound.conf", _UNBOUND),
    "bind": _dns64("bind9", "usr/sbin/named", "named -f -n 1 -c /etc/named.conf", "etc/named.conf", _BIND),
    "pdns": _dns64(
        "pdns-recursor",
        "usr/sbin/pdns_recursor",
        "pdns_recursor --config-dir=/etc --daemon=no",
        "etc/recursor.conf",
        _PDNS,
    ),
    "peer": Role(_OBEY, ("sit",)),
    "switch": Role(_OBEY, ("bridge", "8021q")),
    "gateway": Role(
        _OBEY, (*_NFT, "sit"), ("usr/sbin/nft", "usr/sbin/radvd"), _MASQUERADE, ("nftables", "radvd", "busybox-static")
    ),
    "tayga": Role(
        _OBEY,
        (*_NFT, "tun"),
        ("usr/sbin/tayga", "usr/sbin/radvd", "usr/sbin/nft"),
        _MASQUERADE,
        ("tayga", "radvd", "nftables", "busybox-static"),
    ),
    "box": Role(
        _OBEY,
        (*_NFT, "tun"),
        ("usr/sbin/tayga", "usr/sbin/radvd", "usr/sbin/nft", "usr/sbin/unbound"),
        _MASQUERADE,
        ("tayga", "radvd", "nftables", "unbound", "busybox-static"),
    ),
}


@dataclass(frozen=True)
class LinuxImage:
    """The files that QEMU needs to start the guest."""

    kernel: Path
    initrd: Path
    version: str


class BuildError(Exception):
    """A step of the build failed; the text says which."""


def _output(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command[:4])}: {done.stderr.strip()[-400:]}")
    return done.stdout


def _kernel_package() -> str:
    text = _output("apt-cache", "depends", "linux-image-amd64")
    found = re.search(r"Depends: (linux-image-\S+-amd64)", text)
    if found is None:
        raise BuildError("apt-cache knows no kernel package (is the package list empty?)")
    return found.group(1)


def _user_packages(names: tuple[str, ...]) -> list[str]:
    relations = "recommends suggests conflicts breaks replaces enhances"
    text = _output(
        "apt-cache",
        "depends",
        "--recurse",
        *[f"--no-{word}" for word in relations.split()],
        *names,
    )
    return [line for line in text.splitlines() if re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", line)]


def _download(packages: list[str], folder: Path) -> list[Path]:
    """Downloads the packages that the cache lacks; gives one file for each package."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in packages if not list(folder.glob(f"{name}_*.deb"))]
    if missing:
        print(f"bench: downloading {len(missing)} Debian packages", file=sys.stderr)
        _output("apt-get", "download", "-q", *missing, cwd=folder)
    return [sorted(folder.glob(f"{name}_*.deb"))[-1] for name in packages]


def _unpack(files: list[Path], root: Path) -> None:
    """Unpacks each package once; a stamp beside the folder records which."""
    root.mkdir(parents=True, exist_ok=True)
    for file in files:
        stamp = root.parent / "unpacked" / file.name
        if not stamp.exists():
            _output("dpkg-deb", "-x", str(file), str(root))
            stamp.parent.mkdir(exist_ok=True)
            stamp.touch()


class Modules:
    """The kernel's modules by name, with their dependencies in loading order."""

    def __init__(self, folder: Path) -> None:
        self.files = {path.stem.replace("-", "_"): path for path in folder.rglob("*.ko")}

    def _needs(self, path: Path) -> list[str]:
        names: list[str] = []
        data = path.read_bytes()
        for note in re.findall(rb"\0(?:depends=|softdep=pre: )([^\0]*)\0", data):
            names += re.split(r"[ ,]+", note.decode())
        return [name.replace("-", "_") for name in names if name and name not in ("pre:", "post:")]

    def order(self, names: tuple[str, ...]) -> list[Path]:
        done: dict[str, Path] = {}

        def visit(name: str) -> None:
            path = self.files.get(name.replace("-", "_"))
            if path is None or path.stem in done:  # absent: built into the kernel
                return
            for other in self._needs(path):
                visit(other)
            done[path.stem] = path

        for name in names:
            visit(name)
        return list(done.values())


class Archive:
    """A cpio archive in the "newc" format, written here so that cpio is not needed."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.inode = 1
        self.seen: set[str] = set()

    def add(self, name: str, mode: int, body: bytes = b"") -> None:
        if name in self.seen:
            return
        self.seen.add(name)
        parent = os.path.dirname(name)
        if parent:
            self.add(parent, stat.S_IFDIR | 0o755)
        self._entry(name, mode, body)

    def _entry(self, name: str, mode: int, body: bytes) -> None:
        title = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(body), 0, 0, 0, 0, len(title), 0)
        self.data += b"070701" + b"".join(b"%08X" % field for field in fields) + title
        self._align()
        self.data += body
        self._align()
        self.inode += 1

    def _align(self) -> None:
        self.data += bytes(-len(self.data) % 4)

    def add_file(self, name: str, path: Path, mode: int = 0o755) -> None:
        self.add(name, stat.S_IFREG | mode, path.read_bytes())

    def finish(self) -> bytes:
        self._entry("TRAILER!!!", 0, b"")
        return bytes(self.data)


def _libraries(program: Path, root: Path, found: dict[str, Path]) -> None:
    """Collects the shared libraries that a program needs, from the unpacked packages only."""
    text = _output("readelf", "-d", str(program))
    for name in re.findall(r"\(NEEDED\).*\[(.+?)\]", text):
        if name in found:
            continue
        for folder in ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"):
            path = root / folder / name
            if path.exists():
                found[name] = path.resolve()
                _libraries(found[name], root, found)
                break
        else:
            raise BuildError(f"no library {name} for {program.name} in the packages")


def _make_archive(root: Path, version: str, role: Role) -> bytes:
    archive = Archive()
    archive.add("init", stat.S_IFREG | 0o755, (_INIT + role.script).encode())
    archive.add_file("bin/busybox", root / "bin/busybox")
    archive.add("lib64", stat.S_IFLNK | 0o777, b"lib/x86_64-linux-gnu")
    libraries: dict[str, Path] = {}
    for name in role.programs:
        if (root / name).exists():
            archive.add_file(f"usr/sbin/{os.path.basename(name)}", root / name)
            _libraries(root / name, root, libraries)
    for name, path in libraries.items():
        archive.add_file(f"lib/x86_64-linux-gnu/{name}", path)
    for name, text in role.files:
        archive.add(name, stat.S_IFREG | 0o644, text.encode())
    if role.rules:
        archive.add("etc/rules.nft", stat.S_IFREG | 0o644, role.rules.encode())
    modules = Modules(root / "lib/modules" / version)
    for group, names in {**NIC_MODULES, "role": role.modules}.items():
        paths = modules.order(names)
        for path in paths:
            archive.add_file(f"modules/{path.name}", path, 0o644)
        listing = "".join(f"{path.name}\n" for path in paths)
        archive.add(f"modules/{group}.list", stat.S_IFREG | 0o644, listing.encode())
    return archive.finish()


def build(build_dir: Path, role: str) -> LinuxImage:
    """Builds the missing files of a guest of this role (a key of ROLES).

    Fast when nothing is missing. One builder at a time (a lock file).
    """
    cache = build_dir / "cache" / "linux"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _build_locked(cache, role)


def _build_locked(cache: Path, role: str) -> LinuxImage:
    chosen = cache / "kernel-package"
    if not chosen.exists():
        chosen.write_text(_kernel_package(), encoding="ascii")
    package = chosen.read_text(encoding="ascii")
    version = package.removeprefix("linux-image-")
    root = cache / "root"
    initrd = cache / f"initramfs-{role}.cpio"
    kernel = root / "boot" / f"vmlinuz-{version}"
    newest = Path(__file__).stat().st_mtime
    if not kernel.exists() or not initrd.exists() or initrd.stat().st_mtime < newest:
        packages = [package, *_user_packages(ROLES[role].packages)]
        _unpack(_download(packages, cache / "packages"), root)
        fresh = cache / "initramfs.new"
        fresh.write_bytes(_make_archive(root, version, ROLES[role]))
        fresh.rename(initrd)
    return LinuxImage(kernel, initrd, version)


def command_line(role: str, nic: str, **parameters: str) -> str:
    """The kernel's command line. Mitigations are off: the guest must be as fast as possible."""
    words = [
        "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check",
        "raid=noautodetect random.trust_cpu=on net.ifnames=0",
        f"guest.role={role} guest.nic={nic_kind(nic)}",
    ]
    return " ".join([*words, *(f"guest.{key}={value}" for key, value in parameters.items())])


def main() -> None:
    image = build(Path(sys.argv[1]), sys.argv[2])
    print(image.kernel)
    print(image.initrd)


if __name__ == "__main__":
    main()
