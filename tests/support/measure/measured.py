"""What the tests of measurement share: a real host, a real compiler, and a small task with kernels to put to it."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path, PurePosixPath

from kpd.hosts.host import Host, LeaseRequest
from kpd.hosts.local import Local
from kpd.measure.audits import AuditSamples
from kpd.measure.bench import BuiltObject, CheckPassed, Fresh
from kpd.measure.c import layout
from kpd.measure.c.bench import harness
from kpd.measure.c.build import build
from kpd.measure.c.toolchain import CToolchain, choose
from kpd.measure.driver.audits import Audited, audit, begun
from kpd.measure.driver.check import check
from kpd.measure.driver.harness import Harness
from kpd.measure.driver.timing import time_pair
from kpd.measure.run_context import RunContext
from kpd.measure.samples import ProcessSample
from kpd.model.hosts import Device
from kpd.workspace.specs import BenchSpec, CheckSpec
from tests.places import READS, WRITES

# y = 2 x + 1 and t = x s: an output and an input of either type, and a length that no vector divides.
HARNESS = b"""
#include "kpd_task.h"
enum { X, S, Y, T };
static const kpd_case cases[] = {{"4096", {4096}}, {"1003", {1003}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {
    size_t n = (size_t)c->dims[0];
    b[X] = (kpd_buffer){"x", KPD_IN, KPD_F32, n};
    b[S] = (kpd_buffer){"s", KPD_IN, KPD_F64, n};
    b[Y] = (kpd_buffer){"y", KPD_OUT, KPD_F32, n};
    b[T] = (kpd_buffer){"t", KPD_OUT, KPD_F64, n};
}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {
    kpd_fill(rng, d, data[X], (size_t)c->dims[0]);
    for (long i = 0; i < c->dims[0]; i++) ((double *)data[S])[i] = (double)(kpd_random(rng) % 1000) / 250.0 - 2.0;
}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {
    for (long i = 0; i < c->dims[0]; i++) {
        double x = ((const float *)data[X])[i];
        want[Y][i] = 2.0 * x + 1.0;
        want[T][i] = x * ((const double *)data[S])[i];
    }
}
static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {
    ((void (*)(const float *, const double *, float *, double *, long))kernel)(
        data[X], data[S], data[Y], data[T], c->dims[0]);
}
const kpd_task_t kpd_task = {"blend", {"n"}, cases, 2, 4, buffers, fill, oracle, call};
"""

SIGNATURE = "void blend(float *x, double *s, float *y, double *t, long n)"
LOOP = "for (long i = 0; i < n; i++) { y[i] = 2.0f * x[i] + 1.0f; t[i] = x[i] * s[i]; }"
RIGHT = f"{SIGNATURE} {{ {LOOP} }}"
QUICK = CheckSpec(seeds=1, rtol=1e-5, atol=1e-6, limit_s=20.0)
FEW = BenchSpec(quads=6, limit_s=20.0)
CPU = LeaseRequest("cpu")
THIS_CPU = Device("cpu", "cpu", "this machine's")
_numbers = count()


def kernel(body: str, before: str = "") -> str:
    """A kernel with this body, which `LOOP` makes right."""
    return f"#include <stdlib.h>\n#include <stdio.h>\n{before}\n{SIGNATURE} {{ {body} }}\n"


@dataclass(frozen=True)
class Lab:
    """The task above, made ready on a host."""

    host: Host
    tools: CToolchain
    harness: Harness
    where: RunContext

    async def build(self, source: str, *flags: str) -> BuiltObject:
        tree = await self.host.stage({"kernel.c": source.encode()})
        return await build(self.host, self.tools, tree, self.harness.symbol, flags or ("-O2",), 30.0)

    async def check(self, source: str, spec: CheckSpec = QUICK) -> CheckPassed:
        built = await self.build(source)
        return await check(self.host, self.harness, built.job, f"check{next(_numbers)}", spec, self.where)

    async def time(
        self, incumbent: str, candidate: str, processes: int = 1, first: int = 0, quads: int = FEW.quads
    ) -> tuple[ProcessSample, ...]:
        a, b = [await self.build(source) for source in (incumbent, candidate)]
        job = f"time{next(_numbers)}"
        samples = time_pair(
            self.host,
            self.harness,
            a.job,
            b.job,
            job,
            first,
            processes,
            replace(FEW, quads=quads),
            replace(QUICK, limit_s=4.0),
            replace(self.where, lease=CPU),
            place=layout.placed(self.host, self.tools),
        )
        return tuple([sample async for sample in samples])

    async def audit(
        self, incumbent: str, candidate: str, alone: int = 1, times: int = 1, fresh: Fresh | None = None
    ) -> tuple[AuditSamples, tuple[ProcessSample, ...]]:
        """What the audits measure, and the contest before them."""
        contest = await self.time(incumbent, candidate, processes=5)
        a, b = [await self.build(source) for source in (incumbent, candidate)]
        what = Audited(
            self.host, self.harness, a.job, b.job, FEW, replace(QUICK, limit_s=4.0), replace(self.where, lease=CPU),
            layout.placed(self.host, self.tools), alone=alone, fresh=times,
        )  # fmt: skip
        number = next(_numbers)
        return await audit(begun(what, f"audit{number}"), fresh=fresh), contest


@contextlib.asynccontextmanager
async def local_host(root: Path) -> AsyncIterator[Host]:
    host = Host("local", PurePosixPath(root), Local(), leases=str(root / "leases"), reads=READS, writes=WRITES)
    await host.connect()
    try:
        yield host
    finally:
        await host.close()


@contextlib.asynccontextmanager
async def lab(root: Path) -> AsyncIterator[Lab]:
    async with local_host(root) as host:
        facts = await host.probe()
        tools = choose(host.name, facts)
        ready = await harness(host, tools, {"harness.c": HARNESS}, 60.0)
        yield Lab(host, tools, ready, RunContext(tuple(facts["cpus"][-1:]) if facts["pinning"] else ()))
