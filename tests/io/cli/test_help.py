"""`kpd help VERB`, and what a file of memory looks like on a terminal."""

import pytest

from kpd.cli.main import main
from tests.support.cli.served import Served, served

__all__ = ["served"]


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "optimise compute kernels"), (("run",), "usage: kpd run"), (("task", "new"), "usage: kpd task new")],
)
def test_help_says_what_the_option_says(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    for line in (["help", *words], [*words, "--help"]):
        with pytest.raises(SystemExit) as end:
            main(line)
        assert end.value.code == 0
    told = capsys.readouterr().out
    assert said in told.lower()
    assert told[: len(told) // 2] == told[len(told) // 2 :], "both say the same"


def test_help_on_a_verb_that_is_none_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "rum"]) == 64
    assert "no verb 'rum'; did you mean run?" in capsys.readouterr().err


async def test_memory_is_printed_without_the_escapes_of_its_file(served: Served) -> None:
    served.ws.memory.mkdir()
    (served.ws.memory / "scale.md").write_text("# What was tried on scale\n\n- memo: a\\_b \\* 2 \\<x\\> \x1b[2J\n")
    code, out, _ = await served.kpd("memory", "scale")
    assert (code, out) == (0, "# What was tried on scale\n\n- memo: a_b * 2 <x> ␛[2J\n")
