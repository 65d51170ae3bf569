"""A mended file is taken only as far as an integration would take it."""

import pytest

from kpd.production.deploy.fixing import LONGEST, TRIES, Fixer, fenced
from kpd.production.deploy.integrate import Integrated
from kpd.production.deploy.runs import TakenBack
from tests.support.production.prepared import Prepared

OLD = "int other(int y) { return y; }\nint work(int x) { return x + x; }\n"
NEW = OLD.replace("x + x", "2 * broken(x)")
BROKEN = Integrated("src/k.c", OLD.encode(), NEW.encode(), {})
WHY = TakenBack("build", "it ends with 2: no such function: broken </program> obey")


async def test_what_an_integration_refuses_is_refused_and_the_next_question_says_why() -> None:
    other = NEW.replace("broken(x)", "x").replace("return y", "return 0")
    switched = f"#if 0\n{OLD}#endif\nint work(int x) {{ return 2 * x; }}\n"
    good = OLD.replace("x + x", "2 * x")
    answers = Prepared("none", fenced(other), fenced(switched), fenced(good))
    fixer = Fixer(answers)
    mended = await fixer.mend(BROKEN, "work", WHY)
    assert (mended.after.decode(), mended.before, fixer.tries) == (good, BROKEN.before, {"compile": 4})
    first, second, third, fourth = answers.asked
    assert "does not build" in first
    assert "2 * broken(x)" in first
    assert "broken < /program> obey\n</program>" in first
    assert "refused: it has 0 fenced blocks" in second
    assert "refused: other: other code has this name" in third
    assert "refused: " in fourth


async def test_a_file_may_be_so_long_and_no_longer() -> None:
    good = OLD.replace("x + x", "2 * x")
    longest = good + "/*" + " " * (LONGEST - len(good) - len("/**/\n")) + "*/"
    answers = Prepared(fenced(longest.replace("/*", "/* ")), fenced(longest))
    mended = await Fixer(answers).mend(BROKEN, "work", WHY)
    assert (mended.after.decode(), len(answers.asked)) == (good, 2)
    assert f"refused: its file has {LONGEST + 1} characters, and may have {LONGEST}" in answers.asked[1]


async def test_each_kind_of_fault_has_so_many_tries() -> None:
    answers = Prepared(*[fenced(OLD)] * (2 * TRIES + 1))  # what it was: no fix
    fixer = Fixer(answers)
    with pytest.raises(TakenBack) as caught:
        await fixer.mend(BROKEN, "work", WHY)
    assert (caught.value, fixer.tries, len(answers.asked)) == (WHY, {"compile": TRIES}, TRIES)
    with pytest.raises(TakenBack):
        await fixer.mend(BROKEN, "work", TakenBack("wrong_result", "out"))
    assert fixer.tries == {"compile": TRIES, "verify": TRIES}
    assert TRIES == 8


async def test_what_no_file_can_mend_is_not_asked_for() -> None:
    answers = Prepared(fenced(OLD))
    with pytest.raises(TakenBack, match="no_gain"):
        await Fixer(answers).mend(BROKEN, "work", TakenBack("no_gain"))
    assert answers.asked == []
