"""Observes the program of a project, unless what is known of it is current."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kpd.production.observe.errors import NO_INJECTION, ObserveError
from kpd.production.observe.observation import Observation, is_current, key
from kpd.production.observe.step import ObservedProgram, observe
from kpd.production.observe.sudo_ncu import timed
from kpd.production.place import ProjectPlace
from kpd.source.kernels import Kernel, kernels
from kpd.source.macros import UnreadableDirective
from kpd.source.source import Source

OTHERWISE = "kpd project observe --mailbox, or --writer WHO, has lines proposed that log its launches for one run"


@dataclass(frozen=True, slots=True)
class Unobserved:
    """A program in which no library could observe, and `why`; the project's files by path, and the kernel in them."""

    program: ObservedProgram
    files: Mapping[str, bytes]
    source: Kernel
    key: str
    why: str


class Otherwise(Protocol):
    """Observes a program where no library can be loaded into it."""

    async def observe(self, place: ProjectPlace, one: Unobserved) -> Observation:
        """Return what it launches. Raises ObserveError, HostError, PlaceError."""


async def observe_project(
    place: ProjectPlace, path: Path, kernel: str | None, again: bool, endless: bool, otherwise: Otherwise | None = None
) -> Observation | None:
    """Run the project's program once and return what it launched; None where `path` has that, and not `again`.

    `kernel` names the kernel where the project's own name for it does not suffice. `otherwise` observes where no
    library can be had. Raises ObserveError, HostError, PlaceError.
    """
    project = place.project
    wanted = kernel or project.kernel
    source, files = await _source(place, wanted.partition("<")[0])
    signature = f"{wanted} {'' if source is None else source.signature}"
    around: list[str | Mapping[str, str]] = [project.host, project.root, project.cwd, project.env]
    current = key(project.run, signature, b"\0".join(files.values()), around)
    if not again and is_current(path, current):
        return None
    cwd = f"{project.root}/{project.cwd}".rstrip("/")
    program = ObservedProgram(
        project.run, cwd, wanted, project.limit_run_s, project.env, endless, lease=await place.lease()
    )
    try:
        seen = await observe(place.host, program, source, current)
    except ObserveError as err:
        if err.kind not in NO_INJECTION:
            raise
        if otherwise is None:
            raise ObserveError(err.kind, err.message, f"{err.remedy}; {OTHERWISE}") from err
        if source is None:
            raise ObserveError("no_source", f"{err.message}; and no file of the project defines {wanted} once") from err
        seen = await otherwise.observe(place, Unobserved(program, files, source, current, err.message))
    if not project.sudo_ncu or seen.coverage.timed:
        return seen
    ncu = (await place.host.probe())["ncu"]
    return await timed(place.host, ncu, program, project.root, seen) if ncu else seen


async def _source(place: ProjectPlace, wanted: str) -> tuple[Kernel | None, dict[str, bytes]]:
    """Return the kernel as the project's files have it, if they can be read, and all of them by path."""
    found: list[Kernel] = []
    files = {file: await place.source(file) for file in place.project.files}
    for file, text in files.items():
        try:
            source = Source.of(text.decode(errors="replace"), file)
        except UnreadableDirective:
            continue
        found += [one for one in kernels(source) if wanted in (one.name, one.qualified)]
    return found[0] if len(found) == 1 else None, files
