"""Observes a program by lines in its source, in a process of its own to be killed: `logger.py FOLDER LEASE_S`.

FOLDER has the project as `project.json`, and the answer with these lines as `answer`.
"""

import asyncio
import sys
from pathlib import Path, PurePosixPath

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.production.deploy.deploy import approved
from kpd.production.logged.step import SourceLogging
from kpd.production.observe.observation import Observation
from kpd.production.observe.project import Unobserved
from kpd.production.observe.step import ObservedProgram
from kpd.production.place import ProjectPlace
from kpd.source.kernels import kernels
from kpd.source.source import Source
from tests.support.production.prepared import Prepared
from tests.support.production.provers import place_on
from tests.support.production.sleepers import read

PATH = "src/kernel.c"


async def observe(place: ProjectPlace, logging: SourceLogging) -> Observation:
    """Observe the project's program as where no library could."""
    project, file = place.project, await place.source(PATH)
    (kernel,) = kernels(Source.of(file.decode(), PATH))
    program = ObservedProgram(project.run, project.root, project.kernel, project.limit_run_s)
    return await logging.observe(place, Unobserved(program, {PATH: file}, kernel, "key", "the host has no CUPTI"))


async def main(folder: Path, lease_s: float) -> None:
    host = Host("box", PurePosixPath(folder / "host"), Local())
    await host.connect()
    try:
        answers = Prepared((folder / "answer").read_text())
        await observe(place_on(host, read(folder), folder), SourceLogging(answers, approved, lease_s=lease_s))
    finally:
        await host.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), float(sys.argv[2])))
