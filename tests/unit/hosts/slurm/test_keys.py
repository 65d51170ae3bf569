"""The table of a host that Slurm lends."""

from pathlib import Path

import pytest

from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace, WorkspaceError


def load(tmp_path: Path, *lines: str) -> object:
    (tmp_path / "config.toml").write_text("\n".join(("[hosts.c]", 'transport = "slurm"', *lines)))
    return load_config(Workspace(tmp_path)).hosts["c"].options


def test_only_the_time_is_needed(tmp_path: Path) -> None:
    load(tmp_path, 'time = "4:00:00"')
    load(tmp_path, 'time = "4:00:00"', 'extra = ["--mem=32G", "--wait-all-nodes=1", "--ntasks-per-node=1"]')
    with pytest.raises(WorkspaceError, match="time"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('time = "soon"', "no time limit"),
        ('time = "10"\npartition = "a b"', "signs that no such name has"),
        ('time = "10"\ngres = "gpu:1; rm"', "signs that no such name has"),
        ('time = "10"\nbin = "opt/slurm"', "no absolute path"),
        ('time = "10"\nextra = ["--time=5"]', "kpd sets itself"),
        ('time = "10"\nextra = ["--job=x"]', "kpd sets itself"),
        ('time = "10"\nextra = ["--clusters=x"]', "kpd sets itself"),
        ('time = "10"\nextra = ["--"]', "kpd sets itself"),
        ('time = "10"\nextra = ["-Jx"]', "has '-Jx'"),
        ('time = "10"\nextra = ["mem"]', "has 'mem'"),
        ('time = "10"\nidle_release = "0s"', "no duration"),
        ('time = "10"\nvia = "logn"', "no host"),
        ('time = "10"\nvia = "c"', "scheduler itself"),
        ('time = "10"\naddress = "box"', "of no use"),
        ('time = "10"\npython = "~/bin/python3"', "begins with ~"),
        ('time = "10"\nnodes = 2', "nodes"),
    ],
)
def test_a_faulty_table_is_told_with_its_key(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(WorkspaceError, match=says):
        load(tmp_path, line)
