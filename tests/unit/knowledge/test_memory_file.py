"""A memory file as people leave it: entries stay entries, and what people wrote is never lost."""

from hypothesis import given, strategies as st

from kpd.knowledge.memory_file import read_notebook

EARLIER = """\
# What was tried on norm

## Run r1 · 2026-11-21 · local/AMD EPYC

### r1.1 · 2026-11-21 15:09:08
- memo: UNROLL 1 → 2; EXP\\_POLY 0 → 1
- outcome: accepted: faster by +8.3 % \\[+2.5, +13.7\\] over 13 processes
- verdict: faster, gain +8.3 % [+2.5, +13.7]
- aimed at: not_vectorised
- findings: not_vectorised, call_in_loop

### r1.2 · 2026-11-21 15:09:12
- memo: VEC 1 → 8
- outcome: failed: does not build
"""


def test_a_file_of_an_earlier_version() -> None:
    book = read_notebook(EARLIER)
    first, second = book.entries
    assert (first.run, first.number, first.began, first.at) == ("r1", 1, "2026-11-21 15:09:08", "2026-11-21 15:09:08")
    assert first.heading == second.heading == "Run r1 · 2026-11-21 · local/AMD EPYC"
    assert first.line("memo") == "UNROLL 1 → 2; EXP_POLY 0 → 1"
    assert first.line("aimed at") == "not_vectorised"
    assert second.line("verdict") == ""
    assert second.text == "### r1.2 · 2026-11-21 15:09:12\n- memo: VEC 1 → 8\n- outcome: failed: does not build"
    assert (book.avoid, book.wanted, book.notes) == ("", "", "")


def test_guidance_anywhere_and_entries_after_it() -> None:
    """An earlier version went on below a person's section without the run's heading."""
    book = read_notebook(
        "# AVOID\n- inline assembly\n\n" + EARLIER + "\n## Try\n- half2\n### more\n- float4\n\n"
        "### r1.3 · 2026-11-21 15:10:00\n- memo: c\n#### avoid:\nprose here\n#### Note\nkept\n\n## Ideas\n- an idea\n"
    )
    assert book.avoid == "- inline assembly\n\nprose here"
    assert book.wanted == "- half2\n### more\n- float4"
    assert [entry.number for entry in book.entries] == [1, 2, 3]
    assert book.entries[2].heading == "Run r1 · 2026-11-21 · local/AMD EPYC"
    assert book.entries[2].text.endswith("- memo: c\n#### Note\nkept")
    assert book.notes == "## Ideas\n- an idea"


def test_notes_on_a_run_and_on_an_entry() -> None:
    book = read_notebook(
        EARLIER.replace("\n### r1.1", "\nThe fan was broken.\n\n### r1.1").replace(
            "\n### r1.2", "\n### Mine\nIt spills.\n\n### r1.2"
        )
        + "\n## Run r2 · 2026-11-22 · local/AMD EPYC\n\nNothing worth keeping.\n"
    )
    assert book.entries[0].text.startswith("The fan was broken.\n\n### r1.1")
    assert book.entries[0].text.endswith("\n\n### Mine\nIt spills.")
    assert book.notes == "## Run r2 · 2026-11-22 · local/AMD EPYC\nNothing worth keeping."


def test_a_fence_that_nobody_closed_swallows_nothing_of_kpds() -> None:
    book = read_notebook("## Avoid\n```\n# not a heading\n\n" + EARLIER.partition("\n\n")[2])
    assert book.avoid == "```\n# not a heading"
    assert len(book.entries) == 2


def test_what_was_decided_later() -> None:
    book = read_notebook(EARLIER + "\n### r1.1 · 2026-11-21 15:09:08 · rolled back 2026-11-21 16:00:00\n- why\n")
    decided = book.entries[-1]
    assert (decided.decided, decided.began, decided.at) == ("rolled back", "2026-11-21 15:09:08", "2026-11-21 16:00:00")


LINES = st.lists(
    st.sampled_from(
        [*EARLIER.splitlines(), "## Avoid", "### try", "- x", "words", "## Other", "```", "# Title", "", "#### deep"]
    )
    | st.text(max_size=20).filter(lambda text: "\n" not in text),
    max_size=30,
)


@given(LINES)
def test_no_line_of_anybody_is_lost_or_told_twice(written: list[str]) -> None:
    book = read_notebook("\n".join(written))
    parts = [*(entry.text for entry in book.entries), book.avoid, book.wanted, book.notes]
    told = [line.strip() for part in parts for line in part.split("\n")]
    for line in {line.strip() for line in written}:
        structure = line.startswith("#")  # headings of runs and of guidance are told as what they head
        if line and not structure:
            assert told.count(line) == [other.strip() for other in written].count(line), line
