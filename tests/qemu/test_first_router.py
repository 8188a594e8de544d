# SPDX-License-Identifier: BSD-2-Clause
"""The commands of docs/first-router.md, as they stand there."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from labkit.machine import IMAGE, ROOT

PAGE = Path(ROOT, "docs/first-router.md")
STEPS = "set -euxm\n"


def commands(section: str) -> list[str]:
    """The indented blocks of a section, without drawings."""
    text = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)
    part = next(part for part in text if part.startswith(section + "\n"))
    blocks = re.findall(r"(?:^    .*\n)+", part, re.M)
    return [re.sub(r"^    ", "", block, flags=re.M) for block in blocks if "---" not in block]


def in_background(block: str) -> str:
    """A gateway that the page starts in a terminal of its own, until it is ready."""
    if "-serial mon:stdio" not in block:
        return block
    started = block.replace("-serial mon:stdio", "-serial file:gateway.log").rstrip() + " & gateway=$!\n"
    return started + "until grep ^ready gateway.log; do sleep 0.1; done\n"


def follow(steps: str) -> str:
    """Runs the steps in private namespaces, in a folder that contains the image; gives what they print."""
    os.makedirs(f"{ROOT}/build", exist_ok=True)
    with tempfile.TemporaryDirectory(dir=f"{ROOT}/build") as folder:
        Path(folder, "images").mkdir()
        Path(folder, "images/gateway.elf").symlink_to(os.path.abspath(IMAGE))
        outside = {name: value for name, value in os.environ.items() if name != "BAREGATE_LAB_OUTSIDE"}
        done = subprocess.run([f"{ROOT}/tools/lab", "exec", "--", "bash", "-c", STEPS + steps], cwd=folder, env=outside,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_nat_router() -> None:
    blocks = [in_background(block) for block in commands("A NAT router in QEMU")]
    assert blocks[0].startswith("make\n")
    blocks[0] = blocks[0].removeprefix("make\n")
    printed = follow("".join(blocks) + "kill $gateway\n")
    assert re.search(r"ready app=nat", printed) and re.search(r"\b[1-5] received", printed)
    assert printed.endswith("hello\n")


def test_a_lan_that_has_only_ipv6() -> None:
    printed = follow("".join(commands("A LAN that has only IPv6")))
    assert "ready app=nat64" in printed and "inet6 2001:db8:1:" in printed
    assert "64:ff9b::c633:6401\nhello\n" in printed and "2 received" in printed


@pytest.mark.parametrize("section", ["On a stick", "Backup and upgrade"])
def test_a_stick(section: str) -> None:
    """The commands of mtools; the stick is a file with a partition at 1 MB."""
    whole = "".join(commands(section)).replace("\\\n", " ")
    lines = [line for line in whole.splitlines() if re.match("mcopy|mtype|sed", line)]
    assert len(lines) >= 3
    made = f"{ROOT}/tools/mkimages --out images --elf images/gateway.elf\n"
    printed = follow(made + "\n".join(lines).replace("/dev/sdX1", "images/gateway-usb.img@@1M") +
                     "\nmdir -/ -i images/gateway-usb.img@@1M\n")
    assert "gateway.conf" in printed
    assert section == "Backup and upgrade" or all(
        line in printed for line in ("\nwan.address 192.0.2.2/24", "\ngateway 192.0.2.1", "\nnameserver 192.0.2.1"))
