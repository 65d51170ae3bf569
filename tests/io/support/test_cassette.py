"""A host that replays a cassette, before anything runs on it: its settings, its cassette, its card, its agent."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from kpd.agents.agent import Context, Exhausted
from kpd.hosts.errors import HostError
from kpd.hosts.preflight.cards import host_card
from kpd.hosts.transports import host_of
from kpd.model.budget import Budget
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.workspace.config import Config, load_config
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.paths import Workspace
from kpd.workspace.strict import ConfigError
from kpd.workspace.task import load_task
from tests.places import OPEN
from tests.support.agents.asked import asked
from tests.support.cassette import plug_in
from tests.support.cassette.agent import Candidates
from tests.support.cassette.answers import ANSWERS, BLOBS, Answers
from tests.support.cassette.cassette import HEADER, BadCassette, Candidate, Cassette, finish, header, load
from tests.support.cassette.host import Replays
from tests.support.cassette.scrub import REPLAYED_GPU
from tests.support.measure.cuda_measured import RIGHT, task_folder

SMI = f"0, {REPLAYED_GPU}, 00000000:00:06.0, NVIDIA H100 80GB HBM3, 9.0, 81559, 580.159.04, Enabled, Disabled\n"
HELD = Cassette(
    1, "0.1.0", "2026-01-31", "NVIDIA H100 80GB HBM3", "sm_90", "580.159.04", "13.0", "2025.3.1.0", "blend", "sweep",
    (Candidate({"kernel.cu": RIGHT}, "one", {"N": "1"}), Candidate({"kernel.cu": RIGHT + "\n"}, "two")),
)  # fmt: skip


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A cassette of some answers, one of them long."""
    folder = tmp_path / "workspace" / "cassette"
    folder.mkdir(parents=True)
    answers = Answers(folder)
    answers.add("a" * 64, "`nvidia-smi`", 0, SMI, "", None)
    answers.add("b" * 64, "a profile of this program", 0, "said\n" * 9999, "", b"a report")
    finish(folder, HELD)
    return folder


@pytest.fixture(name="workspace")
def _workspace(folder: Path) -> Workspace:
    plug_in.register()
    workspace = Workspace(folder.parent)
    workspace.config.write_text('[hosts.demo]\ntransport = "cassette"\ncassette = "cassette"\n' + OPEN)
    return workspace


def test_a_cassette_is_read_as_it_was_written(folder: Path) -> None:
    assert load(folder) == header(folder) == HELD
    assert str(HELD) == (
        "NVIDIA H100 80GB HBM3, driver 580.159.04, CUDA 13.0, ncu 2025.3.1.0: 2 candidates of blend by sweep, "
        "made on 2026-01-31 with kpd 0.1.0"
    )


def a_line(folder: Path, **changed: object) -> None:
    path = folder / ANSWERS
    first, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps({**json.loads(first), **changed}) + "\n" + rest)


def swap_blobs(folder: Path) -> None:
    one, other, *_ = (folder / BLOBS).iterdir()
    one.write_bytes(other.read_bytes())


DAMAGE = {
    "no header": (lambda folder: (folder / HEADER).unlink(), "no cassette in .*: No such file"),
    "another format": (
        lambda folder: finish(folder, structs.replace(HELD, version=2)),
        "format 2, these programs replay format 1",
    ),
    "no JSON": (lambda folder: (folder / HEADER).write_text("{"), "cassette.json is not as it should be"),
    "no answers": (lambda folder: (folder / ANSWERS).unlink(), "no answers.jsonl in"),
    "a field too many": (lambda folder: a_line(folder, colour="red"), "answers.jsonl:1: .*colour"),
    "a field that is wrong": (lambda folder: a_line(folder, status="0"), "answers.jsonl:1: .*status"),
    "a key that is none": (lambda folder: a_line(folder, key="../../x"), "answers.jsonl:1: a hash is none"),
    "a path for a blob": (lambda folder: a_line(folder, report="../answers"), "answers.jsonl:1: a hash is none"),
    "a blob is gone": (lambda folder: next((folder / BLOBS).iterdir()).unlink(), "answers.jsonl:2: blobs/.* cannot be"),
    "another blob": (swap_blobs, "answers.jsonl:2: blobs/.* does not hold what its name says"),
    "a cut blob": (
        lambda folder: [path.write_bytes(path.read_bytes()[:20]) for path in (folder / BLOBS).iterdir()],
        "answers.jsonl:2: blobs/.* cannot be read",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
async def test_a_damaged_cassette_says_so(what: str, folder: Path, workspace: Workspace) -> None:
    does, words = DAMAGE[what]
    does(folder)
    with pytest.raises(BadCassette, match=words):
        load(folder)
    host = host_of("demo", load_config(workspace).hosts["demo"], workspace)
    try:
        with pytest.raises(HostError, match=f"demo: .*{words}.*; correct `cassette` in config.toml") as caught:
            await host.transport.open()
        assert caught.value.kind == "config"
    finally:
        await host.close()


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('transport = "cassette"', "'cassette' in .* is missing"),
        ('transport = "cassette"\ncassette = "~nosuchuser/x"', "no home ~nosuchuser; write the path"),
        ('cassette = "x"', "unknown key 'cassette'"),
    ],
)
def test_settings_that_do_not_fit(workspace: Workspace, table: str, words: str) -> None:
    workspace.config.write_text(f"[hosts.demo]\n{table}\n")
    with pytest.raises(ConfigError, match=words):
        load_config(workspace)


async def test_a_cassette_is_below_the_workspace_or_anywhere(workspace: Workspace, folder: Path) -> None:
    for given, found in ((folder.name, folder), ("/far/away", Path("/far/away"))):
        workspace.config.write_text(f'[hosts.demo]\ntransport = "cassette"\ncassette = "{given}"\n')
        transport = host_of("demo", load_config(workspace).hosts["demo"], workspace).transport
        assert isinstance(transport, Replays)
        assert transport.folder == found
    workspace.config.write_text('[hosts.local]\ntransport = "cassette"\ncassette = "x"\n')
    with pytest.raises(ConfigError, match="is this machine"):
        load_config(workspace)


async def test_its_card_has_no_cpu(workspace: Workspace) -> None:
    config = load_config(workspace).hosts["demo"]
    host = host_of("demo", config, workspace)
    local = host_of("local", HostConfig(), workspace)
    assert host.root != local.root
    try:
        await host.connect()
        facts = await host.probe()
    finally:
        await host.close()
    assert facts["gpus"] == (), "the cassette knows no such question"
    facts["gpus"] = ()
    card = host_card("demo", config, facts)
    assert (card.transport, card.devices) == ("cassette", ()), "its CPU is this machine's"
    said = {check.name: (check.state, check.found) for check in card.checks}
    assert said["link"][1].startswith("this machine")


def a_run(host: str, agent: str = "cassette", past: int = 0) -> Run:
    run = Run("r1", "blend", agent, host, Budget(), 0.0)
    its = tuple(Iteration(number, "baseline" if number == 0 else agent, 0, 0.0) for number in range(past + 1))
    return replace(run, iterations=its)


def context(tmp_path: Path, run: Run) -> Context:
    task = load_task(task_folder(tmp_path / "of"))
    return replace(asked(tmp_path, task, {}), run=run, number=len(run.iterations))


async def test_the_agent_proposes_what_was_recorded_in_its_order(workspace: Workspace, tmp_path: Path) -> None:
    agent = Candidates(load_config(workspace))
    at = replace(context(tmp_path, a_run("demo")), workspace=workspace)
    first = await agent.propose(at)
    assert (first.files, first.memo, first.point) == ({"kernel.cu": RIGHT.encode()}, "one", {"N": "1"})
    second = await agent.propose(replace(at, run=a_run("demo", past=1), number=2))
    assert second.memo == "two"
    with pytest.raises(Exhausted, match="all 2 candidates of the cassette have been replayed"):
        await agent.propose(replace(at, run=a_run("demo", past=2), number=3))


async def test_the_agent_has_nothing_for_other_hosts_and_tasks(
    workspace: Workspace, folder: Path, tmp_path: Path
) -> None:
    at = replace(context(tmp_path, a_run("local")), workspace=workspace)
    with pytest.raises(Exhausted, match="local replays no cassette; name a host that does with --host"):
        await Candidates(Config()).propose(at)
    finish(folder, structs.replace(HELD, task="other"))
    with pytest.raises(Exhausted, match="the cassette that demo replays is of other"):
        await Candidates(load_config(workspace)).propose(replace(at, run=a_run("demo")))
    (folder / HEADER).unlink()
    with pytest.raises(Exhausted, match="no cassette in"):
        await Candidates(load_config(workspace)).propose(replace(at, run=a_run("demo")))
