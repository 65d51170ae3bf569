"""Observes the program of a project, unless what is known of it is current."""

from pathlib import Path

from kpd.production.observe.observation import Observation, is_current, key
from kpd.production.observe.step import ObservedProgram, observe
from kpd.production.observe.sudo_ncu import timed
from kpd.production.place import ProjectPlace
from kpd.source.kernels import Kernel, kernels
from kpd.source.macros import UnreadableDirective
from kpd.source.source import Source


async def observe_project(
    place: ProjectPlace, path: Path, kernel: str | None, again: bool, endless: bool
) -> Observation | None:
    """Run the project's program once and return what it launched; None where `path` has that, and not `again`.

    `kernel` names the kernel where the project's own name for it does not suffice. Raises ObserveError, HostError.
    """
    project = place.project
    wanted = kernel or project.kernel
    source, text = await _source(place, wanted.partition("<")[0])
    signature = f"{wanted} {'' if source is None else source.signature}"
    current = key(project.run, signature, text, [project.host, project.root, project.cwd, project.env])
    if not again and is_current(path, current):
        return None
    cwd = f"{project.root}/{project.cwd}".rstrip("/")
    program = ObservedProgram(
        project.run, cwd, wanted, project.limit_run_s, project.env, endless, lease=await place.lease()
    )
    seen = await observe(place.host, program, source, current)
    if not project.sudo_ncu or seen.coverage.timed:
        return seen
    ncu = (await place.host.probe())["ncu"]
    return await timed(place.host, ncu, program, project.root, seen) if ncu else seen


async def _source(place: ProjectPlace, wanted: str) -> tuple[Kernel | None, bytes]:
    """Return the kernel as the project's files have it, if they can be read, and the bytes of all of them."""
    found: list[Kernel] = []
    texts = []
    for file in place.project.files:
        text = await place.source(file)
        texts.append(text)
        try:
            source = Source.of(text.decode(errors="replace"), file)
        except UnreadableDirective:
            continue
        found += [one for one in kernels(source) if wanted in (one.name, one.qualified)]
    return found[0] if len(found) == 1 else None, b"\0".join(texts)
