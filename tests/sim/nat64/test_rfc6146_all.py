# SPDX-License-Identifier: BSD-2-Clause
"""docs/rfc6146.md against the tests: every requirement has tests that name its section, and no test of a section is
missing there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[2] / "docs" / "rfc6146.md"
ROW = re.compile(r"\| (\S+) \| ([\d.]+) \| (MUST|MUST NOT|SHOULD|SHOULD NOT|MAY) \| (.+) \| (`.+`) \|")
COUNT = {
    "3": 2, "3.1": 5, "3.2": 1, "3.4": 11, "3.5": 4, "3.5.1": 7, "3.5.1.1": 6, "3.5.2.2": 21, "3.5.2.3": 4, "3.5.3": 7,
    "3.5.4": 5, "3.6": 1, "3.7": 2, "3.8": 2, "5.2": 2, "5.3": 4, "5.4": 1,
}
"""Requirements by section. A row that comes or goes is counted here too, so none is lost by mistake."""


def rows() -> list[tuple[str, str, list[str]]]:
    """Id, section and tests of each requirement."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][2:]
    found = [(line, ROW.fullmatch(line)) for line in lines]
    assert all(match for _, match in found), [line for line, match in found if not match]
    return [(match[1], match[2], re.findall(r"`(\w+)`", match[5])) for _, match in found if match]


def written_tests() -> dict[str, str]:
    """The tests of this folder: name, and what they say of themselves."""
    found: dict[str, str] = {}
    for path in HERE.glob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                assert node.name not in found, f"two tests {node.name}"
                found[node.name] = ast.get_docstring(node) or ""
    return found


def names(test: str, says: str, section: str) -> bool:
    """Whether a test names the section, or a section or subsection of it."""
    digits = section.replace(".", "")
    return bool(re.match(rf"test_{digits}\d?_", test) or re.search(rf"\b{re.escape(section)}\b", says))


def test_each_requirement_has_tests_that_name_it() -> None:
    found = written_tests()
    wrong = [(which, test) for which, section, listed in rows() for test in listed
             if test not in found or not names(test, found[test], section)]
    assert wrong == []


def test_all_requirements_are_listed() -> None:
    listed = [which for which, _, _ in rows()]
    assert len(set(listed)) == len(listed)
    assert {section: sum(one == section for _, one, _ in rows()) for section in COUNT} == COUNT
    assert {section for _, section, _ in rows()} == set(COUNT)


def test_each_test_of_a_section_is_listed() -> None:
    listed = {test for _, _, names_ in rows() for test in names_}
    more = {name for name in written_tests() if re.match(r"test_(3|5)\d+_", name)} - listed
    assert more == MORE


MORE = {
    "test_34_bare_datagram_from_inside", "test_34_echo_in_fragments", "test_34_error_from_inside_about_nothing",
    "test_34_hairpinned", "test_34_largest", "test_34_overlap", "test_34_short_first_fragment", "test_34_too_big",
    "test_34_too_big_from_inside", "test_351_port_dependent", "test_354_wkp_strict", "test_35_forged_source",
    "test_35_no_host", "test_38_hairpinning_off", "test_53_errors_about_nothing",
    "test_53_forged_sources_from_outside", "test_53_host_limit_of_addresses", "test_53_many_addresses_of_one_host",
}
"""Tests of a section that go beyond its requirements."""
