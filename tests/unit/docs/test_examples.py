"""The table that the page of an example's program gives is a project's, of files that the example has."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from kpd.source.kernels import kernels
from kpd.source.source import Source
from kpd.workspace.projects import ProjectConfig
from tests.places import ROOT

PACKAGES = {"kpd-tickets"}  # a package for kpd, and no program that kpd changes
PAGES = sorted(page for page in (ROOT / "examples").glob("*/README.md") if page.parent.name not in PACKAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_the_table_of_an_example_names_its_files_and_its_kernel(page: Path) -> None:
    table = tomllib.loads(page.read_text().partition("```toml\n")[2].partition("```")[0])
    [project] = [msgspec.convert(one, ProjectConfig, strict=True) for one in table["project"].values()]
    assert [path for path in (*project.files, *project.context) if not (page.parent / path).is_file()] == []
    found = [one.name for path in project.files for one in kernels(Source.of((page.parent / path).read_text()))]
    assert project.kernel in found
