"""A candidate that is built on another host than the one that measures it, and one that cannot be."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.job import JobResult, prepared_on
from kpd.hosts.local import Local
from kpd.hosts.shared_root import builds_check
from kpd.measure import elsewhere, jobs, seals
from kpd.measure.elsewhere import Builds
from kpd.measure.run_context import RunContext
from tests.support.hosts.container import has_containers
from tests.support.hosts.local import helper_pid, host_at, processes_of, until

SAME = "gcc 12 on an EPYC"
FILES = {"source": b"int x;\n"}


@pytest.fixture
async def measures(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    """A host with a builder, whose folder it sees; with the parameter `apart` the builder keeps that to itself."""
    folder = tmp_path / "builds"
    folder.mkdir()
    enter = ("bwrap", "--dev-bind", "/", "/", "--tmpfs", str(folder), "--") if hasattr(request, "param") else ()
    builds = Local(sys.executable, enter=enter) if enter else None
    async with host_at(tmp_path / "measures") as host, host_at(folder, builds) as builder:
        builder.name = "builds"
        host.builder = builder
        yield host


apart = pytest.mark.parametrize("measures", [pytest.param("apart", marks=has_containers)], indirect=True)


async def build(
    host: Host, script: str, identity: str = SAME, limit_s: float = 30.0
) -> tuple[JobResult, list[str], list[str]]:
    """Return the result of a build, the hosts that its script ran on, and what was said."""
    at, said = [], []

    def text(where: Host) -> str:
        at.append(where.name)
        return f'out="$PWD/out"\n{script}\n{seals.TAKE}'

    builds = Builds(host, RunContext(), SAME, lambda facts: identity)
    return await builds.run("build-1", text, FILES, limit_s, said.append), at, said


async def test_what_was_built_elsewhere_is_as_if_it_had_been_built_here(measures: Host) -> None:
    await is_as_if_it_had_been_built_here(measures, "cp -- object", "ok")


@apart
async def test_where_the_folder_of_the_builder_is_not_seen_what_it_has_built_goes_through_the_pipe(
    measures: Host,
) -> None:
    await is_as_if_it_had_been_built_here(measures, "tar -xf -", "off")


async def is_as_if_it_had_been_built_here(measures: Host, comes: str, told: str) -> None:
    result, at, said = await build(measures, 'printf made >"$out/object"; echo warning: odd >&2')
    assert at == ["builds"] and said == ["warning: odd\n"] and result.stderr == b"warning: odd\n" and not result.cached
    assert await measures.read(jobs.out(measures, "build-1", "object"), 99) == b"made"
    assert comes in (Path(measures.root) / "jobs/build-1/cmd").read_text()
    assert measures.builder is not None
    assert (await builds_check(measures, measures.builder)).state == told
    again, _, _ = await build(measures, "exit 1")
    assert again.cached and seals.taken(again.stdout) == seals.taken(result.stdout)
    await measures.builder.close()
    assert "is not there now" in (await builds_check(measures, measures.builder)).found
    measures.builder = None
    here, _, _ = await build(measures, "exit 1")
    assert here.cached and here.stderr == b"warning: odd\n" and seals.taken(here.stdout) == seals.taken(result.stdout)


async def test_what_comes_changed_is_built_where_it_is_measured(measures: Host) -> None:
    changes = 'case "$PWD" in */builds/*) trap \'echo other >"$out/object"\' EXIT ;; esac; echo made >"$out/object"'
    result, at, said = await build(measures, changes)
    assert (result.rc, at) == (0, ["builds", "local"]) and "what builds has built came changed" in said[-1]
    assert await measures.read(jobs.out(measures, "build-1", "object"), 99) == b"made\n"


async def test_what_a_build_prints_names_no_file_outside_of_its_folder(measures: Host) -> None:
    lies = f'echo "{"0" * 64}  ../../../../etc/passwd"; echo made >"$out/object"'
    result, at, _ = await build(measures, lies)
    assert at == ["builds"] and set(seals.taken(result.stdout)) == {"object"}


async def test_a_candidate_that_does_not_build_is_not_built_again_here(measures: Host) -> None:
    result, at, _ = await build(measures, "echo error: no >&2; exit 1")
    assert (result.rc, result.stderr, at) == (1, b"error: no\n", ["builds"])


@apart
async def test_another_compiler_or_none_or_too_much_to_bring_has_it_built_where_it_is_measured(
    measures: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, at, said = await build(measures, 'echo made >"$out/object"', identity="gcc 12 on a Xeon")
    assert at == ["local"] and result.rc == 0 and "another compiler or CPU" in said[0]
    await measures.forget("build-1")
    monkeypatch.setattr(elsewhere, "LIMIT", 3)
    _, at, said = await build(measures, 'echo made >"$out/object"')
    assert at == ["builds", "local"] and said[-1].startswith("built where it is measured: ")
    await measures.forget("build-1")
    assert measures.builder is not None
    await measures.builder.close()
    _, at, said = await build(measures, 'echo made >"$out/object"')
    assert at == ["local"] and said == ["built where it is measured: builds is not there\n"]


async def test_a_builder_that_goes_in_the_middle_has_it_built_where_it_is_measured(measures: Host) -> None:
    builder = measures.builder
    assert builder is not None
    link = await builder.linked()

    async def cut() -> None:
        await until(lambda: (Path(builder.root) / "jobs/build-1/alive").exists())
        await link.close()

    cutting = asyncio.create_task(cut())
    until_told = 'while [ ! -e "$PWD/../../go" ]; do sleep 0.05; done'  # its host goes on with it, and is waited for
    slow = f'case "$PWD" in */builds/*) {until_told} ;; esac; echo made >"$out/object"'
    _, at, said = await build(measures, slow)
    await cutting
    await builder.run(f"touch {builder.root}/go", 9.0)
    assert at == ["builds", "local"] and said[-1] == "built where it is measured: builds is not there\n"


@pytest.mark.parametrize("lacks", ["exit 127", "echo odd.h: No such file or directory >&2; exit 1", "sleep 60"])
async def test_what_a_builder_lacks_another_file_memory_or_time_for_is_built_where_it_is_measured(
    measures: Host, lacks: str
) -> None:
    result, at, said = await build(
        measures, f'case "$PWD" in */builds/*) {lacks} ;; esac; echo >"$out/object"', limit_s=2
    )
    assert (result.rc, at) == (0, ["builds", "local"]) and "builds lacks a file, memory or time for it" in said[-1]


async def test_a_builder_that_hangs_has_it_built_where_it_is_measured(
    measures: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "BROUGHT_S", 8.0)  # for the probe, too
    builder, stopped = measures.builder, []
    assert builder is not None

    async def stop() -> None:
        def jobs_there() -> list[psutil.Process]:
            return [process for process in processes_of(builder.root) if process.pid != helper_pid(builder)]

        await until(lambda: (Path(builder.root) / "jobs/build-1/alive").exists() and jobs_there())
        for process in jobs_there():
            process.suspend()
            stopped.append(process)

    stopping = asyncio.create_task(stop())
    slow = 'case "$PWD" in */builds/*) sleep 60 ;; esac; echo made >"$out/object"'
    result, at, said = await build(measures, slow, limit_s=2)
    await stopping
    for process in stopped:
        with suppress(psutil.NoSuchProcess):
            process.resume()
    assert stopped and (result.rc, at) == (0, ["builds", "local"])
    assert said[-1] == "built where it is measured: builds does not answer in time\n"


async def test_what_was_prepared_on_one_machine_is_not_run_on_another(measures: Host) -> None:
    prepared_on.set(("local", measures.machine + 1))
    with pytest.raises(HostError, match="another machine now"):
        await jobs.run(measures, RunContext().spec("check-1", "true", 9.0))
    prepared_on.set(("other", measures.machine + 1))
    assert (await jobs.run(measures, RunContext().spec("check-1", "true", 9.0))).rc == 0
    prepared_on.set(None)
