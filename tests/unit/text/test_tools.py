"""What came of a session's work on a tool, in a sentence."""

import pytest

from kpd.model.tools import SmithEnd, SmithEnded
from kpd.text.tools import smith_end

REF = f"lint@{'3f2a91c07b44' * 5}"


@pytest.mark.parametrize(
    ("end", "tool", "why", "told"),
    [
        ("qualified", REF, "", "lint@3f2a91c07b44 is qualified: later sessions get it"),
        ("quarantined", REF, "no", "lint@3f2a91c07b44 did not pass its checks: it is quarantined: no"),
        ("nothing", "", "it names no improvement", "no tool was built: it names no improvement"),
    ],
)
def test_it_names_the_version_as_people_give_it(end: SmithEnd, tool: str, why: str, told: str) -> None:
    assert smith_end(SmithEnded("r1", 1, "r1.1", end, tool, why)) == told
