"""Changes a program and says which step it begins, to be killed in it: `client.py FOLDER [SSH_CONFIG]`."""

import asyncio
import json
import sys
from pathlib import Path, PurePosixPath

import msgspec

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.ssh.transport import Ssh
from kpd.workspace.projects import ProjectConfig
from tests.support.production.provers import FASTER, place_on


async def main(folder: Path, config: str) -> None:
    project = msgspec.convert(json.loads((folder / "project.json").read_text()), ProjectConfig)
    transport = Ssh("box", config_files=[Path(config)]) if config else Local()
    host = Host("box", PurePosixPath(folder / "host"), transport)
    await host.connect()

    async def step(name: str) -> None:
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        await asyncio.sleep(0)

    try:
        await step("begin")
        async with place_on(host, project, folder).changing("to be killed", lease_s=6.0) as change:
            await step("put")
            await change.put("src/kernel.c", FASTER)
            await step("build")
            await change.build()
            await step("hold")
            await asyncio.sleep(1.0)
            await step("restore")
        await step("end")
    finally:
        await host.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
