# SPDX-License-Identifier: BSD-2-Clause
"""The project as the checks see it: its files, and the folder ("room") of each.

A folder's README.md says what it may include and whether it accesses the hardware, for people and for the checks; its
sources.mk says which files are compiled, and for what.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# The folders whose code is in the image; tests and tools may include any file.
IMAGE_FOLDERS = ("boot", "kernel", "drivers", "net", "apps")
# These contain no files of ours.
SKIPPED_FOLDERS = {".git", ".venv", "build", "images", "__pycache__", ".pytest_cache"}

# The variables to which sources.mk adds files: compiled for image and host, or for the image only.
HOST_LISTS = ("SRC", "SRC_HOT", "SRC_FASTEST")
IMAGE_LISTS = ("SRC_IMAGE", "SRC_IMAGE_HOT")
ENTRY = re.compile(r"(\w+) *\+= (\S+)$")
# A folder's README: `May include: a, b/*`, `Hardware: none | seam | yes`.
MAY_INCLUDE = re.compile(r"^May include: (.+)$", re.M)
HARDWARE = re.compile(r"^Hardware: (none|seam|yes)\b", re.M)


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that must be corrected."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Room:
    """A folder of the image: the folders it may include besides itself, and its hardware."""

    folder: str
    may_include: tuple[str, ...]
    hardware: str

    def may(self, folder: str) -> bool:
        if folder == self.folder:
            return True
        return any(
            name in (folder, "everything") or (name.endswith("/*") and f"{folder}/".startswith(name[:-1]))
            for name in self.may_include
        )


class LintError(Exception):
    """The check itself cannot run: a tool is missing, the Makefile is broken."""


class Tree:
    """The files below `root`, and the Makefile's variables. Paths are relative."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def files(self) -> list[str]:
        found = []
        for folder, names, files in os.walk(self.root):
            names[:] = sorted(name for name in names if name not in SKIPPED_FOLDERS)
            relative = os.path.relpath(folder, self.root)
            found += [os.path.normpath(os.path.join(relative, name)) for name in sorted(files)]
        return found

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def image_files(self, *endings: str) -> list[str]:
        """Files of the image with one of the endings, such as `.c`."""
        return [
            path
            for path in self.files
            if path.split(os.sep)[0] in IMAGE_FOLDERS and path.endswith(endings)
        ]

    def c_files(self, *endings: str) -> list[str]:
        """All our C files, those of tests and tools too."""
        return [path for path in self.files if path.endswith(endings or (".c", ".h"))]

    @cached_property
    def variables(self) -> dict[str, str]:
        """The Makefile's variables that the checks need, expanded by make itself."""
        names = ["CC", "CFLAGS", "ARCH", "WARN", "HOST_FLAGS"]
        show = "".join(f"$(info @@{name}=$({name}))" for name in names)
        # A recipe is expanded only after all makefiles have been read.
        command = ["make", "-s", "-n", "--no-print-directory", "--eval", f"lint-show:;@:{show}"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        done = subprocess.run(
            [*command, "lint-show"], cwd=self.root, env=environment,
            capture_output=True, text=True, check=False,
        )
        if done.returncode != 0:
            raise LintError(f"make cannot read the Makefile:\n{done.stderr}")
        return dict(re.findall(r"^@@(\w+)=(.*)$", done.stdout, re.M))

    def flags(self, name: str) -> list[str]:
        return self.variables.get(name, "").split()

    @cached_property
    def rooms(self) -> dict[str, Room]:
        """The folders of the image whose README has a `May include:` line."""
        rooms = {}
        for path in self.image_files("README.md"):
            folder, text = os.path.dirname(path), self.text(path)
            names, hardware = MAY_INCLUDE.search(text), HARDWARE.search(text)
            if names and hardware:
                listed = tuple(name.strip(" `") for name in names[1].rstrip(".").split(","))
                rooms[folder] = Room(folder, listed, hardware[1])
        return rooms

    def room(self, path: str) -> Room | None:
        return self.rooms.get(os.path.dirname(path))

    @cached_property
    def listed(self) -> dict[str, str]:
        """Source file → the list in its folder's sources.mk that contains it."""
        lists: dict[str, str] = {}
        for path in self.image_files("sources.mk"):
            for line in self.text(path).splitlines():
                if match := ENTRY.match(line):
                    lists[match[2]] = match[1]
        return lists

    def on_host(self, path: str) -> bool:
        """Whether a file is compiled for the host too; a header counts as the .c of its name."""
        stem = os.path.splitext(path)[0].removesuffix("_inline")
        if f"{stem}.c" in self.listed:
            return self.listed[f"{stem}.c"] in HOST_LISTS
        room = self.room(path)
        return room is not None and room.hardware != "yes"


def without_comments(text: str, strings: bool = True) -> str:
    """C text with comments (and, unless `strings` is true, strings) blanked; line numbers stay the same."""

    def blank(match: re.Match[str]) -> str:
        word = match[0]
        if word[0] == "/" or strings:
            return re.sub(r"[^\n]", " ", word)
        return word

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)
