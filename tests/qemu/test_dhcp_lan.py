# SPDX-License-Identifier: BSD-2-Clause
"""`lan.dhcp` on the machine, with the DHCP clients of real systems in the LAN."""

import os
import re
from collections.abc import Callable

import pytest
from labkit import lab as net
from labkit.lab import Lab
from labkit.wait import until

POOL = "192.168.1.100-192.168.1.199"
CONFIG = net.NAT + f"lan.dhcp {POOL}\nlan.domain home.test\nlan.dhcp-lease 600\nnameserver 198.51.100.53\n"
BOUND = re.compile(r"^lan lease (192\.168\.1\.1\d\d) bound 02:00:00:00:01:02 ?(\S*), (\d+) s$", re.M)

# What a client does with a lease: the same for all that call a script. dhclient and dhcpcd name the values otherwise
# than udhcpc.
SCRIPT = """\
#!/bin/sh
env | sort > {seen}
address=${{ip:-$new_ip_address}}
mask=${{subnet:-$new_subnet_mask}}
via=${{router:-$new_routers}}
case "$1$reason" in
    PREINIT*) ip link set lan0 up ;;
esac
if [ -n "$address" ]; then
    ip address replace "$address/$mask" dev lan0
    ip route replace default via "$via"
fi
"""


@pytest.fixture
def lab(nic: str, make_lab: Callable[..., Lab]) -> Lab:
    """The gateway serves; its host in the LAN has no address."""
    made = make_lab((nic, nic))
    made.lan.ip("address flush dev lan0")
    made.boot(CONFIG, app="nat")
    return made


def script(lab: Lab) -> str:
    path = lab.file("script", SCRIPT.format(seen=os.path.join(lab.directory, "seen")))
    os.chmod(path, 0o755)
    return path


def seen(lab: Lab) -> dict[str, str]:
    """What the script was told last."""
    with open(os.path.join(lab.directory, "seen"), encoding="utf-8") as file:
        return dict(line.rstrip("\n").partition("=")[::2] for line in file)


def bound(lab: Lab) -> tuple[str, str, int]:
    """Address, name and seconds of the lease, as the gateway lists it."""
    found = BOUND.search(lab.console.command("leases"))
    assert found is not None
    return found[1], found[2], int(found[3])


def check(lab: Lab, name: str = "") -> None:
    """The host has the address of the lease, and reaches what is behind the gateway."""
    address, said, left = bound(lab)
    assert said == name and 570 <= left <= 600
    assert f"inet {address}/24 " in lab.lan.ip("address show dev lan0")
    lab.wait_ping()


@pytest.mark.one_card
def test_udhcpc(lab: Lab) -> None:
    lab.lan.run("busybox", "udhcpc", "-i", "lan0", "-n", "-q", "-f", "-s", script(lab), "-x", "hostname:Toaster",
                "-O", "search", timeout=30)
    check(lab, "toaster")
    told = seen(lab)
    assert told["serverid"] == told["router"] == net.LAN_GATEWAY and told["dns"] == "198.51.100.53"
    assert told["domain"] == told["search"] == "home.test" and told["lease"] == "600"


@pytest.mark.one_card
def test_dhclient(lab: Lab) -> None:
    """A lease, its release, and the same address again."""
    leases, pid = os.path.join(lab.directory, "leases"), os.path.join(lab.directory, "pid")
    conf = lab.file("dhclient.conf", 'send host-name "laptop";\nrequest subnet-mask, routers, domain-name-servers, '
                                     "domain-name, domain-search, broadcast-address;\n")
    command = ["dhclient", "-4", "-cf", conf, "-lf", leases, "-pf", pid, "-sf", script(lab)]
    lab.lan.run(*command, "-1", "-v", "lan0", timeout=40)
    check(lab, "laptop")
    assert seen(lab)["new_domain_search"].rstrip(".") == "home.test"
    first = bound(lab)[0]
    lab.lan.run(*command, "-r", "lan0", timeout=20)
    until(lambda: f"{first} ended" in lab.console.command("leases"), 5, "the release")
    lab.lan.ip("address flush dev lan0")
    lab.lan.run(*command, "-1", "lan0", timeout=40)
    assert bound(lab)[0] == first
    lab.lan.run(*command, "-x", "lan0", timeout=20)


@pytest.mark.one_card
def test_dhclient_after_the_gateway_has_restarted(lab: Lab) -> None:
    """INIT-REBOOT: the address that it had, though the gateway knows nothing of it."""
    leases, pid = os.path.join(lab.directory, "leases"), os.path.join(lab.directory, "pid")
    command = ["dhclient", "-4", "-cf", lab.file("dhclient.conf", "\n"), "-lf", leases, "-pf", pid, "-sf", script(lab)]
    lab.lan.run(*command, "-1", "lan0", timeout=40)
    first = bound(lab)[0]
    lab.lan.run(*command, "-x", "lan0", timeout=20)
    lab.lan.ip("address flush dev lan0")
    lab.boot(CONFIG, app="nat")
    lab.lan.run(*command, "-1", "lan0", timeout=40)
    check(lab)
    assert bound(lab)[0] == first and seen(lab)["reason"] == "REBOOT"
    lab.lan.run(*command, "-x", "lan0", timeout=20)


@pytest.mark.one_card
def test_dhcpcd(lab: Lab) -> None:
    conf = lab.file("dhcpcd.conf", "hostname camera\nclientid\noption domain_name_servers, domain_name\nnohook all\n")
    # A /run of its own, in which the files of the lab are not.
    lab.lan.start("unshare", "--mount", "sh", "-c",
                  'mount -t tmpfs none /var/lib/dhcpcd && cp "$1" /var/lib/dhcpcd/conf && mount -t tmpfs none /run && '
                  "exec dhcpcd -4 -B -f /var/lib/dhcpcd/conf -c /bin/true lan0", "sh", conf)
    until(lambda: BOUND.search(lab.console.command("leases")), 40, "a lease")
    until(lambda: bound(lab)[0] in lab.lan.ip("address show dev lan0"), 20, "its address")
    check(lab, "camera")


@pytest.mark.one_card
def test_systemd_networkd(lab: Lab) -> None:
    network = lab.file("lan0.network", "[Match]\nName=lan0\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=no\n"
                                       "[DHCPv4]\nHostname=desktop\nUseDNS=yes\n")
    # Where /sys can be written it waits for udev.
    lab.lan.start("unshare", "--mount", "sh", "-c",
                  'mount -t tmpfs none /mnt && cp "$1" /mnt/ && mount -t tmpfs none /run && '
                  "mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/netif/leases && "
                  "cp /mnt/lan0.network /run/systemd/network/ && "
                  "chown -R systemd-network:systemd-network /run/systemd/netif && "
                  "mount -t sysfs -o ro none /sys && exec /lib/systemd/systemd-networkd", "sh", network)
    until(lambda: BOUND.search(lab.console.command("leases")), 40, "a lease")
    until(lambda: bound(lab)[0] in lab.lan.ip("address show dev lan0"), 20, "its address")
    check(lab, "desktop")


@pytest.mark.one_card
def test_ipxe_boots_by_our_lease(nic: str, make_lab: Callable[..., Lab]) -> None:
    """Next server and file as options 66 and 67; the file comes by TFTP from a host of the LAN."""
    lab = make_lab((nic, nic))
    lab.lan.ip("address flush dev lan0")
    for command in ("link add br0 type bridge", "link set lan0 master br0", "link set br0 up",
                    f"address add {net.LAN_HOST}/24 dev br0", "tuntap add pxe0 mode tap",
                    "link set pxe0 master br0 up"):
        lab.lan.ip(command)
    lab.file("boot.ipxe", "#!ipxe\necho lease of ${netX/ip}\nprompt\n")
    log = os.path.join(lab.directory, "tftp.log")
    with open(log, "wb") as file:
        lab.lan.start("dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                      "--port=0", "--user=root", "--group=", "--interface=br0", "--bind-interfaces", "--pid-file=",
                      "--enable-tftp", f"--tftp-root={lab.directory}", "--log-facility=-", stderr=file)
    lab.boot(CONFIG + f"lan.dhcp-option 66 {net.LAN_HOST}\nlan.dhcp-option 67 boot.ipxe\n", app="nat")
    lab.lan.start("qemu-system-i386", "-accel", "tcg", "-m", "64", "-display", "none", "-boot", "n", "-net", "none",
                  "-netdev", "tap,id=n,ifname=pxe0,script=no,downscript=no",
                  "-device", "e1000,netdev=n,mac=52:54:00:00:99:01")

    def sent() -> bool:
        with open(log, encoding="utf-8", errors="replace") as file:
            return "boot.ipxe to 192.168.1.1" in file.read()
    until(sent, 60, "the file")
    assert re.search(r"^lan lease 192\.168\.1\.1\d\d bound 52:54:00:00:99:01", lab.console.command("leases"), re.M)
