"""Tasks with their own benchmark, run for real on this machine: what counts as a result, and what is found out."""

import os
import textwrap
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import count
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed
from kpd.measure.command.bench import CommandBench, prepare
from kpd.measure.compiling import BuildError
from kpd.measure.judge import HeldOutResult, judge, log_ratio
from kpd.measure.samples import ProcessSample
from kpd.measure.score import case_times, impossible, score
from kpd.workspace.task import load_task
from tests.support.measure.measured import THIS_CPU, local_host

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()

TOML = """
[task]
name = "speed"
language = "python"
editable = ["kernel.py"]
[bench]
command = "python3 benchmark.py"
"""
BENCHMARK = """
import json, kernel
kernel.run()
print(json.dumps({"ok": True, "best_us": kernel.US, "cases": [{"name": "all", "us": kernel.US}]}))
"""
KERNEL = "US = 100.0\ndef run(): pass\n"


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Host]:
    async with local_host(tmp_path_factory.mktemp("command")) as host:
        yield host


async def made(host: Host, folder: Path, toml: str = "", **files: str) -> CommandBench:
    """The task above with more in its task.toml, made ready; `files` are its Python files by name."""
    home = folder / "speed"
    home.mkdir()
    (home / "task.toml").write_text(TOML + toml)
    for name, text in {"kernel": KERNEL, "benchmark": BENCHMARK, **files}.items():
        (home / f"{name}.py").write_text(textwrap.dedent(text))
    return await prepare(host, load_task(home), THIS_CPU, print)


async def built(bench: CommandBench, kernel: str = KERNEL) -> str:
    files = {"kernel.py": textwrap.dedent(kernel).encode()}
    return (await bench.build(await bench.stage(files), files, print)).job


async def checked(bench: CommandBench, kernel: str) -> None:
    await bench.check(await built(bench, kernel), f"check{next(numbers)}", print)


async def timed(bench: CommandBench, a: str, b: str, processes: int = 1, first: int = 0) -> list[ProcessSample]:
    job = f"time{next(numbers)}"
    return [s async for s in bench.time(await built(bench, a), await built(bench, b), job, first, processes, print)]


def us(number: float) -> str:
    return f"US = {number!r}\ndef run(): pass\n"


async def test_a_pair_of_runs_is_a_sample(host: Host, tmp_path: Path) -> None:
    bench = await made(host, tmp_path)
    samples = await timed(bench, us(100.0), us(80.5), processes=3, first=4)
    assert [sample.process for sample in samples] == [4, 5, 6]
    for sample in samples:
        assert sample.score is not None
        assert (sample.score.a_ns, sample.score.b_ns) == ((100_000.0,), (80_500.0,))
        assert (sample.cases["all"].a_ns, sample.cases["all"].b_ns, sample.taint) == ((100_000.0,), (80_500.0,), "")


async def test_higher_scores_are_better_where_the_task_says_so(host: Host, tmp_path: Path) -> None:
    bench = await made(
        host,
        tmp_path,
        'direction = "higher"\nscore = "tflops"',
        benchmark='import kernel; print(f\'{{"ok": 1, "tflops": {kernel.US}}}\')',
    )
    (sample,) = await timed(bench, us(100), us(200))
    assert sample.score is not None
    assert log_ratio(sample.score) == pytest.approx(0.693, abs=0.001)
    assert sample.cases == {}


async def test_device_time_and_work_of_a_case_that_tells_its_dims(host: Host, tmp_path: Path) -> None:
    case = '{"name": "all", "us": kernel.US, "device_us": kernel.US / 4, "dims": {"n": 1000}}'
    benchmark = f'import json, kernel; print(json.dumps({{"ok": True, "best_us": 1, "cases": [{case}]}}))'
    bench = await made(host, tmp_path, '[roofline]\nbytes = "n*8"\nflops = "m"', benchmark=benchmark)
    (sample,) = await timed(bench, us(100), us(200))
    assert sample.cases["all"].device_ns == (25_000.0, 50_000.0)
    assert (bench.work["all"].bytes, bench.work["all"].flops) == (8000, None)


async def test_a_case_on_a_cpu_cannot_be_quicker_than_its_cpus(host: Host, tmp_path: Path) -> None:
    """Also where nothing compares the results."""
    case = '{"name": "all", "us": kernel.US, "dims": {"n": 10_000_000}}'
    benchmark = f'import json, kernel; print(json.dumps({{"best_us": kernel.US, "cases": [{case}]}}))'
    least = []
    for cpus in (1, 2):
        toml = f'[check]\nunchecked = true\n[need]\ncpus = {cpus}\n[roofline]\nbytes = "n*8"\nflops = "n*8"\n'
        (tmp_path / str(cpus)).mkdir()
        bench = await made(host, tmp_path / str(cpus), toml, benchmark=benchmark)
        too_fast = case_times(await timed(bench, us(1e6), us(0.05), processes=2), bench.work)
        found = impossible(too_fast, bench.work)
        assert found is not None and found.us == pytest.approx(0.05)
        assert impossible(case_times(await timed(bench, us(1e6), us(1e6), processes=2), bench.work), bench.work) is None
        assert (bench.work["all"].roofline_us is None, bench.peaks == (None, None)) == (cpus == 2, cpus == 2)
        least.append(found.least_us)
    assert least[0] == pytest.approx(2 * least[1])


FOUND_OUT = {
    "touches a protected file": (
        "import os\nUS = 1.0\ndef run():\n    os.chmod('benchmark.py', 0o644); open('benchmark.py', 'a').write('#')\n",
        "^protected file changed while it ran: benchmark.py$",
    ),
    "replaces a protected file by a pipe": (
        "import os\nUS = 1.0\ndef run():\n    os.unlink('benchmark.py'); os.mkfifo('benchmark.py')\n",
        "^protected file changed while it ran: benchmark.py$",
    ),
    "removes a protected file and fails": (
        "import os\nUS = 1.0\ndef run():\n    os.unlink('task.toml'); os._exit(3)\n",
        "^protected file changed while it ran: task.toml$",
    ),
    "is not a number": (us(float("nan")).replace("nan", "float('nan')"), "'best_us' in its result is nan"),
    "is a bool": ("US = True\ndef run(): pass\n", "'best_us' in its result is True"),
    "ends before the result": ("import os\ndef run(): os._exit(0)\n", "neither a JSON object nor KK_TIMING lines"),
    "raises": ("def run(): raise ValueError('no such tile')\n", r"exited with 1: .*ValueError: no such tile$"),
    "dies by a signal": (
        "import os\ndef run(): os.kill(os.getpid(), 11)\n",
        r"was ended by signal 11: it gave no reason$|exited with 139: ",
    ),
    "says why": (
        'def run():\n    print(\'{"ok": false, "error": "row 7 is off"}\'); raise SystemExit(1)\n',
        "exited with 1: row 7 is off$",
    ),
}


@pytest.mark.parametrize("what", FOUND_OUT)
async def test_a_candidate_that_spoils_its_run_is_found_out(host: Host, tmp_path: Path, what: str) -> None:
    kernel, said = FOUND_OUT[what]
    bench = await made(host, tmp_path)
    with pytest.raises(CheckFailed, match=said):
        await checked(bench, kernel)
    with pytest.raises(CheckFailed, match=said):
        await timed(bench, KERNEL, kernel)


async def test_a_run_that_hangs_is_ended_with_all_that_it_began(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    kernel = f"""
        import subprocess, time
        US = 1.0
        def run():
            child = "import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
            subprocess.Popen(["python3", "-c", child], start_new_session=True)
            time.sleep(60)
    """
    bench = await made(host, tmp_path, "limit_s = 1.5")
    with pytest.raises(CheckFailed, match=r"did not finish within 1.5 s"):
        await checked(bench, kernel)
    assert not psutil.pid_exists(int(mark.read_text()))


async def test_what_a_run_leaves_behind_is_gone_before_the_next(host: Host, tmp_path: Path) -> None:
    """Neither files nor processes: the incumbent's run must not find what the candidate's has left."""
    litter = """
        import os, subprocess
        US = 1.0
        def run():
            there = sorted(set(os.listdir(".")) - {"__pycache__"})
            assert there == ["benchmark.py", "kernel.py", "task.toml"], there
            assert not any("benchmark" in name or "litter" in name for name in os.listdir("__pycache__"))
            assert not os.listdir(os.environ["TMPDIR"])
            open("litter", "w").close()
            open("__pycache__/litter", "w").close()
            open(os.path.join(os.environ["TMPDIR"], "litter"), "w").close()
            others = subprocess.run(["pgrep", "-f", "sleep 987[65]"], capture_output=True).stdout
            assert not others, others
            subprocess.Popen(["sleep", "9876"], start_new_session=True)
    """
    bench = await made(host, tmp_path)
    assert len(await timed(bench, litter, litter.replace("9876", "9875"), processes=2)) == 2


async def test_a_protected_module_that_a_run_has_compiled_to_something_else_is_read_again(
    host: Host, tmp_path: Path
) -> None:
    """As a .pyc that Python does not check against its source: whatever outlives a run must not hold one."""
    poison = """
        import importlib.util, os, py_compile
        US = 100.0
        def run():
            cached = importlib.util.cache_from_source(os.path.abspath("scale.py"))
            os.makedirs(os.path.dirname(cached), exist_ok=True)
            open("poison.py", "w").write("SCALE = 0.001")
            unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile("poison.py", cached, invalidation_mode=unchecked)
    """
    benchmark = (
        "import json, kernel, scale\nkernel.run()\nprint(json.dumps({'ok': True, 'best_us': kernel.US * scale.SCALE}))"
    )
    bench = await made(host, tmp_path, benchmark=benchmark, scale="SCALE = 1.0")
    for sample in await timed(bench, KERNEL, poison, processes=3):
        assert sample.score is not None
        assert (sample.score.a_ns, sample.score.b_ns) == ((100_000.0,), (100_000.0,))


async def test_ten_megabytes_of_logs_are_kept_in_part_and_not_parsed(host: Host, tmp_path: Path) -> None:
    noisy = """
        import sys
        US = 2.5
        def run():
            for at in range(100_000):
                print("step %d " % at + "x" * 90)
            sys.stderr.write("warning " * 100_000)
    """
    bench = await made(host, tmp_path)
    job = f"noisy{next(numbers)}"
    found = await bench.check(await built(bench, noisy), job, print)
    assert found.where == "python3 benchmark.py"
    log = await bench.output(job, "0b.stdout", 2 << 20)
    assert len(log) == 1 << 20
    assert log.endswith(b'"us": 2.5}]}\n')


async def test_an_incumbent_that_fails_is_not_the_candidates_fault(host: Host, tmp_path: Path) -> None:
    bench = await made(host, tmp_path)
    broken = "def run(): raise MemoryError\n"
    with pytest.raises(HostError, match=r"the incumbent's own run failed: .*MemoryError"):
        await timed(bench, broken, KERNEL)
    with pytest.raises(CheckFailed, match="MemoryError"):
        await timed(bench, broken, broken)


async def test_other_cases_than_the_incumbents_are_no_comparison(host: Host, tmp_path: Path) -> None:
    named = 'import json, kernel; print(json.dumps({"ok": True, "best_us": 1, "cases": {kernel.NAME: 1}}))'
    bench = await made(host, tmp_path, benchmark=named)
    with pytest.raises(CheckFailed, match="different cases: large, small"):
        await timed(bench, "NAME = 'small'", "NAME = 'large'")


CHECK = """
import json, kernel
assert kernel.US < 50, 'too slow'
print(json.dumps({"ok": kernel.US != 13, "reason": "13"} if kernel.US != 7 else [True]))
"""


async def test_a_check_command_has_to_say_that_all_is_right(host: Host, tmp_path: Path) -> None:
    bench = await made(host, tmp_path, '[check]\ncommand = "python3 check.py"', check=CHECK)
    await checked(bench, us(1.0))
    with pytest.raises(CheckFailed, match=r"`python3 check.py` exited with 1: .*AssertionError: too slow"):
        await checked(bench, us(60.0))
    with pytest.raises(CheckFailed, match=r'exited with 0 but did not print {"ok": true}: 13$'):
        await checked(bench, us(13))
    for nothing in (us(7), "raise SystemExit", "import os; os._exit(0)", "print('{\"ok\": 1}'); raise SystemExit"):
        with pytest.raises(CheckFailed, match=r'let it print {"ok": true} as the last line of its stdout'):
            await checked(bench, nothing)


async def test_what_python_cannot_parse_does_not_build(host: Host, tmp_path: Path) -> None:
    bench = await made(host, tmp_path)
    with pytest.raises(BuildError) as caught:
        await built(bench, "US = 1\ndef run(:\n    pass\n")
    assert str(caught.value).startswith("kernel.py:2: invalid syntax")
    assert "def run(:" in caught.value.log
    with pytest.raises(BuildError, match=r"^kernel.py:0: .*null bytes"):
        await built(bench, "US = 1\0")


HELD_OUT = 'import json, kernel\nprint(json.dumps({"ok": kernel.US != 13, "best_us": kernel.US * kernel.HELD}))'


async def test_held_out_cases(host: Host, tmp_path: Path) -> None:
    bench = await made(host, tmp_path, '[final]\ncommand = "python3 final.py"', final=HELD_OUT)
    good, bad, wrong = [await built(bench, f"US = {n}\nHELD = {held}\n") for n, held in ((100, 1), (50, 4), (13, 1))]

    async def final(incumbent: str | None, candidate: str) -> HeldOutResult | None:
        return await bench.final(incumbent, candidate, f"final{next(numbers)}", print)

    assert await final(None, good) == HeldOutResult("best_us", 100.0, None, 0.0)
    found = await final(good, bad)
    assert found is not None
    assert (found.score, found.incumbent, found.gain_pct) == pytest.approx((200, 100, -100))
    assert found.halves == pytest.approx((-100, -100))
    with pytest.raises(CheckFailed, match='"ok": false'):
        await final(good, wrong)
    for _ in range(2):  # it is not remembered: whoever resumes may have mended the machine
        with pytest.raises(HostError, match="incumbent"):
            await bench.final(wrong, good, "broken", print)
    assert await bench.final(bad, good, "broken", print) is not None


async def test_a_task_that_holds_nothing_out(host: Host, tmp_path: Path) -> None:
    bench = await made(host, tmp_path)
    assert await bench.final(None, await built(bench), "none", print) is None


async def test_a_tree_that_was_tampered_with_is_not_run_and_made_again(host: Host, tmp_path: Path) -> None:
    bench = await made(host, tmp_path)
    job = await built(bench)
    tree = Path(str(host.root)) / "trees" / job.partition("-")[2]
    tree.chmod(0o755)
    (tree / "benchmark.py").chmod(0o644)
    (tree / "benchmark.py").write_text("print('{\"best_us\": 1}')")
    with pytest.raises(HostError, match="was changed") as caught:
        await checked(bench, KERNEL)
    assert caught.value.kind == "not_found"
    await checked(bench, KERNEL)


async def test_a_job_is_run_once_and_read_again_as_far_as_it_came(host: Host, tmp_path: Path) -> None:
    counts = tmp_path / "count"
    bench = await made(host, tmp_path, benchmark=f"open({str(counts)!r}, 'a').write('x')\n{BENCHMARK}")
    job = await built(bench)
    first = []
    async with aclosing(bench.time(job, job, "again", 0, 500, print)) as taken:
        async for sample in taken:
            first.append(sample)
            if len(first) == 2:
                break
    again = [sample async for sample in bench.time(job, job, "again", 0, 500, print)]
    runs = len(counts.read_text())
    assert again[:2] == first
    assert 2 <= len(again) < 500
    assert [sample async for sample in bench.time(job, job, "again", 0, 500, print)] == again
    assert len(counts.read_text()) == runs


async def test_a_profiler_can_put_its_command_before_the_tasks(host: Host, tmp_path: Path) -> None:
    bench = await made(
        host, tmp_path, '[profile]\nkernel = "norm.*"\ncommand = "python3 benchmark.py once"\nmarked = true'
    )
    assert (bench.launches.kernel, bench.launches.marked, bench.device) == ("norm.*", True, THIS_CPU)
    job = await built(bench, KERNEL + "import os; print(os.environ['TRITON_CACHE_DIR'])")
    ran = await bench.counted(job, f"perf{next(numbers)}", lambda calls: f"env A=1 {calls(1)}\n", print)
    assert (ran.rc, b'"best_us": 100.0' in ran.stdout) == (0, True)
    assert ran.stdout.startswith(f"{host.root}/jobs/{job}/out/cache/triton_cache_dir\n".encode())
    assert (await bench.listing(await built(bench))).assembly == ""


async def test_a_command_has_all_cpus_unless_its_task_says_how_many(host: Host, tmp_path: Path) -> None:
    counted = """
        import json, os
        print(json.dumps({"ok": True, "best_us": len(os.sched_getaffinity(0))}))
    """
    here = len(os.sched_getaffinity(0))
    for cpus, most in (("", here), ("[need]\ncpus = 1\n", 1), ('[need]\ncpus = "all"\n', here)):
        folder = tmp_path / f"cpus{next(numbers)}"
        folder.mkdir()
        bench = await made(host, folder, cpus, benchmark=counted)
        (sample,) = await timed(bench, KERNEL, KERNEL)
        assert sample.score is not None
        assert sample.score.a_ns == (1000.0 * most,)


async def test_cases_count_by_their_weights_in_place_of_the_benchmarks_own_score(host: Host, tmp_path: Path) -> None:
    printed = """
        import json, kernel
        cases = {"small": 10.0, "large": 20.0 * kernel.US / 100}
        print(json.dumps({"ok": True, "best_us": 5.0, "cases": cases}))
    """
    bench = await made(host, tmp_path, "[cases.large]\nweight = 3\n", benchmark=printed)
    samples = await timed(bench, us(100.0), us(50.0), processes=2)
    assert [sample.score for sample in samples] == [None, None]
    assert {name: case.weight for name, case in samples[0].judged.items()} == {"small": 1.0, "large": 3.0}
    assert score(samples) == pytest.approx(10.0)
    assert judge(samples, 1.0).gain.speedup.ratio == pytest.approx(2**0.75)


async def test_a_weight_of_a_case_that_the_result_lacks_refuses_the_run(host: Host, tmp_path: Path) -> None:
    bench = await made(host, tmp_path, "[cases.huge]\nweight = 3\n")
    with pytest.raises(CheckFailed, match=r"\[cases.huge\] has a weight, but the cases of its result are all"):
        await checked(bench, KERNEL)
