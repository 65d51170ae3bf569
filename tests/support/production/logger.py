"""Observes a program by lines in its source, in a process of its own to be killed: `logger.py FOLDER LEASE_S`.

FOLDER has the project as `project.json`, and the answer with these lines as `answer`.
"""

import asyncio
import json
import sys
from pathlib import Path, PurePosixPath

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.production.deploy.deploy import approved
from kpd.production.deploy.fixing import fenced
from kpd.production.logged.blocks import BEGIN, END
from kpd.production.logged.step import SourceLogging
from kpd.production.observe.observation import Observation
from kpd.production.observe.project import Unobserved
from kpd.production.observe.step import ObservedProgram
from kpd.production.place import ProjectPlace
from kpd.source.kernels import kernels
from kpd.source.source import Source
from kpd.workspace.projects import ProjectConfig
from tests.support.production.prepared import Prepared
from tests.support.production.provers import place_on
from tests.support.production.sleepers import read

PATH = "src/kernel.c"
SOURCE = b"""#include <stdio.h>
#include <stdlib.h>
__global__ void twice(int x) {}
int main(void) {
    twice(7);
}
"""
BUILD = "mkdir -p target && cc -D__global__= -x c src/kernel.c -o target/new && mv target/new target/prover"
LINES = f"""    {BEGIN}
    {{
        const char *path = getenv("KPD_OBSERVE_LOG");
        FILE *file = path ? fopen(path, "a") : NULL;
        if (file) {{
            fputs("{{\\"grid\\":[1,1,1],\\"block\\":[32,1,1],\\"scalars\\":{{\\"x\\":7}}}}\\n", file);
            fclose(file);
        }}
    }}
    {END}
"""


def answer(lines: str = LINES) -> str:
    return fenced(SOURCE.decode().replace("    twice(7)", f"{lines}    twice(7)"), "c")


def table_of(project: ProjectConfig) -> str:
    """The project's table of config.toml, as `prover`."""
    table = {"host": "local", "root": project.root, "files": list(project.files), "binary": list(project.binary),
             "build_dir": "target", "build": BUILD, "run": project.run, "kernel": "twice"}  # fmt: skip
    return "[project.prover]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items())


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
