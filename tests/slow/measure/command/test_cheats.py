"""The example tasks on a stand-in for torch: what is right passes, and no kernel talks its way past a benchmark."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT, TESTS
from tests.support.patience import PATIENCE_S

TASKS = ROOT / "tasks"
SHAPES = {"verify.py": "SHAPES = ((8, 96), (5, 30))\n", "benchmark.py": "SHAPES = ((1, 64, 96), (2, 5, 30))\n"}
# What the kernel of each task computes, in the operations that the stand-in knows.
RMSNORM = """
import torch
def rmsnorm_silu(x, gate, weight, eps=1e-6):
    x32, gate32 = x.float(), gate.float()
    scale = torch.rsqrt(x32.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (x32 * scale * weight.float() * gate32 * torch.sigmoid(gate32)).to(torch.float16)
"""
LAYERNORM = (TASKS / "layernorm_pilot" / "src" / "layernorm.py").read_text()


def benchmark(folder: Path, kernel: str) -> tuple[list[str], Path, str]:
    """A task's command with few repeats and small shapes, in a copy of its folder with this kernel; its function."""
    if "def rmsnorm_silu" in kernel:
        task, path, command, function = "rmsnorm_silu_gate_h100", "kernel.py", "verify.py", "rmsnorm_silu"
    else:
        task, path, command, function = "layernorm_pilot", "src/layernorm.py", "benchmark.py", "layernorm_scale_shift_"
    home = Path(shutil.copytree(TASKS / task, folder / "task"))
    (home / path).write_text(kernel)
    lines = (home / command).read_text().splitlines(keepends=True)
    (home / command).write_text("".join(SHAPES[command] if line.startswith("SHAPES = ") else line for line in lines))
    return [command, "--warmup", "2", "--repeats", "6"], home, function


def ran(command: list[str], home: Path) -> tuple[int, dict[str, Any]]:
    """The exit status, and what the last line of stdout says; on it there is nothing else."""
    env = {**os.environ, "PYTHONPATH": str(TESTS / "support" / "torch_standin")}
    ended = subprocess.run(
        [sys.executable, *command], cwd=home, capture_output=True, text=True, env=env, timeout=PATIENCE_S
    )
    (line,) = ended.stdout.splitlines() or [ended.stderr]
    return ended.returncode, json.loads(line)


@pytest.mark.parametrize("kernel", [RMSNORM, LAYERNORM], ids=["rmsnorm", "layernorm"])
def test_a_right_kernel_has_a_score_and_its_cases(tmp_path: Path, kernel: str) -> None:
    command, home, _ = benchmark(tmp_path, kernel)
    rc, said = ran(command, home)
    assert (rc, said["ok"]) == (0, True), said
    assert 1 < said["best_us"] < 1e7
    assert all(case["us"] > 1 and case["device_us"] is None and case["dims"] for case in said["cases"])


# Each is put below a kernel that is right ({f} is its function, {home} the task's folder), with what is said of it.
CHEATS = {
    "prints a result and leaves": (
        "print('{{\"ok\": true, \"best_us\": 0.001}}'); raise SystemExit", "^SystemExit: $",
    ),
    "leaves with a good status": ("import os; os._exit(0)", "process ended before it answered"),
    "keeps the last result": (
        """
_right, _last = {f}, {{}}
def {f}(x, *others):
    if x.shape not in _last:
        _last[x.shape] = _right(x, *others)
    return x.copy_(_last[x.shape]) if "layernorm" in "{f}" else _last[x.shape]
""",
        "elements wrong|is .*, should be",
    ),
    "replaces the comparison and calculates nothing": (
        """
import __main__, sys
for module in list(sys.modules.values()):
    for name in ("compare", "check", "reference", "verify", "measure", "judged"):
        if (getattr(module, "__file__", "") or "").startswith({home!r}) and hasattr(module, name):
            setattr(module, name, lambda *given, **more: None)
def {f}(x, *others):
    return x
""",
        "elements wrong",
    ),
    "writes modules that the judge might import": (
        """
import pathlib
for folder in ({home!r}, {home!r} + "/tests"):
    for name in ("torch", "numpy", "random", "bisect"):
        if pathlib.Path(folder).is_dir():
            (pathlib.Path(folder) / (name + ".py")).write_text("raise SystemExit(0)")
def {f}(x, *others):
    return x
""",
        "elements wrong",
    ),
    "does later what it has not done while it was timed": (
        """
_right, _seen, _owed = {f}, [], []
def {f}(x, *others):
    if any(x is one for one in _seen):  # a call to warm up, of which no time is taken
        for y, given in _owed:
            y.copy_(_right(*given))
        _owed.clear()
        return _right(x, *others)
    _seen.append(x)
    if len(_seen) <= (2 if "layernorm" in "{f}" else 22):  # the check, and the first calls to warm up
        return _right(x, *others)
    y = x if "layernorm" in "{f}" else x.clone()
    _owed.append((y, (x.clone(), *others)))
    return y
""",
        "timed call .* should be",
    ),
    "returns nothing": (
        "def {f}(x, *others): return None", "it returned no tensor like x|elements wrong",
    ),
    "sends more than it is asked for": (
        """
import gc, multiprocessing.connection as c
for one in gc.get_objects():
    if type(one) is c.Connection:
        one.send_bytes(b"{{}}" * 100_000)
""",
        "process ended before it answered",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kernel", [RMSNORM, LAYERNORM], ids=["rmsnorm", "layernorm"])
@pytest.mark.parametrize("cheat", CHEATS)
def test_a_kernel_that_cheats_is_not_believed(tmp_path: Path, kernel: str, cheat: str) -> None:
    command, home, function = benchmark(tmp_path, kernel)
    code, said_of_it = CHEATS[cheat]
    path = home / ("kernel.py" if function == "rmsnorm_silu" else "src/layernorm.py")
    path.write_text(kernel + code.format(f=function, home=str(home)))
    rc, said = ran(command, home)
    assert (rc, said["ok"]) == (1, False), said
    assert re.search(said_of_it, said["error"])


@pytest.mark.parametrize("kernel", [RMSNORM, LAYERNORM], ids=["rmsnorm", "layernorm"])
def test_no_timed_call_has_inputs_that_were_seen_before(tmp_path: Path, kernel: str) -> None:
    """So that a result kept by the identity of its inputs is of no use."""
    command, home, function = benchmark(tmp_path, kernel)
    path = home / ("kernel.py" if function == "rmsnorm_silu" else "src/layernorm.py")
    path.write_text(f"{kernel}_right, _seen = {function}, []\ndef {function}(x, *others):\n"
                    "    again = any(x is one for one in _seen)\n    _seen.append(x)\n"
                    f"    return x if again else _right(x, *others)\n")  # fmt: skip
    assert ran(command, home)[0] == 0


def test_results_that_are_right_only_until_they_are_timed(tmp_path: Path) -> None:
    command, home, function = benchmark(tmp_path, LAYERNORM)
    lazy = f"_right, _calls = {function}, []\ndef {function}(x, *others):\n    _calls.append(0)\n"
    (home / "src" / "layernorm.py").write_text(
        f"{LAYERNORM}{lazy}    return _right(x, *others) if len(_calls) <= 2 else x\n"
    )
    rc, said = ran(command, home)
    assert rc == 1
    assert "timed call" in said["error"]


def test_the_check_of_the_pilot_says_ok_and_says_where_it_is_wrong(tmp_path: Path) -> None:
    _, home, _function = benchmark(tmp_path, LAYERNORM)
    assert ran(["tests/test_correctness.py"], home) == (0, {"ok": True})
    (home / "src" / "layernorm.py").write_text(LAYERNORM.replace("+ eps", "+ 1e-3"))
    rc, said = ran(["tests/test_correctness.py"], home)
    assert rc == 1
    assert "narrow: x[0, 0" in said["error"]


# As where kernels still run, on a stream of their own, when the event that ends the call is reached.
BESIDE = """
import contextlib, torch.autograd, torch.profiler
from types import SimpleNamespace as Some
@contextlib.contextmanager
def profile(activities):
    def event(name, start, us):
        took = Some(start=start, elapsed_us=lambda: us)
        return Some(device_type=torch.autograd.DeviceType.CUDA, name=name, time_range=took)
    kernels = [event("kernel", 2 * at + 1, 2e10) for at in range(2)]
    yield Some(events=lambda: kernels + [event("spin_kernel", 2 * at, 1) for at in range(2)])
torch.profiler.profile = profile
"""


@pytest.mark.parametrize("kernel", [RMSNORM, LAYERNORM], ids=["rmsnorm", "layernorm"])
def test_a_call_that_ends_before_its_kernels_is_not_believed(tmp_path: Path, kernel: str) -> None:
    command, home, _function = benchmark(tmp_path, kernel + BESIDE)
    rc, said = ran(command, home)
    assert rc == 1
    assert "us, but its kernels 1000000000.00 us" in said["error"]
