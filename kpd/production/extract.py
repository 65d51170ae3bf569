"""Brings a project's sources here by content: its kernel's file, the host code that launches it, and their headers."""

import asyncio
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kpd.onboarding.build_context import BuildContext, build_context
from kpd.onboarding.facts import KernelFacts, findings
from kpd.onboarding.preprocess import MOST_BYTES, SourceError, included
from kpd.production.place import ProjectPlace
from kpd.production.program import shell_path
from kpd.source.kernels import kernels
from kpd.source.macros import UnreadableDirective
from kpd.source.source import Source
from kpd.workspace.run_files import write_atomic

READ_S = 20.0
MOST_FILES = 400
LARGE = 3
CODE = (".cu", ".cuh", ".h", ".hpp", ".hh", ".c", ".cc", ".cpp", ".cxx")


@dataclass(frozen=True, slots=True)
class BroughtSources:
    """The project's files in the folder `home`, which stands for the root of the host's file system.

    `root` is the project's there. `texts` are the sources that the project names, by their paths below its root.
    """

    home: Path
    root: str
    texts: Mapping[str, str]
    built: BuildContext

    def path(self, name: str) -> Path:
        return here(self.home, f"{self.root}/{name}")


def here(home: Path, path: str) -> Path:
    """Return where a file of the host lies in `home`, and nowhere else whatever the host says."""
    return home / posixpath.normpath(f"/{path}").lstrip("/")


async def bring(place: ProjectPlace, home: Path) -> BroughtSources:
    """Copy the project's sources and context, and the headers that they include from it. Raises SourceError, HostError.

    Headers are looked for as a compiler would: beside the source, and in the folders of -I in the project's flags.
    """
    project = place.project
    root = (await place.look()).root
    base = posixpath.join(root, project.cwd)
    built = build_context(project.flags)
    folders = [posixpath.normpath(posixpath.join(base, str(folder))) for folder in built.folders]
    named = {posixpath.normpath(f"{root}/{name}"): name for name in (*project.files, *project.context)}
    found: dict[str, str] = {}
    waiting = set(named)
    while waiting:
        if len(found) + len(waiting) > MOST_FILES:
            raise SourceError(f"the project's sources include more than {MOST_FILES} files", "give narrower -I flags")
        paths = sorted(waiting)
        texts = await asyncio.gather(*(_read(place, path) for path in paths))
        found |= dict(zip(paths, texts, strict=True))
        waiting = {
            path
            for at, text in zip(paths, texts, strict=True)
            if at.endswith(CODE)
            for path in _included(text, posixpath.dirname(at), folders)
            if path not in found and any(path.startswith(f"{top}/") for top in (root, *folders))
        }
    if missing := [name for path, name in named.items() if not found[path]]:
        raise SourceError(f"{', '.join(missing)} cannot be read on {project.host}", "correct the project's files")
    for path, text in found.items():
        if text:
            write_atomic(here(home, path), text)
    texts_by_name = {name: found[path] for path, name in named.items()}
    return BroughtSources(
        home, root, texts_by_name, replace(built, folders=tuple(here(home, folder) for folder in folders))
    )


async def _read(place: ProjectPlace, path: str) -> str:
    """Return a file's text; empty where there is no such file. Raises SourceError where it is too large, HostError."""
    quoted = shell_path(path)
    size = f'"$(wc -c < {quoted})" -le {MOST_BYTES}'
    said = await place.host.run(f"[ -f {quoted} ] || exit 1; [ {size} ] || exit {LARGE}; cat -- {quoted}", READ_S)
    if said.rc == LARGE:
        raise SourceError(f"{path}: larger than {MOST_BYTES >> 20} MiB", "is this the right file?")
    return said.stdout.decode(errors="replace") if said.rc == 0 else ""


def _included(text: str, beside: str, folders: Sequence[str]) -> set[str]:
    """Return the paths at which a compiler would look for what a source includes."""
    return {
        posixpath.normpath(posixpath.join(folder, name))
        for name, own in included(text)
        if not name.startswith("/")
        for folder in ((beside, *folders) if own else folders)
    }


def facts_of(
    brought: BroughtSources, kernel: str, observed: Path, top: int, spread: float, timed: Path | None = None
) -> KernelFacts:
    """Collect the facts of the project's kernel. Raises SourceError, ObservedError."""
    plain = kernel.rpartition("::")[2]
    launches = re.compile(rf"\b{re.escape(plain)}\s*(<[^;{{}}]*>)?\s*<<<")
    code = {name: text for name, text in brought.texts.items() if name.endswith(CODE)}
    source = next((name for name, text in code.items() if _defines(text, plain)), None)
    wrapper = next((name for name, text in code.items() if launches.search(text)), None)
    if source is None or wrapper is None:
        what = f"defines {kernel}" if source is None else f"has {plain}<<<…>>> in it"
        raise SourceError(f"no file of the project {what}", "name it in files or context of the project")
    facts = findings(brought.path(source), brought.path(wrapper), observed, top, brought.built, spread, timed)
    other = {name: text for name, text in brought.texts.items() if name not in (source, wrapper)}
    return replace(facts, context=other)


def _defines(text: str, kernel: str) -> bool:
    try:
        return any(one.name == kernel for one in kernels(Source.of(text)))
    except UnreadableDirective:
        return False
