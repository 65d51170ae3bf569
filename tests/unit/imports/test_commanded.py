"""Which files a description lets a candidate change."""

from pathlib import Path

import pytest

from kpd.imports.commanded import named_files
from kpd.imports.harnessgym import VERBS
from kpd.imports.source import ForeignFolder

FOLDER = ForeignFolder(Path("gym"), dict.fromkeys(("kernel.c", "kernel.h", "plan.json", "bench.py", "verifier.py"), 1))


@pytest.mark.parametrize(
    ("words", "editable"),
    [
        ("Optimize `scale` in `kernel.c` for the lowest `best_us`.", ["kernel.c"]),
        ("- Edit `kernel.c` only.\n- Do not change `bench.py`.", ["kernel.c"]),
        ("You may edit:\n\n- `kernel.c`\n- `plan.json`\n\nDo not edit:\n\n- `bench.py`\n", ["kernel.c", "plan.json"]),
        ("You may edit:\n- `kernel.c`\nRead `kernel.h`.\n- `plan.json`\n", ["kernel.c"]),
        ("Optimize all of `kernel.c`. Do not change:\n* `kernel.c`\n", []),
        ("Notes:\n- Edit `kernel.c`.\n- Look at `kernel.h`.\n", ["kernel.c"]),
        ("Rules:\n- `kernel.c`\n", []),
        ("Edit `other.c`.", []),
    ],
)
def test_files_named_after_a_verb_or_in_a_list_below_one(words: str, editable: list[str]) -> None:
    assert named_files(FOLDER, words, VERBS) == editable
