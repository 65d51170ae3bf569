"""Names of the house: a public class has its name alone, in kpd and tui together."""

from collections import defaultdict

from tests.places import ROOT
from tests.support.statements import of_file, product


def test_no_public_class_has_the_name_of_another() -> None:
    found = defaultdict(list)
    for path in product():
        for name in of_file(path).classes:
            if not name.startswith("_"):
                found[name].append(str(path.relative_to(ROOT)))
    assert len(found) > 500
    assert not {name: paths for name, paths in found.items() if len(paths) > 1}
