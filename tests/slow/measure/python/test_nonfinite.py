"""Callables that lose what is not finite in their inputs, where a task asks for it."""

from itertools import count

import pytest

from kpd.hosts.host import Host
from kpd.measure.bench import CheckFailed
from tests.support.measure.measured import local_host
from tests.support.measure.python_tasks import HARNESS, TOML, built, ready, small_task

pytestmark = pytest.mark.asyncio(loop_scope="module")
numbers = count()
RIGHT = "import numpy as np\ndef kernel(a, b):\n    return 2 * a + b\n"
SWALLOWS = {
    "NaN": "np.where(out != out, np.float32(0), out)",
    "infinity": "np.where(out == np.inf, np.float32(1e38), out)",
    "negative infinity": "np.where(out == -np.inf, np.float32(-1e38), out)",
}
MAKES = {
    "another such value": "np.where(np.isfinite(out), out, np.float32(np.nan))",
    "neighbours so, too": "out + np.float32(0) * out.sum()",
}


@pytest.fixture(scope="module", name="host")
async def _host(tmp_path_factory):
    async with local_host(tmp_path_factory.mktemp("nonfinite") / "host") as host:
        yield host


async def check(host: Host, folder, nonfinite: str, kernel: str, harness: str = HARNESS, toml: str = TOML) -> None:
    toml = toml.replace("[bench]", f'nonfinite = "{nonfinite}"\n\n[bench]', 1).replace("seeds = 1", "seeds = 8")
    assert "seeds = 8" in toml
    bench = await ready(host, small_task(folder, RIGHT, harness, toml))
    job = await built(bench, {"kernel.py": kernel})
    assert (await bench.check(job, f"check{next(numbers)}", print)).worst <= 1


def returns(what: str) -> str:
    return RIGHT.replace("return 2 * a + b", f"out = 2 * a + b\n    return {what}")


@pytest.mark.parametrize("rule", ["propagate", "kept"])
@pytest.mark.parametrize("what", SWALLOWS)
async def test_what_is_not_finite_may_not_be_lost(host: Host, tmp_path, rule: str, what: str) -> None:
    await check(host, tmp_path / "any", "any", returns(SWALLOWS[what]))
    await check(host, tmp_path / "right", rule, RIGHT)
    with pytest.raises(CheckFailed, match=r"NaN|Inf"):
        await check(host, tmp_path / "lost", rule, returns(SWALLOWS[what]))


@pytest.mark.parametrize("what", MAKES)
async def test_where_it_must_only_be_kept_it_may_be_another_such_value(host: Host, tmp_path, what: str) -> None:
    await check(host, tmp_path / "kept", "kept", returns(MAKES[what]))
    with pytest.raises(CheckFailed, match=r"NaN|Inf"):
        await check(host, tmp_path / "propagate", "propagate", returns(MAKES[what]))


async def test_a_task_whose_arguments_are_whole_numbers_has_none(host: Host, tmp_path) -> None:
    whole = HARNESS.replace('draw.values(dims["n"])', 'draw.integers(0, 9, dims["n"])')
    await check(host, tmp_path, "propagate", RIGHT, whole)


@pytest.mark.parametrize("rule", ["", 'truth = "baseline"\n'], ids=["its errors", "its results"])
async def test_the_tasks_own_kernel_may_be_the_measure(host: Host, tmp_path, rule: str) -> None:
    toml = TOML.replace("rtol = 1e-5\natol = 1e-6\n", rule)
    harness = HARNESS.partition("def truth")[0] if rule else HARNESS
    await check(host, tmp_path / "right", "propagate", RIGHT, harness, toml)
    with pytest.raises(CheckFailed, match=r"NaN|Inf"):
        await check(host, tmp_path / "lost", "propagate", returns(SWALLOWS["NaN"]), harness, toml)
