# SPDX-License-Identifier: BSD-2-Clause
"""make lint finds what it is written for: a small tree passes, and fails with each planted violation."""

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
.PHONY: all
all:
""",
    "kernel/seam/io.h": """\
#ifndef KERNEL_SEAM_IO_H
#define KERNEL_SEAM_IO_H
#include <stdint.h>
static inline void io_out8(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}
#endif
""",
    "kernel/lib/pkt.h": """\
#ifndef KERNEL_LIB_PKT_H
#define KERNEL_LIB_PKT_H
#include <stdint.h>
struct pkt {
	uint32_t len;
};
uint32_t pkt_len(const struct pkt *p);
#endif
""",
    "kernel/lib/pkt.c": """\
#include "kernel/lib/pkt.h"
#include "kernel/seam/io.h"

uint32_t pkt_len(const struct pkt *p)
{
	return p->len;
}
""",
    "kernel/x86/clock.h": """\
#ifndef KERNEL_X86_CLOCK_H
#define KERNEL_X86_CLOCK_H
void clock_init(void);
#endif
""",
    "kernel/x86/clock.c": """\
#include "kernel/x86/clock.h"
#include "kernel/seam/io.h"

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
#include "apps/nat/nat44.h"
#include "kernel/x86/clock.h"

void main_run(void)
{
	clock_init();
}
""",
    "drivers/net/nic.h": """\
#ifndef DRIVERS_NIC_H
#define DRIVERS_NIC_H
void nic_init(void);
#endif
""",
    "drivers/net/nic.c": """\
#include "drivers/net/nic.h"
#include "kernel/x86/clock.h"

void nic_init(void)
{
	/* No asm and no "outb(" here: comments and strings do not count. */
}
""",
    "net/drops.def": 'DROP(TTL, "ttl")\n',
    "net/gw.h": """\
#ifndef NET_GW_H
#define NET_GW_H
#include "kernel/lib/pkt.h"
enum gw_drop_reason {
#define DROP(name, text) DROP_##name,
#include "net/drops.def"
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
    "apps/nat/nat44.h": """\
#ifndef APPS_NAT44_H
#define APPS_NAT44_H
#include "net/gw.h"
int nat44_ip4(const struct pkt *p);
#endif
""",
    "apps/nat/nat44.c": """\
#include "apps/nat/nat44.h"

int nat44_ip4(const struct pkt *p)
{
	return gw_drop(p);
}
""",
    "kernel/sources.mk": "SRC_IMAGE += kernel/main.c\n",
    "kernel/lib/sources.mk": "SRC_HOT += kernel/lib/pkt.c\n",
    "kernel/x86/sources.mk": "SRC_IMAGE += kernel/x86/clock.c\n",
    "drivers/net/sources.mk": "# Cards.\nSRC     += drivers/net/nic.c\n",
    "net/sources.mk": "SRC += net/gw.c\n",
    "apps/nat/sources.mk": "SRC += apps/nat/nat44.c\n",
    "kernel/README.md": "May include: everything.\n\nHardware: yes.\n",
    "kernel/lib/README.md": "May include: kernel/seam.\n\nHardware: none.\n",
    "kernel/seam/README.md": "May include: nothing.\n\nHardware: yes.\n",
    "kernel/x86/README.md": "May include: kernel/lib, kernel/seam.\n\nHardware: yes.\n",
    "drivers/net/README.md": "May include: kernel/lib, kernel/seam, kernel/x86.\n\nHardware: seam.\n",
    "net/README.md": "May include: kernel/lib.\n\nHardware: none.\n",
    "apps/README.md": "May include: nothing.\n\nHardware: none.\n",
    "apps/nat/README.md": "May include: net/*, `kernel/lib`.\n\nHardware: none.\n",
    "docs/glossary.md": """\
# Glossary

A gadget is a widget; the first word may stand here.

## Retired words

| old word | say instead | where it was | forbidden in | pattern |
| --- | --- | --- | --- | --- |
| gizmo | widget | a card | `net`, tools/thing.py | `\\bgizmos?\\b\\|\\bgiz_\\w+` |
| worn phrase | the fact | comments | everything | `\\bworn phrase` |
| Gz | widget | names | net | `(?-i)\\bGz\\b` |
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
        """Checks that the check fails, and that each text is at the beginning of a line of its output."""
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
    """The checks understand the real READMEs and lists; otherwise they would find nothing."""
    sys.path.insert(0, str(ROOT / "tools/lint"))
    from tree import Tree

    tree = Tree(ROOT)
    assert tree.on_host("kernel/lib/pkt.c") and tree.on_host("kernel/lib/pkt_inline.h")
    assert not tree.on_host("kernel/main.c") and not tree.on_host("kernel/seam/io.h")
    assert tree.rooms["apps/nat"].may("net/ip4") and not tree.rooms["net"].may("apps/nat")
    assert tree.rooms["kernel"].may("apps") and not tree.rooms["kernel/seam"].may("kernel/lib")
    assert "-m32" in tree.flags("CFLAGS")


ARROWS = [
    ("net/gw.c", "kernel/x86/clock.h", "net/ may not include"),
    ("net/gw.c", "kernel/seam/io.h", "net/ may not include"),
    ("net/gw.c", "apps/nat/nat44.h", "net/ may not include"),
    ("net/gw.c", "drivers/net/nic.h", "net/ may not include"),
    ("apps/nat/nat44.c", "drivers/net/nic.h", "apps/nat/ may not include"),
    ("apps/nat/nat44.c", "kernel/main.h", "apps/nat/ may not include"),
    ("drivers/net/nic.c", "net/gw.h", "drivers/net/ may not include"),
    ("drivers/net/nic.c", "kernel/main.h", "drivers/net/ may not include"),
    ("kernel/lib/pkt.c", "kernel/x86/clock.h", "kernel/lib/ may not include"),
    ("kernel/lib/pkt.c", "net/gw.h", "kernel/lib/ may not include"),
    ("kernel/lib/pkt.c", "net/drops.def", "kernel/lib/ may not include"),
    ("kernel/x86/clock.c", "net/gw.h", "kernel/x86/ may not include"),
    ("kernel/x86/clock.c", "kernel/main.h", "kernel/x86/ may not include"),
]


@pytest.mark.parametrize(("path", "header", "what"), ARROWS)
def test_arrow(project: Project, path: str, header: str, what: str) -> None:
    project.write(path, f'/* A first line. */\n#include "{header}"\n' + CLEAN[path])
    project.expect("arrows", f'{path}:2: {what} "{header}"')


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('#include "gw.h"', '"gw.h" is not written with its folder'),
        ('#include "../kernel/lib/pkt.h"', '"../kernel/lib/pkt.h" is not written with its folder'),
        ('# include "net/none.h"', '"net/none.h" does not exist'),
        ("#include <string.h>", "<string.h> needs a C library"),
        ("#include HEADER", "#include HEADER: write the file's name out"),
    ],
)
def test_include_form(project: Project, line: str, what: str) -> None:
    project.write("net/gw.c", line + "\n" + CLEAN["net/gw.c"])
    project.expect("arrows", f"net/gw.c:1: {what}")


@pytest.mark.parametrize("path", ["net/gw.c", "apps/nat/nat44.c", "kernel/lib/pkt.c"])
@pytest.mark.parametrize(
    ("code", "what"),
    [
        ('__asm__ volatile("nop");', "inline assembly"),
        ('asm("nop");', "inline assembly"),
        ('asm("" "nop" : "+r"(i));', "inline assembly"),
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
    project.write("net/room/extra.h", "")
    project.write("net/sources.mk",
                  "SRC += net/gw.c\nSRC += net/gone.c\nSRC += net/gw.c\nnet/other.c\nNET += net/gw.c\n")
    project.write("kernel/lib/sources.mk", "SRC += net/gw.c\nSRC += kernel/lib/pkt.c\n")
    project.expect(
        "arrows",
        "net/extra.c:1: stands in no list of net/sources.mk",
        "net/room/README.md:1: does not say `May include: …`",
        "net/sources.mk:2: net/gone.c does not exist",
        "net/sources.mk:3: net/gw.c is listed twice",
        "net/sources.mk:4: is not `LIST += FOLDER/FILE`",
        "net/sources.mk:5: is not `LIST += FOLDER/FILE`",
        "kernel/lib/sources.mk:1: net/gw.c belongs into its own folder's list",
    )


def test_circle(project: Project) -> None:
    """Three files that need each other; a header and its .c are one."""
    project.write("net/a.h", '#include "net/b.h"\n')
    project.write("net/b.c", '#include "net/b.h"\n#include "net/c.h"\n')
    project.write("net/b.h", "")
    project.write("net/c.h", '#include "net/a.h"\n')
    project.expect("circles", "net/a.h:1: leads back to itself through net/b, net/c")
    project.write("tools/lint/circles.txt", "net/a  why\nnet/b  why\nnet/c  why\nnet/d  why\n")
    project.expect("circles", "tools/lint/circles.txt:4: net/d is not needed any more")
    project.write("net/c.h", "")
    project.expect("circles", "tools/lint/circles.txt:1: net/a is not needed any more")


def test_core_names_an_application(project: Project) -> None:
    """In code and in comments; a longer word is another one."""
    words = "/* For NAT64. */\nint native;\nint gw_nat_sessions; /* of the NAT */\n"
    project.replace("net/gw.c", "int gw", f"{words}int gw")
    project.expect(
        "arrows",
        "net/gw.c:5: nat is an application: net/ knows none",
        "net/gw.c:5: nat is an application: net/ knows none",
    )


def test_unused_drop_reason(project: Project) -> None:
    # A comment does not count as a use; a second entry with the same text would make two counters of one name.
    project.replace("net/gw.c", "int gw", "/* DROP_SPARE */\nint gw")
    project.write("net/drops.def", 'DROP(TTL, "ttl")\nDROP(SPARE, "ttl")\n')
    project.expect(
        "drops",
        "net/drops.def:2: DROP_SPARE is used nowhere",
        "net/drops.def:2: ttl stands in net/drops.def already",
    )


def test_drop_reason_of_two_folders(project: Project) -> None:
    project.write("apps/nat/drops.def", 'DROP(TTL, "short")\n')
    project.expect("drops", "net/drops.def:1: TTL stands in apps/nat/drops.def already")
    project.write("apps/nat/drops.def", "")
    project.expect("drops", 'apps/nat/drops.def:1: no line of the form DROP(NAME, "text")')


def test_times_compared_by_their_sign(project: Project) -> None:
    """Sequence numbers, and words in comments, are not findings."""
    project.replace(
        "net/gw.c",
        "int gw",
        "/* (int32_t)(now_ms - due_ms) */\nint a(uint32_t seq, uint32_t ack, uint32_t now_ms, uint32_t due_ms)\n"
        "{\n\tif ((int32_t)(seq - ack) < 0)\n\t\treturn 1;\n\treturn (int32_t)(now_ms - due_ms) < 0;\n}\n\nint gw",
    )
    project.expect("times", "net/gw.c:8: times are compared by their sign; use kernel/lib/when.h")


def test_retired_words(project: Project) -> None:
    """Words and identifiers, in the folders of their row only; a phrase over a line's end; case."""
    project.replace(
        "net/gw.c", "int gw", "/* Two Gizmos, a worn\n * phrase, gz and Gz. */\nint giz_mo(void);\nint gw"
    )
    project.write("apps/nat/notes.txt", "gizmo\n")
    project.write("tools/gizmo", "#!/bin/sh\n# A worn phrase.\n")
    project.write("tests/corpus/one.bin", "a worn phrase\n")
    project.expect(
        "words",
        'net/gw.c:3: "Gizmos": gizmo is a retired word; say widget',
        'net/gw.c:3: "worn * phrase": worn phrase is a retired word; say the fact',
        'net/gw.c:4: "Gz": Gz is a retired word; say widget',
        'net/gw.c:5: "giz_mo": gizmo is a retired word; say widget',
        'tools/gizmo:2: "worn phrase"',
    )
    output = project.lint("words")[1]
    assert "5 findings" in output, output


def test_retired_words_of_a_clean_tree(project: Project) -> None:
    status, output = project.lint("words")
    assert status == 0, output


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ("", "has no table below"),
        ("| a | b |\n| - | - |\n| gizmo | widget | net |\n", "not a row of retired words: gizmo"),
        ("| a |\n| - |\n| gizmo | widget | x | net | `(` |\n", "gizmo: "),
        ("| a |\n| - |\n| gizmo | widget | x | net | gizmo |\n", "not a row of retired words: gizmo"),
    ],
)
def test_unreadable_table_of_retired_words(project: Project, table: str, what: str) -> None:
    project.write("docs/glossary.md", f"# Glossary\n\n## Retired words\n\n{table}")
    status, output = project.lint("words")
    assert status == 2 and what in output, output


def test_the_real_retired_words_can_be_read() -> None:
    """Each row of the real table names folders that exist."""
    sys.path.insert(0, str(ROOT / "tools/lint"))
    import words
    from tree import Tree

    places = {place for word in words.retired(Tree(ROOT)) for place in word.places}
    assert all(place == "everything" or (ROOT / place).exists() for place in places), places


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
    project.replace("net/gw.h", '#include "kernel/lib/pkt.h"\n', "")
    project.expect("headers", "net/gw.h:")


def test_header_twice(project: Project) -> None:
    project.replace("kernel/lib/pkt.h", "#define KERNEL_LIB_PKT_H\n", "")
    project.expect("headers", "kernel/lib/pkt.h:")


def test_warning_of_the_images_compiler(project: Project) -> None:
    """Correct on the 64-bit host, wrong where a pointer has 32 bits."""
    project.replace(
        "net/gw.c", "int gw", '_Static_assert(sizeof(void *) == 8, "64");\n\nint gw'
    )
    project.expect("warnings", "net/gw.c:3: error: static assertion failed")


def test_warning_of_the_hosts_compilers(project: Project) -> None:
    """Correct for the image, wrong on the host; and a test is compiled as well."""
    project.replace(
        "net/gw.c", "int gw", '_Static_assert(sizeof(void *) == 4, "32");\n\nint gw'
    )
    project.write("tests/unit/test_x.c", "int unused_prototype(void)\n{\n\treturn 0;\n}\n")
    project.expect("warnings", "net/gw.c:3: error: static", "tests/unit/test_x.c:1: error: no prev")


def test_warning_of_clang_only(project: Project) -> None:
    """clang compiles the machine part too."""
    project.replace(
        "kernel/x86/clock.c", "\tio_out8", "\tint x = 1;\n\tx = x;\n\tio_out8"
    )
    project.expect("warnings", "kernel/x86/clock.c:7: error: explicitly assigning")


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
    """Bugs whose lines are not where they say, bugs that do not compile, and bugs that name no existing test."""
    project.write("tests/unit/test_x.c", "")
    bugs = {
        "good": MUTANT,
        "stale": MUTANT.replace("-\treturn pkt_len(p)", "-\treturn pkt_length(p)"),
        "nowhere": MUTANT.replace("gw_drop", "gw_none"),
        "no-file": MUTANT.replace("gw.c", "none.c"),
        "elsewhere": "Test: tests/unit/test_x\n\nIn kernel/lib/pkt.c, pkt_len:\n"
        "-\treturn p->len;\n+\treturn p->len + 1;\n",
        "empty": "Test: tests/unit/test_x\n",
        "same": MUTANT.replace("? 0 :", "? DROP_TTL :"),
        "blank": MUTANT.replace(", gw_drop", "").replace("-\treturn pkt_len(p) > 0 ? DROP_TTL : -1;", "-"),
        "odd": MUTANT + "nonsense\n",
        "unused": MUTANT.replace("+\treturn", "+\tint n;\n+\treturn"),
        "missing": MUTANT.replace("test_x", "test_y"),
        "unseen": MUTANT.replace("Test:", ""),
        "header": "Test: tests/unit/test_x\n\nIn net/gw.h:\n"
        "-int gw_drop(const struct pkt *p);\n+int gw_drop(nothing p);\n",
    }
    project.write("tests/mutants/net/gw.mutants", "".join(f"== {name}\n{text}\n" for name, text in bugs.items()))
    project.write("tests/mutants/net/two.mutants", f"== a\n{MUTANT}\n== a\n{MUTANT}")
    project.write("tests/mutants/net/early.mutants", MUTANT)
    status, output = project.lint("mutants")
    found = [line.split(" ", 1)[1] for line in output.splitlines() if line.startswith("tests/mutants/net/gw.mutants:")]
    wanted = [
        "blank changes nothing in net/gw.c",
        "elsewhere changes nothing in net/gw",
        "empty changes nothing",
        "header does not compile: net/gw.h:9: error: ",
        "missing needs tests/unit/test_y, which does not exist",
        "no-file there is no net/none.c",
        "nowhere gw_none is defined 0 times",
        "odd has a line that begins with neither '-', '+' nor a space: nonsense",
        "same changes nothing in net/gw.c, gw_drop",
        "stale its lines stand 0 times in net/gw.c, gw_drop",
        "unseen names no test",
        "unused does not compile: net/gw.c:5: error: unused variable",
    ]
    assert status == 1 and len(found) == len(wanted), output
    for line, text in zip(sorted(found), wanted):
        assert line.startswith(text), output
    assert "tests/mutants/net/two.mutants:1: has two bugs of one name" in output
    assert "tests/mutants/net/early.mutants:1: line 1 stands before the first `== NAME`" in output
    status, part = project.lint("planting")
    assert status == 1 and "does not compile" not in part
    found = {line for line in output.splitlines() if ".mutants:" in line and "does not compile" not in line}
    assert {*part.splitlines()} >= found


def test_the_real_planted_bugs() -> None:
    """All planted bugs can be planted, because `make test` runs only some. `make lint` compiles them, too."""
    command = [sys.executable, f"{ROOT}/tools/lint/run", "planting"]
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
    status, output = project.lint("warnings")
    assert status == 2 and "Makefile" in output
