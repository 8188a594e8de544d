# SPDX-License-Identifier: BSD-2-Clause
"""The log and the NAT's events, received by rsyslog and nfcapd in the WAN, and dissected by tshark."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from labkit import lab as net
from labkit.dhcplab import Server
from labkit.lab import Lab
from labkit.wait import until

RSYSLOG = """
module(load="imudp") module(load="imptcp")
input(type="imudp" address="{address}" port="514") input(type="imptcp" address="{address}" port="601")
template(name="all" type="string"
         string="%inputname%|%pri%|%timereported%|%hostname%|%app-name%|%procid%|%msgid%|%structured-data%|%msg%\\n")
action(type="omfile" file="{file}" template="all")
"""
PORTS = range(40000, 40020)


def rsyslog(lab: Lab) -> Path:
    """Gives the file that gets all messages."""
    file = Path(lab.directory) / "messages"
    conf = lab.file("rsyslog.conf", RSYSLOG.format(address=net.WAN_SERVER, file=file))
    Server(lab, "rsyslog", "rsyslogd", "-n", "-f", conf, "-i", f"{lab.directory}/rsyslog.pid")
    return file


def flows(lab: Lab) -> None:
    """Datagrams from these ports of the LAN host to the server."""
    for port in PORTS:
        script = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
                  f"s.bind(('0.0.0.0', {port})); s.sendto(b'x', ('{net.WAN_SERVER}', 9))")
        lab.lan.run("python3", "-c", script)


@pytest.mark.one_card
def test_rsyslog_nfcapd_and_tshark(nic: str, make_lab: Callable[..., Lab]) -> None:
    lab = make_lab((nic, nic))
    messages = rsyslog(lab)
    records = Path(lab.directory) / "records"
    records.mkdir()
    collector = Server(lab, "nfcapd", "nfcapd", "-w", records, "-b", net.WAN_SERVER, "-p", "4739", "-t", "3600")
    capture = Path(lab.directory) / "ipfix.pcap"
    sniffer = lab.wan.start("tcpdump", "-i", "any", "-U", "-w", str(capture), "udp", "port", "4739")
    lab.wan.wait_port(601)
    lab.boot(f"{net.NAT}syslog {net.WAN_SERVER}\nsyslog tcp:{net.WAN_SERVER}:601\nipfix {net.WAN_SERVER}\n"
             "nat.log sessions\nnat.udp-timeout 5\n", app="nat")
    lab.wait_ping()
    flows(lab)

    def events(source: str) -> set[tuple[str, int]]:
        text = messages.read_text(encoding="utf-8") if messages.exists() else ""
        lines = [line.split("|") for line in text.splitlines() if line.startswith(source)]
        found = [dict(re.findall(r'(\w+)="([^"]*)"', line[7])) for line in lines if line[6] == "session"]
        assert all(line[1] == "134" and line[3] == net.WAN_GATEWAY and line[4] == "baregate" for line in lines
                   if line[6] == "session")
        return {(one["event"], int(one["inport"])) for one in found if one["inside"] == net.LAN_HOST}

    wanted = {(event, port) for event in ("begin", "end") for port in PORTS}
    for source in ("imudp", "imptcp"):
        until(lambda source=source: events(source) >= wanted, 40, f"all events by {source}")
    until(lambda: lab.console.stats()["ipfix_records"] >= len(wanted), 5, "all records")
    assert "|log|-|" in messages.read_text(encoding="utf-8")
    assert lab.console.stats()["syslog_lost"] == lab.console.stats()["ipfix_lost"] == 0
    collector.stop()
    sniffer.terminate()
    sniffer.wait(10)
    files = [str(path) for path in records.iterdir()]
    said = "".join(subprocess.run(["nfdump", "-q", "-r", file, "-o", "fmt:%nevt %sa %sp %xsa %xsp %pr"], check=True,
                                  text=True, capture_output=True).stdout for file in files)
    ports = {int(found) for found in re.findall(rf"{re.escape(net.LAN_HOST)}\s+(\d+)", said)}
    assert ports >= set(PORTS), said
    fields = ["cflow.srcaddr", "cflow.srcport", "cflow.post_natsource_ipv4_address", "cflow.nat_event"]
    options = [word for name in fields for word in ("-e", name)]
    shown = subprocess.run(["tshark", "-r", str(capture), "-d", "udp.port==4739,cflow", "-T", "fields", *options,
                            "-E", "aggregator=,"], check=True, text=True, capture_output=True).stdout
    assert net.LAN_HOST in shown and str(PORTS[0]) in shown and net.WAN_GATEWAY in shown, shown
    malformed = subprocess.run(["tshark", "-r", str(capture), "-d", "udp.port==4739,cflow", "-Y", "_ws.malformed"],
                               check=True, text=True, capture_output=True).stdout
    assert malformed == ""
