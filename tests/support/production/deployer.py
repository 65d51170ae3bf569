"""Deploys a kernel and says which phase it begins, to be killed in it: `deployer.py FOLDER KERNEL PHASE LEASE_S`."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path, PurePosixPath

import msgspec

from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.model.deployments import Phase
from kpd.production.deploy.deploy import Telling, approved
from kpd.production.deploy.winner import AcceptedKernel
from kpd.workspace.projects import ProjectConfig
from tests.support.production.provers import place_on
from tests.support.production.sleepers import accepted, deploying


async def main(folder: Path, won: AcceptedKernel, stops: str, lease_s: float) -> None:
    def tell(phase: Phase) -> None:
        sys.stdout.write(f"{phase}\n")
        sys.stdout.flush()
        if phase == stops:
            os.kill(os.getpid(), signal.SIGSTOP)

    project = msgspec.convert(json.loads((folder / "project.json").read_text()), ProjectConfig)
    host = Host("box", PurePosixPath(folder / "host"), Local())
    await host.connect()
    try:
        place = place_on(host, project, folder)
        await deploying(place, folder / "deployments", won, Telling(approved, tell), lease_s).deploy(won)
        sys.stdout.write("end\n")
    finally:
        await host.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), accepted(Path(sys.argv[2]).read_text()), sys.argv[3], float(sys.argv[4])))
