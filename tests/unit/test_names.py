"""Names of the house: a public class has its name alone, in kpd and tui together."""

import ast
from collections import defaultdict

from tests.places import ROOT


def test_no_public_class_has_the_name_of_another() -> None:
    found = defaultdict(list)
    for package in ("kpd", "tui"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in found.items() if len(paths) > 1}
