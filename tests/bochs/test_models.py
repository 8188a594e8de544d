# SPDX-License-Identifier: BSD-2-Clause
"""The stick on single processor models: start, panic, restart, keyboard, power-off."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bochs import TOO_OLD, Bochs, make_stick

# The only application that runs with one card.
CONFIG = """\
app dns64
lan nic0
lan.address 192.168.1.1/24
nameserver 192.168.1.2
debug on
"""


@pytest.fixture(scope="session")
def stick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_stick(tmp_path_factory.mktemp("stick"), CONFIG)


@pytest.fixture
def boot(stick: Path) -> Iterator[Callable[[str], Bochs]]:
    """A function that starts a machine with this processor, which ends with the test."""
    started: list[Bochs] = []

    def start(model: str) -> Bochs:
        started.append(Bochs(model, stick))
        return started[-1]

    yield start
    for machine in started:
        machine.close()


def test_model(model: str, boot: Callable[[str], Bochs]) -> None:
    """The gateway starts with its card, a panic restarts it, `reboot` too, `poweroff` switches the machine off. The
    last command comes from the keyboard. A processor without CMOV gets a message instead of an invalid opcode."""
    machine = boot(model)
    console = machine.console
    if model in TOO_OLD:
        console.expect(r"this processor is too old: TSC and CMOV are needed", 120)
        return
    machine.wait_ready()
    assert re.search(r"^lan e1000 52:54:00:12:34:56 link=up ", console.command("interfaces", 60), re.M)
    console.send("crash\r")
    console.expect(r"exception 14 .*\bcpu_crash\+.*\n.*write to 00000010, not mapped", 60)
    machine.wait_ready()
    console.send("reboot\r")
    machine.wait_ready()
    machine.type("poweroff\n")
    machine.wait_off()
