"""What kpd run makes of its arguments."""

from pathlib import Path

import pytest

from kpd.cli.exit_codes import CliError
from kpd.cli.run import text_of


def test_a_text_on_the_task_is_a_file_or_the_words_themselves(tmp_path: Path) -> None:
    (tmp_path / "words.md").write_text("Mind the tail.\n")
    assert text_of(str(tmp_path / "words.md")) == "Mind the tail.\n"
    for words in ("Mind the tail.", "two\nlines", "use registers"):
        assert text_of(words) == words
    for no_text in (str(tmp_path), str(tmp_path / "absent.md"), "words.md"):
        with pytest.raises(CliError):
            text_of(no_text)
