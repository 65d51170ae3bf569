"""A skill is wrapped by its blocks, not by the lines of its file."""

from tests.support.tui.views import plain
from tui.screens.reader import skill_lines

BODY = """**Fixes**

- Block for reuse, so that what is used
  again fits.
- Pad.

A paragraph of
two lines.

```
for (;;)
    x();
```
"""


def test_paragraphs_and_items_are_joined_and_code_is_not() -> None:
    assert plain(skill_lines("", BODY, 24)).splitlines() == [
        "Fixes", "", "- Block for reuse, so", "  that what is used", "  again fits.", "- Pad.", "",
        "A paragraph of two", "lines.", "", "```", "for (;;)", "    x();", "```",
    ]  # fmt: skip
