"""Deploys a kernel and says which phase it begins, to be killed in it: `deployer.py FOLDER PHASE LEASE_S [SSH_CONFIG]`.

FOLDER has `project.json` and `winner.json`, and where a mended file is to be had, that as `mended`.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path, PurePosixPath

import msgspec

from kpd.claude.question import ModelAnswer, PromptPart
from kpd.hosts.host import Host
from kpd.hosts.local import Local
from kpd.hosts.ssh.transport import Ssh
from kpd.model.deployments import Phase
from kpd.production.deploy.deploy import Deploying, Telling, approved
from kpd.production.deploy.fixing import Fixer, fenced
from kpd.production.deploy.winner import AcceptedKernel
from kpd.production.place import new_id
from kpd.workspace.deployments import DeploymentJournal
from tests.support.production.provers import place_on
from tests.support.production.sleepers import read


class Mended:
    """Gives one mended file, after a while."""

    name = "prepared"

    def __init__(self, file: Path) -> None:
        self.file = file

    async def ask(self, system: tuple[PromptPart, ...], text: str) -> ModelAnswer:
        await asyncio.sleep(0.5)
        return ModelAnswer(fenced(self.file.read_text()), "end")


async def main(folder: Path, stops: str, lease_s: float, config: str) -> None:
    def tell(phase: Phase) -> None:
        sys.stdout.write(f"{phase}\n")
        sys.stdout.flush()
        if phase == stops:
            os.kill(os.getpid(), signal.SIGSTOP)

    won = msgspec.json.decode((folder / "winner.json").read_bytes(), type=AcceptedKernel)
    transport = Ssh("box", config_files=[Path(config)]) if config else Local()
    host = Host("box", PurePosixPath(folder / "host"), transport)
    await host.connect()
    try:
        opened = DeploymentJournal(folder / "deployments").begin(won.run, won.iteration, "a test", new_id())
        fixer = Fixer(Mended(folder / "mended")) if (folder / "mended").exists() else None
        place = place_on(host, read(folder), folder)
        await Deploying(place, opened, Telling(approved, tell), lease_s, fixer).deploy(won)
        sys.stdout.write("end\n")
    finally:
        await host.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else ""))
