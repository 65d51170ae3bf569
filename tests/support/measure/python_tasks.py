"""Small tasks in Python for this Python, which has NumPy, and a host that runs them."""

import sys
from collections.abc import Mapping
from pathlib import Path

from kpd.hosts.host import Host
from kpd.measure.catalogue import prepare
from kpd.measure.driver.bench import DriverBench
from kpd.workspace.run_files import read_files
from kpd.workspace.shipped import PYTHON_TEMPLATE
from kpd.workspace.task import load_task
from tests.support.measure.measured import THIS_CPU

TOML = f"""\
[task]
name = "double"
language = "python"
editable = ["kernel.py"]

[build]
python = "{sys.executable}"

[check]
seeds = 1
rtol = 1e-5
atol = 1e-6
distributions = ["normal", "large"]

[bench]
quads = 8

[tune]
BLOCK = [64, 65536]

[roofline]
bytes = "n*12"
"""
HARNESS = """\
import numpy as np
ENTRY = "kernel"
OUTPUTS = ("out",)
CASES = {"small": {"n": 4099}}
def inputs(dims, draw):
    return {"a": draw.values(dims["n"]), "b": draw.values(dims["n"])}
def truth(a, b):
    return 2 * a.astype(np.float64) + b
"""
RIGHT = "def kernel(a, b):\n    return 2 * a + b\n"


def template_task(folder: Path, name: str) -> Path:
    """The small task of `kpd task new --language python`, for this Python."""
    folder.mkdir(parents=True)
    for source in PYTHON_TEMPLATE.iterdir():
        text = source.read_text().replace("@NAME@", name).replace('"python3"', f'"{sys.executable}"')
        (folder / source.name).write_text(text)
    return folder


def small_task(folder: Path, kernel: str = RIGHT, harness: str = HARNESS, toml: str = TOML) -> Path:
    folder = folder / "double"
    folder.mkdir(parents=True)
    for name, text in (("kernel.py", kernel), ("harness.py", harness), ("task.toml", toml)):
        (folder / name).write_text(text)
    return folder


async def ready(host: Host, folder: Path) -> DriverBench:
    bench = await prepare(host, load_task(folder), THIS_CPU, print)
    assert isinstance(bench, DriverBench)
    return bench


async def built(bench: DriverBench, files: Mapping[str, str] | None = None) -> str:
    own = read_files(bench.task.folder, bench.task.editable)
    files = own | {name: text.encode() for name, text in (files or {}).items()}
    return (await bench.build(await bench.stage(files), files, print)).job
