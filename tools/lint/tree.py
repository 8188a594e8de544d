# SPDX-License-Identifier: BSD-2-Clause
"""The project as the checks see it: files, and the layer each belongs to.

The lists PURE, MACHINE, ... of the Makefile say where a .c file belongs; a header goes with the .c
of its name. So there is one place that knows, and it is the one that builds the image.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# The folders whose code is in the image; tests and tools may include what they like.
IMAGE_FOLDERS = ("boot", "kernel", "drivers", "net", "apps")
# Nothing of ours to check in there.
SKIPPED_FOLDERS = {".git", ".venv", "build", "images", "__pycache__", ".pytest_cache"}

# Lists of the Makefile and the folder their names stand for.
LISTS = {
    "PURE": "kernel",
    "MACHINE": "kernel",
    "DEVICE": "kernel",
    "WIRING": "kernel",
    "DRIVERS": "drivers",
    "NET": "net",
    "APPS": "apps",
}

# Kernel headers that do not go with a .c of their name.
HEADERS = {
    "kernel/bytes.h": "pure",
    "kernel/link.h": "pure",
    "kernel/when.h": "pure",
    # The linker script's symbols.
    "kernel/image.h": "machine",
    # One interface over a pure search and the image's own table.
    "kernel/symbols.h": "pure",
    # The C library's memory functions: the image has its own, the host uses its own.
    "kernel/string.h": "pure",
    # The host build finds another one; see docs/design.md.
    "kernel/io.h": "seam",
}


@dataclass(frozen=True, order=True)
class Finding:
    """One thing to put right."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


class LintError(Exception):
    """The check itself cannot be done: a tool is missing, the Makefile is broken."""


class Tree:
    """The files below `root` and what the Makefile says about them. Paths are relative."""

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
        """All C of ours, tests and tools too."""
        return [path for path in self.files if path.endswith(endings or (".c", ".h"))]

    @cached_property
    def variables(self) -> dict[str, str]:
        """The Makefile's variables that we need, expanded by make itself."""
        names = [*LISTS, "CC", "CFLAGS", "ARCH", "WARN", "HOST_FLAGS"]
        show = "".join(f"$(info @@{name}=$({name}))" for name in names)
        # A recipe is expanded only when all makefiles have been read.
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
    def _listed(self) -> dict[str, str]:
        """folder/stem → layer, from the Makefile's lists."""
        layers = {}
        for variable, folder in LISTS.items():
            for name in self.variables.get(variable, "").split():
                layers[f"{folder}/{name}"] = variable.lower()
        return layers

    @property
    def listed(self) -> dict[str, str]:
        return self._listed

    def layer(self, path: str) -> str | None:
        """The layer of a file of the image; None if nothing says so."""
        folder = path.split("/")[0]
        if path in HEADERS:
            return HEADERS[path]
        if folder in ("net", "apps", "drivers"):
            return folder
        if folder == "boot" or path.endswith(".S"):
            return "machine"
        stem = os.path.splitext(path)[0]
        # The header of an assembly file (trap.h); all of these are in the image.
        if (self.root / f"{stem}.S").is_file():
            return "machine"
        return self._listed.get(stem, self._listed.get(stem.removesuffix("_inline")))


def without_comments(text: str, strings: bool = True) -> str:
    """C text with comments (and, unless told otherwise, strings) blanked; lines stay where they are."""

    def blank(match: re.Match[str]) -> str:
        word = match[0]
        if word[0] == "/" or strings:
            return re.sub(r"[^\n]", " ", word)
        return word

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)
