"""Defines the tables [project.NAME] of config.toml: production programs that kpd may change on their hosts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from kpd.workspace.durations import duration
from kpd.workspace.entry_points import NAME
from kpd.workspace.strict import Document, Few, Filled, Positive, Text

PROJECT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
KERNEL = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*", re.ASCII)
VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """A production program on a host, and the kernel in it that is to become faster. All paths are below `root`.

    kpd writes `files` and `binary`, and restores both by copy; `build` writes below `build_dir`; `context` is read.
    `build`, `run` and `verify` are shell commands that run in the folder `cwd` with `env` added to the environment, for
    `limit_build` and `limit_run` at most. `verify` is the program's own check of its result; without it that is the
    exit code of `run` and the content of its `outputs`. With `approve` a person has to approve what is deployed;
    `fixer` says who mends a file that does not build, run or verify: none, model, folder, or a coding agent;
    `min_gain_pct` is the least gain that is deployed, of the kernel alone and of the whole program. With `sudo_ncu`
    Nsight Compute under sudo, so the program as root, tells durations where CUPTI has none. `arch` and `flags` are the
    architecture and the options (-I, -D) with which the kernel is compiled alone; `top` is the number of launch
    configurations to take from a run, and one whose p95 is above `split` times its p25 counts as two.
    """

    host: Text
    root: Text
    files: Filled
    binary: Filled
    build_dir: Text
    build: Text
    run: Text
    kernel: Text
    context: tuple[Text, ...] = ()
    cwd: str = ""
    env: dict[str, str] = field(default_factory=dict)
    limit_build: Text = "20m"
    limit_run: Text = "10m"
    verify: str = ""
    outputs: tuple[Text, ...] = ()
    approve: bool = True
    fixer: Text = "none"
    sudo_ncu: bool = False
    arch: str = ""
    flags: tuple[Text, ...] = ()
    min_gain_pct: Positive = 1.0
    top: Few = 5
    split: Positive = 2.5

    @property
    def written(self) -> tuple[str, ...]:
        """The files that kpd changes and restores."""
        return (*self.binary, *self.files)

    @property
    def limit_build_s(self) -> float:
        return duration(self.limit_build)

    @property
    def limit_run_s(self) -> float:
        return duration(self.limit_run)


def check_project(document: Document, name: str, project: ProjectConfig, hosts: tuple[str, ...]) -> None:
    """Check the rules of one [project.*] table. Raises ConfigError."""
    at = ("project", name)
    if not PROJECT_NAME.fullmatch(name):
        raise document.error(f"{name!r} cannot be a project's name", "use letters, digits, _ and -", *at)
    wrong = next(_faults(project, hosts), None)
    if wrong is not None:
        key, message, remedy = wrong
        raise document.error(f"'{key}' in [project.{name}] {message}", remedy, *at, key)


def fault_in(given: Mapping[str, Any], hosts: tuple[str, ...]) -> tuple[str, str] | None:
    """Return what is wrong with the keys that are known so far of a project, and what to do; None if nothing is."""
    blank = {"host": hosts[0], "root": "/blank", "build": "", "run": "", "kernel": "blank", "files": (), "binary": ()}
    wrong = next(_faults(ProjectConfig(**{"build_dir": ".", **blank, **given}), hosts), None)
    return None if wrong is None else (f"{wrong[0]} {wrong[1]}", wrong[2])


def _faults(project: ProjectConfig, hosts: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with a project: the key, what is wrong with it, and what to do."""
    if project.host not in hosts:
        yield "host", f"names {project.host!r}", f"known hosts are {', '.join(hosts)}; kpd hosts add makes one"
    if not project.root.startswith(("/", "~/")) or not project.root.isprintable() or ".." in project.root.split("/"):
        yield "root", f"is no absolute path: {project.root!r}", "begin it with / or ~/"
    if str(PurePosixPath(project.root)) in ("/", "~"):
        yield "root", f"is too much: {project.root!r}", "give the project's own folder"
    for key, paths in (
        ("files", project.files), ("binary", project.binary), ("context", project.context),
        ("outputs", project.outputs), ("build_dir", (project.build_dir,)), ("cwd", (project.cwd or ".",)),
    ):  # fmt: skip
        for path in paths:
            if not _is_below(path) and not (path == "." and key in ("build_dir", "cwd")):
                yield key, f"has {path!r}, which is not below the root", "write a plain path relative to the root"
    if not NAME.fullmatch(project.fixer):
        yield "fixer", f"is {project.fixer!r}", "write none, model, folder, or a coding agent's name"
    twice = [path for at, path in enumerate(project.written) if path in project.written[:at]]
    if twice:
        yield "binary" if twice[0] in project.binary else "files", f"has {twice[0]!r} twice", "name each file once"
    built = [path for path in project.files if PurePosixPath(project.build_dir) in PurePosixPath(path).parents]
    if built and project.build_dir != ".":
        yield "files", f"has {built[0]!r}, which lies in build_dir", "the build writes there: name the source"
    if not KERNEL.fullmatch(project.kernel):
        yield "kernel", f"is no name of a function: {project.kernel!r}", "write name or namespace::name"
    for name, value in project.env.items():
        if not VARIABLE.fullmatch(name) or "\0" in value:
            yield "env", f"has {name!r}, which is no variable", "use letters, digits and _"
    for key, text in (("limit_build", project.limit_build), ("limit_run", project.limit_run)):
        try:
            duration(text)
        except ValueError as err:
            yield key, f"is wrong: {err}", 'write "90s", "20m" or "1h"'


def _is_below(path: str) -> bool:
    """Return whether a path is plain, relative, in its simplest form, and names something below its folder."""
    pure = PurePosixPath(path)
    plain = bool(path) and path.isprintable() and not path.startswith(("~", "/")) and path != "."
    return plain and ".." not in pure.parts and str(pure) == path
