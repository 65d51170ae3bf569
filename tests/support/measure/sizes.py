"""A task with one case, y = 2 x + 1 over n floats or `count`, whose harness can limit n; its own kernel, and others."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count

import pytest

from kpd.measure import jobs
from kpd.measure.bench import CheckPassed
from kpd.measure.c.bench import harness
from kpd.measure.driver.check import check
from kpd.measure.driver.harness import OBJECT, Harness
from kpd.measure.driver.repeat import NEW_INPUTS, repeat
from kpd.workspace.specs import CheckSpec
from tests.support.measure.measured import Lab, lab

HARNESS = """
#include "kpd_task.h"
enum {{ X, Y }};
static const kpd_case cases[] = {{{{"{n}", {{{n}}}}}}};
static void buffers(const kpd_case *c, kpd_buffer *b) {{
    b[X] = (kpd_buffer){{"x", KPD_IN, KPD_F32, (size_t)({count})}};
    b[Y] = (kpd_buffer){{"y", KPD_OUT, KPD_F32, (size_t)({count})}};
}}
static void fill(const kpd_case *c, kpd_rng *rng, kpd_distribution d, void *const *data) {{
    {before} kpd_fill(rng, d, data[X], (size_t)({count}));
}}
static void oracle(const kpd_case *c, void *const *data, double *const *want) {{
    for (long i = 0; i < {count}; i++) want[Y][i] = 2.0 * ((const float *)data[X])[i] + 1.0;
}}
static void call(kpd_kernel kernel, const kpd_case *c, void *const *data) {{
    ((void (*)(const float *, float *, long))kernel)(data[X], data[Y], {count});
}}
const kpd_task_t kpd_task = {{
    .symbol = "blend", .dims = {{"n"}}, .cases = cases, .case_count = 1, .buffer_count = 2, .buffers = buffers,
    .fill = fill, .oracle = oracle, .call = call, .limits = {{{limits}}},
}};
"""
LOOP = "for (long i = 0; i < n; i++) y[i] = 2.0f * x[i] + 1.0f;"
ANY = CheckSpec(seeds=40, rtol=1e-5, atol=1e-6, distributions=("normal",), limit_s=30.0, sizes="any")
LISTED = replace(ANY, sizes="listed")
AUTO = replace(LISTED, seeds=1)
numbers = count()


def kernel(body: str, before: str = "") -> str:
    return f"#include <stdlib.h>\n{before}\nvoid blend(const float *x, float *y, long n) {{ {body} }}\n"


RIGHT = kernel(LOOP)


@pytest.fixture(scope="module", name="lab")
async def _lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    async with lab(tmp_path_factory.mktemp("sizes")) as ready:
        yield ready


async def made(lab: Lab, n: int = 1000, limits: str = "", before: str = "", count: str = "c->dims[0]") -> Harness:
    source = HARNESS.format(n=n, limits=limits or "{0}", before=before, count=count).encode()
    return await harness(lab.host, lab.tools, {"harness.c": source}, 60.0)


async def checked(
    lab: Lab, source: str, spec: CheckSpec = ANY, own: str = RIGHT, n: int = 1000, limits: str = "", before: str = "",
    count: str = "c->dims[0]",
) -> CheckPassed:  # fmt: skip
    """Check a kernel of the task whose own one is `own`."""
    program = await made(lab, n, limits, before, count)
    ready = replace(lab, harness=program)
    built, baseline = await ready.build(source), await ready.build(own)
    path = jobs.out(lab.host, baseline.job, OBJECT) if spec.sizes == "any" else ""
    return await check(lab.host, program, built.job, f"sizes{next(numbers)}", spec, lab.where, baseline=path)


async def repeated(
    lab: Lab, source: str, spec: CheckSpec = AUTO, own: str = RIGHT, limits: str = "", before: str = ""
) -> int:
    """Call a kernel on unchanged inputs. Return how often."""
    ready = replace(lab, harness=await made(lab, limits=limits, before=before))
    built, baseline = await ready.build(source), await ready.build(own)
    path = jobs.out(lab.host, baseline.job, OBJECT)
    calls = await repeat(lab.host, ready.harness, built.job, f"repeat{next(numbers)}", spec, lab.where, baseline=path)
    assert {*calls} <= {"1000", NEW_INPUTS}
    return calls["1000"]
