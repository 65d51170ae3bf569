"""What notices say, and when a task is told that nothing optimises its baseline."""

import pytest

from kpd.measure.c.build import lacks_optimisation
from kpd.model.notices import CasesUnread, NotOptimised
from kpd.text.notices import told
from kpd.text.numbers import counted


@pytest.mark.parametrize(
    ("language", "flags", "lacks"),
    [
        ("c", "", True),
        ("c", "-g -march=native", True),
        ("c", "-g -O2", False),
        ("c", "-O0", False),
        ("cuda", "", False),
    ],
)
def test_only_c_without_any_o_flag_is_not_optimised(language: str, flags: str, lacks: bool) -> None:
    assert lacks_optimisation(language, flags) is lacks


@pytest.mark.parametrize(("flags", "given"), [("-g", "kpd adds none to '-g'"), ("", "kpd adds none")])
def test_it_says_what_the_baseline_is_built_with_and_what_to_do(flags: str, given: str) -> None:
    assert told(NotOptimised("r1", flags)) == (
        f"r1: its speed-ups are over a baseline with no -O flag: {given}, so the compiler does not optimise (-O0);"
        ' write {"flags": "-O2"} into build.json, or flags into [build] of task.toml'
    )


@pytest.mark.parametrize(
    ("cases", "names"), [(("b", "rows[2]"), "(b, rows[2])"), (("a", "b", "c", "d"), "(a, b, c, …)")]
)
def test_cases_that_cannot_be_read_are_named(cases: tuple[str, ...], names: str) -> None:
    said = told(CasesUnread("r1", cases))
    assert said.startswith(f"r1: its result has {counted(len(cases), 'case')} without a name or a time")
    assert names in said
    assert "[bench] cases" in said
