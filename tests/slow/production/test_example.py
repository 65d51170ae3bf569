"""The example of a C++ and CUDA program, as a project: checked, built, and a change of it taken back."""

import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kpd.production.check import check_build, preflight
from kpd.workspace.projects import ProjectConfig
from tests.places import ROOT
from tests.support.production.provers import place_at

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")


async def test_the_imaging_library_is_built_changed_and_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "imaging"
    shutil.copytree(ROOT / "examples" / "cmake-imaging", root)
    table = (root / "README.md").read_text().partition("```toml\n")[2].partition("```")[0].replace("HERE", str(root))
    project = msgspec.convert(tomllib.loads(table)["project"]["imaging"], ProjectConfig)
    project = replace(project, files=(*project.files, "src/pipeline.cpp"))  # what a machine without a GPU runs

    def run() -> str:
        return subprocess.run(project.run, shell=True, cwd=root, capture_output=True, text=True, check=True).stdout

    async with place_at(project, tmp_path) as place:
        assert {one.name for one in (await preflight(place))[1] if one.state == "bad"} == {"binary"}  # not built yet
        record, _ = await check_build(place, normalise=True)
        assert record.state == "committed"
        _, checks = await check_build(place, normalise=False)
        assert {one.state for one in checks} == {"ok"}
        first = run()
        source = root / "src" / "pipeline.cpp"
        original = source.read_bytes()
        changed = original.replace(b"* 255 /", b"* 127 /")
        assert changed != original
        async with place.changing("to see") as change:
            await change.put("src/pipeline.cpp", changed)
            assert (await change.build()).rc == 0
            assert run() != first
        assert (source.read_bytes(), run()) == (original, first)
