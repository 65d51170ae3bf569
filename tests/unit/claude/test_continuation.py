"""Pieces of an answer, joined: any text, cut anywhere, whatever of its end the model repeats."""

import pytest
from hypothesis import assume, example, given, strategies as st

from kpd.claude.continuation import LEAST, MOST, ending, join

LINES = st.lists(st.text(st.sampled_from("ab01_ (){};=+\t\n`#é"), max_size=30), max_size=12).map("\n".join)
ANY = st.text(max_size=400) | LINES
KERNEL = "```cuda kernel.cu\n" + "".join(f"  s[{at}] = __syncthreads_or(in[{at}]);\n" for at in range(40))
"""No line of it stands twice, and its block is still open."""


def cut(text: str, share: float) -> tuple[str, str]:
    at = round(share * len(text))
    return text[:at], text[at:]


SHARE = st.floats(0, 1)


@given(ANY, SHARE)
@example("    0,\n" * 40, 0.5)  # every line is the same
@example("a\n\n\n\nb", 0.5)
@example("x" * 900, 0.6)
def test_exact_when_the_ending_is_repeated_as_asked(text: str, share: float) -> None:
    before, after = cut(text, share)
    end = ending(before)
    kept = before.rstrip()
    assert join(before, end + before[len(kept) :] + after) == text


@given(ANY, SHARE)
def test_exact_when_the_ending_is_repeated_without_its_indentation(text: str, share: float) -> None:
    before, after = cut(text, share)
    end = ending(before).lstrip()
    assume(end)
    assert join(before, end + before[len(before.rstrip()) :] + after) == text


@given(ANY, SHARE)
def test_exact_when_the_blanks_behind_the_ending_are_not_repeated(text: str, share: float) -> None:
    before, after = cut(text, share)
    assume(after and not after[0].isspace() and ending(before))
    assert join(before, ending(before) + after) == text


@given(SHARE)
def test_exact_when_it_goes_on_at_once(share: float) -> None:
    before, after = cut(KERNEL, share)
    assume(not before or len(before) >= LEAST)
    assert join(before, after) == KERNEL


@given(SHARE, st.integers(LEAST, 1000))
def test_exact_when_more_is_repeated_than_asked(share: float, count: int) -> None:
    before, after = cut(KERNEL, share)
    assume(len(before) >= count)
    assert join(before, before[-count:] + after) == KERNEL


@given(
    SHARE,
    st.sampled_from(["```cuda\n", "```\n", "```cuda kernel.cu\n", "Here is the rest:\n\n```cuda\n", "\n```c\n"]),
    st.sampled_from(["as asked", "more", "at once"]),
)
@example(0.5, "```cuda\n", "at once")
def test_exact_when_the_block_is_opened_anew(share: float, opening: str, repeats: str) -> None:
    before, after = cut(KERNEL, share)
    assume(len(before) > 200)
    if repeats == "as asked":
        again = ending(before) + before[len(before.rstrip()) :]
    elif repeats == "more":
        again = before[-150:]
    else:
        assume("cuda" in opening or "c\n" in opening)  # without a name it may close the block
        again = ""
    assert join(before, opening + again + after) == KERNEL


@pytest.mark.parametrize("after", ["\n```\n", "```\n\nDone.\n", "\n```\n\n```c kernel.h\nint y;\n```\n"])
def test_the_end_of_a_block_is_no_new_opening(after: str) -> None:
    before = "```c kernel.c\nint value_of_x = 17;\nint other_value = 18;"
    assert join(before, after) == before + after
    assert join(before, ending(before) + after) == before + after


def test_a_block_that_begins_after_prose_is_kept() -> None:
    before, after = "MEMO: [rule] one line of prose to begin with\n", "```c kernel.c\nint x;\n```\n"
    assert join(before, after) == before + after


def test_a_cut_inside_a_token() -> None:
    before = "```c\nvoid scale(float *a) {\n  __syncthr"
    assert join(before, "```c\nvoid scale(float *a) {\n  __syncthreads();\n}\n```\n").count("__syncthreads();") == 1
    assert join(before, "eads();\n}\n```\n").count("__syncthreads();") == 1
    assert join(before, "void scale(float *a) {\n  __syncthreads();\n}\n```\n").count("scale") == 1


@given(ANY)
def test_the_ending_is_short_and_the_text_s_own(text: str) -> None:
    end = ending(text)
    assert text.rstrip().endswith(end)
    assert len(end) <= MOST
    assert len(end) >= min(LEAST, len(text.rstrip()))


@given(ANY, ANY)
def test_nothing_of_what_was_written_is_ever_lost(before: str, after: str) -> None:
    joined = join(before, after)
    assert joined.startswith(before.rstrip())
    assert len(joined) <= len(before) + len(after)


def test_a_long_text_of_one_line_is_joined_in_no_time() -> None:
    before = "0," * 200_000
    assert join(before, "1,2") == before + "1,2"
    assert join(before, before[-30_000:] + "3") != ""
