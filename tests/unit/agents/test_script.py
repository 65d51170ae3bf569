"""Prepared candidates are proposed in their order, each once, whatever became of the others."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.agents.agent import BadReply, Exhausted, Proposal
from kpd.agents.script import Script
from kpd.model.iteration import Expectation, Iteration
from tests.support.agents.asked import asked, made

KERNEL = "#define TILE 8\nint f(void) { return TILE; }\n"


def folders(base: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_text(text)


async def proposed(root: Path, *before: str, folder: str = "candidates") -> Proposal:
    """What comes after iterations of these agents."""
    task = replace(
        made(root / "task", {"kernel.c": KERNEL, "build.json": "{}"}, ("kernel.c", "build.json"), "c"),
        tune={"TILE": ("8", "16")},
    )
    incumbent = {"kernel.c": KERNEL.encode(), "build.json": b"{}"}
    agents = ("baseline", *before, f"script:{folder}")
    iterations = [Iteration(number, agent, 0, 0.0) for number, agent in enumerate(agents)]
    return await Script(folder).propose(asked(root, task, incumbent, *iterations))


async def test_folders_are_taken_in_the_order_of_their_names(tmp_path: Path) -> None:
    tiled = KERNEL.replace("8", "16")
    folders(tmp_path / "candidates", {
        "02_flags/build.json": '{"flags": "-O3"}',
        "01_tiled/kernel.c": tiled,
        "01_tiled/memo.md": "MEMO: [cache_misses] a larger tile\nEXPECT: cache_mpki down, gain 20 %\n",
        ".hidden/kernel.c": "no",
        "readme.txt": "no folder",
    })  # fmt: skip
    first = await proposed(tmp_path)
    assert first == Proposal(
        {"kernel.c": tiled.encode()}, "a larger tile", Expectation("cache_mpki", "down", 20.0), {"TILE": "16"},
        ("cache_misses",),
    )  # fmt: skip
    own = "script:candidates"
    second = await proposed(tmp_path, "claude", own, "operator")
    assert second == Proposal({"build.json": b'{"flags": "-O3"}'}, "02_flags", point={"TILE": "8"})
    with pytest.raises(Exhausted, match=r"/candidates has 2 candidates, and all have been proposed"):
        await proposed(tmp_path, own, own)


async def test_a_folder_may_lie_anywhere(tmp_path: Path) -> None:
    folders(tmp_path / "elsewhere", {"a/kernel.c": "int x;\n"})
    (tmp_path / "workspace").mkdir()
    found = await proposed(tmp_path / "workspace", folder=str(tmp_path / "elsewhere"))
    assert found.files == {"kernel.c": b"int x;\n"}


async def test_without_candidates_the_run_ends_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(Exhausted, match="candidates cannot be read: No such file or directory; name a folder"):
        await proposed(tmp_path)
    (tmp_path / "candidates").mkdir()
    with pytest.raises(Exhausted, match="holds no folders"):
        await proposed(tmp_path)


async def test_a_candidate_that_cannot_be_used_is_named_and_passed_over(tmp_path: Path) -> None:
    base = tmp_path / "candidates"
    folders(base, {"a/kernle.c": "int x;\n", "b/memo.md": "MEMO: nothing else\n", "d/kernel.c": "int y;\n"})
    (base / "c").mkdir()
    (tmp_path / "secret").write_text("secret")
    (base / "c" / "kernel.c").symlink_to(tmp_path / "secret")
    own = "script:candidates"
    for before, reason in (
        ((), r"a/kernle\.c is not an editable file; editable are kernel\.c, build\.json"),
        ((own,), r"b holds no editable file; put kernel\.c into it"),
        ((own, own), "a link that leads out"),
    ):
        with pytest.raises(BadReply, match=reason):
            await proposed(tmp_path, *before)
    assert (await proposed(tmp_path, own, own, own)).files == {"kernel.c": b"int y;\n"}
