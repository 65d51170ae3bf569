"""From a run to a recording: only that run, nothing of who made it or where, and only one that is worth showing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.demo_pack import NotFit, pack, refuse_private, refuse_unfit
from kpd.daemon.store import EventStore
from kpd.demo.recording import Recording
from kpd.model import codec, events as e
from kpd.model.defects import Complaint, WrongResult
from kpd.model.faults import Incorrect, NotBuilt
from kpd.model.hosts import GpuProcess, Telemetry
from kpd.model.kinds import Told
from kpd.model.verdicts import Gain, Verdict
from kpd.workspace.paths import Workspace
from tests.support.cassette.scrub import REPLAYED_GPU
from tests.support.demo.recordings import FOLDER, TASK, canned

GPU = "GPU-7d1c5e1a-0000-4000-8000-123456789abc"
OWNER, BOX = "jo.owner", "lab-box-17"
HOME = f"/home/{OWNER}/kernels"


def recorded(root: Path, *more: e.Fact, **files: bytes) -> Workspace:
    """The workspace of the canned run, as its owner has it, full of names; `more` comes at its end."""
    ws = Workspace(root)
    ws.make_private()
    with EventStore(ws.store) as store:
        store.append(e.DaemonStarted("0.1.0", 4711, HOME), 1.0)
        for event in canned().events:
            fact = event.fact
            if isinstance(fact, e.HostProbed):
                theirs = (GpuProcess(77, f"{HOME}/train"), GpuProcess(4712, "python3", whose="kpd"))
                seen = Telemetry(event.at, f"other@{BOX}-2:{HOME}, r9.0-time", event.at, power_w=70.0, computes=theirs)
                device = replace(fact.card.devices[1], id=GPU, telemetry=seen)
                link = replace(fact.card.checks[0], found=f"ssh to {OWNER}@{BOX}, 0.4 ms there and back")
                card = replace(
                    fact.card,
                    driver="550.54.15",
                    cuda="12.4",
                    address=f"{OWNER}@{BOX}",
                    checks=(link, *fact.card.checks[1:]),
                )
                fact = replace(fact, card=replace(card, devices=(card.devices[0], device)))
            elif isinstance(fact, e.RunStarted):
                fact = replace(fact, device_id=GPU)
            elif isinstance(fact, e.RunQueued):
                fact = replace(fact, by=f"{OWNER}@{BOX}", agent=f"script:{HOME}/candidates")
            store.append(fact, event.at)
        for nth, fact in enumerate(more, 1):
            store.append(fact, canned().events[-1].at + nth)
    for name, data in {**canned().files, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return ws


def packed(ws: Workspace) -> Recording:
    return pack(ws, "r1", [OWNER, BOX])


def everything(recording: Recording) -> bytes:
    said = [codec.event_to_json(event) for event in recording.events]
    return b"\n".join([*said, *recording.files.values(), *map(str.encode, recording.files)])


def test_names_paths_and_ids_are_taken_out(tmp_path: Path) -> None:
    log = f"{HOME}/runs/kernel.cu(3): warning from {BOX}, GPU {GPU}\n".encode()
    recording = packed(recorded(tmp_path, **{f"{FOLDER}/iter_0001/build.log": log}))
    left = everything(recording)
    for word in (OWNER, BOX, HOME, GPU, str(tmp_path), "4711"):
        assert word.encode() not in left, word
    assert recording.files[f"{FOLDER}/iter_0001/build.log"].decode() == (
        f"kernel.cu(3): warning from recorded, GPU {REPLAYED_GPU}\n"
    )
    refuse_private(recording, [OWNER, BOX])
    queued = next(event.fact for event in recording.events if isinstance(event.fact, e.RunQueued))
    assert (queued.by, queued.agent) == ("operator", "script:candidates")
    assert recording.about.command == f"kpd run {TASK} --agent script:candidates --iterations 16"
    assert (recording.about.driver, recording.about.cuda) == ("550.54.15", "12.4")


def test_what_a_device_did_is_kept_and_not_who_else_had_it(tmp_path: Path) -> None:
    probed = [event.fact for event in packed(recorded(tmp_path)).events if isinstance(event.fact, e.HostProbed)]
    (seen,) = {device.telemetry for fact in probed for device in fact.card.devices if device.kind == "gpu"}
    assert seen is not None and (seen.power_w, seen.holder, seen.since) == (70.0, "", 0.0)
    assert [(one.name, one.whose) for one in seen.computes] == [("python3", "kpd")]


def test_only_the_run_and_what_led_to_it_is_kept(tmp_path: Path) -> None:
    other = recorded(tmp_path, e.RunQueued("r2", TASK, "sweep", "any", canned_budget(), by="x"))
    (tmp_path / "runs/other/r9").mkdir(parents=True)
    (tmp_path / "runs/other/r9/report.md").write_text("another run")
    recording = packed(other)
    assert not [event for event in recording.events if isinstance(event.fact, e.DaemonStarted | e.DaemonStopped)]
    assert {event.fact.run for event in recording.events if isinstance(event.fact, e.RunFact)} == {"r1"}
    assert not [name for name in recording.files if "other" in name]
    assert [event.seq for event in recording.events] == list(range(1, len(recording.events) + 1))


def canned_budget() -> object:
    return next(event.fact.budget for event in canned().events if isinstance(event.fact, e.RunQueued))


def test_code_and_samples_are_kept_byte_for_byte(tmp_path: Path) -> None:
    code = b"#include </opt/cuda/include/mma.h>  // as /a/b/c does\n"
    name = f"{FOLDER}/iter_0001/candidate/kernel.cu"
    assert packed(recorded(tmp_path, **{name: code})).files[name] == code


def test_what_is_no_text_or_too_long_is_left_out(tmp_path: Path) -> None:
    names = [f"{FOLDER}/iter_0001/{name}" for name in ("perf.ncu-rep", "long.csv", "nul.txt")]
    contents = (b"\x93\xff\x00", b"x" * (1 << 20), b"a\0b")
    recording = packed(recorded(tmp_path, **dict(zip(names, contents, strict=True))))
    assert not set(names) & set(recording.files)


@pytest.mark.parametrize(
    "secret",
    [
        b"// /home/someone/work", b"// see /root/notes.txt", b"// me@example.org", b"// 192.168.17.4",
        b"// GPU-01234567-89ab", b"// sk-ant-api03-abc", b"// " + OWNER.encode(),
    ],
)  # fmt: skip
def test_what_code_still_tells_is_refused(tmp_path: Path, secret: bytes) -> None:
    recording = packed(recorded(tmp_path, **{f"{FOLDER}/iter_0001/candidate/kernel.cu": secret}))
    with pytest.raises(NotFit, match=r"candidate/kernel\.cu holds"):
        refuse_private(recording, [OWNER, BOX])


def test_a_run_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFit, match="no run r7"):
        pack(recorded(tmp_path), "r7", [])


# ── worth showing ─────────────────────────────────────────────────────────────────────────────────────────────────

SLOWER = Verdict("slower", Gain(-3.0, -4.0, -2.0), 7, False, "told", told="slower")
ENDS: dict[str, tuple[e.Fact, ...]] = {
    "accepted": (e.IterationEnded("r1", 0, "accepted", Told("faster")),),
    "slower": (e.Judged("r1", 0, 0.1, 0.1, SLOWER), e.IterationEnded("r1", 0, "rejected", Told("slower"))),
    "incorrect": (e.IterationEnded("r1", 0, "rejected", Incorrect(WrongResult(Complaint("y[0] is 3, should be 4")))),),
    "unbuilt": (e.IterationEnded("r1", 0, "failed", NotBuilt("kernel.cu:3: error")),),
}


def run_of(*kinds: str) -> list[e.Fact]:
    """Iterations after the canned two, each ended in its way, and the end of the run."""
    facts: list[e.Fact] = []
    for number, kind in enumerate(kinds, 2):
        facts.append(e.IterationStarted("r1", number, "sweep", 1))
        facts += [replace(fact, iteration=number) for fact in ENDS[kind] if isinstance(fact, e.IterationFact)]
    return [*facts, e.RunEnded("r1", "improved", Told("done"))]


def test_a_run_with_everything_in_it_is_fit(tmp_path: Path) -> None:
    refuse_unfit(packed(recorded(tmp_path, *run_of(*ENDS, *ENDS))))


@pytest.mark.parametrize("left_out", ["slower", "incorrect", "unbuilt"])
def test_a_run_that_lacks_a_kind_is_not(tmp_path: Path, left_out: str) -> None:
    kinds = [kind for kind in (*ENDS, *ENDS, *ENDS) if kind != left_out]
    with pytest.raises(NotFit, match="has no iteration that was"):
        refuse_unfit(packed(recorded(tmp_path, *run_of(*kinds))))


def test_a_short_run_is_not_and_neither_is_one_that_goes_on(tmp_path: Path) -> None:
    with pytest.raises(NotFit, match="has 5 iterations besides its baseline"):
        refuse_unfit(packed(recorded(tmp_path / "short", *run_of(*ENDS))))
    with pytest.raises(NotFit, match="has not ended"):
        refuse_unfit(packed(recorded(tmp_path / "on", *run_of(*ENDS, *ENDS)[:-1])))


@pytest.mark.parametrize(
    "changed",
    [
        lambda fact: replace(fact, device_id="cpu") if isinstance(fact, e.RunStarted) else fact,
        lambda fact: replace(fact, card=replace(fact.card, transport="recorded")) if is_probe(fact) else fact,
    ],
)
def test_a_run_that_was_not_on_a_gpu_is_not(tmp_path: Path, changed: Callable[[e.Fact], e.Fact]) -> None:
    recording = packed(recorded(tmp_path, *run_of(*ENDS, *ENDS)))
    events = tuple(replace(event, fact=changed(event.fact)) for event in recording.events)
    with pytest.raises(NotFit, match="not on a GPU"):
        refuse_unfit(replace(recording, events=events))


def is_probe(fact: e.Fact) -> bool:
    return isinstance(fact, e.HostProbed)
