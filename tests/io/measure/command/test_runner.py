"""The program that runs a task's command on a host: under any Python there, and by itself."""

import ast
import base64
import hashlib
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kpd.measure import jobs
from kpd.measure.command.runner import MOST_RECORDS, RECORD_BYTES
from kpd.measure.command.runs import START, sources
from kpd.measure.screen import suspicious
from kpd.model.flags import InSource
from tests.places import ROOT
from tests.support.hosts.pythons import oldest_python
from tests.support.measure import nvml_standin

GONE = jobs.GONE


def staged(folder: Path, files: dict[str, bytes]) -> Path:
    """A tree as a host's store makes it, named by its content."""
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    tree = folder / hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()
    for name, data in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(data)
    return tree


def ran(
    folder: Path, command: str, sides: str = "a", python: str = sys.executable, warns: bool = False, **changes: Any
) -> list[Any]:
    """The runner's reports, and its exit status last."""
    tree = staged(folder / "trees", {"judge.txt": b"42\n", "kernel.sh": b"#!/bin/sh\necho from $1\n"})
    job = folder / "job"
    (job / "out").mkdir(parents=True)
    order = {
        "command": command, "limit_s": 20, "sides": sides, "trees": dict.fromkeys("ab", str(tree)),
        "caches": {side: str(folder / side) for side in "ab"}, "protected": ["judge.txt"], "gone": GONE,
        "records": [], "folders": [], **changes,
    }  # fmt: skip
    runner = staged(folder / "trees", sources())
    ended = subprocess.run([python, "-I", "-c", START, runner, json.dumps(order)], cwd=job, capture_output=True)
    assert bool(ended.stderr) == (warns or ended.returncode == GONE), ended.stderr
    return [*map(json.loads, ended.stdout.splitlines()), ended.returncode]


def test_runs_in_turn_each_with_its_own_cache_and_one_name_for_both(tmp_path: Path) -> None:
    *runs, rc = ran(tmp_path, 'pwd; ./kernel.sh "$TRITON_CACHE_DIR"', "abba")
    assert [run["side"] for run in runs] == ["a", "b", "b", "a"]
    assert all((run["rc"], run["timeout"], run["touched"]) == (0, False, []) for run in runs)
    where = str(tmp_path / "job" / "run" / "task")
    assert [run["stdout"] for run in runs] == [
        f"{where}\nfrom {tmp_path / side / 'triton_cache_dir'}\n" for side in "abba"
    ]
    assert rc == 0
    assert sorted(path.name for path in (tmp_path / "job").iterdir()) == ["out"]


@pytest.mark.parametrize(
    ("command", "report"),
    [
        ("echo no >&2; exit 3", {"rc": 3, "stderr": "no\n"}),
        ("kill -9 $$", {"rc": -9}),
        ("chmod u+w judge.txt; echo 43 > judge.txt", {"rc": 0, "touched": ["judge.txt"]}),
        ("rm -f judge.txt; ln -s kernel.sh judge.txt", {"touched": ["judge.txt"]}),
        ("chmod 000 . ; exit 1", {"rc": 1}),
        ("printf '\\377'", {"stdout": "\N{REPLACEMENT CHARACTER}"}),
        ("echo 43 > kernel.sh", {"rc": 0, "touched": []}),
    ],
)
def test_what_is_reported_of_a_run(tmp_path: Path, command: str, report: dict[str, Any]) -> None:
    *runs, rc = ran(tmp_path, command, "aa")
    assert rc == 0
    assert {name: runs[0][name] for name in report} == report
    assert len(runs) == (1 if runs[0]["rc"] or runs[0]["touched"] else 2), "a run that fails is the last one"


def test_what_is_kept_for_one_side_is_shut_while_the_other_runs(tmp_path: Path) -> None:
    other = "import os, sys; print([oct(os.stat(f'{sys.argv[1]}/{side}').st_mode)[-3:] for side in 'ab'])"
    command = f"{sys.executable} -c {shlex.quote(other)} {tmp_path}"
    *runs, rc = ran(tmp_path, command, "ab")
    assert [run["stdout"] for run in runs] == ["['700', '000']\n", "['000', '700']\n"]
    assert rc == 0
    assert {(tmp_path / side).stat().st_mode & 0o777 for side in "ab"} == {0o700}


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ("echo more > $TRITON_CACHE_DIR/more", set()),
        ("echo evil > $TRITON_CACHE_DIR/kept", {"b"}),
        ("rm $TRITON_CACHE_DIR/kept", {"b"}),
        ("rm -r {b}; ln -s {a} {b}", {"b"}),
        ("rm -r {b}; echo > {b}", {"b"}),
        ("chmod 700 {a}; echo evil > {a}/triton_cache_dir/kept; echo 3 > {b}/new", {"a"}),
        ("chmod 700 {a}; echo evil > {a}/triton_cache_dir/new; chmod 0 {a}", {"a"}),
    ],
)
def test_what_was_compiled_before_may_not_change(tmp_path: Path, change: str, anew: set[str]) -> None:
    for side in "ab":
        (tmp_path / side / "triton_cache_dir").mkdir(parents=True)
        (tmp_path / side / "triton_cache_dir" / "kept").write_text("what a framework compiled\n")
    (tmp_path / "a").chmod(0)  # a runner that was killed has left it so
    ((run), rc) = ran(tmp_path, change.format(**{side: tmp_path / side for side in "ab"}), "b", warns=bool(anew))
    assert (run["rc"], rc) == (0, 0)
    for side in "ab":
        kept = tmp_path / side / "triton_cache_dir" / "kept"
        assert (list((tmp_path / side).iterdir()) == []) == (side in anew)
        assert side in anew or kept.read_text() == "what a framework compiled\n"


def test_an_object_that_is_gone_is_made_again(tmp_path: Path) -> None:
    assert ran(tmp_path, "true", caches=dict.fromkeys("ab", str(tmp_path / "gone" / "cache"))) == [GONE]


def test_a_run_that_takes_too_long(tmp_path: Path) -> None:
    ((run), rc) = ran(tmp_path, "trap '' TERM; echo begun; while :; do sleep 0.1; done", limit_s=0.5)
    assert (run["timeout"], run["stdout"], rc) == (True, "begun\n", 0)


def test_a_tree_that_is_not_what_its_name_says_is_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for name in ("0" * 64, "absent"):
        tree = tmp_path / name
        if name != "absent":
            tree.mkdir()
        assert ran(tmp_path / f"for {name}", f"touch {mark}", trees={"a": str(tree)}) == [GONE]
    assert not mark.exists()


@pytest.mark.skipif(oldest_python() is None, reason="no python3 older than 3.11 here")
def test_an_older_python_runs_it_too(tmp_path: Path) -> None:
    python = oldest_python()
    assert python is not None
    *runs, rc = ran(tmp_path, "echo hello", "ab", python)
    assert [run["stdout"] for run in runs] == ["hello\n", "hello\n"]
    assert rc == 0


def test_its_source_is_python_that_every_host_has() -> None:
    for name, source in sources().items():
        for node in ast.walk(ast.parse(source.decode(), feature_version=(3, 6))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
                for module in names:
                    known = f"{module.replace('.', '/')}.py" in sources()
                    assert known or module.split(".")[0] in sys.stdlib_module_names, f"{name} imports {module}"


CHEATS = {
    "t0 = time.perf_counter_ns()": "reads or replaces the clock",
    "sys.modules['benchmark'].event_us = fake": "reaches into the program that runs it",
    "atexit.register(report)": "reaches into the program that runs it",
    "os.write(1, result)": "reaches into the program that runs it",
}


@pytest.mark.parametrize("line", CHEATS)
def test_what_looks_like_a_cheat_in_python_is_flagged(line: str) -> None:
    assert suspicious({}, {"kernel.py": line.encode()}, ()) == (InSource("kernel.py:1", CHEATS[line]),)


def test_a_plain_triton_kernel_is_not_flagged() -> None:
    task = ROOT / "tasks"
    for path in ("rmsnorm_silu_gate_h100/kernel.py", "layernorm_pilot/src/layernorm.py"):
        assert suspicious({}, {path: (task / path).read_bytes()}, ()) == ()


@pytest.mark.skipif(sys.platform != "linux", reason="NVML's library has this name on Linux")
def test_a_gpu_says_how_it_was_while_a_command_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it said before the command had begun to compute is left out."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(nvml_standin.build(tmp_path / "nvml")))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-1")
    run, _ = ran(tmp_path, "sleep 0.5")
    seen = run["telemetry"]
    assert seen["sm_mhz"] == [1710, 1980]
    assert (seen["mem_mhz"], seen["power_w"], seen["temp_c"]) == ([2619, 2619], [500.0, 650.0], [42, 44])
    assert seen["reasons"] == 4 | 64
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "another")
    shutil.rmtree(tmp_path / "job")
    assert ran(tmp_path, "sleep 0.1")[0]["telemetry"] is None, "the library knows no such device"


def test_without_nvml_nothing_is_said_of_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-1")
    assert ran(tmp_path, "true")[0]["telemetry"] is None


def test_what_the_last_run_of_side_b_wrote_is_kept_and_no_run_finds_it(tmp_path: Path) -> None:
    link = "ln -s /etc/passwd profile/link; ln -s /etc profile/etc; mkfifo profile/fifo"
    written = "echo $TRITON_CACHE_DIR | tail -c 19 >> runs.csv; head -c 2000000 /dev/zero > profile/big"
    command = f"ls profile; {link}; {written}"
    records = {"records": ["runs.csv", "profile/(?:[^/]+/)*[^/]*"], "folders": ["profile"]}
    *runs, rc = ran(tmp_path, command, "baba", **records)
    assert ([run["stdout"] for run in runs], [run["touched"] for run in runs], rc) == ([""] * 4, [[]] * 4, 0)
    kept = json.loads((tmp_path / "job" / "out" / "records.json").read_text())
    files = {name: base64.b64decode(data) for name, data in kept["files"].items()}
    assert files == {"runs.csv": b"b/triton_cache_dir\n"}
    assert kept["left_out"] == ["profile/big", "profile/fifo", "profile/link"]


@pytest.mark.parametrize(("more", "kept"), [(0, True), (1, False)])
def test_records_are_bounded_in_bytes(tmp_path: Path, more: int, kept: bool) -> None:
    command = f"head -c {RECORD_BYTES - 1 + more} /dev/zero > large; echo -n x > small"
    ran(tmp_path, command, "b", records=["large|small"])
    found = json.loads((tmp_path / "job" / "out" / "records.json").read_text())
    assert ("large" in found["files"], found["left_out"]) == (kept, [] if kept else ["large"])


@pytest.mark.parametrize("more", [0, 1])
def test_records_are_bounded_in_number(tmp_path: Path, more: int) -> None:
    ran(tmp_path, f"for i in $(seq {MOST_RECORDS + more}); do echo > r$i; done", "b", records=["r.*"])
    found = json.loads((tmp_path / "job" / "out" / "records.json").read_text())
    assert (len(found["files"]), len(found["left_out"])) == (MOST_RECORDS, more)
