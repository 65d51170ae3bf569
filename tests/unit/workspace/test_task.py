"""The task contract: what a folder must hold, and every refusal with its line."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from kpd.measure.driver.harness import Harness, HarnessCase, refuse_mismatch
from kpd.model.budget import Budget
from kpd.workspace.paths import Workspace
from kpd.workspace.specs import BudgetSpec
from kpd.workspace.task import TaskError, card, find_tasks, load_task

TOML = """\
[task]
name = "scale"
summary = "y = 2x"
language = "c"
editable = ["kernel.c", "build.json"]

[tune]
TILE = [8, 16, 32]
flags = ["-O2", "-O3"]

[roofline]
bytes = "n*8"

[budget]
patience = 9
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "tasks" / "scale"
    home.mkdir(parents=True)
    for name in ("kernel.c", "build.json", "harness.c"):
        (home / name).write_text(name)
    (home / "task.toml").write_text(TOML)
    return home


def change(folder: Path, old: str, new: str) -> None:
    assert old in TOML
    (folder / "task.toml").write_text(TOML.replace(old, new))


def test_a_whole_task(folder: Path) -> None:
    (folder / "inc").mkdir()
    (folder / "inc" / "b.h").touch()
    for ignored in (".kernel.c.swp", "kernel.c~", "#kernel.c#", "kernel.c.orig", "x.tmp"):
        (folder / ignored).touch()
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").touch()
    task = load_task(folder)
    assert task.editable == ("kernel.c", "build.json")
    assert task.protected == ("harness.c", "task.toml", "inc/b.h")
    assert task.tune == {"TILE": ("8", "16", "32"), "flags": ("-O2", "-O3")}
    assert task.roofline.bytes is not None
    assert task.roofline.bytes.evaluate({"n": 4}) == 32
    assert task.roofline.flops is None
    assert task.budget.over(Budget()) == Budget(patience=9)
    assert (card(task).name, card(task).tunable, card(task).error) == ("scale", 6, "")


def test_cases_have_weights_and_a_floor(folder: Path) -> None:
    assert (load_task(folder).weights, load_task(folder).accept.worst_case) == ({}, 0.95)
    change(folder, "[budget]", "[cases.large-4096]\nweight = 2.5\n\n[accept]\nworst_case = 0\n\n[budget]")
    task = load_task(folder)
    assert (task.weights, task.accept.worst_case) == ({"large-4096": 2.5}, 0)


@pytest.mark.parametrize("wrong", ["[cases.a]\nweight = 0", "[accept]\nworst_case = 1.01", "[cases.a]\nshare = 1"])
def test_refused_weights_and_floors(folder: Path, wrong: str) -> None:
    change(folder, "[budget]", f"{wrong}\n\n[budget]")
    with pytest.raises(TaskError, match=r"task.toml:\d+"):
        load_task(folder)


def test_a_task_with_its_own_benchmark_has_its_score_or_weighs_its_cases(folder: Path) -> None:
    change(folder, 'language = "c"', 'language = "command"')
    toml = (folder / "task.toml").read_text() + '\n[bench]\ncommand = "./bench"\n'
    (folder / "task.toml").write_text(toml)
    own = load_task(folder)
    assert (own.own_score, card(own).score, own.weights) == ("best_us", "best_us", {})
    (folder / "task.toml").write_text(f"{toml}\n[cases.a]\nweight = 2\n")
    weighed = load_task(folder)
    assert (weighed.own_score, card(weighed).score, weighed.weights) == ("", "us", {"a": 2.0})
    (folder / "task.toml").write_text(f'{toml}direction = "higher"\n\n[cases.a]\nweight = 2\n')
    with pytest.raises(TaskError, match=r"\[cases\] has weights, so the score is a time") as caught:
        load_task(folder)
    assert caught.value.remedy == "remove [cases], or let the benchmark print times"


def test_weights_are_for_cases_that_the_harness_times(folder: Path) -> None:
    change(folder, "[budget]", "[cases.large]\nweight = 2\n\n[budget]")
    task = load_task(folder)
    small, checked = HarnessCase("small", {}, {}), HarnessCase("large", {}, {}, timed=False)
    refuse_mismatch(task, Harness("bench", "f", (small, HarnessCase("large", {}, {}))))
    with pytest.raises(TaskError, match=r"\[cases.large\] is not a case that the harness times") as caught:
        refuse_mismatch(task, Harness("bench", "f", (small, checked)))
    assert caught.value.remedy == "its timed cases are small"


def test_budget_overrides_are_optional() -> None:
    assert BudgetSpec().over(Budget(iterations=3)) == Budget(iterations=3)
    assert BudgetSpec(stop_score=1.5, min_gain_pct=0.0).over(Budget()) == Budget(stop_score=1.5, min_gain_pct=0.0)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('name = "scale"', 'name = "other"', 2, "the name 'other' is not that of its folder, 'scale'"),
        ('name = "scale"', 'name = "../scale"', 2, "is not plain"),
        ('language = "c"', 'language = "fortran"', 4, "unknown language 'fortran'; known are c"),
        ('"kernel.c", ', '"../kernel.c", ', 5, "'../kernel.c' leaves the folder"),
        ('"kernel.c", ', '"/etc/passwd", ', 5, "'/etc/passwd' is absolute"),
        ('"kernel.c", ', '"absent.c", ', 5, "'absent.c' does not exist"),
        ('"kernel.c", ', '"build.json", ', 5, "'build.json' appears twice"),
        ('"kernel.c", ', '"harness.c", ', 5, "'harness.c' judges the candidate"),
        ('"kernel.c", ', '"task.toml", ', 5, "'task.toml' judges the candidate"),
        ('"kernel.c", ', '"-o", ', 5, "a name that tools trip over"),
        ('["kernel.c", "build.json"]', "[]", 5, "not empty"),
        ('["kernel.c", "build.json"]', '"kernel.c"', 5, "must be a list"),
        ("TILE = [8, 16, 32]", "TILE = []", 8, "'TILE' in [tune] has no values"),
        ("TILE = [8, 16, 32]", "TILE = [8, [1]]", 8, "not [8, [1]]"),
        ("TILE = [8, 16, 32]", 'TILE = [8, "8"]', 8, "has a value twice"),
        ("TILE = [8, 16, 32]", '"a-b" = [8]', 8, "is not an identifier"),
        ("TILE = [8, 16, 32]", 'TILE = ["a\\nb"]', 8, "control character"),
        ('"n*8"', '"n**8"', 12, "'bytes' in [roofline]: 'n ** 8' is not allowed"),
        ("patience = 9", "patience = 0", 15, "'patience' in [budget] must be an integer"),
        ("[budget]", "[bench]\nquads = 257\n[budget]", 15, "at most 256"),
        ("patience = 9", "euro = 9", 15, "unknown key 'euro' in [budget]"),
        ("[tune]", "[tunes]", 7, "unknown table 'tunes'; did you mean 'tune'?"),
        ("[tune]", "[tune", 7, "not TOML"),
    ],
)
def test_refusals(folder: Path, old: str, new: str, line: int, message: str) -> None:
    change(folder, old, new)
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert str(caught.value).startswith(f"{folder / 'task.toml'}:{line}: ")
    assert message in str(caught.value)


def test_links_that_leave_the_folder_are_refused(folder: Path) -> None:
    outside = folder.parent.parent / "secret.c"
    outside.write_text("secret")
    (folder / "kernel.c").unlink()
    (folder / "kernel.c").symlink_to(outside)
    with pytest.raises(TaskError, match=r"task.toml:5: editable path 'kernel.c' leads out of the folder"):
        load_task(folder)
    (folder / "kernel.c").unlink()
    (folder / "kernel.c").touch()
    (folder / "common.h").symlink_to(outside)
    with pytest.raises(TaskError, match=r"common.h: a link that leads out of the task's folder"):
        load_task(folder)
    (folder / "common.h").unlink()
    (folder / "inc").symlink_to(folder.parent.parent)
    with pytest.raises(TaskError, match="inc: a link that leads out"):
        load_task(folder)


def test_a_link_to_a_file_of_the_same_task_is_protected(folder: Path) -> None:
    (folder / "alias.h").symlink_to("harness.c")
    assert "alias.h" in load_task(folder).protected


def test_missing_files_and_folders(folder: Path) -> None:
    (folder / "harness.c").unlink()
    with pytest.raises(TaskError, match=r"harness.c: no such file; a task in c needs it"):
        load_task(folder)
    (folder / "harness.c").touch()
    (folder / "kernel.c").unlink()
    os.mkfifo(folder / "kernel.c")
    with pytest.raises(TaskError, match=r"'kernel.c' is not a regular file"):
        load_task(folder)
    (folder / "task.toml").unlink()
    with pytest.raises(TaskError, match=r"task.toml: no such file"):
        load_task(folder)
    with pytest.raises(TaskError, match="no such task folder; kpd task list"):
        load_task(folder.parent / "absent")


def test_a_workspaces_task_stands_before_a_shipped_one(folder: Path) -> None:
    ws = Workspace(folder.parent.parent)
    assert find_tasks(ws)["scale"] == folder
    for name, path in find_tasks(ws).items():
        assert path.name == name
        assert (path / "task.toml").exists()


CUDA = """\
[task]
name = "flip"
language = "cuda"
editable = ["kernel.cu"]

[build]
flags = ["-DFAST=1"]

[profile]
kernel = "^flip"
"""
SECTIONS = """\
// ===== KERNEL SECTION =====
// ===== END KERNEL SECTION =====
// ===== HARNESS SECTION =====
// ===== END HARNESS SECTION =====
"""


@pytest.fixture
def flip(tmp_path: Path) -> Path:
    home = tmp_path / "flip"
    home.mkdir()
    (home / "kernel.cu").write_text("// a kernel\n")
    (home / "harness.cu").write_text("// a harness\n")
    (home / "task.toml").write_text(CUDA)
    return home


def test_a_cuda_task_in_two_files(flip: Path) -> None:
    task = load_task(flip)
    assert (task.language, task.editable, task.protected) == ("cuda", ("kernel.cu",), ("harness.cu", "task.toml"))
    assert (task.sectioned, task.build.flags, task.profile.kernel) == ("", ("-DFAST=1",), "^flip")


@pytest.mark.parametrize("name", ["kernel.cu", "flip.cu"])
def test_a_cuda_task_in_one_file(flip: Path, name: str) -> None:
    (flip / "harness.cu").unlink()
    (flip / "kernel.cu").unlink()
    (flip / name).write_text(SECTIONS)
    (flip / "task.toml").write_text(CUDA.replace("kernel.cu", name))
    task = load_task(flip)
    assert (task.sectioned, task.editable, task.protected) == (name, (name,), ("task.toml",))


def lacks(flip: Path, *names: str) -> None:
    for name in names:
        (flip / name).unlink()


def one_file(flip: Path, text: str = SECTIONS) -> None:
    (flip / "one.cu").write_text(text)
    (flip / "task.toml").write_text(CUDA.replace("kernel.cu", "one.cu"))


WRONG_CUDA = {
    "no harness": (lambda flip: lacks(flip, "harness.cu"), "harness.cu: no such file; a task in cuda needs it"),
    "an editable harness": (
        lambda flip: (flip / "task.toml").write_text(CUDA.replace("kernel.cu", "harness.cu")),
        "task.toml:4: editable file 'harness.cu' judges the candidate",
    ),
    "neither form": (
        lambda flip: (one_file(flip, "// nothing\n"), lacks(flip, "kernel.cu", "harness.cu")),
        "flip: no kernel.cu and harness.cu, and no editable .cu file with a kernel and a harness section",
    ),
    "both forms": (
        lambda flip: (one_file(flip), lacks(flip, "kernel.cu")),
        "one.cu: has a section's mark, and harness.cu is there, too; keep one of them",
    ),
    "marks in disorder": (
        lambda flip: (one_file(flip, SECTIONS.replace("END KERNEL", "KERNEL")), lacks(flip, "kernel.cu", "harness.cu")),
        "one.cu:2: 'KERNEL SECTION' where 'END KERNEL SECTION' should be; mark one kernel and one harness section",
    ),
    "no regular expression": (
        lambda flip: (flip / "task.toml").write_text(CUDA.replace("^flip", "(flip")),
        "task.toml:10: 'kernel' in [profile] is no regular expression: missing )",
    ),
}


@pytest.mark.parametrize("what", WRONG_CUDA)
def test_cuda_tasks_that_are_refused(flip: Path, what: str) -> None:
    spoil, message = WRONG_CUDA[what]
    spoil(flip)
    with pytest.raises(TaskError) as caught:
        load_task(flip)
    assert message in f"{caught.value}; {caught.value.remedy}"


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
