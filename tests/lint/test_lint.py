# SPDX-License-Identifier: BSD-2-Clause
"""make lint finds what it is for: a small tree passes, and fails with each planted violation."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

CLEAN = {
    "Makefile": """\
CC = i686-linux-gnu-gcc
WARN = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion
ARCH = -m32 -march=pentium4 -mgeneral-regs-only
CFLAGS = -std=gnu17 -O2 -ffreestanding $(ARCH) $(WARN) -I.
PURE = pkt
MACHINE = clock
WIRING = main
DRIVERS = nic
NET = gw
APPS = nat44
.PHONY: all
all:
""",
    "kernel/io.h": """\
#ifndef KERNEL_IO_H
#define KERNEL_IO_H
#include <stdint.h>
static inline void io_out8(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}
#endif
""",
    "kernel/pkt.h": """\
#ifndef KERNEL_PKT_H
#define KERNEL_PKT_H
#include <stdint.h>
struct pkt {
	uint32_t len;
};
uint32_t pkt_len(const struct pkt *p);
#endif
""",
    "kernel/pkt.c": """\
#include "kernel/pkt.h"
#include "kernel/io.h"

uint32_t pkt_len(const struct pkt *p)
{
	return p->len;
}
""",
    "kernel/clock.h": """\
#ifndef KERNEL_CLOCK_H
#define KERNEL_CLOCK_H
void clock_init(void);
#endif
""",
    "kernel/clock.c": """\
#include "kernel/clock.h"
#include "kernel/io.h"

void clock_init(void)
{
	io_out8(0x43, 0);
}
""",
    "kernel/main.h": """\
#ifndef KERNEL_MAIN_H
#define KERNEL_MAIN_H
void main_run(void);
#endif
""",
    "kernel/main.c": """\
#include "kernel/main.h"
#include "apps/nat44.h"
#include "kernel/clock.h"

void main_run(void)
{
	clock_init();
}
""",
    "drivers/nic.h": """\
#ifndef DRIVERS_NIC_H
#define DRIVERS_NIC_H
void nic_init(void);
#endif
""",
    "drivers/nic.c": """\
#include "drivers/nic.h"
#include "kernel/clock.h"

void nic_init(void)
{
	/* No asm and no "outb(" here: comments and strings do not count. */
}
""",
    "net/drop.def": 'DROP(TTL, "ttl")\n',
    "net/gw.h": """\
#ifndef NET_GW_H
#define NET_GW_H
#include "kernel/pkt.h"
enum gw_drop_reason {
#define DROP(name, text) DROP_##name,
#include "net/drop.def"
#undef DROP
};
int gw_drop(const struct pkt *p);
#endif
""",
    "net/gw.c": """\
#include "net/gw.h"

int gw_drop(const struct pkt *p)
{
	return pkt_len(p) > 0 ? DROP_TTL : -1;
}
""",
    "apps/apps.def": 'APP(nat, "translate")\n',
    "apps/nat44.h": """\
#ifndef APPS_NAT44_H
#define APPS_NAT44_H
#include "net/gw.h"
int nat44_ip4(const struct pkt *p);
#endif
""",
    "apps/nat44.c": """\
#include "apps/nat44.h"

int nat44_ip4(const struct pkt *p)
{
	return gw_drop(p);
}
""",
    "tools/thing.sh": '#!/bin/sh\necho "$1"\n',
    "tools/thing.py": "def double(x: int) -> int:\n    return 2 * x\n",
}


class Project:
    """A tree on disk that can be linted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for path, text in CLEAN.items():
            self.write(path, text)
        shutil.copy(ROOT / ".clang-format", root)

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text()
        assert old in text
        self.write(path, text.replace(old, new))

    def lint(self, *checks: str) -> tuple[int, str]:
        command = [sys.executable, f"{ROOT}/tools/lint/run", "--root", str(self.root), *checks]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        return done.returncode, done.stdout + done.stderr

    def expect(self, check: str, *findings: str) -> None:
        """The check fails, and each text stands at the beginning of a line of its output."""
        status, output = self.lint(check)
        assert status == 1, output
        for finding in findings:
            assert any(line.startswith(finding) for line in output.splitlines()), output


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_clean_tree_passes(project: Project) -> None:
    status, output = project.lint()
    assert status == 0, output


def test_the_real_arrows_and_scripts_can_be_read() -> None:
    """The real Makefile gives its lists: the check would be blind without them."""
    sys.path.insert(0, str(ROOT / "tools/lint"))
    from tree import Tree

    tree = Tree(ROOT)
    assert tree.layer("kernel/pkt.c") == "pure"
    assert tree.layer("kernel/main.c") == "wiring"
    assert tree.layer("kernel/io.h") == "seam"
    assert "-m32" in tree.flags("CFLAGS")


ARROWS = [
    ("net/gw.c", "kernel/clock.h", "net/ may not include"),
    ("net/gw.c", "kernel/io.h", "net/ may not include"),
    ("net/gw.c", "apps/nat44.h", "net/ may not include"),
    ("net/gw.c", "drivers/nic.h", "net/ may not include"),
    ("apps/nat44.c", "drivers/nic.h", "apps/ may not include"),
    ("apps/nat44.c", "kernel/main.h", "apps/ may not include"),
    ("drivers/nic.c", "net/gw.h", "drivers/ may not include"),
    ("drivers/nic.c", "kernel/main.h", "drivers/ may not include"),
    ("kernel/pkt.c", "kernel/clock.h", "the kernel's pure part may not include"),
    ("kernel/pkt.c", "net/gw.h", "the kernel's pure part may not include"),
    ("kernel/pkt.c", "net/drop.def", "the kernel's pure part may not include"),
    ("kernel/clock.c", "net/gw.h", "the kernel's machine part may not include"),
    ("kernel/clock.c", "kernel/main.h", "the kernel's machine part may not include"),
]


@pytest.mark.parametrize(("path", "header", "what"), ARROWS)
def test_arrow(project: Project, path: str, header: str, what: str) -> None:
    project.write(path, f'/* A first line. */\n#include "{header}"\n' + CLEAN[path])
    project.expect("arrows", f'{path}:2: {what} "{header}"')


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('#include "gw.h"', '"gw.h" is not written with its folder'),
        ('#include "../kernel/pkt.h"', '"../kernel/pkt.h" is not written with its folder'),
        ('# include "net/none.h"', '"net/none.h" does not exist'),
        ("#include <string.h>", "<string.h> needs a C library"),
        ("#include HEADER", "#include HEADER: write the file's name out"),
    ],
)
def test_include_form(project: Project, line: str, what: str) -> None:
    project.write("net/gw.c", line + "\n" + CLEAN["net/gw.c"])
    project.expect("arrows", f"net/gw.c:1: {what}")


@pytest.mark.parametrize("path", ["net/gw.c", "apps/nat44.c", "kernel/pkt.c"])
@pytest.mark.parametrize(
    ("code", "what"),
    [
        ('__asm__ volatile("nop");', "inline assembly"),
        ('asm("nop");', "inline assembly"),
        ("io_out8(0x80, 0);", "io_out8: pure code"),
        ("outb(0, 0x80);", "outb: pure code"),
        ("mmio_read32(0);", "mmio_read32: pure code"),
        ("(void)__builtin_ia32_rdtsc();", "__builtin_ia32_rdtsc: pure code"),
    ],
)
def test_hardware_in_pure_code(project: Project, path: str, code: str, what: str) -> None:
    project.replace(path, "\treturn", f"\t{code}\n\treturn")
    line = CLEAN[path][: CLEAN[path].index("\treturn")].count("\n") + 1
    project.expect("arrows", f"{path}:{line}: {what}")


def test_file_outside_the_lists(project: Project) -> None:
    project.write("net/extra.c", "")
    project.write("kernel/extra.h", "")
    project.replace("Makefile", "NET = gw", "NET = gw gone")
    project.expect(
        "arrows",
        "net/extra.c:1: stands in no list",
        "kernel/extra.h:1: goes with no .c",
        "Makefile:1: net/gone.c is listed and does not exist",
    )


def test_unused_drop_reason(project: Project) -> None:
    # A comment is no use; a second entry with the same text would make two counters of one name.
    project.replace("net/gw.c", "int gw", "/* DROP_SPARE */\nint gw")
    project.write("net/drop.def", 'DROP(TTL, "ttl")\nDROP(SPARE, "ttl")\n')
    project.expect(
        "drops",
        "net/drop.def:2: DROP_SPARE is used nowhere",
        "net/drop.def:2: ttl stands here twice",
    )


def test_times_compared_by_their_sign(project: Project) -> None:
    """Sequence numbers, and words in comments, are none."""
    project.replace(
        "net/gw.c",
        "int gw",
        "/* (int32_t)(now_ms - due_ms) */\nint a(uint32_t seq, uint32_t ack, uint32_t now_ms, uint32_t due_ms)\n"
        "{\n\tif ((int32_t)(seq - ack) < 0)\n\t\treturn 1;\n\treturn (int32_t)(now_ms - due_ms) < 0;\n}\n\nint gw",
    )
    project.expect("times", "net/gw.c:8: times are compared by their sign; use kernel/when.h")


def test_sizes(project: Project) -> None:
    body = "\tpkt_len(0);\n" * 58
    project.replace("net/gw.c", "int gw", f"void gw_long(void)\n{{\n{body}}}\n\nint gw")
    project.write("net/long.h", "\n" * 601)
    project.write("tests/long.py", "\n" * 601)
    project.expect(
        "sizes",
        "tests/long.py:1: 601 lines",
        "net/gw.c:3: gw_long has 61 lines",
        "net/long.h:1: 601 lines",
    )
    project.write("tests/long.py", "")
    project.write("tools/lint/sizes.txt", "# x\nnet/gw.c:gw_long  a table\nnet/long.h  a list\n")
    assert project.lint("sizes")[0] == 0
    project.write("net/long.h", "\n" * 600)
    project.expect("sizes", "tools/lint/sizes.txt:3: net/long.h is not needed any more")


def test_exception_without_reason(project: Project) -> None:
    project.write("tools/lint/sizes.txt", "net/gw.c:gw_long\n")
    status, output = project.lint("sizes")
    assert status == 2 and "has no reason" in output


def test_sixty_lines_are_allowed(project: Project) -> None:
    body = "\tpkt_len(0);\n" * 57
    project.replace("net/gw.c", "int gw", f"void gw_long(void)\n{{\n{body}}}\n\nint gw")
    assert project.lint("sizes")[0] == 0


def test_format(project: Project) -> None:
    project.replace("net/gw.c", "\treturn pkt_len(p)", "    return  pkt_len(p)")
    project.expect("format", "net/gw.c:5: not formatted")


def test_header_alone(project: Project) -> None:
    project.replace("net/gw.h", '#include "kernel/pkt.h"\n', "")
    project.expect("headers", "net/gw.h:")


def test_header_twice(project: Project) -> None:
    project.replace("kernel/pkt.h", "#define KERNEL_PKT_H\n", "")
    project.expect("headers", "kernel/pkt.h:")


def test_warning_of_the_images_compiler(project: Project) -> None:
    """Right on the 64-bit host, wrong where a pointer has 32 bits."""
    project.replace(
        "net/gw.c", "int gw", '_Static_assert(sizeof(void *) == 8, "64");\n\nint gw'
    )
    project.expect("warnings", "net/gw.c:3: error: static assertion failed")


def test_warning_of_the_hosts_compilers(project: Project) -> None:
    """The other way round; and a test is compiled as well."""
    project.replace(
        "net/gw.c", "int gw", '_Static_assert(sizeof(void *) == 4, "32");\n\nint gw'
    )
    project.write("tests/unit/test_x.c", "int unused_prototype(void)\n{\n\treturn 0;\n}\n")
    project.expect("warnings", "net/gw.c:3: error: static", "tests/unit/test_x.c:1: error: no prev")


def test_warning_of_clang_only(project: Project) -> None:
    """The machine part goes through clang too."""
    project.replace(
        "kernel/clock.c", "\tio_out8", "\tint x = 1;\n\tx = x;\n\tio_out8"
    )
    project.expect("warnings", "kernel/clock.c:7: error: explicitly assigning")


@pytest.mark.parametrize("check", ["cppcheck", "analyzer"])
def test_static_analysis(project: Project, check: str) -> None:
    project.replace(
        "net/gw.c", "int gw", "int gw_bug(int n);\nint gw_bug(int n)\n{\n"
        "\tint *p = 0;\n\tif (n > 3)\n\t\tp = &n;\n\treturn *p;\n}\n\nint gw",
    )
    status, output = project.lint(check)
    assert status == 1 and "net/gw.c:9: " in output, output
    found = next(line for line in output.splitlines() if line.startswith("net/gw.c:9: "))
    name = found.rsplit("[", 1)[1].rstrip("]")
    tool = "cppcheck" if check == "cppcheck" else "clang"
    project.write("tools/lint/suppressions.txt", f"{tool}:{name}:net/gw.c  planted\n")
    assert project.lint(check)[0] == 0
    project.write("net/gw.c", CLEAN["net/gw.c"])
    project.expect(check, "tools/lint/suppressions.txt:1: ")


def test_analysis_of_code_that_does_not_compile(project: Project) -> None:
    project.replace("net/gw.c", "int gw", "int int gw")
    for check in ("analyzer", "warnings"):
        project.expect(check, "net/gw.c:3: ")


MUTANT = """\
Test: tests/unit/test_x

In net/gw.c, gw_drop:
-\treturn pkt_len(p) > 0 ? DROP_TTL : -1;
+\treturn pkt_len(p) > 0 ? 0 : -1;
"""


def test_planted_bugs(project: Project) -> None:
    """Bugs that do not stand where they say, make what does not compile, or name no test that there is."""
    project.write("tests/unit/test_x.c", "")
    bugs = {
        "good": MUTANT,
        "stale": MUTANT.replace("-\treturn pkt_len(p)", "-\treturn pkt_length(p)"),
        "nowhere": MUTANT.replace("gw_drop", "gw_none"),
        "no-file": MUTANT.replace("gw.c", "none.c"),
        "empty": "Test: tests/unit/test_x\n",
        "same": MUTANT.replace("? 0 :", "? DROP_TTL :"),
        "twice": MUTANT.replace(", gw_drop", "").replace("-\treturn pkt_len(p) > 0 ? DROP_TTL : -1;", "-"),
        "unused": MUTANT.replace("+\treturn", "+\tint n;\n+\treturn"),
        "missing": MUTANT.replace("test_x", "test_y"),
        "unseen": MUTANT.replace("Test:", ""),
        "header": "Test: tests/unit/test_x\n\nIn net/gw.h:\n"
        "-int gw_drop(const struct pkt *p);\n+int gw_drop(nothing p);\n",
    }
    for name, text in bugs.items():
        project.write(f"tests/mutants/x/{name}.mutant", text)
    status, output = project.lint("mutants")
    found = [line for line in output.splitlines() if line.startswith("tests/mutants/x/")]
    wanted = [
        "empty.mutant:1: changes nothing",
        "header.mutant:1: does not compile: net/gw.h:9: error: ",
        "missing.mutant:1: tests/unit/test_y does not exist",
        "no-file.mutant:1: there is no net/none.c",
        "nowhere.mutant:1: gw_none is defined 0 times",
        "same.mutant:1: changes nothing in net/gw.c, gw_drop",
        "stale.mutant:1: its lines stand 0 times in net/gw.c, gw_drop",
        "twice.mutant:1: changes nothing in net/gw.c",
        "unseen.mutant:1: names no test",
        "unused.mutant:1: does not compile: net/gw.c:5: error: unused variable",
    ]
    assert status == 1 and len(found) == len(wanted), output
    for line, text in zip(found, wanted):
        assert line.startswith(f"tests/mutants/x/{text}"), output


def test_the_real_planted_bugs() -> None:
    """All of them, while `make test` has time to run some only; half a minute on two cores."""
    command = [sys.executable, f"{ROOT}/tools/lint/run", "mutants"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["tools/thing.sh", "tools/other"])
def test_shell(project: Project, name: str) -> None:
    project.write(name, "#!/bin/sh\nrm -rf $1\n")
    project.expect("shell", f"{name}:2: ")


@pytest.mark.parametrize("name", ["tools/thing.py", "tools/other"])
def test_python(project: Project, name: str) -> None:
    project.write(name, "#!/usr/bin/env python3\nimport os\n")
    project.expect("python", f"{name}:2: F401")


def test_unknown_check(project: Project) -> None:
    assert project.lint("nothing")[0] == 2


def test_broken_makefile_is_not_a_pass(project: Project) -> None:
    project.write("Makefile", "all:\n  nonsense\n")
    status, output = project.lint("arrows")
    assert status == 2 and "Makefile" in output
