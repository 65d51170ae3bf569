"""HarnessGym workspaces become tasks that kpd takes as they are."""

from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.cli.task_import import UNSEEN
from kpd.text.verdicts import UNCHECKED
from kpd.workspace.task import load_task
from tests.support.cli.roots import root
from tests.support.imports import harnessgym as gym
from tests.support.imports.folders import imported, written

__all__ = ["root"]


def test_a_workspace_with_a_benchmark_and_a_verifier(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "vector_scale", gym.FILES)
    code, told, said = imported(root, capsys, str(folder))
    assert code == 0, said
    assert (told["format"], told["task"], told["signs"]) == (
        "harnessgym", "vector_scale", ["task.md", "benchmark.py", "verifier.py"],
    )  # fmt: skip
    task = load_task(root / "tasks" / "vector_scale")
    assert (task.editable, task.language, task.summary) == (("kernel.py",), "python", "Scale a vector")
    assert task.protected == ("benchmark.py", "kpd_check.py", "task.md", "task.toml", "verifier.py")
    assert task.records == ("history.csv", "results/")
    assert (task.bench.command, task.final.command) == (
        "python3 benchmark.py --json --mode dev", "python3 benchmark.py --json --mode final",
    )  # fmt: skip
    assert (task.bench.score, task.bench.direction, task.bench.unit) == ("best_us", "lower", "us")
    assert task.bench.cases is not None and task.bench.cases.time == "best_us"
    assert told["read"]["score"] == "best_us"
    assert "runs `python3 benchmark.py --json --mode dev`, which others wrote" in said
    assert any("a broken kernel fails, as it should" in note for note in told["notes"])
    assert any("timed in up to 30 runs" in note for note in told["notes"])
    assert main(["-w", str(root), "task", "check", "vector_scale"]) == 0


def test_a_verifier_alone_gives_a_time_in_a_sentence(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"task.md": gym.TASK, "kernel.py": gym.KERNEL, "verifier.py": gym.TIMED}
    code, told, said = imported(root, capsys, str(written(tmp_path / "timed", files)), "--as", "scaled")
    assert code == 0, said
    assert told["toml"]["bench"]["command"] == "python3 kpd_bench.py"
    assert "prints a time itself" in told["weak"][0] and "threshold" in told["weak"][1]
    assert UNSEEN not in told["weak"]


def test_a_baseline_that_is_wrong_is_asked_about(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"task.md": gym.TASK, "kernel.py": "def scale(values):\n    return values\n", "verifier.py": gym.TIMED}
    folder = written(tmp_path / "late", files)
    code, _, said = imported(root, capsys, str(folder))
    assert (code, "accuracy mismatch" in said, "--baseline" in said) == (64, True, True)
    assert not (root / "tasks" / "late").exists()
    code, told, said = imported(root, capsys, str(folder), "--baseline", "wrong")
    assert code == 0, said
    assert UNSEEN in told["weak"]
    assert load_task(root / "tasks" / "late").baseline == "wrong"


def test_a_configuration_with_its_space(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"task.md": "Optimize `kernel_plan.json` for the lowest `best_cycles`.\n", "benchmark.py": gym.PLAN}
    files["kernel_plan.json"] = '{"tile": 8, "order": "rows", "pack": false}'
    code, told, said = imported(root, capsys, str(written(tmp_path / "plan", files)), "--unchecked")
    assert code == 0, said
    task = load_task(root / "tasks" / "plan")
    assert task.tune == {"tile": ("8", "16", "32"), "order": ("rows", "columns"), "pack": ("false", "true")}
    assert (task.bench.score, task.bench.direction, task.bench.cases) == ("best_cycles", "lower", None)
    assert any("no broken kernel was tried" in note for note in told["notes"])
    assert UNCHECKED in told["weak"]


@pytest.mark.parametrize(
    ("change", "asked"),
    [
        (('"failed" if bad else "passed"', '"shipshape"'), "if it does, say it with --good shipshape"),
        (("print(json.dumps(result, indent=2))", "print('all done, thank you')"), "all done, thank you"),
        (("print(json.dumps(result, indent=2))", "print('{}'); print(json.dumps(result))"), "--last"),
        (('"status": "failed" if bad else "passed", "errors": bad, ', ""), "a kernel that computes nothing passes"),
    ],
)
def test_what_cannot_be_told_is_asked_and_quoted(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], asked: str
) -> None:
    text = gym.BENCHMARK.replace(*change).replace('"status": "passed" if good else "failed", ', "")
    files = {**gym.FILES, "benchmark.py": text, "verifier.py": "print('verifier passed')\n"}
    code, _, said = imported(root, capsys, str(written(tmp_path / "odd", files)))
    assert (code, asked in said) == (64, True), said
    assert not [path.name for path in (root / "tasks").iterdir() if "odd" in path.name or "importing" in path.name]


def test_on_a_terminal_a_person_is_asked_until_all_is_told(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "task.md": "# Faster\n", "work.py": gym.KERNEL, "verifier.py": gym.VERIFIER.replace("from kernel", "from work"),
        "benchmark.py": gym.BENCHMARK.replace("from kernel", "from work").replace("best_us", "figure"),
    }  # fmt: skip
    folder = written(tmp_path / "asks", files)
    answers = iter(["work.py", "figure", "lower"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    assert main(["-w", str(root), "task", "import", str(folder)]) == 0
    told = capsys.readouterr()
    assert "which files may a candidate change? [" in told.err
    assert "which number of the result is the score?" in told.err
    assert "is a lower or a higher 'figure' better? [lower, higher]" in told.err
    assert "read: figure = " in told.out
    assert list(answers) == []
    task = load_task(root / "tasks" / "asks")
    assert (task.editable, task.bench.score) == (("work.py",), "figure")


def test_no_answer_on_a_terminal_ends_the_questions(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda prompt: asked.append(prompt) or "")
    folder = written(tmp_path / "asks", {"task.md": "# Faster\n", "work.py": gym.KERNEL, "benchmark.py": gym.BENCHMARK})
    assert main(["-w", str(root), "task", "import", str(folder)]) == 64
    assert asked == ["editable: "]
    assert "say it with --editable work.py" in capsys.readouterr().err


def test_a_file_to_edit_that_is_missing_is_named(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {path: text for path, text in gym.FILES.items() if path != "kernel.py"}
    code, _, said = imported(root, capsys, str(written(tmp_path / "lacks", files)))
    assert (code, "task.md says to edit kernel.py, which is not in" in said) == (64, True), said
    assert "--editable kernel.py --baseline absent" in said
