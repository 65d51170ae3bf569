"""Tasks of usual shapes: their files are tasks, and sizes that make none are refused with what is wrong."""

from pathlib import Path

import pytest

from kpd.cli import task_like
from kpd.cli.diagnosis import problems
from kpd.cli.main import main
from kpd.onboarding.shapes import DTYPES, LANGS, SHAPES, read_sizes, task_files
from kpd.workspace.task import load_task


@pytest.mark.parametrize("like", SHAPES)
@pytest.mark.parametrize("lang", LANGS)
def test_every_shape_is_a_task_in_every_language(like: str, lang: str, tmp_path: Path) -> None:
    shape = SHAPES[like]
    sizes = read_sizes(shape, "float64", shape.sizes["cpu"])
    for name, text in task_files("mine", like, lang, "float64", sizes).items():
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / name).write_text(text)
    assert not problems(tmp_path / "mine")
    task = load_task(tmp_path / "mine")
    assert (task.language, task.name) == (lang, "mine") and task.tune
    harness = (tmp_path / "mine" / f"harness.{LANGS[lang]}").read_text()
    assert all("x".join(map(str, size)) in harness for size in sizes)
    assert "float32" not in harness and "KPD_F32" not in harness, "the type that was asked for, and no other"


def test_the_command_line_offers_what_there_is() -> None:
    assert tuple(SHAPES) == task_like.LIKE
    assert tuple(DTYPES) == task_like.DTYPES


def test_a_case_whose_truth_would_take_minutes_is_only_timed() -> None:
    sizes = read_sizes(SHAPES["matmul"], "float32", "1024x1024x1024,8x8x8,8x8x8")
    assert sizes == ((1024, 1024, 1024), (8, 8, 8))
    harness = task_files("mine", "matmul", "c", "float32", sizes)["harness.c"]
    assert '{"1024x1024x1024", {1024, 1024, 1024}, KPD_TIME_ONLY}' in harness
    assert '{"8x8x8", {8, 8, 8}}' in harness


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("64x64", "'64x64' has 2 of the 3 dims m x n x k"),
        ("64x64x64x64", "has 4 of the 3 dims"),
        ("64x0x64", "is not made of whole numbers above 0: m x n x k"),
        ("axbxc", "is not made of whole numbers above 0"),
        ("64x-1x64", "is not made of whole numbers above 0"),
        ("99999999999x1x1", "bytes for its arrays, of at most 2,147,483,648"),
        (" , ", "there is no size: write it as m x n x k, several with commas"),
    ],
)
def test_sizes_that_make_no_case_are_refused_with_what_is_wrong(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError) as err:
        read_sizes(SHAPES["matmul"], "float32", text)
    assert said in str(err.value)
    (tmp_path / "config.toml").touch()
    (tmp_path / "tasks").mkdir()
    assert main(["-w", str(tmp_path), "task", "new", "mine", "--like", "matmul", "--sizes", text]) == 64
    assert "--sizes: " in capsys.readouterr().err
    assert not (tmp_path / "tasks" / "mine").exists()


def test_what_belongs_to_a_shape_needs_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.toml").touch()
    (tmp_path / "tasks").mkdir()
    assert main(["-w", str(tmp_path), "task", "new", "mine", "--sizes", "8"]) == 64
    assert "--sizes and --dtype belong to --like" in capsys.readouterr().err
    assert main(["-w", str(tmp_path), "task", "new", "mine", "--like", "matmul", "--lang", "triton"]) == 64
    assert "--like knows no 'triton'; known are c, cuda, python" in capsys.readouterr().err
