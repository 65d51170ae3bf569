"""Proxies of programs that stand for nvcc, ncu and nvidia-smi: what they record is replayed without those."""

import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kpd.measure import jobs
from kpd.measure.bench import LaunchFilter
from kpd.profile.ncu import collect
from tests.support.cassette.answers import ANSWERS, BLOBS
from tests.support.cassette.calls import pages
from tests.support.cassette.proxies import REPLAYED, UNANSWERED, Settings, lay
from tests.support.cassette.scrub import LEAST, REPLAYED_GPU, Scrub

UUID, OTHER = "GPU-676fe257-081c-a0b9-f335-5b2ab9f950db", "GPU-11111111-2222-3333-4444-555555555555"
# An object is its own sources; a program says what it was called with, and counts how often it was.
NVCC = """#!/bin/sh
case "$*" in *--version*) echo "release 13.0 in $HOME/cuda/bin"; exit ;; esac
grep -l broken *.cu >/dev/null && { echo "$PWD/kernel.cu(3): error: broken" >&2; exit 2; }
while [ $# -gt 0 ]; do if [ "$1" = -o ]; then out=$2; fi; if [ "$1" = -shared ]; then shared=yes; fi; shift; done
if [ "$shared" ]; then cat *.cu >"$out"; exit; fi
cat >"$out" <<'END'
#!/bin/sh
echo x >>"$HOME/calls"; echo "$1 $(wc -l <"$HOME/calls") $(cat)"; [ "$1" != sick ] || kill $$
END
chmod +x "$out"
"""
NCU = """#!/bin/sh
case "$*" in
--import*) echo "page ${7} of $(cat "$2")"; exit ;;
esac
while [ "$1" != -o ]; do shift; done
out=$2; shift 2
"$@" </dev/null || exit 9
echo "report of somebody in $HOME" >"$out.ncu-rep"
"""
SMI = f"""#!/bin/sh
case "$1" in
--query-compute-apps*) echo "77, train, {UUID}" ;;
*) echo "0, {UUID}, A GPU"; echo "1, {OTHER}, A GPU" ;;
esac
"""
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(name="proxies")
def _proxies(tmp_path: Path) -> tuple[Run, Run]:
    """Runs a script where the proxies record, and where they replay: in a job's folder, below a root of its own."""
    real, home = tmp_path / "real", tmp_path / "home-of-somebody"
    for folder in (real, home, tmp_path / "cassette"):
        folder.mkdir()
    programs = {"nvcc": NVCC, "ncu": NCU, "nvidia-smi": SMI}
    for name, text in programs.items():
        (real / name).write_text(text)
        (real / name).chmod(0o755)
    paths = {name: str(real / name) for name in programs}
    cassette = str(tmp_path / "cassette")
    recorder = lay(tmp_path / "recorder", Settings(cassette, "A GPU", paths, (str(home), "somebody"), UUID))
    player = lay(tmp_path / "player", Settings(cassette, "A GPU"))

    def runs(path: Path, root: Path) -> Run:
        def run(script: str, job: str = "job", stdin: str = "") -> subprocess.CompletedProcess[str]:
            folder = root / "jobs" / job
            (folder / "out").mkdir(parents=True, exist_ok=True)
            env = {"PATH": f"{path}:/usr/bin:/bin", "HOME": str(home)}
            text = script.replace("TREE", str(tree(root)))
            return subprocess.run(
                ["sh", "-c", text], cwd=folder, env=env, input=stdin, capture_output=True, text=True, check=False
            )

        return run

    return runs(recorder, tmp_path / "here"), runs(player, tmp_path / "there" / "deeper")


def tree(root: Path) -> Path:
    """A staged tree with a kernel, a header, and a file of kpd's own; made once."""
    folder = root / "trees" / ("0" * 64)
    if not folder.exists():
        (folder / "kpd").mkdir(parents=True)
        (folder / "kernel.cu").write_text('#include "shape.h"\n__global__ void k() {}\n')
        (folder / "shape.h").write_text("#define TILE 32\n")
        (folder / "kpd" / "unit.cu").write_text('#include "kernel.cu"\n')
    return folder


BUILD = 'out="$PWD/out"; cd TREE && nvcc -O3 -I. -shared kpd/unit.cu -o "$out/kernel.so"'
LINK = 'out="$PWD/out"; cd TREE && nvcc -O3 -I. kpd/unit.cu -o "$out/bench"'


def timed(number: int, order: str = "a") -> str:
    """One process of a contest."""
    return f"cp out/kernel.so a{number}.so; out/bench time a{number}.so {order} 20"


def test_a_call_without_an_answer_is_the_hosts_trouble() -> None:
    assert UNANSWERED == jobs.GONE


def test_what_is_recorded_is_replayed_elsewhere(proxies: tuple[Run, Run]) -> None:
    record, replay = proxies
    for run in proxies:
        assert run(BUILD).returncode == 0
        assert run(LINK).returncode == 0
    said = record("out/bench describe out/kernel.so", stdin="one seed")
    assert said.stdout == "describe 1 one seed\n"
    assert replay("out/bench describe out/kernel.so", stdin="another").stdout == said.stdout
    assert replay("out/bench describe out/kernel.so").stdout == said.stdout
    unknown = replay("out/bench describe")
    assert (unknown.returncode, unknown.stdout) == (UNANSWERED, "")
    assert "this cassette does not hold `bench describe` of these files" in unknown.stderr


def test_timings_are_replayed_in_their_order_and_run_out(proxies: tuple[Run, Run]) -> None:
    record, replay = proxies
    for run in proxies:
        run(f"{BUILD}; cd $out/..; {LINK}", "r1.1.1-time0")
    said = [record(timed(number), "r1.1.1-time0").stdout for number in (1, 2, 3)]
    assert said == ["time 1 \n", "time 2 \n", "time 3 \n"]
    assert [replay(timed(number), "r1.1.1-time0").stdout for number in (1, 2)] == said[:2]
    replay(f"{BUILD}; cd $out/..; {LINK}", "r1.1.1-time1")
    assert replay(timed(1), "r1.1.1-time1").stdout == said[2], "the contest goes on in another job"
    last = replay(timed(2), "r1.1.1-time1")
    assert last.returncode == UNANSWERED
    assert "the cassette has no more timings of this pair: it has 3" in last.stderr
    replay(f"{BUILD}; cd $out/..; {LINK}", "r2.1.1-time0")
    assert replay(timed(1), "r2.1.1-time0").stdout == said[0], "another contest begins anew"


def test_processes_that_start_together_print_in_their_order(proxies: tuple[Run, Run]) -> None:
    record, replay = proxies
    for run in proxies:
        run(f"{BUILD}; cd $out/..; {LINK}", "r1.1.1-time0")
    numbers = range(1, 7)
    said = "".join(record(timed(number, "ba"[number % 2]), "r1.1.1-time0").stdout for number in numbers)
    backwards = [f"{{ {timed(number, 'ba'[number % 2])}; }} &" for number in reversed(numbers)]
    assert replay("\n".join([*backwards, "wait"]), "r1.1.1-time0").stdout == said


def test_after_a_process_without_an_answer_there_is_none(proxies: tuple[Run, Run]) -> None:
    """Else a cassette that lacks the third process would be replayed as far as the job's end lets the others come."""
    record, replay = proxies
    for run in proxies:
        run(f"{BUILD}; cd $out/..; {LINK}", "r1.1.1-time0")
    for number in (1, 2, 4, 6):
        record(timed(number, "ba"[number % 2]).replace(f"a{number}.so", "a.so"), "r1.1.1-time0")
    done = [replay(timed(number, "ba"[number % 2]), "r1.1.1-time0") for number in range(1, 5)]
    assert [bool(one.stdout) for one in done] == [True, True, False, False]
    assert {one.stderr for one in done[2:]} == {"kpd: the cassette has no more timings of this pair: it has 1\n"}


@pytest.mark.parametrize("changed", ["kernel.cu", "shape.h", "kpd/unit.cu", "README"])
def test_a_build_is_known_by_the_task_s_code(proxies: tuple[Run, Run], tmp_path: Path, changed: str) -> None:
    record, replay = proxies
    record(BUILD)
    with (tree(tmp_path / "there" / "deeper") / changed).open("a") as file:
        file.write("// otherwise\n")
    done = replay(BUILD)
    if changed in ("kpd/unit.cu", "README"):
        assert done.returncode == 0
    else:
        assert done.returncode == UNANSWERED
        assert "does not hold a build of this code (kernel.cu, shape.h)" in done.stderr
        assert not (tmp_path / "there/deeper/jobs/job/out/kernel.so").exists()


def test_other_flags_are_another_build(proxies: tuple[Run, Run]) -> None:
    record, replay = proxies
    record(BUILD)
    assert replay(BUILD.replace("-O3", "-O2")).returncode == UNANSWERED


def test_a_cassette_without_what_kpd_has_added_to_its_flags_is_still_good(proxies: tuple[Run, Run]) -> None:
    record, replay = proxies
    record(BUILD.replace("-O3", "-O3 -Xcompiler -fPIC"))
    assert replay(BUILD.replace("-O3", "-O3 -Xcompiler -fPIC,-fno-gnu-unique")).returncode == 0
    assert replay(BUILD.replace("-O3", "-O3 -Xcompiler -fPIC,-fno-other")).returncode == UNANSWERED


def test_a_build_that_failed_fails_again_without_the_place(proxies: tuple[Run, Run], tmp_path: Path) -> None:
    record, replay = proxies
    for root in (tmp_path / "here", tmp_path / "there" / "deeper"):
        (tree(root) / "kernel.cu").write_text("broken\n")
    assert record(BUILD).returncode == 2
    again = replay(BUILD)
    assert (again.returncode, again.stderr) == (2, "kernel.cu(3): error: broken\n")


def test_a_profile_leaves_its_report_and_the_pages_that_kpd_asks_for(proxies: tuple[Run, Run], tmp_path: Path) -> None:
    record, replay = proxies

    def script(export: bool) -> str:
        def calls(number: int) -> str:
            return f"$PWD/out/bench run out/kernel.so {number}"

        return collect.script(calls, "sm_90", LaunchFilter(), export=export)

    for run in proxies:
        run(f"{BUILD}; cd $out/..; {LINK}")
    assert record(script(export=False)).returncode == 0
    done = replay(script(export=True).replace("gpu__time_duration.sum", "a_newer_metric"))
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "there" / "deeper" / "jobs" / "job" / "out"
    report = (out / "report.ncu-rep").read_text()
    assert len(report) == len(f"report of somebody in {tmp_path / 'home-of-somebody'}\n")
    assert "report of" in report and "somebody" not in report
    assert (out / "raw.csv").read_text().startswith("page raw of report of")
    assert (out / "details.csv").read_text().startswith("page details of report of")
    assert len(pages(out / "report.ncu-rep")) == 2


def test_a_gpu_is_replayed_under_another_name_and_nobody_computes_on_it(proxies: tuple[Run, Run]) -> None:
    record, replay = proxies
    assert UUID in record("nvidia-smi --query-gpu=uuid").stdout
    assert record("nvidia-smi --query-compute-apps=pid").stdout == f"77, train, {UUID}\n"
    assert replay("nvidia-smi --query-gpu=uuid").stdout == f"0, {REPLAYED_GPU}, A GPU{REPLAYED}\n"
    assert (replay("nvidia-smi --query-compute-apps=pid").stdout, replay("nvidia-smi -L").returncode) == (
        "",
        UNANSWERED,
    )


def test_a_program_that_a_signal_ended_has_not_answered(proxies: tuple[Run, Run]) -> None:
    record, replay = proxies
    for run in proxies:
        run(LINK)
    assert record("out/bench sick").returncode == 128 + 15
    assert replay("out/bench sick").returncode == UNANSWERED


def test_what_is_not_on_the_recorded_machine_is_not_taken_from_this_one(proxies: tuple[Run, Run]) -> None:
    proxies[0]("nvidia-smi -L")
    said = proxies[1]("cuobjdump --version; ncu --version; compute-sanitizer --version").stderr.splitlines()
    assert len(said) == 3
    assert all("does not hold" in line for line in said)


def test_damage_is_told(proxies: tuple[Run, Run], tmp_path: Path) -> None:
    record, replay = proxies
    (tree(tmp_path / "here") / "kernel.cu").write_text("broken\n" + "// long\n")
    for run in proxies:
        run(f"{LINK}")
    record("nvidia-smi -L")
    answers = tmp_path / "cassette" / ANSWERS
    answers.write_text(answers.read_text().replace('"stdout": "0', '"stdout": 0'))
    done = replay("nvidia-smi -L")
    assert (done.returncode, "cassette is damaged" in done.stderr) == (UNANSWERED, True)
    shutil.rmtree(tmp_path / "cassette")
    assert "cassette is damaged" in replay("nvidia-smi -L").stderr


def test_nothing_private_is_recorded(proxies: tuple[Run, Run], tmp_path: Path) -> None:
    record, _ = proxies
    record(f"{BUILD}; cd $out/..; {LINK}; cd $out/..; nvcc --version; nvidia-smi; ncu -o out/r out/bench run")
    files = [path for path in (tmp_path / "cassette").rglob("*") if path.is_file()]
    held = b"".join(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files)
    assert (tmp_path / "cassette" / BLOBS).is_dir()
    assert b"report of" in held
    for word in ("somebody", str(tmp_path), UUID, OTHER, os.uname().nodename):
        assert word.encode() not in held, word


@given(st.text(alphabet="/ab.: \n", max_size=40), st.lists(st.text(alphabet="ab/", min_size=1), max_size=3))
def test_no_folder_and_no_word_is_left(text: str, words: list[str]) -> None:
    scrub, raw = Scrub(words), text.encode()
    assert not re.search(r"(?<![\w./])/[ab]+/", scrub.text(raw))
    assert not {word for word in words if word in scrub.text(raw).split()}
    assert len(scrub.binary(raw)) == len(raw)
    assert not [word for word in words if len(word) >= LEAST and word.encode() in scrub.binary(raw)]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("ptxas /tmp/tmpxft_1/k.ptx, line 25; error   : no", "ptxas k.ptx, line 25; error   : no"),
        ("at 3/4 of 2.1 GB/s and GFLOP/s", "at 3/4 of 2.1 GB/s and GFLOP/s"),
        ("see https://docs.nvidia.com/cuda/x", "see https://docs.nvidia.com/cuda/x"),
        ("kpd/unit.cu and ./out/bench", "kpd/unit.cu and ./out/bench"),
        ("on somehost by ann, not annexed", "on recorded by recorded, not annexed"),
    ],
)
def test_what_is_left_of_a_line(said: str, kept: str) -> None:
    assert Scrub(("somehost", "ann")).text(said.encode()) == kept
