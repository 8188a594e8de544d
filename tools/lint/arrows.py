# SPDX-License-Identifier: BSD-2-Clause
"""Which folder may include which: the #include lines are checked against each folder's README, with related rules:

* each include of our own files is written with its folder from the root: #include "kernel/lib/pkt.h";
* no file includes a folder that its own folder's README does not name under `May include:`;
* no file of the rooms below the applications names an application, in code or in comments;
* the image has no C library: of <...> only the headers that the compiler itself provides;
* a folder with `Hardware: none` contains no inline assembly and does not access hardware;
* every source file of the image is in its folder's sources.mk, once, and every folder has a README.
"""

from __future__ import annotations

import os
import re

from tree import ENTRY, HOST_LISTS, IMAGE_LISTS, Finding, Room, Tree, without_comments

# Headers of the compiler that need no library.
FREESTANDING = {
    "float.h", "iso646.h", "limits.h", "stdalign.h", "stdarg.h", "stdbool.h", "stddef.h",
    "stdint.h", "stdnoreturn.h",
}

# What the Makefile writes. It includes files of all folders, each of which is checked as it is.
GENERATED = {"build/counts.def", "build/drops.def", "build/font.inc", "build/web.inc"}

# Rooms that know no application, and the list of applications.
CORE = ("kernel/lib", "kernel/config", "net")
APPS = "apps/apps.def"
APP_ENTRY = re.compile(r'^APP\((\w+), "([^"]*)"', re.M)
# Words that mean something else as well.
COMMON_WORDS = {"wire": "what carries frames", "host": "a computer"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>|(\S.*))', re.M)
ASSEMBLY = re.compile(r"\b(asm|__asm|__asm__)\b")
# Only the compiler sees it: what a value is after it, it does not know.
NO_INSTRUCTION = re.compile(r'\s*\(\s*""\s*:')
# I/O ports, device memory and privileged instructions, by our names and by the usual ones.
HARDWARE = re.compile(
    r"\b(io_(?:in|out)(?:8|16|32)|mmio_\w+|mem_map|dma_addr|io_delay_us|(?:in|out)s?[bwl]"
    r"|__builtin_ia32_\w+|_?_?rdtscp?|_?_?cpuid\w*|cli|sti|hlt)\s*\("
)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def check_includes(tree: Tree, path: str, room: Room) -> list[Finding]:
    # Comments are removed, strings stay: the file names of #include are strings.
    text = without_comments(tree.text(path), strings=False)
    findings = []
    for match in INCLUDE.finditer(text):
        ours, system, computed = match.groups()
        line = line_of(text, match.start(match.lastindex or 0))

        def add(what: str, line: int = line) -> None:
            findings.append(Finding(path, line, what))

        if computed is not None:
            add(f"#include {computed.strip()}: write the file's name out, this check cannot follow it")
        elif system is not None:
            if system not in FREESTANDING:
                add(f"<{system}> needs a C library, the image has none")
        elif ours in GENERATED:
            continue
        elif "/" not in ours or ours.startswith((".", "/")):
            add(f'"{ours}" is not written with its folder from the root, such as "kernel/lib/pkt.h"')
        elif not (tree.root / ours).is_file():
            add(f'"{ours}" does not exist')
        elif not room.may(os.path.dirname(ours)):
            add(f'{room.folder}/ may not include "{ours}"')
    return findings


def check_purity(tree: Tree, path: str) -> list[Finding]:
    text = without_comments(tree.text(path))
    findings = []
    whole = without_comments(tree.text(path), strings=False)
    for match in ASSEMBLY.finditer(text):
        if NO_INSTRUCTION.match(whole, match.end()):
            continue
        findings.append(Finding(path, line_of(text, match.start()), "inline assembly in pure code"))
    for match in HARDWARE.finditer(text):
        what = f"{match[1]}: pure code does not touch the hardware"
        findings.append(Finding(path, line_of(text, match.start()), what))
    return findings


def check_names(tree: Tree) -> list[Finding]:
    """The applications' names, as words or as parts of names (nat_start, CONFIG_NAT)."""
    if not (tree.root / APPS).is_file():
        return []
    names = {word for entry in APP_ENTRY.findall(tree.text(APPS)) for word in entry} - set(COMMON_WORDS)
    findings = []
    for path in tree.image_files(".c", ".h", ".def"):
        if not path.startswith(tuple(f"{folder}/" for folder in CORE)):
            continue
        text = tree.text(path).lower()
        for match in re.finditer(r"[a-z0-9]+", text):
            if match[0] in names:
                what = f"{match[0]} is an application: {os.path.dirname(path)}/ knows none"
                findings.append(Finding(path, line_of(text, match.start()), what))
    return findings


def check_lists(tree: Tree) -> list[Finding]:
    """Checks that each folder and its sources.mk agree."""
    findings = []
    seen: set[str] = set()
    for path in tree.image_files("sources.mk"):
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            match = ENTRY.match(line)
            if not line or line.startswith("#"):
                continue
            if not match or match[1] not in HOST_LISTS + IMAGE_LISTS:
                findings.append(Finding(path, number, "is not `LIST += FOLDER/FILE`"))
                continue
            source = match[2]
            if not (tree.root / source).is_file():
                findings.append(Finding(path, number, f"{source} does not exist"))
            elif os.path.dirname(source) != os.path.dirname(path):
                findings.append(Finding(path, number, f"{source} belongs into its own folder's list"))
            if source in seen:
                findings.append(Finding(path, number, f"{source} is listed twice"))
            seen.add(source)
    for source in tree.image_files(".c", ".S"):
        if source not in seen:
            what = f"stands in no list of {os.path.dirname(source)}/sources.mk"
            findings.append(Finding(source, 1, what))
    return findings


def check(tree: Tree) -> list[Finding]:
    findings = check_lists(tree) + check_names(tree)
    for folder in sorted({os.path.dirname(path) for path in tree.image_files(".c", ".h", ".S", ".def")}):
        if folder not in tree.rooms:
            what = "does not say `May include: …` and `Hardware: none|seam|yes`"
            findings.append(Finding(f"{folder}/README.md", 1, what))
    for path in tree.image_files(".c", ".h", ".S", ".def", ".inc"):
        room = tree.room(path)
        if room is None:
            continue
        findings += check_includes(tree, path, room)
        if room.hardware == "none":
            findings += check_purity(tree, path)
    return findings
