"""What a verification finds in bundles of the recorded run that somebody has changed, also with a fitting manifest."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kpd.evidence import iterations
from kpd.evidence.archive import CANDIDATES, EVENTS, Bundle, iteration_file
from kpd.evidence.verify import verify
from kpd.model import codec, events as e
from kpd.model.verdicts import Verdict
from kpd.workspace.run_files import digest
from tests.support.evidence.bundles import AUDITED, recorded, rows, with_events, with_file, with_rows, wrong
from tests.support.model.strategies import related_facts

FEW = settings(max_examples=12, deadline=None)
CLAIMS = ("timed", "judged", "iteration_ended")
"""Events whose figures follow from samples."""
FREE = {"seconds", "overhead_s", "bytes", "flops", "iteration", "exhausted"}
"""Fields of these that do not."""


def figures(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all figures in JSON that follow from samples."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in pairs:
        if key not in FREE:
            yield from figures(one, (*path, key))
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def changed(value: Any, path: tuple[Any, ...], by: float) -> Any:
    """Change one figure of JSON by a share; a count by one at least."""
    found = json.loads(json.dumps(value))
    before = at(found, path)
    more = before * (1 + by) if before else by
    at(found, path[:-1])[path[-1]] = more if isinstance(before, float) else max(round(more), before + 1)
    return found


def test_the_recorded_run_holds() -> None:
    lines = verify(recorded())
    assert [line.text for line in lines if not line.holds] == []
    told = "\n".join(f"{line.about} {line.text}" for line in lines)
    assert "r1.1 faster, 2.70× [2.69, 2.71], 7 processes: accepted" in told
    assert "r1.1 audited: " in told and "r1 transpose_cuda on NVIDIA H100 80GB HBM3: 4.0" in told


@FEW
@given(st.data())
def test_each_changed_figure_of_a_claim_is_found(data: st.DataObject) -> None:
    log = [json.loads(row) for row in rows(recorded())]
    places = [(at, path) for at, event in enumerate(log) if event["kind"] in CLAIMS for path in figures(event["body"])]
    where, path = data.draw(st.sampled_from(places))
    by = data.draw(st.sampled_from([-0.9, -0.01, 0.001, 0.5]))
    log[where]["body"] = changed(log[where]["body"], path, by)
    assert wrong(with_rows(recorded(), [json.dumps(event).encode() for event in log])), (log[where]["kind"], path)


@FEW
@given(st.data(), st.sampled_from(["timing.json", "audit.json", "final.json"]))
def test_each_changed_sample_is_found(data: st.DataObject, name: str) -> None:
    """Of an audit's samples one that its medians depend on; a contest's samples are in the log by their hash."""
    file = iteration_file(AUDITED, name)
    samples = json.loads(recorded().files[file])
    if name == "audit.json":
        samples["samples"]["fresh"]["tall"]["b_ns"] = [
            data.draw(st.integers(1, 50)) * 10_000 for _ in samples["samples"]["fresh"]["tall"]["b_ns"]
        ]
    else:
        free = {"timing.json": {"version"}, "final.json": {"halves"}}[name]
        places = [path for path in figures(samples) if not set(path) & free]
        samples = changed(samples, data.draw(st.sampled_from(places)), 0.25)
    assert [
        said for said in wrong(with_file(recorded(), file, json.dumps(samples).encode())) if said.startswith("r1.1")
    ]


@FEW
@given(st.data())
def test_each_changed_byte_is_found(data: st.DataObject) -> None:
    """With the manifest as it was."""
    name = data.draw(st.sampled_from(sorted(recorded().files)))
    held = bytearray(recorded().files[name] or b" ")
    where = data.draw(st.integers(0, len(held) - 1))
    held[where] ^= data.draw(st.integers(1, 255))
    found = replace(recorded(), files={**recorded().files, name: bytes(held)})
    assert f"{name} has changed: the manifest has another hash of it" in wrong(found)


@FEW
@given(st.data())
def test_events_in_another_order_are_found(data: st.DataObject) -> None:
    log = [codec.event_from_json(row) for row in rows(recorded())]
    where = data.draw(st.integers(0, len(log) - 2))
    log[where], log[where + 1] = log[where + 1], log[where]
    assert any("is out of order" in said for said in wrong(with_events(recorded(), log)))


@FEW
@given(st.lists(st.binary(max_size=60), max_size=5), st.integers(0, 40))
def test_any_event_log_is_answered_with_lines(made: list[bytes], where: int) -> None:
    log = rows(recorded())
    assert wrong(with_rows(recorded(), [*log[:where], *made, b"{}", *log[where:][:20]]))


@FEW
@given(related_facts)
def test_any_facts_are_answered_with_lines(facts: list[e.Fact]) -> None:
    """Whatever they say, in whatever order: the run's own facts among those of others."""
    log = [codec.event_from_json(row) for row in rows(recorded())][:60]
    of_run = [replace(fact, run="r1") if isinstance(fact, e.RunFact) else fact for fact in facts]
    mixed = [*log, *(e.Event(1000 + at, 2e9 + at, fact) for at, fact in enumerate(of_run))]
    assert verify(with_events(recorded(), mixed))


def without(prefix: str) -> Bundle:
    name = min(name for name in recorded().files if name.startswith(prefix))
    return with_file(recorded(), name, None)


def test_a_missing_candidate_is_found() -> None:
    assert any("of its candidate is missing: no file has the hash" in said for said in wrong(without(CANDIDATES)))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (iteration_file(1, "timing.json"), "r1.1 timing.json is missing"),
        (iteration_file(1, "audit.json"), "r1.1 audit.json is missing"),
        (iteration_file(1, "final.json"), "r1.1 final.json is missing"),
        ("task/harness.cu", "task/harness.cu is missing"),
        (EVENTS, "events.jsonl is missing or empty"),
        ("environment.json", "environment.json cannot be read"),
    ],
)
def test_each_missing_file_is_found(name: str, said: str) -> None:
    assert any(found.startswith(said) for found in wrong(with_file(recorded(), name, None)))


def test_a_changed_candidate_is_found() -> None:
    name = min(name for name in recorded().files if name.startswith(CANDIDATES))
    assert any(
        "its content has another hash than its name" in said for said in wrong(with_file(recorded(), name, b"x"))
    )


def test_a_file_of_the_task_that_changed_is_found() -> None:
    found = wrong(with_file(recorded(), "task/task.toml", b"[accept]\nworst_case = 0.1\n"))
    assert "task/task.toml is not the file that the run began with" in found


def events_with(change: Any) -> Bundle:
    log = [codec.event_from_json(row) for row in rows(recorded())]
    return with_events(recorded(), [replace(event, fact=change(event.fact)) for event in log])


def test_an_acceptance_that_nothing_says_is_found() -> None:
    """The run's least gain was higher than what it won by."""

    def harder(fact: e.Fact) -> e.Fact:
        return replace(fact, budget=replace(fact.budget, min_gain_pct=70.0)) if isinstance(fact, e.RunQueued) else fact

    said = "r1.1 its verdict does not follow from the samples: accepted is recorded as True, and follows as False"
    assert any(found.startswith(said) for found in wrong(events_with(harder)))


def with_terms(**terms: Any) -> Bundle:
    """The bundle with other terms in each verdict, also where an iteration ended with it."""

    def other(fact: e.Fact) -> e.Fact:
        if isinstance(fact, e.Judged):
            return replace(fact, verdict=replace(fact.verdict, **terms))
        cause: Any = getattr(fact, "cause", None)
        if isinstance(getattr(cause, "verdict", None), Verdict):
            ended: Any = {"cause": type(cause)(replace(cause.verdict, **terms))}
            return replace(fact, **ended)
        return fact

    return events_with(other)


@pytest.mark.parametrize(("worst_case", "marked"), [(0.0, True), (0.95, False)])
def test_an_acceptance_without_the_limit_of_the_task_is_told(
    monkeypatch: pytest.MonkeyPatch, worst_case: float, marked: bool
) -> None:
    monkeypatch.setattr(iterations, "FEWEST_WON", 5)  # so that this is not what is told
    lines = verify(with_terms(worst_case=worst_case))
    assert [line.text for line in lines if not line.holds] == []
    [won] = [line.text for line in lines if line.about == "r1.1" and ": accepted" in line.text]
    assert ("accepted by an older kpd's rule" in won) is marked


def test_other_terms_than_those_of_the_task_are_refused() -> None:
    found = wrong(with_terms(worst_case=0.5))
    assert "r1.1 it was judged with worst_case 0.5, the task says 0.95" in found


@pytest.mark.parametrize("parent", [0, 2, 7])
def test_another_parent_than_the_incumbent_is_found(parent: int) -> None:
    """Also itself, as if it were the baseline."""

    def other(fact: e.Fact) -> e.Fact:
        return replace(fact, parent=parent) if isinstance(fact, e.IterationStarted) and fact.iteration == 2 else fact

    assert f"r1.2 it was measured against iteration {parent}, and the incumbent was 1" in wrong(events_with(other))


def test_an_accepted_iteration_without_a_verdict_is_found() -> None:
    log = [codec.event_from_json(row) for row in rows(recorded())]
    kept = [event for event in log if not isinstance(event.fact, e.Judged)]
    assert any("verdict" in said and said.startswith("r1.1") for said in wrong(with_events(recorded(), kept)))


def test_an_iteration_that_was_left_out_is_found() -> None:
    log = [codec.event_from_json(row) for row in rows(recorded())]
    kept = [event for event in log if getattr(event.fact, "iteration", None) != 1]
    assert any("iteration 2 begins, and 1 comes next" in said for said in wrong(with_events(recorded(), kept)))


def test_a_newer_kind_of_event_and_newer_samples_are_found() -> None:
    row = b'{"seq":9000,"at":1.0,"kind":"dreamt","body":{}}'
    assert any(
        "unknown kind of event 'dreamt'" in said for said in wrong(with_rows(recorded(), [*rows(recorded()), row]))
    )
    name = iteration_file(1, "timing.json")
    raw = recorded().files[name].replace(b'{"version":1', b'{"version":2', 1)
    newer = with_file(recorded(), name, raw)
    log = [row.replace(digest(recorded().files[name]).encode(), digest(raw).encode()) for row in rows(newer)]
    assert any("timing.json has version 2; this kpd reads version 1" in said for said in wrong(with_rows(newer, log)))


def test_a_contest_of_endless_processes_is_not_judged() -> None:
    name = iteration_file(2, "timing.json")
    found = json.loads(recorded().files[name])
    found["samples"] = [{**found["samples"][0], "process": number} for number in range(501)]
    raw = json.dumps(found).encode()
    longer = with_file(recorded(), name, raw)
    log = [row.replace(digest(recorded().files[name]).encode(), digest(raw).encode()) for row in rows(longer)]
    assert any("has 501 processes; no contest takes more than 500" in said for said in wrong(with_rows(longer, log)))


@pytest.mark.parametrize(("many", "refused"), [(11, False), (12, True)])
def test_an_audit_of_endless_processes_is_not_judged(many: int, refused: bool) -> None:
    """Bounds by the order of many thousands would take hours."""
    name = iteration_file(AUDITED, "audit.json")
    found = json.loads(recorded().files[name])
    for case in found["samples"]["fresh"].values():
        case["taken"] = [len(case["a_ns"]) - many + 1, *[1] * (many - 1)]
    said = wrong(with_file(recorded(), name, json.dumps(found).encode()))
    assert any(f"has {many} audits; there are 11 at most" in one for one in said) == refused
    assert any("does not follow from the audit's samples" in one for one in said) != refused


def test_a_gain_that_few_calls_take_back_is_found() -> None:
    """The slowest quad of a case becomes slower: the middle of a process's quads stays as it was."""
    name = iteration_file(AUDITED, "timing.json")
    found = json.loads(recorded().files[name])
    for sample in found["samples"]:
        a, b = (sample["cases"]["square_4096"][side] for side in ("a_ns", "b_ns"))
        quad = max(range(2, len(b), 2), key=lambda at: sum(b[at : at + 2]) / sum(a[at : at + 2]))
        b[quad + (b[quad + 1] > b[quad])] *= 1000
    raw = json.dumps(found).encode()
    slower = with_file(recorded(), name, raw)
    log = [row.replace(digest(recorded().files[name]).encode(), digest(raw).encode()) for row in rows(slower)]
    assert any("all samples of its contest together do not" in said for said in wrong(with_rows(slower, log)))


def test_an_audit_of_an_older_kpd_is_told_as_that() -> None:
    def older(row: bytes) -> bytes:
        event = json.loads(row)
        if (event["body"].get("audited") or {}).get("times"):
            event["body"]["audited"]["times"] = None
            event["body"]["audited"]["alone"]["high"] += 0.1
        return json.dumps(event).encode()

    said = wrong(with_rows(recorded(), map(older, rows(recorded()))))
    assert any(
        "does not follow from the audit's samples, which an older kpd estimated otherwise: " in one for one in said
    )
