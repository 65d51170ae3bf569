"""What do the audits before an acceptance find, let pass and cost?

    python benchmarks/audits.py [--kind cpu] [--tasks transpose_cpu,…] [--times 1] [--processes 9] [--seconds 540]

Honest candidates are the shipped tasks at a tuned point; cheats are those of `audit_cheats.py`. Each is timed against
the task's own kernel, called on unchanged inputs and audited, as a candidate that is about to be accepted. Prints one
JSON object: for each candidate the contest's gain, the calls on unchanged inputs and the gains of the audits, what was
refused and why, and the seconds of each part and of all. `spent` says where those of each process of the job have gone:
on a CPU of the calls on unchanged inputs; on a GPU also of fresh inputs, and of either kernel alone.
"""

import argparse
import asyncio
import json
import re
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import PurePosixPath
from statistics import median

from audit_cheats import CHEATS
from nulls import found_device, silent

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.measure import audits, clocks
from kpd.measure.audits import AuditSamples
from kpd.measure.bench import Bench, CheckFailed
from kpd.measure.catalogue import prepare
from kpd.measure.judge import BadSamples, judge
from kpd.text.faults import fault as told, wrong
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import Task, load_task

POINTS = {
    "transpose_cpu": {"TILE_ROWS": 16, "TILE_COLS": 16, "VEC": 8},
    "conv2d_cpu": {"VEC": 8, "COLS": 2, "ROWS": 4},
    "matmul_cpu": {"ROWS": 4, "COLS": 2, "VEC": 8, "DEPTH": 64},
    "histogram_cpu": {"TABLES": 4, "WORD": 8},
    "rmsnorm_silu_cpu": {},
    "transpose_cuda": {"TILE": 32, "PAD": 1},
    "matmul_cuda": {"THREADS": 16, "EACH": 4, "DEPTH": 16},
    "reduction_cuda": {"THREADS": 256, "BLOCKS": 1024, "ITEMS": 4, "VEC": 4, "SHUFFLE": 1},
    "softmax_cuda": {"THREADS": 256, "SHORT": 512, "VEC": 4},
}
FLAGS = {"cpu": b'{"flags": "-O3 -march=native"}\n'}
MIN_GAIN_PCT = 1.0


def honest(task: Task, files: dict[str, bytes]) -> dict[str, bytes]:
    """The task's kernel at its tuned point, with flags of its own on a CPU."""
    tuned = dict(files)
    for name, text in files.items():
        if name == "build.json":
            tuned[name] = FLAGS["cpu"] if task.language == "c" else text
            continue
        for macro, value in POINTS[task.name].items():
            pattern = rf"^(#define {macro}) \S+".encode()
            text, found = re.subn(pattern, rf"\g<1> {value}".encode(), text, flags=re.MULTILINE)
            assert found == 1, f"{task.name}: {macro}"
        tuned[name] = text
    return tuned


class Auditor:
    """One task on a host: its own kernel, against which candidates are timed and audited."""

    def __init__(self, host: Host, task: Task, bench: Bench, processes: int) -> None:
        self._host, self._task, self._bench, self._processes = host, task, bench, processes
        self.files = read_files(task.folder, task.editable)

    async def built(self, files: dict[str, bytes]) -> str:
        return (await self._bench.build(await self._bench.stage(files), files, silent)).job

    async def spent(self, job: str) -> list[dict[str, float]]:
        """Where the time of each process of a job has gone."""
        said = await self._host.read(f"{self._host.root}/jobs/{job}/stdout", 1 << 24)
        return [json.loads(line).get("spent", {}) for line in said.splitlines()]

    async def audited(self, name: str, files: dict[str, bytes]) -> dict[str, object]:
        incumbent, candidate = await self.built(self.files), await self.built(files)
        said: dict[str, object] = {"task": self._task.name, "candidate": name}
        try:
            taken = self._bench.time(incumbent, candidate, f"{name}-time", 0, self._processes, silent)
            samples = tuple([sample async for sample in taken])
            gain = judge(samples, MIN_GAIN_PCT).gain
            said["contest_pct"] = [gain.pct, gain.low, gain.high]
            said["clock"] = [case.clock and asdict(case.clock) for case in samples[0].cases.values()]
            if forged := clocks.refuse_clock(samples):
                said["forged"] = told(forged)
            begun = time.perf_counter()
            found = await self._called_and_audited(incumbent, candidate, name, said)
            summary = audits.summary(found, samples)
            said |= {
                "fresh_pct": [summary.fresh.pct, summary.fresh.low, summary.fresh.high],
                "kept_pct": [] if summary.kept is None else [summary.kept.pct, summary.kept.low, summary.kept.high],
                "cold": summary.cold,
                "clocked_pct": [] if (seen := summary.clocked) is None else [seen.pct, seen.low, seen.high],
                "alone_pct": [summary.alone.pct, summary.alone.low, summary.alone.high],
                "calls": {case: one.reps * len(one.a_ns) for case, one in found.fresh.items()},
                "compared": {case: one.compared for case, one in found.fresh.items()},
                "anew": {case: one.anew for case, one in found.fresh.items()},
                "fresh_s": found.fresh_s, "alone_s": found.alone_s, "alone_processes": len(found.alone),
                "seconds": time.perf_counter() - begun,
                "spent": await self.spent(f"{name}-repeats"),
            }  # fmt: skip
            if gain.pct > 0 and (refused := audits.refuse_gain(summary, gain)):  # nobody audits what is slower
                said["gain"] = told(refused)
        except CheckFailed as err:
            said["failed"] = wrong(err.wrong)
        except BadSamples as err:
            said["busy"] = str(err)
        said["refused"] = bool({"forged", "gain", "failed"} & said.keys())
        print(json.dumps(said), file=sys.stderr, flush=True)
        return said

    async def _called_and_audited(
        self, incumbent: str, candidate: str, name: str, said: dict[str, object]
    ) -> AuditSamples:
        """Take the calls on unchanged inputs and the first audit, beside one another where a run does."""

        fresh = asyncio.Event()

        async def repeats() -> None:
            await fresh.wait()
            begun = time.perf_counter()
            said["repeats"] = await self._bench.repeat(candidate, f"{name}-repeats", silent, incumbent)
            said["repeats_s"] = time.perf_counter() - begun

        async def audit() -> AuditSamples:
            try:
                found = await self._bench.audit(incumbent, candidate, f"{name}-audit", silent, fresh=fresh.set)
            finally:
                fresh.set()
            assert found is not None
            return found

        if not self._bench.repeats_beside:
            fresh.set()
            await repeats()
            return await audit()
        called, found = await asyncio.gather(repeats(), audit(), return_exceptions=True)
        for one in (called, found):
            if isinstance(one, BaseException):
                raise one
        assert isinstance(found, AuditSamples)
        return found


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--tasks", help="of these tasks only")
    parser.add_argument("--times", type=int, default=1, help="how often each honest candidate is audited")
    parser.add_argument("--processes", type=int, default=9, help="of each contest")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after this time")
    parser.add_argument("--cheats", type=int, default=1, help="how often each cheat is audited")
    args = parser.parse_args()
    names = args.tasks.split(",") if args.tasks else [name for name in POINTS if name.endswith(args.kind)]
    begun = time.perf_counter()
    results: dict[str, list[dict[str, object]]] = {"honest": [], "cheats": []}
    with tempfile.TemporaryDirectory() as root:
        host = Host("local", PurePosixPath(root), Local(), leases=f"{root}/leases")
        await host.connect()
        try:
            tasks = [load_task(shipped("tasks") / name) for name in names]
            device = await found_device(host, tasks[0])
            benches = await asyncio.gather(*(prepare(host, task, device, silent) for task in tasks))
            auditors = [Auditor(host, task, bench, args.processes) for task, bench in zip(tasks, benches, strict=True)]
            candidates = [
                (kind, task, auditor, f"{name}.{task.name}.{nth}", files)
                for nth in range(max(args.times, args.cheats))
                for task, auditor in zip(tasks, auditors, strict=True)
                for kind, name, files in [
                    *([("honest", "tuned", honest(task, auditor.files))] if nth < args.times else []),
                    *(
                        ("cheats", name, {**auditor.files, **made(auditor.files)})
                        for (of, name), made in CHEATS.items()
                        if of == task.name and nth < args.cheats
                    ),
                ]
            ]
            await asyncio.gather(*(auditor.built(files) for _, _, auditor, _, files in candidates))
            for kind, _, auditor, name, files in candidates:
                if time.perf_counter() - begun < args.seconds:
                    results[kind].append(await auditor.audited(name, files))
        finally:
            await host.close()
    seconds = [float(str(one["seconds"])) for one in results["honest"] if "seconds" in one]
    print(json.dumps({
        "device": device.name,
        "honest_refused": sum(bool(one["refused"]) for one in results["honest"]),
        "honest_audited": sum("busy" not in one for one in results["honest"]),
        "cheats_refused": sum(bool(one["refused"]) for one in results["cheats"]),
        "cheats_audited": sum("busy" not in one for one in results["cheats"]),
        "seconds_median": median(seconds) if seconds else None,
        "seconds_most": max(seconds, default=None),
        "wall_s": time.perf_counter() - begun,
        **results,
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main())
