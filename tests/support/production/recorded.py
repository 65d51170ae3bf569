"""The recorded run as if its kernels were those of the program that sleeps, with that program as project `p`."""

import json
from pathlib import Path

from kpd.daemon.store import EventStore
from kpd.model.facts.iterations import Accepted
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder, digest
from tests.support.cli.recorded_run import workspace_of
from tests.support.production.sleepers import BUILD, FAST, PATH, SLOW, made


def with_program(
    tmp: Path, deploy: str = "", fixer: str = "none", host: str = "local", table: str = "", fast: str = FAST,
    approve: bool = True,
) -> tuple[Workspace, Path]:  # fmt: skip
    """Return the workspace and the program's root. The run has accepted the fast kernel as its iteration 13.

    The program lies on `host`, whose `table` of config.toml is given unless that is this machine.
    """
    ws, root = workspace_of(tmp / "ws", deploy=deploy), tmp / "program"
    for number, text in ((0, SLOW), (2, "int other(int x) { return x; }\n"), (13, fast)):
        IterationFolder(ws.iteration_folder("transpose_cuda", "r1", number)).write_candidate(
            {"kernel.cu": text.encode()}
        )
        with EventStore(ws.store) as store:
            store.append(Accepted("r1", number, {"kernel.cu": digest(text.encode())}), 1.0)
    made(root)
    leases = tmp / "leases"  # of its own: nothing here waits for what else measures on this machine
    leases.mkdir()
    ws.config.write_text(
        f'[hosts.local]\nleases = "{leases}"\n\n{table}[project.p]\nhost = "{host}"\napprove = {json.dumps(approve)}\n'
        f'root = "{root}"\nfiles = ["{PATH}"]\nbinary = ["target/program"]\nbuild_dir = "target"\n'
        f'build = {json.dumps(BUILD)}\nrun = "target/program"\nkernel = "work"\noutputs = ["target/out"]\n'
        f'fixer = "{fixer}"\n'
    )
    return ws, root
