"""The profile of a real candidate on this machine, whatever its counters allow."""

from dataclasses import replace
from pathlib import Path

from kpd.measure.c.bench import prepare
from kpd.measure.score import case_times, score
from kpd.model.facts.steps import Timed
from kpd.model.metrics import CPU_METRICS, describe, of_case
from kpd.profile.catalogue import profiler_of
from kpd.workspace.shipped import shipped
from kpd.workspace.task import load_task
from tests.support.measure.measured import THIS_CPU, local_host

EACH = ("call_us", "roofline_pct", "gbs", "gflops")


async def test_a_naive_kernel_is_told_what_is_wrong_with_it(tmp_path: Path) -> None:
    task = load_task(shipped("tasks") / "rmsnorm_silu_cpu")
    said: list[str] = []
    async with local_host(tmp_path / "host") as host:
        bench = await prepare(host, task, THIS_CPU, said.append)
        files = {name: (task.folder / name).read_bytes() for name in task.editable}
        built = await bench.build(await bench.stage(files), files, said.append)
        taken = bench.time(built.job, built.job, "time", 0, 1, said.append)
        samples = tuple([replace(sample, taint="") async for sample in taken])  # a busy machine's times will do here
        timed = Timed("r1", 0, 0.0, 0.0, score(samples), 1, case_times(samples, bench.work))
        profiler = profiler_of(bench.device.kind)
        profile = await profiler.measured(bench, built.job, timed, "perf", said.append)
    metrics, missing = profile.metrics, profile.missing

    expected = {*CPU_METRICS, *(of_case(name, case.case) for name in EACH for case in timed.cases)}
    assert set(metrics) | set(missing) == expected
    assert not set(metrics) & set(missing)
    assert all(describe(name) and value >= 0 for name, value in metrics.items())
    assert all(missing.values())
    assert 0 < metrics["roofline_pct"] < 50
    assert metrics["hot_calls"] >= 1
    assert "latency bound" in profiler.bottleneck(metrics)
    fired = {found.rule for found in profiler.findings(metrics)}
    assert {"call_in_loop", "not_vectorised"} <= fired
    assert ("far_below_bandwidth" in fired) == (metrics.get("memory_roofline_pct", 100.0) < 50), (
        "a busy machine has another roof"
    )
