"""Tasks with commands of their own: what these may be, and which keys only such a task has."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from kpd.workspace.task import TaskError, card, load_task
from tests.support.workspace.scale_task import TOML, folder

__all__ = ["folder"]


OWN = """\
[task]
name = "scale"
language = "triton"
editable = ["kernel.c"]

[check]
command = "python3 tests/check.py"

[bench]
command = "python3 'bench mark.py' --json"
score = "tflops"
direction = "higher"

[final]
command = "python3 final.py"

[profile]
kernel = "scale_.*"
command = "python3 kernel.c once"

[need]
device = "cpu"
"""


def test_a_task_with_its_own_benchmark(folder: Path) -> None:
    (folder / "task.toml").write_text(OWN)
    task = load_task(folder)
    assert (task.bench.command, task.final.command) == ("python3 'bench mark.py' --json", "python3 final.py")
    assert (task.check.command, task.profile.command) == ("python3 tests/check.py", "python3 kernel.c once")
    assert "harness.c" in task.protected
    found = card(task)
    assert (found.score, found.direction, found.need.device) == ("tflops", "higher", "cpu")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("final.py", "kernel.c", 15, "'command' in [final] runs 'kernel.c', which an agent may edit; what judges"),
        ("tests/check.py", "./kernel.c", 7, "'command' in [check] runs './kernel.c'"),
        ("'bench mark.py'", "'bench", 10, "'command' in [bench] cannot be read: No closing quotation"),
        ("'bench mark.py'", "\\u001b", 10, "has a control character"),
        ("\"python3 'bench mark.py' --json\"", '""', 10, "'command' in [bench] must be a string, not empty"),
        ("\"python3 'bench mark.py' --json\"", '" "', 10, "'command' in [bench] is blank"),
        ("command = \"python3 'bench mark.py' --json\"", "", 9, "a task in triton needs a 'command' in [bench]"),
        ('direction = "higher"', 'direction = "up"', 12, 'must be "lower" or "higher"'),
        ('device = "cpu"', 'device = "tpu"', 22, "'device' in [need]"),
        (
            'language = "triton"',
            'language = "c"',
            22,
            "'device' in [need], but kpd's own driver measures a task in c; remove it",
        ),
    ],
)
def test_refused_commands(folder: Path, old: str, new: str, line: int, message: str) -> None:
    assert old in OWN
    (folder / "task.toml").write_text(OWN.replace(old, new))
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert str(caught.value).startswith(f"{folder / 'task.toml'}:{line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("command", "is_refused"),
    [
        ("python3 tests/check.py kernel.c", False),
        ("python3 ./tests/check.py --of=kernel.c kernel.c", False),
        ("python3 kernel.c tests/check.py", True),
        ("python3 tests/check.py && ./kernel.c", True),
        ("python3 tests/check.py;./kernel.c", True),
        ("python3 tests/check.py | kernel.c", True),
        ("env X=1 kernel.c", True),
    ],
)
def test_an_editable_file_may_be_an_argument_of_a_protected_one(folder: Path, command: str, is_refused: bool) -> None:
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "check.py").touch()
    (folder / "task.toml").write_text(OWN.replace("python3 tests/check.py", command))
    with pytest.raises(TaskError, match="which an agent may edit") if is_refused else nullcontext():
        load_task(folder)


@pytest.mark.parametrize(
    ("command", "is_refused"),
    [
        ("python3 tests/check.py src", False),
        ("python3 tests/check.py src/new.py", False),
        ("python3 src/new.py", True),
        ("pytest src", True),
        ("pytest src/", True),
        ("pytest tests", False),
    ],
)
def test_what_lies_in_an_area_may_not_be_run_even_if_it_is_not_there_yet(
    folder: Path, command: str, is_refused: bool
) -> None:
    for name in ("tests/check.py", "src/old.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    text = OWN.replace('editable = ["kernel.c"]', 'editable = ["kernel.c", "src/"]')
    (folder / "task.toml").write_text(text.replace("python3 tests/check.py", command))
    with pytest.raises(TaskError, match="which an agent may edit") if is_refused else nullcontext():
        load_task(folder)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("TILE <= 8", ""),
        ("VEC <= 8", "[tune] has no 'VEC'; its parameters are TILE, flags; correct the name"),
        ("TILE", "'TILE' is no condition"),
        ("TILE <", "is not an expression"),
    ],
)
def test_conditions_on_points(folder: Path, where: str, message: str) -> None:
    (folder / "task.toml").write_text(f'{TOML}\n[sweep]\nwhere = ["{where}"]\n')
    if not message:
        assert load_task(folder).where == (where,)
        return
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert message in f"{caught.value}"


def test_cases_are_in_one_place(folder: Path) -> None:
    (folder / "task.toml").write_text(OWN.replace("score =", 'cases = {at = "runs[*].cases"}\nscore ='))
    with pytest.raises(TaskError, match="leads to several places; name the one list or table"):
        load_task(folder)


def test_kpds_own_driver_takes_no_command(folder: Path) -> None:
    (folder / "task.toml").write_text(TOML + '[final]\ncommand = "make check"\n')
    with pytest.raises(
        TaskError, match=r"task.toml:17: 'command' in \[final\], but kpd's own driver measures a task in c"
    ):
        load_task(folder)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("[need]\ncpus = 0\n", "'cpus' in [need] must be at least 1"),
        ("unchecked = true\n", "'unchecked' in [check], where 'command' checks the results; remove one of them"),
        ("unchecked = 1\n", "'unchecked' in [check] must be true or false"),
        ('good = "fine"\n', "'good' in [check] must be a list"),
    ],
)
def test_keys_about_correctness_that_do_not_fit(folder: Path, more: str, message: str) -> None:
    assert "[check]\n" in OWN
    table = more.partition("\n")[0] + "\n" if more.startswith("[") else "[check]\n"
    (folder / "task.toml").write_text(OWN.replace(table, more if more.startswith("[") else f"{table}{more}"))
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert message in str(caught.value)


@pytest.mark.parametrize("more", ["[check]\nunchecked = true", '[check]\ngood = ["fine"]'])
def test_keys_that_a_task_of_kpds_driver_has_not(folder: Path, more: str) -> None:
    (folder / "task.toml").write_text(f"{TOML}\n{more}\n")
    with pytest.raises(TaskError, match="kpd's own driver measures a task in c; remove it"):
        load_task(folder)


@pytest.mark.parametrize("cpus", ["2", '"all"'])
def test_kpds_driver_times_on_one_cpu(folder: Path, cpus: str) -> None:
    (folder / "task.toml").write_text(f"{TOML}\n[need]\ncpus = 1\n")
    assert load_task(folder).need.cpus == 1
    (folder / "task.toml").write_text(f"{TOML}\n[need]\ncpus = {cpus}\n")
    with pytest.raises(TaskError, match="times a task in c on one CPU; remove it, or write cpus = 1"):
        load_task(folder)
