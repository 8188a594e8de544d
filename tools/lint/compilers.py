# SPDX-License-Identifier: BSD-2-Clause
"""Findings of compilers and analysers: format, warnings, headers alone, static analysis.

Each file that the host tests compile goes through three compilers: the image's own with the image's flags, and the
host's gcc and clang with the tests' flags. A file for the image only cannot be compiled for the host: instead of the
host's compilers, clang compiles it for a bare 32-bit target.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from exceptions import Exceptions
from tree import Finding, LintError, Tree

SUPPRESSIONS = "tools/lint/suppressions.txt"
# gcc and clang: file:line:column: error: text; this line becomes the first line of a finding.
DIAGNOSTIC = re.compile(
    r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<text>(?:fatal )?(?:error|warning): .*)$"
)
WHILE = ", while compiling "
# Options of gcc that clang does not have and does not need.
GCC_ONLY = {"-fno-asynchronous-unwind-tables"}


def find_tool(*names: str, package: str) -> str:
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise LintError(f"{names[0]} is missing (package {package}): run `make deps`")


def run(tree: Tree, command: Sequence[str], text: str | None = None) -> tuple[int, str]:
    """Runs a command; gives its exit status and all output."""
    environment = dict(os.environ, LC_ALL="C")
    done = subprocess.run(
        command, cwd=tree.root, env=environment, input=text, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )
    return done.returncode, done.stdout


def parse(output: str, pattern: re.Pattern[str] = DIAGNOSTIC) -> list[Finding]:
    findings = []
    for line in output.splitlines():
        match = pattern.match(line)
        if match:
            path = os.path.normpath(match["path"])
            findings.append(Finding(path, int(match["line"]), match["text"]))
    return findings


def report(status: int, output: str, path: str, findings: list[Finding]) -> list[Finding]:
    """Adds a finding when a tool failed without a line that we understand: that must not count as a pass."""
    if status != 0 and not findings:
        return [Finding(path, 1, output.strip() or f"the tool ended with status {status}")]
    return findings


def in_file(path: str, findings: list[Finding]) -> list[Finding]:
    """Says which file was being compiled when the finding is in another one (a header, a macro)."""
    return [
        f if f.path == path else replace(f, text=f"{f.text}{WHILE}{path}") for f in findings
    ]


def in_parallel(jobs: Iterable[Callable[[], list[Finding]]]) -> list[Finding]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        lists = list(pool.map(lambda job: job(), jobs))
    # A finding in a header occurs once for each file that includes it and for each compiler: only the first is kept,
    # whatever file was being compiled.
    first: dict[Finding, Finding] = {}
    for finding in (finding for findings in lists for finding in findings):
        first.setdefault(replace(finding, text=finding.text.split(WHILE)[0]), finding)
    return sorted(first.values())


class Compilers:
    """The command lines for a file of the tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        cross = tree.variables["CC"].split()
        self.image = [*cross, *tree.flags("CFLAGS")]
        find_tool(cross[0], package="gcc-i686-linux-gnu")
        # The tests' own flags; a tree without tests has only the warnings.
        host = tree.flags("HOST_FLAGS") or ["-std=gnu17", *tree.flags("WARN"), "-I."]
        gcc = find_tool("gcc", package="gcc")
        clang = find_tool("clang-14", "clang", package="clang-14")
        # A pragma may name a warning that only gcc has; and clang's -Wconversion warns about the idiom of asserting
        # `condition && "why"`.
        clang_host = [clang, *host, "-Wno-unknown-warning-option", "-Wno-string-conversion"]
        self.host = [[gcc, *host], clang_host]
        bare = [flag for flag in tree.flags("CFLAGS") if flag not in GCC_ONLY]
        # The compiler of the image is gcc, so its attributes are allowed there.
        self.bare = [clang, "--target=i386-unknown-none-elf", *bare, "-Wno-unknown-attributes"]
        self.clang = clang

    def of_image(self, path: str) -> list[list[str]]:
        if self.tree.on_host(path):
            return [self.image, *self.host]
        return [self.image, self.bare]


def check_format(tree: Tree) -> list[Finding]:
    tool = find_tool("clang-format-14", "clang-format", package="clang-format-14")
    # Another version formats differently: the findings would be about the version.
    version = run(tree, [tool, "--version"])[1]
    if not re.search(r"version 14\.", version):
        raise LintError(f"clang-format 14 is needed, this is {version.strip()}")
    files = tree.c_files(".c", ".h")
    if not files:
        return []
    status, output = run(tree, [tool, "--dry-run", "-Werror", "--style=file", *files])
    findings = {Finding(f.path, f.line, "not formatted: run `make format`") for f in parse(output)}
    return report(status, output, ".clang-format", sorted(findings))


def check_warnings(tree: Tree) -> list[Finding]:
    """Compiles all C with warnings as errors, with the optimiser, which some warnings need."""
    compilers = Compilers(tree)

    def job(command: list[str], path: str) -> list[Finding]:
        options = ["-O2", "-Werror", "-c", path, "-o", os.devnull]
        status, output = run(tree, [*command, *options])
        return report(status, output, path, in_file(path, parse(output)))

    jobs: list[Callable[[], list[Finding]]] = []
    for path in tree.image_files(".c"):
        for command in compilers.of_image(path):
            jobs.append(partial(job, command, path))
    for path in tree.c_files(".c"):
        if path.startswith("tests/"):
            for command in compilers.host:
                jobs.append(partial(job, command, path))
    return in_parallel(jobs)


def check_headers(tree: Tree) -> list[Finding]:
    """Checks that each header needs nothing included before it, and may be included twice."""
    compilers = Compilers(tree)

    def job(command: list[str], path: str) -> list[Finding]:
        source = f'#include "{path}"\n#include "{path}"\n'
        options = ["-fsyntax-only", "-x", "c", "-"]
        status, output = run(tree, [*command, *options], source)
        return report(status, output, path, parse(output))

    return in_parallel(
        partial(job, command, path)
        for path in tree.image_files(".h")
        for command in compilers.of_image(path)
    )


ANALYSED = re.compile(
    r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<text>(?:warning|error): .*\[(?P<id>[\w.,-]+)\])$"
)


def unsuppressed(
    tree: Tree, tool: str, outputs: Iterable[str], exceptions: Exceptions
) -> list[Finding]:
    findings = set()
    for output in outputs:
        for line in output.splitlines():
            match = ANALYSED.match(line)
            if match and not exceptions.allow(f"{tool}:{match['id']}:{match['path']}"):
                findings.add(Finding(match["path"], int(match["line"]), f"{tool}: {match['text']}"))
    return sorted(findings)


def analysed_files(tree: Tree) -> list[str]:
    return [path for path in tree.image_files(".c") if tree.on_host(path)]


def check_cppcheck(tree: Tree) -> list[Finding]:
    files = analysed_files(tree)
    if not files:
        return []
    tool = find_tool("cppcheck", package="cppcheck")
    exceptions = Exceptions.read(tree, SUPPRESSIONS)
    command = [
        tool, "--enable=warning,performance,portability", "--std=c11", "--language=c",
        "--platform=unix32", "--quiet", "-j", str(os.cpu_count() or 1), "-I.",
        "--suppress=missingIncludeSystem",
        "--template={file}:{line}:{column}: error: {message} [{id}]", *files,
    ]
    status, output = run(tree, command)
    findings = unsuppressed(tree, "cppcheck", [output], exceptions)
    return report(status, output, "cppcheck", findings) + exceptions.unused("cppcheck:")


def check_analyzer(tree: Tree) -> list[Finding]:
    """Runs clang's static analyser on the code as the host tests compile it."""
    compilers = Compilers(tree)
    exceptions = Exceptions.read(tree, SUPPRESSIONS)
    command = [
        *compilers.host[1], "--analyze", "-Xclang", "-analyzer-output=text",
        "-Xclang", "-analyzer-checker=nullability,security.FloatLoopCounter",
    ]

    def job(path: str) -> tuple[int, str]:
        return run(tree, [*command, path])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        files = analysed_files(tree)
        results = list(pool.map(job, files))
    findings = unsuppressed(tree, "clang", (output for _, output in results), exceptions)
    for path, (status, output) in zip(files, results, strict=True):
        if status != 0:
            findings += report(status, output, path, parse(output))
    return findings + exceptions.unused("clang:")
