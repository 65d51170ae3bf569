"""docs/threat-model.md names a test for each thing that holds, and each of them exists."""

import re

from tests.places import ROOT, TESTS

PAGE = (ROOT / "docs" / "threat-model.md").read_text()
TABLES = re.findall(r"^\| [^|\n]+(?:\| [^|\n]+)*\| test \|\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.MULTILINE)


def test_every_line_has_a_test_and_every_test_exists() -> None:
    rows = [row for table in TABLES for row in table.splitlines()]
    assert len(TABLES) == 4 and len(rows) > 20
    file = missing = ""
    for row in rows:
        cell = row.rstrip("| ").rsplit("|", 1)[1]
        assert "`" in cell or "the same" in cell, row
        for name in re.findall(r"`([^`]+)`", cell):
            if name.endswith(".py"):
                file = (TESTS / name).read_text()
            elif not re.search(rf"^(async )?def {re.escape(name)}\(", file, re.MULTILINE):
                missing += f"{name} "
    assert not missing
