# SPDX-License-Identifier: BSD-2-Clause
"""The command line of tools/lab."""

import argparse
import os
import subprocess
import sys

from . import demo, lab as net, sandbox, soak, terminal
from .lab import Lab
from .machine import IMAGE, NIC_MODELS, Machine
from .netns import CommandFailed

_EPILOG = f"""\
The network: LAN host {net.LAN_HOST} -- gateway {net.LAN_GATEWAY} | {net.WAN_GATEWAY} -- WAN server {net.WAN_SERVER},
which also has {net.FAR_SERVER}. Everything runs in private namespaces and ends with the program.

NIC models: {', '.join(NIC_MODELS)}, or any QEMU device with its options.
Commands find the hosts' namespaces in $LAB_LAN and $LAB_WAN (nsenter --net=$LAB_WAN ...).

examples:
  tools/lab demo                                       what `make run` does
  tools/lab run -- ping -c3 {net.FAR_SERVER}               on the LAN host, through the NAT
  tools/lab run --nic virtio --nic virtio --conf my.conf -- sh script
  tools/lab shell --append app=wire                    a shell on the LAN host
  tools/lab console --nic none                         at the gateway's console
  tools/lab soak --minutes 60                          all that one box does, for an hour
  tools/lab exec -- COMMAND                            only the private namespaces
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tools/lab", description="The gateway in QEMU between two hosts.",
                                     formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EPILOG)
    machine = argparse.ArgumentParser(add_help=False)
    machine.add_argument("--nic", action="append", metavar="MODEL",
                         help="a NIC: LAN, WAN, then those of lan2 to lan7 (default: e1000 twice); `none` for a "
                         "machine without; demo: one, the model of both")
    machine.add_argument("--conf", metavar="FILE",
                         help="gateway.conf (default: nat on the test network; demo: that of its application)")
    machine.add_argument("--no-conf", action="store_true", help="boot without a configuration file")
    machine.add_argument("--append", default="", metavar="TEXT", help="command line of the image")
    machine.add_argument("--module", action="append", default=[], metavar="FILE", help="a further module")
    machine.add_argument("--kernel", default=IMAGE, metavar="FILE", help="the image (images/gateway.elf)")
    machine.add_argument("--memory", type=int, default=64, metavar="MB")
    machine.add_argument("--cpu", metavar="MODEL", help="QEMU's CPU model")
    machine.add_argument("--qemu-arg", action="append", default=[], metavar="ARG", help="a further argument of QEMU")
    machine.add_argument("--pcap", metavar="DIRECTORY", help="write each NIC's frames to nicN.pcap there")
    alone = argparse.ArgumentParser(add_help=False, parents=[machine])
    alone.add_argument("--no-hosts", action="store_true", help="the hosts have no addresses and send nothing")
    alone.add_argument("--no-wait", action="store_true", help="do not wait for the ready line")

    commands = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    run = commands.add_parser("run", parents=[alone], help="boot, run a command on a host, end")
    run.add_argument("--in", dest="host", choices=("lan", "wan"), default="lan", help="which host (lan)")
    run.add_argument("--serial", action="store_true", help="print the output of COM1 at the end")
    run.add_argument("command", nargs="+")
    commands.add_parser("shell", parents=[alone], help="boot, then a shell on the LAN host")
    commands.add_parser("console", parents=[alone], help="boot, then the gateway's console; Ctrl-] leaves")
    show = commands.add_parser("demo", parents=[machine], help="pass real traffic and show it (make run)")
    show.add_argument("--app", default="nat", help="which application (nat)")
    long = commands.add_parser("soak", parents=[machine], help="all that one box does, for long")
    long.add_argument("--minutes", type=float, default=60, help="how long (60)")
    execute = commands.add_parser("exec", help="run a command in private namespaces, without a machine")
    execute.add_argument("command", nargs="+")
    return parser


def _start(lab: Lab, options: argparse.Namespace, conf: str | None) -> Machine:
    """Starts the machine that the options describe; `conf` is its configuration when they name none."""
    if options.pcap is not None:
        os.makedirs(options.pcap, exist_ok=True)
        for index, port in enumerate(lab.ports):
            port.pcap = os.path.join(options.pcap, f"nic{index}.pcap")
    if options.conf is not None:
        with open(options.conf, encoding="utf-8", errors="surrogateescape") as file:
            conf = file.read()
    elif options.no_conf:
        conf = None
    return lab.start(conf, options.append, modules=options.module, kernel=options.kernel,
                     memory=options.memory, cpu=options.cpu, extra=options.qemu_arg)


def _demo(options: argparse.Namespace) -> int:
    nics = set(options.nic or ["e1000"])
    if len(nics) > 1 or "none" in nics:
        print(f"lab: {options.action} needs one model, for both NICs", file=sys.stderr)
        return 2
    if not os.path.exists(options.kernel):
        print(f"lab: {options.kernel} is not there; run make first", file=sys.stderr)
        return 2
    if options.action == "soak":
        return soak.run(nics.pop(), options.minutes, lambda lab, conf: _start(lab, options, conf))
    return demo.run(options.app, nics.pop(), lambda lab, conf: _start(lab, options, conf))


def _with_machine(options: argparse.Namespace) -> int:
    nics = [model for model in options.nic or ("e1000", "e1000") if model != "none"]
    with Lab(nics=nics, hosts=not options.no_hosts) as lab:
        if options.action == "console":
            if not sys.stdin.isatty():
                print("lab: console needs a terminal", file=sys.stderr)
                return 2
            options.no_wait = True
        machine = _start(lab, options, net.NAT + net.more_networks(len(nics)))
        if not options.no_wait:
            machine.wait_ready()
        if options.action == "console":
            terminal.attach(machine, replay=True)
            return 0
        host = lab.lan if options.action == "shell" or options.host == "lan" else lab.wan
        argv = [os.environ.get("SHELL", "/bin/sh")] if options.action == "shell" else options.command
        environment = os.environ | {"LAB_LAN": lab.lan.path, "LAB_WAN": lab.wan.path}
        status = subprocess.run(host.command(argv), env=environment, check=False).returncode
        if getattr(options, "serial", False):
            print(machine.console.text, end="")
        return status if status >= 0 else 128 - status


def main(argv: list[str]) -> int:
    """Runs the command of `argv` in a sandbox, which is made first if we are outside; gives the exit status."""
    options = _parser().parse_args(argv[1:])
    if options.action == "exec":
        sandbox.enter(options.command)
        os.execvp(options.command[0], options.command)
    sandbox.enter([sys.executable, *argv])
    try:
        return _demo(options) if options.action in ("demo", "soak") else _with_machine(options)
    except KeyboardInterrupt:
        return 130
    except (AssertionError, OSError, CommandFailed, sandbox.SandboxError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
