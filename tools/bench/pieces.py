# SPDX-License-Identifier: BSD-2-Clause
"""The results of the passes, each kept as a file, so that a page can be made from passes that were measured
separately."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import os
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

from measure import Measure, Sample

OTHERS_MOST = 0.3  # of a core: more other work makes figures with times void


def _busy_seconds() -> float:
    """Processor time that programs of this machine have used or were denied: user, nice, system, steal."""
    words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    return sum(int(words[at]) for at in (0, 1, 2, 7)) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Processor time of this program and of the programs that it has ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


class Others:
    """Tells how much of the processor was used by others. Guests are ours once they have ended."""

    def __init__(self) -> None:
        self._start = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.monotonic(), _busy_seconds() - _own_seconds()

    def share(self) -> float:
        """Cores that others used, on average, since the last call."""
        (began, before), (now, after) = self._start, self._now()
        self._start = now, after
        return max(0.0, after - before) / max(now - began, 0.01)


@dataclass
class Findings:
    """The results of one pass, or of several."""

    samples: list[Sample] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    drops: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)  # the days of the passes, as YYYY-MM-DD
    busy: dict[str, float] = field(default_factory=dict)  # by pass: the share of a core that other work took

    def judge_others(self, name: str, share: float) -> None:
        """Notes how much other work there was during a pass; instructions do not depend on it, times do."""
        self.busy[name] = share
        for sample in self.samples:
            if share > OTHERS_MOST and not sample.measure.unit.startswith(("instructions", "KB")):
                sample.void = sample.void or f"other work took {share:.1f} of a core"

    def add(self, other: Findings) -> None:
        self.samples += other.samples
        self.failures |= other.failures
        self.drops += other.drops
        self.dates += other.dates
        self.busy |= other.busy


class Shelf:
    """The kept results; only those of the same image, runs and seconds belong together."""

    def __init__(self, folder: Path, image: Path, runs: int, seconds: float) -> None:
        self.folder = folder
        digest = hashlib.sha256(image.read_bytes()).hexdigest() if image.exists() else ""
        self.made_with = {"image": digest, "runs": runs, "seconds": seconds}
        self.folder.mkdir(parents=True, exist_ok=True)

    def put(self, name: str, found: Findings) -> None:
        """Keeps the results of a pass under its name, replacing an older one."""
        samples = [
            {"nic": s.nic, "row": s.row, "run": s.run, "value": s.value, "void": s.void}
            | {"key": s.measure.key, "title": s.measure.title, "unit": s.measure.unit}
            for s in found.samples
        ]
        piece = dataclasses.asdict(found) | {"samples": samples}
        text = json.dumps(self.made_with | piece)
        (self.folder / f"{name}.json").write_text(text, encoding="utf-8")

    @staticmethod
    def today() -> str:
        return datetime.date.today().isoformat()

    def collect(self) -> tuple[Findings, list[str]]:
        """All results that belong together, and the names of the others."""
        found, others = Findings(), []
        for path in sorted(self.folder.glob("*.json")):
            piece = json.loads(path.read_text(encoding="utf-8"))
            if any(piece[key] != value for key, value in self.made_with.items()):
                others.append(path.stem)
                continue
            samples = [_sample(words) for words in piece["samples"]]
            found.add(Findings(samples, piece["failures"], piece["drops"], piece["dates"], piece["busy"]))
        return found, others


def _sample(words: dict[str, str | int | float]) -> Sample:
    """A kept sample; its value is known, so its measure reads no results any more."""
    measure = Measure(str(words["key"]), str(words["title"]), str(words["unit"]), lambda r: 0.0)
    return Sample(
        str(words["nic"]), str(words["row"]), measure, int(words["run"]), float(words["value"]), str(words["void"])
    )
