"""Prepares a task whose kernel is a Python callable: finds its Python on the host, and lays out kpd's runner there.

The runner understands the commands of the driver in C, so `DriverBench` serves for both.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host, LeaseRequest
from kpd.hosts.preflight.probe import HostFacts
from kpd.measure import jobs, seals
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.c import bench as c_bench, toolchain
from kpd.measure.command.build import SYNTAX
from kpd.measure.compiling import BuildError, readable
from kpd.measure.cuda import bench as cuda_bench, nvcc
from kpd.measure.driver.bench import DriverBench
from kpd.measure.driver.harness import OBJECT, BadHarness, Harness, described
from kpd.measure.python.interpreter import Interpreter, found
from kpd.measure.python.needs import libraries, remedy
from kpd.measure.python.program import COMPILED, archive, sources
from kpd.measure.roofline import MeasureRoofline, measured
from kpd.measure.run_context import RunContext, timed_context, untimed_context
from kpd.model.hosts import Device
from kpd.workspace.run_files import read_files
from kpd.workspace.task import Task, TaskError

HARNESS, KERNEL = "harness.py", "kernel.py"
RUNNER, FILES = "runner.zip", "task.zip"


async def prepare(host: Host, task: Task, device: Device, say: Say) -> DriverBench:
    """Describe the task's harness, and measure the device's roofline; the host remembers both.

    Raises BuildError and TaskError when the task is at fault, and HostError.
    """
    facts = await host.probe()
    python = await interpreter(host, task, facts)
    gpu = device.kind == "gpu"
    env = {"PATH": python.search}
    measuring, building = timed_context(facts, device, env), replace(untimed_context(facts, device), env=env)
    checking = replace(building, nice=0)  # a check must not be slowed down: its calls have time limits
    if gpu:
        env |= {"CUDA_VISIBLE_DEVICES": device.id, "KPD_NCU": facts["ncu"], "TRITON_CACHE_AUTOTUNING": "1"}
        checking = RunContext(lease=LeaseRequest(device.id), env=env)
    else:  # libraries that start as many threads as there are CPUs would disturb each other on one
        env |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # Those that the harness imports, and all on a GPU: a kernel may use any. Triton's files are hashed while torch is.
    heavy = ("numpy", "triton", "torch")
    needed = libraries({HARNESS: read_files(task.folder, task.protected).get(HARNESS, b"")})
    env["KPD_IMPORTS"] = " ".join(name for name in heavy if gpu or name in needed)
    runner = replace(await _runner(host, task, python, building, say), forks=gpu, compiles=gpu, chains=True)
    measure = _roofline(host, device, facts, measuring, runner)
    roofline = await measure(again=False)

    async def compile(tree: str, files: Mapping[str, bytes], say: Say) -> BuiltObject:
        return await _build(host, python, replace(task, editable=tuple(files)), tree, building, say)

    return DriverBench(
        host, task, device, runner, roofline, measure, compile, ("", ""), checking, measuring, cached=not gpu
    )


async def interpreter(host: Host, task: Task, facts: HostFacts) -> Interpreter:
    """Find the task's Python, with all libraries that its files import. Raises HostError."""
    files = [path for path in (*task.editable, *task.protected) if path.endswith(".py")]
    return await found(host, task.build.python, facts["system"], libraries(read_files(task.folder, files)))


async def _runner(host: Host, task: Task, python: Interpreter, where: RunContext, say: Say) -> Harness:
    """Put the runner and the task's protected files on the host, and read the cases of its harness."""
    own = read_files(task.folder, task.protected)
    if any(path in ("numpy.py", "torch.py") or path.startswith("kpd/") for path in own):
        raise TaskError(task.folder, 0, "a file of the task hides a library of the same name", "rename it")
    tree = await host.stage({RUNNER: archive(sources()), FILES: archive(own)})
    script = (
        f"cp {jobs.words([f'{host.root}/trees/{tree}/{FILES}'])} out/ || exit {jobs.GONE}\n"
        f"{jobs.words([python.path, '-I', '-S', '-c', COMPILED, f'{host.root}/trees/{tree}/{RUNNER}'])} out/{RUNNER}"
        f" || exit {jobs.GONE}\n"
        'out="$PWD/out"\ncat >"$out/bench" <<END\n#!/bin/sh\n'
        f'exec {_started(python)} "\\$@"\nEND\n'
        'chmod +x "$out/bench"\n'
        f'"$out/bench" describe && "$out/bench" bytecode || exit $?\n{seals.TAKE}'
    )
    id = jobs.key("harness", python.identity, script)
    result = await jobs.run(host, where.spec(id, script, task.build.limit_s), say)
    log = readable(result.stderr)
    if result.rc != 0 and not jobs.crash(result):
        await host.forget(id)  # somebody may install what it lacks
        said = jobs.tail(result.stderr, 1) or f"harness.py ended with {result.rc}"
        if name := re.search(r"No module named '(\w+)", said):
            raise HostError("not_found", f"{host.name}: {said}", remedy(python.path, [name[1]]))
        raise BuildError(said, log, "structural")
    try:
        return described(jobs.out(host, id, "bench"), result, HARNESS)
    except BadHarness as err:
        raise BuildError(str(err), log, "structural") from err


def _started(python: Interpreter) -> str:
    """Return the words that start the runner, for a here-document in which `$out` is the folder of its archives."""
    start = (
        "import sys; sys.path[:0] = sys.argv[1:3]; sys.path[2:] = " + repr(list(python.modules)) + "; "
        "del sys.argv[1:3]; from kpd.measure.python.host.main import main; sys.exit(main(sys.argv[1:]))"
    )
    return f'{jobs.words([python.path, "-I", "-S", "-B", "-c", start])} "$out/{RUNNER}" "$out/{FILES}"'


async def _build(host: Host, python: Interpreter, task: Task, tree: str, where: RunContext, say: Say) -> BuiltObject:
    """Parse a candidate's files, which `task.editable` names, and pack the tree. Raises BuildError and HostError."""
    whole, parser = f"{host.root}/trees/{tree}", [python.path, "-I", "-S", "-c"]
    parsed = [path for path in task.editable if path.endswith(".py")]
    pack = (
        "import os, sys, zipfile\n"
        "with zipfile.ZipFile(sys.argv[1], 'w') as made:\n"
        "    for path in sys.argv[2:]:\n"
        "        made.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), open(path, 'rb').read())\n"
    )
    packed = [path for path in (*task.editable, *task.protected) if path not in (HARNESS, "task.toml")]
    script = (
        f'out="$PWD/out"\ncd {jobs.words([whole])} || exit {jobs.GONE}\n'
        f"{jobs.words([*parser, SYNTAX, *parsed])} || exit 1\n"
        f'{jobs.words([*parser, pack])} "$out/{OBJECT}" {jobs.words(packed)} || exit {jobs.GONE}\n'
        f"{seals.TAKE}"
    )
    id = jobs.key("python", python.identity, script)
    result = await jobs.run(host, where.spec(id, script, task.build.limit_s), say)
    log = readable(result.stderr)
    if result.rc != 0:
        first = log.partition("\n")[0].replace("error: ", "", 1)
        raise BuildError(first or "it cannot be parsed", log, "semantic")
    return BuiltObject(id, result.cached, "", 0, log, seals.taken(result.stdout), not result.cached)


def _roofline(host: Host, device: Device, facts: HostFacts, where: RunContext, runner: Harness) -> MeasureRoofline:
    if device.kind == "gpu" and not facts["nvcc"]:
        script = f"exec {jobs.words([runner.program, 'roofline'])}\n"
        spec = where.spec(jobs.key("roofline", script, device.id), script, cuda_bench.ROOFLINE_S)
        return partial(measured, host, spec, device.name)
    if device.kind == "gpu":
        return partial(cuda_bench.measure_roofline, host, nvcc.choose(host.name, facts, device), device, where)
    return partial(c_bench.measure_roofline, host, toolchain.choose(host.name, facts), where)
