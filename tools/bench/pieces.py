# SPDX-License-Identifier: BSD-2-Clause
"""The results of the passes, each kept as a file, so that a page can be made from passes that were measured
separately."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from measure import Measure, Sample


@dataclass
class Findings:
    """The results of one pass, or of several."""

    samples: list[Sample] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    drops: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)  # the days of the passes, as YYYY-MM-DD

    def add(self, other: Findings) -> None:
        self.samples += other.samples
        self.failures |= other.failures
        self.drops += other.drops
        self.dates += other.dates


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
            found.add(Findings(samples, piece["failures"], piece["drops"], piece["dates"]))
        return found, others


def _sample(words: dict[str, str | int | float]) -> Sample:
    """A kept sample; its value is known, so its measure reads no results any more."""
    measure = Measure(str(words["key"]), str(words["title"]), str(words["unit"]), lambda r: 0.0)
    return Sample(
        str(words["nic"]), str(words["row"]), measure, int(words["run"]), float(words["value"]), str(words["void"])
    )
