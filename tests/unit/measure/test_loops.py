"""How many steps it takes to find loops, and code that takes too many."""

from dataclasses import dataclass

import pytest

from kpd.measure.objects.loops import MOST_STEPS, Steps, TangledCode, find


@dataclass(frozen=True)
class Jump:
    target: str = ""
    leaves: bool = False


Lines = list[Jump | str]


def nested(many: int) -> Lines:
    """So many loops, each in the one before."""
    heads: Lines = [line for at in range(many) for line in (f"{at}", Jump())]
    return heads + [Jump(f"{at}") for at in reversed(range(many))]


def exits(many: int) -> Lines:
    """A loop with so many ways out, each of which goes on where the one before does."""
    checks: Lines = ["first", *(line for at in range(many) for line in (f"check{at}", Jump(f"exit{at}")))]
    return checks + [Jump("first")] + [line for at in range(many) for line in (f"exit{at}", Jump())]


def crossed(many: int) -> Lines:
    """Jumps back into the middle of what was jumped over: each look at all changes the next one's result."""
    lines: Lines = [Jump("middle")]
    for at in range(many):
        lines += [f"a{at}", Jump(f"b{many - at - 1}"), Jump(f"a{at + 1}")]
    lines.append("middle")
    for at in range(many):
        lines += [f"b{at}", Jump(f"a{many - at - 1}"), Jump(f"b{at + 1}")]
    return lines


@pytest.mark.parametrize("lines", [nested(40), exits(100), crossed(30)])
def test_loops_are_found_in_as_many_steps_as_it_takes_and_in_no_fewer(lines: Lines) -> None:
    steps = Steps()
    found = list(find("f", lines, steps))
    assert 0 < steps.left < MOST_STEPS
    assert list(find("f", lines, Steps(MOST_STEPS - steps.left))) == found
    with pytest.raises(TangledCode):
        list(find("f", lines, Steps(MOST_STEPS - steps.left - 1)))


@pytest.mark.parametrize("lines", [nested(1500), exits(2000), crossed(2000)])
def test_code_that_takes_too_many_steps_is_found_out(lines: Lines) -> None:
    with pytest.raises(TangledCode):
        list(find("f", lines, Steps()))


def test_the_steps_of_all_functions_of_a_text_are_counted_together() -> None:
    steps = Steps()
    with pytest.raises(TangledCode):
        for _ in range(400):
            list(find("f", nested(60), steps))


def test_each_loop_has_the_code_that_is_in_no_loop_inside_it() -> None:
    lines: Lines = ["a", Jump(), "b", Jump(), Jump("b"), "c", Jump(), Jump(), Jump("c"), Jump("a"), Jump()]
    found = [(loop.label, loop.depth, len(loop.body)) for loop in find("f", lines, Steps())]
    assert found == [("a", 1, 2), ("b", 2, 2), ("c", 2, 3)]
