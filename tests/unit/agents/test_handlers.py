"""Handlers: a hint for what must stay, and nothing taken away but sentences beyond doubt."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.agents.agent import BadReply
from kpd.agents.handlers import hints, tidy
from kpd.agents.prompting import read_reply
from tests.support.agents.asked import TASKS, made, shipped

SPACED = """\
namespace fast::kernels {
namespace {
__global__ void k(float *x) { *x = 1.0f; }
}
template <int N> void scale(float *x) { k<<<1, N>>>(x); }
template void scale<4>(float *x);
template void scale<8>(float *x);
}
"""
HARNESS = "void call(float *x) { fast::kernels::scale<4>(x); }\n"


def test_shipped_kernels_need_no_hint_and_no_tidying() -> None:
    for folder in TASKS.iterdir():
        task, incumbent = shipped(folder.name)
        assert hints(task, incumbent) == ()
        assert tidy(incumbent) == incumbent


def test_hints_name_what_must_stay(tmp_path: Path) -> None:
    task = made(tmp_path, {"kernel.cu": SPACED, "harness.cu": HARNESS}, ("kernel.cu",))
    incumbent = {"kernel.cu": SPACED.encode()}
    assert hints(task, incumbent) == (
        "kernel.cu: `k` must stay in namespace fast::kernels::(unnamed); open and close it as the file does.",
        "kernel.cu: `scale` must stay in namespace fast::kernels; open and close it as the file does.",
        "kernel.cu: harness.cu calls `scale` with its template parameters <int N>; keep them, new ones need defaults.",
        "Keep the explicit instantiations: `template void scale<4>(float *x);`, `template void scale<8>(float *x);`.",
    )
    assert hints(task, incumbent) == hints(task, incumbent)


def test_a_namespace_that_is_lost_is_said_and_not_mended(tmp_path: Path) -> None:
    task = made(tmp_path, {"kernel.cu": SPACED, "harness.cu": HARNESS}, ("kernel.cu",))
    incumbent = {"kernel.cu": SPACED.encode()}
    lost = SPACED.replace("namespace fast::kernels {", "namespace fast {")
    with pytest.raises(
        BadReply, match=r"`scale` stands in namespace fast, but harness\.cu looks for it in namespace fast::k"
    ):
        read_reply(f"MEMO: x\n```cuda kernel.cu\n{lost}```\n", task, incumbent)


CODE = "#include <math.h>\n\nint f(int n) {\n    return n;\n}\n"


@pytest.mark.parametrize(
    ("given_text", "left"),
    [
        (f"Here is the whole kernel, as asked:\n\n{CODE}", CODE),
        (f"{CODE}\nThis kernel uses a tile in shared memory.\nIt should reach 80% of the bandwidth.\n", CODE),
        (f"{CODE}\nThis kernel's tile (32 floats) is padded by one!\n\n", CODE),
        (f"{CODE}// This kernel uses a tile in shared memory.\n", None),
        (f"/* This is the whole of it.\nThis kernel uses a tile in memory. */\n{CODE}", None),
        (f"{CODE}#define SAY(x) \\\nThis is a macro with words.\n", None),
        (f"{CODE}int g(int n);\n", None),
        (f"{CODE}this kernel uses a tile in shared memory.\n", None),
        (f"{CODE}Uses shared memory.\n", None),
        (f"int g(void) {{\nThis kernel uses a tile in memory.\n}}\n{CODE}", None),
        (f"\n\n{CODE}\n\n", None),
        ("This kernel uses a tile in memory.\n", ""),
    ],
)
def test_sentences_at_either_end_are_taken_away(given_text: str, left: str | None) -> None:
    files = {"kernel.cu": given_text.encode(), "notes.txt": b"This is a file of words.\n"}
    tidied = tidy(files)
    assert tidied["kernel.cu"].decode() == (given_text if left is None else left)
    assert tidied["notes.txt"] == files["notes.txt"]


@given(st.binary(max_size=200) | st.lists(st.sampled_from([
    b"This kernel uses a tile in memory.", b"\n", b"\r\n", b"/*", b"*/", b'"', b"\\", b"int x;", b"\x0c", b"\xff",
]), max_size=20).map(b"".join))  # fmt: skip
def test_any_file_is_left_as_it_is_or_shorter(data: bytes) -> None:
    tidied = tidy({"kernel.cu": data})["kernel.cu"]
    assert tidied == data or tidied.removesuffix(b"\n") in data
    assert tidy({"kernel.cu": tidied})["kernel.cu"] == tidied


def test_what_does_not_concern_them_is_left() -> None:
    task, incumbent = shipped("rmsnorm_silu_gate_h100")
    assert hints(task, incumbent) == ()
    assert tidy(incumbent) == incumbent


def test_a_reply_is_tidied_before_the_gate() -> None:
    task, incumbent = shipped("transpose_cuda")
    kernel = incumbent["kernel.cu"].decode().replace("#define TILE 0 ", "#define TILE 32 ")
    reply = read_reply(f"MEMO: tiles\n```cuda kernel.cu\n{kernel}\nThis uses a tile of 32.\n```\n", task, incumbent)
    assert reply.files == {"kernel.cu": kernel.encode()}
    assert reply.memo == "tiles"
