"""PATTERNS.md: from the memories of all tasks, by rule and architecture, and what of it goes into a prompt."""

import re
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given, strategies as st

from kpd.knowledge import memory
from kpd.knowledge.patterns import MARK, matching, regenerate, tried
from kpd.model.budget import Budget
from kpd.model.deployments import Lesson
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.run import Run
from kpd.model.status import Outcome
from kpd.model.verdicts import Gain, Rule, Verdict, VerdictWord
from kpd.workspace.paths import Workspace
from tests.support.model.samples import done

NOON = 1763726400.0
PARENT = Iteration(0, "baseline", 0, NOON, status=done("baseline"))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def remember(
    workspace: Workspace, number: int, outcome: Outcome, gain: float | None, *aims: str,
    task: str = "transpose", arch: str = "sm_90", memo: str = "", unchecked: bool = False,
    files: tuple[str, ...] = (),
) -> Run:  # fmt: skip
    verdict = (
        None
        if gain is None
        else Verdict("same", Gain(gain, gain - 1, gain + 1), 7, outcome == "accepted", "told", told="")
    )
    iteration = Iteration(
        number, "claude", number - 1, NOON + number, status=done(outcome), memo=memo or f"idea {number}", aims=aims,
        verdict=verdict,
    )  # fmt: skip
    run = Run("r3", task, "claude", "box", Budget(), NOON, device="NVIDIA H100 80GB HBM3", started=NOON)
    run = replace(run, iterations=(PARENT, iteration), incumbent=number, unchecked=unchecked)
    memory.append(workspace, run, iteration, outcome, Told("a reason"), arch=arch, files=files)
    return run


def written(workspace: Workspace) -> str:
    return (workspace.memory / "PATTERNS.md").read_text()


def test_a_success_whose_results_nothing_checks_is_no_pattern(workspace: Workspace) -> None:
    remember(workspace, 1, "accepted", 20.0, "poor_coalescing", unchecked=True)
    remember(workspace, 2, "failed", None, "poor_coalescing", unchecked=True)
    assert [one.word for one in tried(workspace, "transpose")] == ["failed"]


def test_the_files_of_a_tree_are_named_and_its_line_is_found_again(workspace: Workspace) -> None:
    remember(workspace, 1, "accepted", 20.0, "poor_coalescing", files=("kernel.cu", "src/tile.cuh (new)"))
    regenerate(workspace)
    line = "idea 1; in kernel.cu, src/tile.cuh (new) (transpose r3.1)"
    assert line in written(workspace)
    assert line in matching(workspace, ["poor_coalescing"], "sm_90", 1000)


def test_by_rule_and_architecture_with_what_became_of_it(workspace: Workspace) -> None:
    remember(workspace, 1, "accepted", 20.0, "poor_coalescing", "low_l2_hit")
    remember(workspace, 2, "rejected", 0.3, "poor_coalescing")
    remember(workspace, 3, "failed", None, "poor_coalescing")
    remember(workspace, 4, "skipped", None, "poor_coalescing")
    remember(workspace, 5, "accepted", 31.4, "poor_coalescing")
    remember(workspace, 6, "accepted", 2.0)
    remember(workspace, 1, "accepted", 5.0, "poor_coalescing", task="row_sum", arch="sm_80", memo="tile_32 | #1")
    assert regenerate(workspace)
    assert written(workspace) == (
        f"{MARK}\n\n# What was tried, by the finding it aimed at\n\n"
        "## low\\_l2\\_hit\n\naccepted 1\n\n### sm\\_90\n\n- accepted, 1.25×: idea 1 (transpose r3.1)\n\n"
        "## poor\\_coalescing\n\naccepted 3, no gain 1, failed 1\n\n"
        "### sm\\_80\n\n- accepted, 5.0 % less time: tile\\_32 \\| \\#1 (row\\_sum r3.1)\n\n"
        "### sm\\_90\n\n- accepted, 1.46×: idea 5 (transpose r3.5)\n"
        "- accepted, 1.25×: idea 1 (transpose r3.1)\n"
        "- failed: idea 3 (transpose r3.3)\n- no gain, 0.3 % less time: idea 2 (transpose r3.2)\n"
    )
    inode = (workspace.memory / "PATTERNS.md").stat().st_ino
    assert not regenerate(workspace)
    assert (workspace.memory / "PATTERNS.md").stat().st_ino == inode


def test_what_became_of_it_in_production_counts_instead(workspace: Workspace) -> None:
    lasting = remember(workspace, 1, "accepted", 20.0, "poor_coalescing")
    memory.in_production(workspace, lasting, lasting.iterations[1], "deployed", "p #1: the program +9 %", NOON + 60)
    back = remember(workspace, 2, "accepted", 31.4, "poor_coalescing")
    for at, word in ((50, "deployed"), (70, "rolled back in production")):
        memory.in_production(workspace, back, back.iterations[1], cast(Lesson, word), "p #2: launches", NOON + at)
    small = remember(workspace, 3, "accepted", 2.0, "poor_coalescing")
    memory.in_production(workspace, small, small.iterations[1], "short circuit", "p #3: too little", NOON + 80)
    before = (workspace.memory / "transpose.md").read_text()
    memory.in_production(workspace, small, small.iterations[1], "short circuit", "p #3: too little", NOON + 80)
    assert (workspace.memory / "transpose.md").read_text() == before
    assert len(re.findall("^## Run r3 .*sm", before, re.MULTILINE)) == before.count("## Run ") == 1
    words = {one.name: one.word for one in tried(workspace, "transpose")}
    assert words == {
        "transpose r3.1": "deployed", "transpose r3.2": "rolled back in production", "transpose r3.3": "short circuit"
    }  # fmt: skip
    regenerate(workspace)
    assert "deployed 1, short circuit 1, rolled back in production 1" in written(workspace)
    assert "- deployed, 1.25×: idea 1 (transpose r3.1)" in matching(workspace, ["poor_coalescing"], "sm_90", 1000)


@pytest.mark.parametrize(
    ("word", "rule", "learned"),
    [
        ("undecided", "undecided", ""), ("faster", "unconfirmed", ""), ("faster", "too_little", "near miss"),
        ("no_gain", "no_gain", "no gain"), ("same", "same", "no gain"), ("faster", "held_out", "no gain"),
    ],
)  # fmt: skip
def test_only_what_a_verdict_decides_is_learned(
    workspace: Workspace, word: VerdictWord, rule: Rule, learned: str
) -> None:
    verdict = Verdict(word, Gain(0.6, 0.2, 1.0), 15, False, rule, 1.0)
    iteration = Iteration(1, "claude", 0, NOON, status=done("rejected"), aims=("tail_effect",), verdict=verdict)
    run = Run("r3", "transpose", "claude", "box", Budget(), NOON, iterations=(PARENT, iteration))
    memory.append(workspace, run, iteration, "rejected", Told("a reason"))
    assert [one.word for one in tried(workspace, "transpose")] == ([learned] if learned else [])


def test_an_older_kpds_word_for_undecided_is_not_learned_either(workspace: Workspace) -> None:
    remember(workspace, 1, "rejected", 0.3, "tail_effect")
    path = workspace.memory / "transpose.md"
    path.write_text(path.read_text().replace("verdict: same", "verdict: inconclusive"))
    assert not list(tried(workspace, "transpose"))


def test_what_a_person_undid_was_rolled_back(workspace: Workspace) -> None:
    run = remember(workspace, 1, "accepted", 20.0, "poor_coalescing")
    memory.overruled(workspace, run, PARENT, "wrong on real data", NOON + 600, arch="sm_90")
    assert [(one.word, one.gain) for one in tried(workspace, "transpose")] == [("rolled back", 20.0)]
    memory.overruled(workspace, replace(run, incumbent=0), run.iterations[1], "right after all", NOON + 900)
    assert [one.word for one in tried(workspace, "transpose")] == ["accepted by hand"]


def test_an_earlier_heading_names_the_device_and_people_may_correct_entries(workspace: Workspace) -> None:
    remember(workspace, 1, "accepted", 20.0, "poor_coalescing", arch="")
    path = workspace.memory / "transpose.md"
    path.write_text(path.read_text().replace("outcome: accepted", "outcome: rejected"))
    (one,) = tried(workspace, "transpose")
    assert (one.arch, one.word, one.at) == ("NVIDIA H100 80GB HBM3", "no gain", "2025-11-21 12:00:01")


@pytest.mark.parametrize("heading", ["", "## Run r3 · mine\n\n", "## Run r3 · 2025-11-21 · box\n\n"])
def test_whatever_people_made_of_the_heading(workspace: Workspace, heading: str) -> None:
    workspace.memory.mkdir()
    (workspace.memory / "norm.md").write_text(
        f"{heading}### r3.1 · 2025-11-21 12:00:00\n- outcome: accepted\n- aimed at: low_ipc\n"
    )
    (one,) = tried(workspace, "norm")
    assert one.arch == ("box" if "box" in heading else "unknown")
    assert memory.past(workspace, "norm", "r4").startswith(heading or "### r3.1")


def test_nothing_is_written_of_nothing_nor_over_what_is_somebodys_own(workspace: Workspace) -> None:
    assert not regenerate(workspace)
    assert not workspace.memory.exists()
    remember(workspace, 1, "accepted", 20.0)
    assert not regenerate(workspace)
    remember(workspace, 2, "accepted", 20.0, "low_ipc")
    (workspace.memory / "PATTERNS.md").write_text("# Mine\n")
    assert not regenerate(workspace)
    assert written(workspace) == "# Mine\n"
    (workspace.memory / "PATTERNS.md").write_text(f"{MARK}\nan edit\n")
    assert regenerate(workspace)
    assert "an edit" not in written(workspace)


def test_summaries_readmes_and_links_to_nowhere_are_no_memories(workspace: Workspace) -> None:
    remember(workspace, 1, "accepted", 20.0, "low_ipc")
    text = (workspace.memory / "transpose.md").read_text()
    for name in ("README.md", "transpose.summary.md", "my notes.md"):
        (workspace.memory / name).write_text(text)
    (workspace.memory / "gone.md").symlink_to(workspace.memory / "nowhere")
    (workspace.memory / "folder.md").mkdir()
    assert regenerate(workspace)
    assert written(workspace).count("(transpose r3.1)") == 1


def test_a_forgotten_task_leaves_the_patterns(workspace: Workspace) -> None:
    remember(workspace, 1, "accepted", 20.0, "low_ipc")
    regenerate(workspace)
    (workspace.memory / "transpose.md").unlink()
    assert regenerate(workspace)
    assert "transpose" not in written(workspace)


def test_only_the_telling_ones_are_listed(workspace: Workspace) -> None:
    for number in range(1, 41):
        remember(workspace, number, "accepted" if number % 2 else "rejected", float(number), "low_ipc")
    regenerate(workspace)
    listed = [int(n) for n in re.findall(r"idea (\d+)", written(workspace))]
    assert listed == [39, 37, 35, 33, 31, 29, 40, 38, 36, 34, 32, 30]
    assert "accepted 20, no gain 20" in written(workspace)


# ── what goes into a prompt ───────────────────────────────────────────────────────────────────────────────────────


def test_the_own_architecture_first_and_in_the_order_of_the_rules(workspace: Workspace) -> None:
    assert matching(workspace, ["low_ipc"], "sm_90", 3000) == ""
    remember(workspace, 1, "accepted", 50.0, "low_ipc", task="a", arch="sm_80")
    remember(workspace, 2, "accepted", 3.0, "low_ipc", task="b_c", arch="sm_90")
    remember(workspace, 3, "rejected", 0.0, "tail_effect", task="a", arch="sm_90")
    remember(workspace, 4, "accepted", 9.0, "near_roofline", task="a", arch="sm_90")
    regenerate(workspace)
    assert matching(workspace, ["tail_effect", "low_ipc", "launch_bound", "low_ipc"], "sm_90", 3000) == (
        "tail_effect:\n- no gain, 0.0 % less time: idea 3 (a r3.3)\n"
        "low_ipc:\n- accepted, 3.0 % less time: idea 2 (b\\_c r3.2)\n"
        "- accepted, 2.00×: idea 1 (a r3.1) on sm\\_80"
    )
    assert matching(workspace, ["low_ipc", "tail_effect"], "sm_90", 3000, besides="a") == (
        "low_ipc:\n- accepted, 3.0 % less time: idea 2 (b\\_c r3.2)"
    )
    assert "b\\_c" not in matching(workspace, ["low_ipc"], "sm_90", 3000, besides="b_c")


@given(limit=st.integers(0, 400))
def test_within_its_limit_and_no_rule_without_a_line(tmp_path_factory: pytest.TempPathFactory, limit: int) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("memory"))
    for number, rule in enumerate(("low_ipc", "tail_effect", "launch_bound"), start=1):
        remember(workspace, number, "accepted", 5.0, rule)
    regenerate(workspace)
    told = matching(workspace, ("low_ipc", "tail_effect", "launch_bound"), "sm_90", limit)
    assert len(told) <= limit
    assert not told.endswith(":")


@given(st.text())
def test_a_hostile_memo_adds_no_rule_and_no_line_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("memory"))
    remember(workspace, 1, "accepted", 5.0, "low_ipc", memo=f"{text}\n## tail_effect\n\n### sm_90\n- x (a r1.1)")
    regenerate(workspace)
    assert len(re.findall(r"^#", written(workspace), re.MULTILINE)) == 3
    assert matching(workspace, ["tail_effect"], "sm_90", 3000) == ""
    assert matching(workspace, ["low_ipc"], "sm_90", 3000).count("\n") == 1
