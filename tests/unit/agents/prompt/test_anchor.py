"""How the incumbent is shown: whole where it is new, and by its changed lines while they are few."""

from pathlib import Path

from hypothesis import given, strategies as st

from kpd.agents.agent import Context
from kpd.agents.prompt.anchor import MOST_LINES, Anchored, anchored, differing, parent_of
from kpd.workspace.sections import split
from tests.support.agents.asked import asked, shipped
from tests.support.agents.prompted import BASELINE, attempt, context, proposed

lines = st.lists(st.text(alphabet=st.characters(exclude_characters="\n"), max_size=8), min_size=1, max_size=120)


def now(shown: Anchored, path: str) -> bytes:
    """The file as a reader would put it together."""
    text = shown.files[path].decode().split("\n")
    for number, line in shown.lines.get(path, {}).items():
        text[number - 1] = line
    return "\n".join(text).encode()


@given(lines, st.data())
def test_the_lines_make_the_new_file_of_the_old(old: list[str], data: st.DataObject) -> None:
    new = list(old)
    for at in data.draw(st.lists(st.integers(0, len(old) - 1), max_size=4)):
        new[at] = data.draw(st.sampled_from(["x = 1;", *old]))
    before, after = "\n".join(old).encode(errors="replace"), "\n".join(new).encode(errors="replace")
    found = differing(before, after)
    if found is not None:
        assert now(Anchored({"k": before}, {"k": 0}, {"k": found}, 1), "k") == after
        assert len(found) <= MOST_LINES
    elif len(old) >= 100:
        raise AssertionError("four lines of a hundred are few")


def test_another_number_of_lines_or_no_text_is_shown_anew() -> None:
    long = b"x\n" * 200
    assert differing(long, long + b"y\n") is None
    assert differing(b"\xff" + long, b"\xfe" + long) is None
    assert differing(long, long.replace(b"x", b"y", MOST_LINES + 1)) is None
    assert len(differing(long, long.replace(b"x", b"y", MOST_LINES)) or ()) == MOST_LINES


def tuned(of: Context, **values: int) -> dict[str, bytes]:
    """The transpose with some of its macros set."""
    text = (of.task.folder / "kernel.cu").read_text()
    for name, value in values.items():
        text = "\n".join(
            f"#define {name} {value}" if line.startswith(f"#define {name} ") else line for line in text.split("\n")
        )
    return {"kernel.cu": text.encode()}


def test_a_baseline_is_shown_whole(tmp_path: Path) -> None:
    of = context(tmp_path)
    assert anchored(of) == Anchored(of.incumbent, {"kernel.cu": 0}, {}, 1)


def test_a_point_of_a_sweep_is_shown_by_its_lines(tmp_path: Path) -> None:
    of = context(tmp_path)
    proposed(of, 0, of.incumbent)
    won = tuned(of, TILE=32, PAD=1)
    of = context(tmp_path, attempt(1, outcome="accepted"), attempt(2, 1), files=won)
    shown = anchored(of)
    assert (parent_of(of), shown.since, shown.anew) == (1, {"kernel.cu": 0}, 1)
    assert list(shown.lines["kernel.cu"].values()) == ["#define TILE 32", "#define PAD 1"]
    assert now(shown, "kernel.cu") == won["kernel.cu"]


def test_a_rewrite_is_shown_whole_and_then_stays(tmp_path: Path) -> None:
    of = context(tmp_path)
    rewritten = {"kernel.cu": b"// all anew\n" * 90}
    proposed(of, 0, of.incumbent)
    proposed(of, 1, rewritten)
    after = context(tmp_path, attempt(1, outcome="accepted"), attempt(2, 1), files=rewritten)
    assert anchored(after) == Anchored(rewritten, {"kernel.cu": 1}, {}, 2)
    touched = {"kernel.cu": rewritten["kernel.cu"].replace(b"anew", b"again", 1)}
    later = context(tmp_path, attempt(1, outcome="accepted"), attempt(2, 1, "accepted"), attempt(3, 2), files=touched)
    assert anchored(later) == Anchored(rewritten, {"kernel.cu": 1}, {"kernel.cu": {1: "// all again"}}, 2)


def test_lines_never_add_up_to_more_than_a_few(tmp_path: Path) -> None:
    of = context(tmp_path)
    text = b"x\n" * 200
    versions = [{"kernel.cu": text.replace(b"x", b"y", 5 * at)} for at in range(4)]
    for number, files in enumerate(versions):
        proposed(of, number, files)
    chain = [attempt(number, number - 1, "accepted") for number in (1, 2, 3)]
    of = context(tmp_path, *chain, attempt(4, 3), files=versions[3])
    shown = anchored(of)
    assert shown.since == {"kernel.cu": 2}, "ten lines were too many: the second was shown anew"
    assert now(shown, "kernel.cu") == versions[3]["kernel.cu"]


def test_a_folder_that_is_gone_shows_the_incumbent_whole(tmp_path: Path) -> None:
    of = context(tmp_path, attempt(1, outcome="accepted"), attempt(2, 1))
    assert anchored(of) == Anchored(of.incumbent, {"kernel.cu": 1}, {}, 2)


def test_of_a_file_in_sections_the_kernel_is_shown(tmp_path: Path) -> None:
    task, files = shipped("softmax_cuda")
    shown = anchored(asked(tmp_path, task, files, BASELINE, attempt(1)))
    assert shown.files["softmax.cu"] == split(files["softmax.cu"]).kernel
    assert b"oracle" not in shown.files["softmax.cu"]
