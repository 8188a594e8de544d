# SPDX-License-Identifier: BSD-2-Clause
"""Calls through a gateway: SIP and RTP of sipp, captured at both ends and read by tshark; and MOS by the E-model.

Both captures have one clock, so the way of each packet is known: what was sent and did not arrive is lost, and what
arrived too late for the jitter buffer is lost to the listener."""

from __future__ import annotations

import math
import re
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from labkit.netns import CommandFailed, Namespace, end_process
from labkit.wait import until

CALLS = 20  # at a time: with 5 s each 5,000 packets; more would be a load of their own
SIP, ECHO = 5060, 6000
PACKETS_S = 50  # G.711 in packets of 20 ms
RTP_BYTES = 172  # of an RTP packet: header and 160 samples
CODEC_MS, JITTER_BUFFER_MS = 20, 60  # of the delay from mouth to ear

_LINES = {
    "Via": "SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]",
    "From": "<sip:caller@[local_ip]:[local_port]>;tag=[call_number]",
    "Call-ID": "[call_id]",
    "Max-Forwards": "70",
    "Contact": "<sip:caller@[local_ip]:[local_port]>",
}
_SDP = """
Content-Type: application/sdp
Content-Length: [len]

v=0
o=caller 1 1 IN IP[local_ip_type] [local_ip]
s=call
c=IN IP[local_ip_type] [local_ip]
t=0 0
m=audio [rtpstream_audio_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
"""


def _request(method: str, number: int, known: bool, body: str = "\nContent-Length: 0\n\n") -> str:
    """A request of the caller; once the other side is known, with its tag."""
    lines = [f"{method} sip:callee@[remote_ip]:[remote_port] SIP/2.0"]
    lines += [f"{key}: {value}" for key, value in _LINES.items()]
    lines += ["To: <sip:callee@[remote_ip]:[remote_port]>" + ("[peer_tag_param]" if known else "")]
    text = "\n".join([*lines, f"CSeq: {number} {method}"]) + body
    again = ' retrans="500"' if method != "ACK" else ""
    return f"<send{again}><![CDATA[\n\n{text}\n]]></send>\n"


def scenario(sound: Path, seconds: float) -> str:
    """One call for sipp: it talks for some seconds, then hangs up."""
    return (
        '<?xml version="1.0" encoding="ISO-8859-1" ?>\n<scenario name="call">\n'
        + _request("INVITE", 1, False, _SDP)
        + '<recv response="100" optional="true"/>\n<recv response="180" optional="true"/>\n<recv response="200"/>\n'
        + _request("ACK", 1, True)
        + f'<nop><action><exec rtp_stream="{sound},-1,0,PCMU/8000"/></action></nop>\n'
        + f'<pause milliseconds="{int(seconds * 1000)}"/>\n'
        + '<nop><action><exec rtp_stream="pause"/></action></nop>\n'
        + _request("BYE", 2, True)
        + '<recv response="200"/>\n</scenario>\n'
    )


@dataclass(frozen=True)
class Stream:
    """One stream of RTP: what the caller sent, and what became of it."""

    sent: int
    arrived: int
    late: int  # of those that arrived: beyond the jitter buffer
    seconds: float  # from the first to the last that arrived
    jitter_ms: float  # mean over the packets (RFC 3550, section 6.4.1)


@dataclass(frozen=True)
class Quality:
    """What the calls of a trial were like: medians and sums over their streams."""

    set_up_ms: float
    jitter_ms: float
    kbit_s: float  # of RTP, a call
    lost_percent: float
    late_percent: float
    mos: float


Packets = dict[str, dict[int, tuple[float, int]]]  # by SSRC (a NAT changes ports), by number: time, time stamp


def packets_of(text: str) -> Packets:
    """The packets of RTP in lines of time, SSRC, sequence number and time stamp. Of one that came twice
    the first counts."""
    found: Packets = {}
    for line in text.splitlines():
        words = line.split("\t")
        if len(words) == 4 and all(words):
            found.setdefault(words[1], {}).setdefault(int(words[2]), (float(words[0]), int(words[3])))
    return found


def jitter_ms(arrived: list[tuple[float, int]]) -> float:
    """The mean of the interarrival jitter, which each packet changes."""
    jitter, total = 0.0, 0.0
    for (before, stamp), (now, next_stamp) in zip(arrived, arrived[1:]):
        away = (now - before) * 1000 - (next_stamp - stamp) / 8  # time stamps count samples
        jitter += (abs(away) - jitter) / 16
        total += jitter
    return total / max(1, len(arrived) - 1)


def streams(sent: str, arrived: str) -> list[Stream]:
    """Each stream that the caller sent, from the lines of both captures. The buffer's time begins with the stream's
    fastest packet."""
    came, found = packets_of(arrived), []
    for key, packets in packets_of(sent).items():
        there = came.get(key, {})
        ways = [there[number][0] - packets[number][0] for number in packets if number in there]
        late = sum(way > min(ways) + JITTER_BUFFER_MS / 1000 for way in ways)
        times = sorted(there[number] for number in packets if number in there)
        lasted = times[-1][0] - times[0][0] if times else 0.0
        found.append(Stream(len(packets), len(ways), late, lasted, jitter_ms(times)))
    return found


def set_up_times(text: str) -> list[float]:
    """Milliseconds from each INVITE to its 200, from lines of time, method, status, method of CSeq, and Call-ID."""
    asked: dict[str, float] = {}
    took = []
    for line in text.splitlines():
        when, method, status, about, call = (line.split("\t") + [""] * 5)[:5]
        if method == "INVITE":
            asked.setdefault(call, float(when))
        elif status == "200" and about == "INVITE" and call in asked:
            took.append((float(when) - asked.pop(call)) * 1000)
    return took


def mos(lost_percent: float, delay_ms: float, robustness: float = 4.3) -> float:
    """Mean opinion score of G.711 by the E-model (ITU-T G.107, 06/2015: 7-27 to 7-29 and Annex B). `delay_ms` is from
    mouth to ear; `robustness` is Bpl of G.113: 4.3 without loss concealment, 25.1 with. Losses are random."""
    delay = 0.0
    if delay_ms > 100:
        x = math.log2(delay_ms / 100)
        delay = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    loss = 95 * lost_percent / (lost_percent + robustness)
    r = 93.2 - delay - loss
    if r <= 0:
        return 1.0
    # The formula is a little below 1 for the smallest ratings.
    return 4.5 if r >= 100 else max(1.0, 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6)


def capture(host: Namespace, interface: str, out: Path, words: str) -> Callable[[], None]:
    """Captures until the function that is returned is called."""
    process = host.start("tcpdump", "-i", interface, "-w", str(out), "-U", "-B", "8192", "-Z", "root", words)
    until(out.exists, 10, "tcpdump to begin")
    return lambda: (time.sleep(0.2), end_process(process)) and None


def call(
    caller: tuple[Namespace, str, str], callee: tuple[Namespace, str, str], folder: Path, seconds: float, pin: list[str]
) -> Quality:
    """Some calls at once. Each end is a host, its interface and its address. Raises CommandFailed if a call fails."""
    folder.mkdir(exist_ok=True)
    sound, steps = folder / "sound.pcmu", folder / "call.xml"
    sound.write_bytes(bytes(0x80 + n * 37 % 0x7F for n in range(8000)))
    steps.write_text(scenario(sound, seconds), encoding="ascii")

    def bracketed(address: str) -> str:
        return f"[{address}]" if ":" in address else address

    host, _, address = callee
    words = ["sipp", "-sn", "uas", "-i", address, "-mi", address, "-p", str(SIP), "-mp", str(ECHO), "-rtp_echo"]
    answering = host.start(*pin, *words, "-nostdin")
    ends = [capture(callee[0], callee[1], folder / "callee.pcap", f"udp dst port {ECHO}")]
    words_of_caller = f"udp port {SIP} or udp dst port {ECHO}"
    ends.append(capture(caller[0], caller[1], folder / "caller.pcap", words_of_caller))
    try:
        host.wait_port(SIP, "udp")
        words = ["sipp", "-sf", str(steps), "-i", caller[2], "-p", str(SIP), "-m", str(CALLS), "-l", str(CALLS)]
        words += ["-r", str(CALLS), "-nostdin"]
        done = caller[0].run(*pin, *words, f"{bracketed(address)}:{SIP}", timeout=seconds + 60, check=False)
        if done.returncode != 0:
            raise CommandFailed(f"sipp: status {done.returncode}: {complaint(done.stdout + done.stderr)}")
    finally:
        for end in ends:
            end()
        end_process(answering)
    return judge(folder)


def _tshark(*words: str) -> str:
    try:
        done = subprocess.run(["tshark", "-n", *words], capture_output=True, text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        raise CommandFailed("tshark: it did not end within two minutes") from None
    return done.stdout


def complaint(said: str) -> str:
    """What sipp says about its failed calls: how many, and the last of its errors."""
    signs = re.compile(r"unexpected|abort|timeout|cannot|unable", re.IGNORECASE)
    errors = [line.strip() for line in said.splitlines() if signs.search(line)]
    failed = re.search(r"Failed call\s*\|\s*\d+\s*\|\s*(\d+)", said)
    count = f"{failed[1]} calls failed" if failed else "no reason given"
    return f"{count}: {errors[-1]}" if errors else count


def judge(folder: Path) -> Quality:
    """Reads both captures of a trial."""
    caller = folder / "caller.pcap"
    rtp = [_rtp(caller), _rtp(folder / "callee.pcap")]
    fields = ("frame.time_epoch", "sip.Method", "sip.Status-Code", "sip.CSeq.method", "sip.Call-ID")
    sip = _tshark("-r", str(caller), "-Y", "sip", "-T", "fields", *(f"-e{name}" for name in fields))
    return quality(streams(*rtp), set_up_times(sip))


def _rtp(file: Path) -> str:
    fields = ("frame.time_epoch", "rtp.ssrc", "rtp.seq", "rtp.timestamp")
    words = ("-r", str(file), "-d", f"udp.port=={ECHO},rtp", "-Y", f"rtp && udp.dstport=={ECHO}", "-T", "fields")
    return _tshark(*words, *(f"-e{name}" for name in fields))


def quality(found: list[Stream], took: list[float]) -> Quality:
    """Of a trial with these streams and times of set-up."""
    heard = [one for one in found if one.arrived > 1]
    if len(heard) < CALLS or len(took) < CALLS:
        raise CommandFailed(f"{len(took)} of {CALLS} calls answered, {len(heard)} streams arrived")
    sent, arrived = sum(one.sent for one in found), sum(one.arrived for one in found)
    lost, late = 100 * (sent - arrived) / sent, 100 * sum(one.late for one in found) / sent
    rate = statistics.median(one.arrived * RTP_BYTES * 8 / (one.seconds + 1 / PACKETS_S) / 1000 for one in heard)
    # The fastest set-up is a way there and back.
    delay = CODEC_MS + JITTER_BUFFER_MS + min(took) / 2
    jitter = statistics.fmean(one.jitter_ms for one in heard)
    return Quality(statistics.median(took), jitter, rate, lost, late, mos(lost + late, delay))
