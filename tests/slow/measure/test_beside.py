"""What a C task's bench starts, and on which CPUs: nothing that is built runs where something is timed."""

import os
import shutil
from pathlib import Path

import pytest

from kpd.hosts.preflight.probe import measuring_cpu, spare_cpus
from kpd.measure.c import bench as c
from kpd.measure.run_context import NICE
from kpd.model.hosts import Device
from kpd.workspace.run_files import read_files
from kpd.workspace.task import load_task
from tests.places import DATA
from tests.support.hosts.local import host_at, linux_only

pytestmark = linux_only
NOTES = """#!/bin/sh
for file; do case $file in *.c) sources="$sources $(basename $file)";; esac; done
echo "$sources: $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status) at $(nice)" >>{log}
exec {gcc} "$@"
"""


def silent(text: str) -> None:
    """What a compiler says is of no interest here."""


async def test_builds_leave_the_cpu_alone_that_is_timed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, programs = tmp_path / "compiled.txt", tmp_path / "bin"
    programs.mkdir()
    for name in ("gcc", "cc"):
        (programs / name).write_text(NOTES.format(log=log, gcc=shutil.which("gcc")))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    task = load_task(DATA / "tasks" / "scale")
    async with host_at(tmp_path / "host", writes=(str(tmp_path),)) as host:
        facts = await host.probe()
        spare = spare_cpus(facts)
        if not spare:
            pytest.skip("this machine has one core")
        bench = await c.prepare(host, task, Device("cpu", "cpu", "CPU"), silent)
        files = read_files(task.folder, task.editable)
        built = await bench.build(await bench.stage(files), files, silent)
        assert not bench.checks_alone and bench.repeats_beside and bench.inspects_beside
        assert (await bench.check(built.job, "r1.0.1-check", silent)).comparisons
    compiled = (line.rpartition(": ") for line in log.read_text().splitlines())
    ranges = {sources.split()[-1]: cpus for sources, _, cpus in compiled if sources.strip()}
    assert ranges["kernel.c"] == ranges["harness.c"]
    cpus, nice = ranges["kernel.c"].split(" at ")
    assert str(measuring_cpu(facts)) not in cpus.replace("-", ",").split(",")
    mine = os.nice(0)
    assert int(nice) == min(19, mine + NICE)
    assert ranges["roofline.c"] == f"{measuring_cpu(facts)} at {mine}", "which is a measurement, and has the lease"
