"""The questions that a folder leaves open, on a terminal."""

import pytest

from kpd.cli import task_import
from kpd.cli.exit_codes import CliError
from kpd.imports.draft import Answers
from kpd.imports.errors import OpenQuestion


def test_the_end_of_the_input_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    with pytest.raises(CliError, match="which score") as told:
        task_import._asked(OpenQuestion("--score", "which score?"), Answers())
    assert "--score" in told.value.remedy


def test_words_that_are_good_are_added_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "all done")
    question = OpenQuestion("--good", "is it good?", ("all done",))
    assert task_import._asked(question, Answers(good=("fine",))).good == ("fine", "all done")
    assert task_import._asked(OpenQuestion("--editable", "which?"), Answers()).editable == ("all", "done")
