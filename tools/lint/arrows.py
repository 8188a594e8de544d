# SPDX-License-Identifier: BSD-2-Clause
"""The arrows of docs/design.md, checked from the #include lines, and what goes with them:

* each include of ours is written with its folder from the root: #include "kernel/pkt.h";
* no file includes upward or across; only the wiring may include anything;
* the image has no C library: of <...> only what the compiler itself provides;
* net/, apps/ and the kernel's pure part hold no inline assembly and touch no hardware;
* every .c of the image stands in a list of the Makefile, every kernel header in a layer.
"""

from __future__ import annotations

import re

from tree import Finding, Tree, without_comments

# What a layer may include. "seam" is kernel/io.h: the pure part knows it, net/ and apps/ do not.
MAY_INCLUDE = {
    "pure": {"pure", "seam"},
    "seam": {"pure"},
    "device": {"device", "pure", "seam"},
    "machine": {"machine", "device", "pure", "seam"},
    "drivers": {"drivers", "machine", "device", "pure", "seam"},
    "net": {"net", "pure"},
    "apps": {"apps", "net", "pure"},
    "wiring": {"wiring", "apps", "net", "drivers", "machine", "device", "pure", "seam"},
}

NAMES = {
    "pure": "the kernel's pure part",
    "seam": "the seam kernel/io.h",
    "device": "the kernel's machine part (DEVICE)",
    "machine": "the kernel's machine part",
    "drivers": "drivers/",
    "net": "net/",
    "apps": "apps/",
    "wiring": "the wiring",
}

# Headers of the compiler that need no library.
FREESTANDING = {
    "float.h", "iso646.h", "limits.h", "stdalign.h", "stdarg.h", "stdbool.h", "stddef.h",
    "stdint.h", "stdnoreturn.h",
}

PURE_LAYERS = ("pure", "net", "apps")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>|(\S.*))', re.M)
ASSEMBLY = re.compile(r"\b(asm|__asm|__asm__)\b")
# Ports, device memory and privileged instructions, by our names and by the usual ones.
HARDWARE = re.compile(
    r"\b(io_(?:in|out)(?:8|16|32)|mmio_\w+|mem_map|dma_addr|io_delay_us|(?:in|out)s?[bwl]"
    r"|__builtin_ia32_\w+|_?_?rdtscp?|_?_?cpuid\w*|cli|sti|hlt)\s*\("
)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def check_includes(tree: Tree, path: str, layer: str) -> list[Finding]:
    # Comments go, strings stay: the file names of #include are strings.
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
        elif "/" not in ours or ours.startswith((".", "/")):
            add(f'"{ours}" is not written with its folder from the root, such as "kernel/pkt.h"')
        elif not (tree.root / ours).is_file():
            add(f'"{ours}" does not exist')
        else:
            target = tree.layer(ours)
            if target is None:
                add(f'"{ours}" belongs to no layer that {NAMES[layer]} may include')
            elif target not in MAY_INCLUDE[layer]:
                add(f'{NAMES[layer]} may not include "{ours}" ({NAMES[target]})')
    return findings


def check_purity(tree: Tree, path: str) -> list[Finding]:
    text = without_comments(tree.text(path))
    findings = []
    for match in ASSEMBLY.finditer(text):
        findings.append(Finding(path, line_of(text, match.start()), "inline assembly in pure code"))
    for match in HARDWARE.finditer(text):
        what = f"{match[1]}: pure code does not touch the hardware"
        findings.append(Finding(path, line_of(text, match.start()), what))
    return findings


def check_lists(tree: Tree) -> list[Finding]:
    """Makefile and folders agree."""
    findings = []
    present = {path.removesuffix(".c") for path in tree.image_files(".c")}
    for stem in sorted(present - set(tree.listed)):
        findings.append(Finding(f"{stem}.c", 1, "stands in no list of the Makefile"))
    for stem in sorted(set(tree.listed) - present):
        findings.append(Finding("Makefile", 1, f"{stem}.c is listed and does not exist"))
    return findings


def check(tree: Tree) -> list[Finding]:
    findings = check_lists(tree)
    for path in tree.image_files(".c", ".h", ".S", ".def", ".inc"):
        layer = tree.layer(path)
        if layer is None:
            if not path.endswith(".c"):
                what = "goes with no .c of a Makefile list; name its layer in tools/lint/tree.py"
                findings.append(Finding(path, 1, what))
            continue
        findings += check_includes(tree, path, layer)
        if layer in PURE_LAYERS:
            findings += check_purity(tree, path)
    return findings
