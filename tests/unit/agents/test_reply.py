"""A reply is read to the byte where it is meant, and refused with its reason where nobody can say what is meant."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kpd.agents.agent import BadReply
from kpd.agents.fences import split_fences
from kpd.agents.reply import FORMAT, LARGEST, LONGEST, SEARCH, ParsedReply, parse
from kpd.model.iteration import Expectation
from kpd.profile.catalogue import rules
from kpd.source.text import plain_code
from tests.support.agents.asked import made, shipped
from tests.support.drawn import examples
from tests.support.model.samples import task_of

TASK, INCUMBENT = shipped("transpose_cuda")
TWO = task_of(Path("two"), {}, ("kernel.c", "build.json"))
OLD = {"kernel.c": b"void f(void) { g(); }\n", "build.json": b'{"flags": "-O2"}\n'}
CODE = "__global__ void k(float *x) { x[0] = 1.0f; }\n"


def fenced(content: str, info: str = "cuda kernel.cu", fence: str = "```") -> str:
    return f"{fence}{info}\n{content}{fence}\n"


def read(text: str) -> ParsedReply:
    return parse(text, TASK, INCUMBENT)


def refused(text: str, task: Any = TASK, incumbent: Any = INCUMBENT) -> str:
    with pytest.raises(BadReply) as err:
        parse(text, task, incumbent)
    assert "\n" not in str(err.value)
    return str(err.value)


def test_a_reply_as_it_should_be() -> None:
    reply = read(
        "MEMO: [poor_coalescing, smem_bank_conflicts] a tile in shared memory, padded\n"
        "EXPECT: coalescing_store_pct up, gain 85 %\n\n"
        f"{fenced('#define TILE 32' + chr(10) + CODE)}\n```toml\n[tune]\nTILE = [16, 32]\n```\n"
    )
    assert reply == ParsedReply(
        "a tile in shared memory, padded",
        ("poor_coalescing", "smem_bank_conflicts"),
        Expectation("coalescing_store_pct", "up", 85.0),
        {"kernel.cu": f"#define TILE 32\n{CODE}".encode()},
        {"TILE": ("16", "32")},
    )


def test_the_description_of_the_form_is_a_form() -> None:
    taken = split_fences(FORMAT + SEARCH)
    assert [block.info for block in taken.blocks] == ["cuda kernel.cu", "toml"]
    assert all(word in FORMAT + SEARCH for word in ("MEMO:", "EXPECT:", "[tune]"))


# What can be written so that any file comes back: no carriage return, no character that is never meant.
PLAIN = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\ufeff", exclude_categories=["Cf", "Cs"]),
    min_size=1,
    max_size=400,
)


@given(PLAIN, st.sampled_from("`~"), st.integers(3, 6))
def test_any_content_comes_back_from_a_fence_that_is_long_enough(content: str, mark: str, least: int) -> None:
    whole = content if content.endswith("\n") else content + "\n"
    fence = mark * least
    while fence in whole:
        fence += mark
    assert split_fences(f"a word\n{fence}x\n{whole}{fence}\nanother").blocks[0].content == whole
    folder = task_of(Path("any"), {}, ("notes.txt",))
    if whole.strip() and not whole.lstrip("\n").startswith(("//", "#", "/*", "<!", "--")):
        try:
            got = parse(f"{fence}text notes.txt\n{whole}{fence}", folder, {}).files["notes.txt"]
        except BadReply as err:
            assert "patch" in str(err) or "empty" in str(err)
        else:
            assert got == whole.encode()


LINES = st.lists(
    st.sampled_from([
        "```cuda kernel.cu", "```", "````", "~~~", "```cuda", "MEMO: [a_b] x", "EXPECT: ipc up, gain 3 %", "[tune]",
        "A = [1]", "// kernel.cu", "int x;", "**kernel.cu**", "```toml", "```../../x", "", "\u202e", "--- a\n+++ b",
    ])
    | st.text(max_size=40),
    max_size=12,
)  # fmt: skip


@settings(max_examples=examples(300))
@given(st.text(max_size=300) | LINES.map("\n".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        reply = read(text)
    except BadReply as err:
        assert str(err)
        assert str(err).isprintable()
    else:
        assert set(reply.files) == {"kernel.cu"}
        assert reply.memo.isprintable()
        assert len(reply.memo) <= 300


@pytest.mark.parametrize(
    "unit",
    [
        "```", "```\n", "``` a\n", "~~~cuda kernel.cu\n", "\n", " ", "`", "[", "MEMO: [", "MEMO: [a],", "EXPECT: a[",
        "(", "“", "\u200b", "/*", '"', "'\\", 'R"x(', "1'0", "*_`:", "kernel.cu ", "[tune]\n", "\ud800",
        "# kernel.cu\n",
    ],
)  # fmt: skip
def test_the_longest_reply_of_one_thing_over_and_over_is_read_or_refused(unit: str) -> None:
    for text in (
        unit * (LONGEST // len(unit)),
        fenced(unit * (LARGEST // len(unit) // 2) + "\n"),
        "MEMO: " + unit * 9999,
    ):
        try:
            read(text)
        except BadReply as err:
            assert str(err).isprintable()


def test_five_megabytes_are_too_many() -> None:
    assert "characters; 4194304 are the most" in refused("x" * 5_000_000)
    assert "1048576 are the most" in refused(fenced("x" * (LARGEST + 1) + "\n"))


@pytest.mark.parametrize(
    "text",
    [
        f"Here is what I did:\n\n{fenced(CODE)}",
        fenced(CODE, "kernel.cu"),
        fenced(CODE, "cuda:kernel.cu"),
        fenced(CODE, 'cpp title="kernel.cu"'),
        fenced(CODE, "cuda ./kernel.cu"),
        fenced(CODE, "c++ transpose_cuda/kernel.cu"),
        fenced(CODE, "{.cuda file=kernel.cu}"),
        f"### `kernel.cu`\n\n{fenced(CODE, 'cuda')}",
        f"**File: kernel.cu**\n{fenced(CODE, 'cpp')}",
        f"The new kernel.cu:\n{fenced(CODE, '')}",
        fenced(f"// kernel.cu\n{CODE}", "cuda"),
        fenced(f"/* File: kernel.cu */\n{CODE}", "cuda"),
        fenced(CODE, "cuda"),
        fenced(CODE, ""),
        fenced(CODE, fence="~~~~"),
        f"```sh\nnvcc kernel.cu\n```\nand\n{fenced(CODE, 'cuda')}",
        f"Compile kernel.cu so:\n```sh\nnvcc kernel.cu\n```\n{fenced(CODE)}",
        f"{fenced('int part;' + chr(10), 'cuda')}is a part of\n{fenced(CODE)}",
        fenced(CODE) * 2,
        "\ufeff" + fenced(CODE).replace("\n", "\r\n"),
        f"1. So:\n   ```cuda kernel.cu\n   {CODE}   ```\n",
    ],
)  # fmt: skip
def test_ways_to_say_which_file_it_is(text: str) -> None:
    assert read(text).files == {"kernel.cu": CODE.encode()}


def test_two_files_are_told_apart_by_name_or_language() -> None:
    both = {"kernel.c": b"void f(void) { h(); }\n", "build.json": b'{"flags": "-O3"}\n'}
    c, json = (data.decode() for data in both.values())
    assert parse(fenced(c, "c kernel.c") + fenced(json, "json build.json"), TWO, OLD).files == both
    assert parse(fenced(c, "c kernel.c") + fenced(json, "json"), TWO, OLD).files == both
    assert parse(fenced(c, "c") + fenced(json, "json"), TWO, OLD).files == both
    assert parse(f"kernel.c and build.json\n{fenced(c, 'c')}", TWO, OLD).files == {"kernel.c": both["kernel.c"]}
    assert "nothing says which block (line 1) is kernel.c or build.json" in refused(fenced(c, ""), TWO, OLD)


def test_a_file_in_a_folder_may_go_by_its_last_name() -> None:
    task, incumbent = shipped("layernorm_pilot")
    assert set(parse(fenced("x = 1\n", "python layernorm.py"), task, incumbent).files) == {"src/layernorm.py"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I have nothing to say.", "no file is in the reply"),
        ("", "no file is in the reply"),
        (f"MEMO: x\n```cuda kernel.cu\n{CODE}", "line 2 (cuda kernel.cu) is never closed: give the whole file"),
        (f"```cuda kernel.cu\n{CODE}\n```cuda more.cu\n{CODE}```\n", "holds another opening fence, in line 4"),
        (fenced(CODE, "cuda ../../.ssh/config"), "'../../.ssh/config' (line 1) is not an editable file"),
        (fenced(CODE, "cuda /etc/passwd"), "'/etc/passwd' (line 1) is not an editable file; editable are kernel.cu"),
        (fenced(CODE, "cuda ..\\kernel.cu"), "is not an editable file"),
        (fenced(CODE, "cuda harness.cu"), "'harness.cu' (line 1) is not an editable file"),
        (fenced(CODE, "cuda x/kernel.cu"), "is not an editable file"),
        (fenced(CODE, "cuda kernel.cu\0"), "is not an editable file"),
        (fenced(CODE, "cuda \u202ekernel.cu"), "is not an editable file"),
        (fenced(CODE, "cuda kernel\u200b.cu"), "is not an editable file"),
        (fenced(CODE, "cuda k\u0435rnel.cu"), "is not an editable file"),
        (fenced(CODE, "cuda kernel.\u0441u"), "is not an editable file"),
        (fenced(CODE, "cuda kernel\u2024cu"), "is not an editable file"),
        (f"**k\u0435rnel.cu**\n{fenced(CODE, 'cuda')}", "is not an editable file"),
        (fenced(f"// k\u0435rnel.cu\n{CODE}", "cuda"), "is not an editable file"),
        (f"**harness.cu**\n{fenced(CODE, 'cuda')}", "'harness.cu' (line 2) is not an editable file"),
        (fenced(f"// harness.cu\n{CODE}", "cuda"), "'harness.cu' (line 1) is not an editable file"),
        (fenced(CODE, "cuda") + fenced("int y;\n", "cuda"), "nothing says which block (line 1, 4) is kernel.cu"),
        (fenced(CODE) + fenced("int y;\n"), "kernel.cu stands twice, in lines 1 and 4"),
        (fenced("\n \n"), "kernel.cu (line 1) is empty"),
        (fenced("--- a/kernel.cu\n+++ b/kernel.cu\n@@ -1 +1 @@\n"), "is a patch; give the whole file"),
        (fenced("-old\n+new\n", "diff kernel.cu"), "is a patch; give the whole file"),
        (fenced(CODE + "[tune]\n", "cuda") + "[tune]\nTILE 4\n", "the [tune] block is not TOML"),
        (fenced(CODE) + "[tune]\nTILE = 4\n", "TILE in [tune] is not a list"),
        (fenced(CODE) + "[tune]\nNOWHERE = [4]\n", "NOWHERE is neither a #define, a JSON key nor a constant"),
        (fenced(CODE) + "[tune]\nA = [true]\n", "true or false"),
        (fenced(CODE) + "[tune]\nA = " + "[" * 3000 + "\n", "the [tune] block is not TOML"),
        (fenced(CODE) + f"[tune]\nA = [0x{'f' * 5000}]\n", "a number that is too long"),
        (fenced(CODE) + f"[tune]\nA = {list(range(65))}\n", "A in [tune] has 65 values; 64 are the most"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_the_reason(text: str, reason: str) -> None:
    assert reason in refused(text)


def test_the_incumbent_again_is_no_candidate() -> None:
    kernel = INCUMBENT["kernel.cu"].decode()
    assert "nothing is changed" in refused(fenced(kernel))
    assert "nothing is changed" in refused(fenced(kernel.replace("\n", "  \r\n") + "\n\n"))


def test_a_repair_is_neither_the_candidate_that_failed_nor_the_incumbent() -> None:
    kernel, failed = INCUMBENT["kernel.cu"].decode(), {"kernel.cu": CODE.encode()}
    for text, reason in (
        (CODE, "nothing is changed: the files are those of the candidate that failed"),
        (kernel, "nothing is changed: the files are the incumbent's own: mend the candidate"),
    ):
        with pytest.raises(BadReply, match=reason):
            parse(fenced(text), TASK, INCUMBENT, failed)
    assert parse(fenced(kernel + CODE), TASK, INCUMBENT, failed).files


def test_a_repair_that_takes_back_one_of_two_files_is_a_candidate() -> None:
    failed = {"kernel.c": b"void f(void) { h(); }\n", "build.json": b'{"flags": "-O9"}\n'}
    back = fenced(OLD["build.json"].decode(), "json build.json")
    assert parse(back, TWO, OLD, failed).files == {"build.json": OLD["build.json"]}
    both = back + fenced(OLD["kernel.c"].decode(), "c kernel.c")
    with pytest.raises(BadReply, match="the incumbent's own"):
        parse(both, TWO, OLD, failed)


def test_a_search_over_what_cannot_be_written_is_refused() -> None:
    old = {"kernel.c": OLD["kernel.c"], "build.json": b'{"BLOCK": 128, "flags": "-O2"}'}
    changed = fenced("void f(void) { h(); }\n", "c kernel.c")
    with pytest.raises(BadReply, match=r"BLOCK is a number in build\.json, which 'fast' is not"):
        parse(changed + '```toml\n[tune]\nBLOCK = ["fast"]\n```\n', TWO, old)
    found = parse(changed + '```toml\n[tune]\nBLOCK = [64, "128"]\nflags = ["-O3"]\n```\n', TWO, old)
    assert found.tune == {"BLOCK": ("64", "128"), "flags": ("-O3",)}


def test_of_a_file_in_sections_the_kernel_alone_or_the_whole_is_taken() -> None:
    task, incumbent = shipped("softmax_cuda")
    whole = incumbent["softmax.cu"].decode()
    kernel = whole.partition("=====\n")[2].partition("// ===== END")[0]
    assert "nothing is changed" in refused(fenced(kernel, "cuda softmax.cu"), task, incumbent)
    for text in (kernel, whole):
        changed = text.replace("#define VEC 1 ", "#define VEC 4 ")
        assert parse(fenced(changed, "cuda softmax.cu"), task, incumbent).files == {"softmax.cu": changed.encode()}


@pytest.mark.parametrize(
    ("line", "memo", "aims"),
    [
        ("MEMO: [low_ipc] less work", "less work", ("low_ipc",)),
        ("**MEMO:** [low_ipc][tail_effect, `waves`] - less work", "less work", ("low_ipc", "tail_effect")),
        ("memo : less work", "less work", ()),
        ("MEMO: [none] less work", "less work", ()),
        ("> MEMO: [x; rm -rf /, $(reboot), low_ipc] less `work` && \"more\"", 'less `work` && "more"', ("low_ipc",)),
        ("MEMO: \x1b[31mred\x1b[0m \x07\u202eback [bold]markup[/bold]", "[31mred [0m back [bold]markup[/bold]", ()),
        ("MEMO: first\nMEMO: second", "first", ()),
        ("Padded the tile.", "Padded the tile.", ()),
        ("", "", ()),
    ],
)  # fmt: skip
def test_a_memo_is_one_line_of_plain_text(line: str, memo: str, aims: tuple[str, ...]) -> None:
    reply = read(f"{line}\n\n{fenced(CODE)}")
    assert (reply.memo, reply.aims) == (memo, aims)


def test_a_memo_is_cut_and_its_aims_are_few() -> None:
    reply = read(f"MEMO: [{', '.join(rule.id for rule in rules())}] {'long ' * 500}\n{fenced(CODE)}")
    assert len(reply.memo) == 300
    assert len(reply.aims) == 5


def test_remarks_may_stand_in_a_block_of_their_own() -> None:
    reply = read(f"```\nMEMO: [low_ipc] less\nEXPECT: ipc up\n```\n{fenced(CODE, 'cuda')}")
    assert (reply.memo, reply.expected) == ("less", Expectation("ipc", "up"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dram_pct up, gain 15 %", Expectation("dram_pct", "up", 15.0)),
        ("`call_us` down, gain ~12.5%", Expectation("call_us", "down", 12.5)),
        ("dram_pct up to 80 %, gain −3 %", Expectation("dram_pct", "up", -3.0)),
        ("gbs[4096x4096] increases, +20%", Expectation("gbs[4096x4096]", "up", 20.0)),
        ("ipc ↓", Expectation("ipc", "down")),
        ("better", None),
        ("it will be much faster", None),
        ("x" * 5000 + " up", None),
    ],
)
def test_an_expectation_is_read_where_it_can_be(line: str, expected: Expectation | None) -> None:
    assert read(f"EXPECT: {line}\n{fenced(CODE)}").expected == expected


def test_what_a_reply_says_of_its_own_times_is_not_read() -> None:
    claims = (
        'Verdict: accepted, 97 % faster, 1.2 us.\n```json\n{"ok": true, "best_us": 0.001, "verdict": "faster"}\n```\n'
    )
    assert read(claims + fenced(CODE)) == read(fenced(CODE).join(["Verdict: accepted, 97 % faster, 1.2 us.\n", ""]))


def test_a_first_comment_that_the_incumbent_has_is_kept() -> None:
    task = task_of(Path("named"), {}, ("kernel.c",))
    before = {"kernel.c": b"// kernel.c\nint old;\n"}
    assert parse(fenced("// kernel.c\nint new;\n", "c"), task, before).files == {"kernel.c": b"// kernel.c\nint new;\n"}


def test_punctuation_of_chat_windows_becomes_ascii_in_code_alone() -> None:
    code = 'int a = b − c;\u00a0// a − b “said” …\nconst char *s = "a – b";\u200b\nf(“x”, ‘y’)；\n'
    assert plain_code("k.cu", code) == (
        "int a = b - c; // a − b “said” …\nconst char *s = \"a – b\";\nf(\"x\", 'y');\n"
    )  # fmt: skip
    assert plain_code("k.py", "x = a – b  # a – b\ns = '''“\n–'''\n") == "x = a - b  # a – b\ns = '''“\n–'''\n"
    assert plain_code("notes.md", "“as it is” – all of it") == "“as it is” – all of it"
    assert plain_code("k.c", "int n = 1'000 – 1;  // it's") == "int n = 1'000 - 1;  // it's"
    assert plain_code("k.c", "/* \u202e turned */ // \u2066hidden") == "/*  turned */ // hidden"


def test_a_kernel_of_another_language_may_be_named_by_it(tmp_path: Path) -> None:
    task = made(tmp_path, {"kernel.py": "x = 1\n", "run.py": ""}, ("kernel.py",), "triton")
    assert set(parse(fenced("x = 2\n", "triton"), task, {"kernel.py": b"x = 1\n"}).files) == {"kernel.py"}
