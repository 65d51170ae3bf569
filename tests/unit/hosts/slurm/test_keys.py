"""The table of a host that Slurm lends."""

from pathlib import Path

import pytest

from kpd.hosts.transports import host_of
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
        ('time = "10"\nnodes = 2', "an allocation is one node"),
        ('time = "10"\nmax_allocations = 0', "max_allocations"),
        ('time = "10"\nmax_allocations = 2\n[hosts."c.2"]', "makes a host c.2, which there is"),
        ('time = "10"\n[hosts.c.build]\ncpus = 2', "partition"),
        ('time = "10"\n[hosts.c.build]\npartition = "cpu"\n[hosts."c.build"]', "makes a host c.build, which there is"),
    ],
)
def test_a_faulty_table_is_told_with_its_key(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(WorkspaceError, match=says):
        load(tmp_path, line)


def test_where_a_table_builds_is_a_host_that_measures_nothing(tmp_path: Path) -> None:
    build = ("[hosts.c.build]", 'partition = "cpu"', "cpus = 16")
    load(tmp_path, 'time = "10"', 'partition = "gpu"', 'gres = "gpu:2"', "max_allocations = 2", *build)
    hosts = load_config(Workspace(tmp_path)).hosts
    assert {name: (host.table, host.builds) for name, host in hosts.items() if name != "local"} == {
        "c": ("", False), "c.2": ("c", False), "c.build": ("c", True),
    }  # fmt: skip
    asked = hosts["c.build"].options
    assert (asked.partition, asked.gpus, asked.cpus, asked.time) == ("cpu", 0, 16, "10")


def test_each_allocation_that_a_table_may_have_at_a_time_is_a_host_with_a_folder_of_its_own(tmp_path: Path) -> None:
    load(tmp_path, 'time = "10"', "max_allocations = 3", "nodes = 1", 'root = "/shared"')
    workspace = Workspace(tmp_path)
    hosts = load_config(workspace).hosts
    assert {name: host.table for name, host in hosts.items()} == {"local": "", "c": "", "c.2": "c", "c.3": "c"}
    roots = [host_of(name, hosts[name], workspace).root.name for name in ("c", "c.2", "c.3")]
    assert roots[1:] == [f"{roots[0]}.2", f"{roots[0]}.3"], "nodes that share it do not share jobs"
