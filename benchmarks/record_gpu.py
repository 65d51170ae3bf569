"""Record a run on this machine's GPU as a cassette, so that tests can replay it where there is none.

    python benchmarks/record_gpu.py TASK OUT                                    what the sweep agent proposes
    python benchmarks/record_gpu.py TASK OUT --point TILE=32,PAD=1 --point …    these points of the task's [tune] space
    python benchmarks/record_gpu.py TASK OUT --files DIR --files …              these files, laid over the task's own

TASK is a task's name or folder. The run is a real one, in a workspace of its own that is removed again, with
nvidia-smi, nvcc, ncu and the programs that nvcc makes behind proxies (tests/support/cassette) that write down what they
answer. Needs an NVIDIA GPU and nvcc; without ncu, or without the permission to count, the cassette has no counters.

OUT becomes the cassette's folder. It is replayed here first, as `python benchmarks/replay_cassette.py TASK OUT` does: a
cassette that does not come to what was measured (because other work disturbed it, or because answers are missing) is
refused.
"""

import argparse
import asyncio
import getpass
import gzip
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from own_daemon import own_daemon
from replay_cassette import Gist, difference, gist, replay

from kpd import __version__
from kpd.agents import space
from kpd.agents.agent import AgentKind, Context, Exhausted, Proposal
from kpd.agents.catalogue import AGENTS
from kpd.hosts.preflight.gpus import QUERY, GpuInfo, chosen, cuda_of, gpus_of, ncu_of
from kpd.model import events as e
from kpd.text import endings, waits
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder, read_files
from kpd.workspace.shipped import shipped
from kpd.workspace.task import Task, load_task
from tests.places import OPEN
from tests.support.cassette.calls import OUTSIDE
from tests.support.cassette.cassette import Candidate, Cassette, finish, load
from tests.support.cassette.proxies import Settings, lay
from tests.support.cassette.scrub import LEAST

GIVEN = "given"
"""The agent that proposes the candidates of the command line."""
PUBLIC = ("/", "/root", "/home", "/tmp", "/usr", "/usr/bin", "/usr/local/bin", "root")
"""Words that name neither a person nor a machine."""


class Given:
    """Proposes the candidates of the command line, one after the other."""

    repairs = False
    reads_steering = False

    def __init__(self, candidates: Sequence[Proposal]) -> None:
        self._left = list(candidates)

    async def propose(self, context: Context) -> Proposal:
        if not self._left:
            raise Exhausted("all candidates of the command line have been measured")
        return self._left.pop(0)

    async def close(self) -> None:
        """Holds nothing."""


def main() -> None:
    args = arguments()
    source = Path(args.task) if Path(args.task).is_dir() else shipped("tasks") / args.task
    task = load_task(source)
    programs = found_programs(args.cuda_home)
    gpu = found_gpu(programs, args.gpu)
    given = [at_point(task, text) for text in args.point] + [with_files(task, Path(text)) for text in args.files]
    out = Path(args.out).absolute()
    if out.exists() and any(out.iterdir()):
        sys.exit(f"{out} is not empty")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kpd-record-") as own:
        scratch = args.workspace or own
        words = private_words(scratch, programs)
        proxies = lay(Path(scratch).resolve() / "proxies", Settings(str(out), gpu.name, programs, words, gpu.uuid))
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{proxies}{os.pathsep}{path}"
        workspace = Workspace(Path(scratch).resolve() / "workspace")
        shutil.copytree(source, workspace.tasks / task.name)
        workspace.config.write_text(f'[run]\nhost = "local"\n[hosts.local]\ngpus = ["{gpu.uuid}"]\n{OPEN}')
        if given:
            AGENTS.register(GIVEN, AgentKind(lambda config, of: Given(given)))
        budget = {"iterations": args.iterations or len(given) or None, "patience": len(given) or None}
        facts = asyncio.run(run(workspace, task, GIVEN if given else "sweep", budget))
        candidates = tuple(measured(workspace, task, facts))
        os.environ["PATH"] = path
    finish(out, Cassette(
        version=1, kpd=__version__, made=datetime.now(UTC).date().isoformat(), device=gpu.name, arch=gpu.arch,
        driver=gpu.driver, cuda=cuda_of(said(programs, "nvcc", "--version")),
        ncu=ncu_of(said(programs, "ncu", "--version")) if "ncu" in programs else "", task=task.name,
        agent="points or files that were given" if given else "sweep", candidates=candidates,
    ))  # fmt: skip
    print(load(out))
    refuse_private(out, words)
    refuse_another(gist(facts), source, out)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Record a run on this machine's GPU.")
    parser.add_argument("task", metavar="TASK", help="a task's name or folder")
    parser.add_argument("out", metavar="OUT", help="the folder to make")
    parser.add_argument("--point", action="append", default=[], metavar="NAME=VALUE,…", help="a point of [tune]")
    parser.add_argument("--files", action="append", default=[], metavar="DIR", help="a folder with editable files")
    parser.add_argument("--workspace", help="where the run's workspace is made and left (default: it is removed)")
    parser.add_argument("--iterations", type=int, help="attempts; as many as are given, else the task's")
    parser.add_argument("--gpu", default="0", help="the GPU's index or UUID (default: 0)")
    parser.add_argument("--cuda-home", default="/usr/local/cuda", help="where nvcc and ncu are if not on the PATH")
    return parser.parse_args()


def found_programs(home: str) -> dict[str, str]:
    apart = sorted(map(str, Path("/opt/nvidia/nsight-compute").glob("*")), reverse=True)
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), f"{home}/bin", home, *apart])
    found = {name: where for name in OUTSIDE if (where := shutil.which(name, path=path))}
    if missing := [name for name in ("nvidia-smi", "nvcc") if name not in found]:
        sys.exit(f"no {' and no '.join(missing)} on this machine")
    return found


def said(programs: dict[str, str], name: str, *words: str) -> str:
    return subprocess.run([programs[name], *words], check=True, capture_output=True, text=True).stdout


def found_gpu(programs: dict[str, str], wanted: str) -> GpuInfo:
    listed, trouble = gpus_of(said(programs, "nvidia-smi", *QUERY.split()))
    found, _ = chosen(listed, (wanted,))
    if not found:
        sys.exit(f"no GPU {wanted}: {trouble or [gpu.index for gpu in listed]}")
    return found[0]


def private_words(scratch: str, programs: dict[str, str]) -> tuple[str, ...]:
    """Who records, on which machine, and where his files lie."""
    folders = [scratch, str(Path.home()), str(Path.cwd()), str(Path(__file__).parents[1]), sys.prefix]
    folders += [str(Path(program).resolve().parent) for program in programs.values()]
    folders += [str(Path(folder).resolve()) for folder in folders]
    names = [socket.gethostname(), socket.gethostname().partition(".")[0], getpass.getuser()]
    return tuple(sorted({word for word in (*folders, *names) if word not in PUBLIC}))


def at_point(task: Task, text: str) -> Proposal:
    point = dict(pair.split("=", 1) for pair in text.split(","))
    if strange := [name for name, value in point.items() if value not in task.tune.get(name, ())]:
        sys.exit(f"not in the [tune] space of {task.name}: {', '.join(strange)} of {text}")
    files = space.write_point(read_files(task.folder, task.editable), point)
    return Proposal(files, text.replace(",", "; "), point=space.point_of(task, files))


def with_files(task: Task, folder: Path) -> Proposal:
    own = {name: (folder / name).read_bytes() for name in task.editable if (folder / name).is_file()}
    if not own:
        sys.exit(f"{folder} holds none of {', '.join(task.editable)}")
    files = {**read_files(task.folder, task.editable), **own}
    return Proposal(files, folder.name, point=space.point_of(task, files))


async def run(workspace: Workspace, task: Task, agent: str, budget: dict[str, int | None]) -> list[e.Fact]:
    """The facts of a run by a daemon of its own."""
    async with own_daemon(workspace, told) as daemon:
        given = {name: value for name, value in budget.items() if value is not None}
        await daemon.command("run", task=task.name, agent=agent, **given)
        await daemon.until(e.RunEnded, e.RunPaused)
    last = next((fact for fact in reversed(daemon.facts) if isinstance(fact, e.RunEnded)), None)
    if last is None or last.outcome == "failed":
        sys.exit(f"the run did not come to its end: {endings.run_ended(last.cause) if last else 'see above'}")
    return daemon.facts


def told(fact: e.Fact) -> None:
    if isinstance(fact, e.IterationEnded):
        print(f"{fact.run}.{fact.iteration} {fact.outcome}: {endings.iteration_ended(fact.cause)}", flush=True)
    elif isinstance(fact, e.RunPaused):
        print(f"{fact.run} paused: {waits.pause(fact.cause)}", flush=True)
    elif isinstance(fact, e.RunEnded):
        print(f"{fact.run} {fact.outcome}: {endings.run_ended(fact.cause)}", flush=True)
    elif isinstance(fact, e.Timed) and fact.retaken:
        print(f"{fact.retaken} of the processes were disturbed; a quiet machine makes a better cassette", flush=True)


def measured(workspace: Workspace, task: Task, facts: list[e.Fact]) -> list[Candidate]:
    """What was proposed after the baseline; not what was measured once more before the end."""
    found = []
    again = {fact.iteration for fact in facts if isinstance(fact, e.IterationStarted) and fact.again is not None}
    for fact in facts:
        if isinstance(fact, e.Proposed) and fact.iteration > 0 and fact.iteration not in again:
            folder = IterationFolder(workspace.iteration_folder(task.name, fact.run, fact.iteration))
            files = {name: data.decode() for name, data in folder.read_candidate().items()}
            found.append(Candidate(files, fact.memo, fact.point, fact.expected))
    return found


def refuse_private(out: Path, words: Sequence[str]) -> None:
    """The last look: nothing of it may say who recorded, or where."""
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if seen := [word for word in words if len(word) >= LEAST and word.encode() in data]:
            sys.exit(f"{path} holds {', '.join(seen)}: do not publish it as it is")


def refuse_another(was: Gist, source: Path, out: Path) -> None:
    """Replay it, and see that it comes to what was measured."""
    try:
        said = difference(was, replay(source, out))
    except RuntimeError as err:
        said = str(err)
    if said:
        sys.exit(f"{out} does not replay as it was recorded, so record it again: {said}")


if __name__ == "__main__":
    main()
