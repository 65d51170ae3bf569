"""A log of an older kpd, with sentences for outcomes: it still folds, and its sentences are shown as they are."""

import json
import lzma

import pytest

from kpd.model import codec, events as e
from kpd.model.causes import ByVerdict, NotMeasurable
from kpd.model.fold import fold_all
from kpd.model.kinds import Told
from kpd.model.status import Ended
from kpd.text.endings import of_iteration, of_run
from kpd.text.verdicts import verdict
from tests.places import DATA

LINES = lzma.decompress((DATA / "old_log" / "events.jsonl.xz").read_bytes()).splitlines()


def test_a_whole_run_of_an_older_log_folds() -> None:
    events = [codec.event_from_json(line) for line in LINES]
    run = fold_all(events).runs["r1"]
    assert (len(run.iterations), run.incumbent) == (15, 13)
    assert isinstance(run.status, Ended) and run.status.outcome == "improved"
    assert of_run(run) == "budget of 14 iterations used"
    old = [json.loads(line)["body"] for line in LINES if b'"iteration_ended"' in line]
    assert [of_iteration(it) for it in run.iterations] == [body["reason"] for body in old]
    assert all(isinstance(it.cause, Told) for it in run.iterations)


def test_the_data_beside_a_sentence_stays() -> None:
    judged = next(json.loads(line)["body"] for line in LINES if b'"judged"' in line)
    fact = codec.fact_from("judged", json.dumps(judged))
    assert isinstance(fact, e.Judged)
    assert (fact.verdict.word, fact.verdict.processes, fact.verdict.gain.pct) == (
        judged["verdict"]["word"], judged["verdict"]["processes"], judged["verdict"]["gain"]["pct"],
    )  # fmt: skip
    assert verdict(fact.verdict) == judged["verdict"]["reason"]


@pytest.mark.parametrize(
    ("kind", "body", "fact"),
    [
        ("daemon_stopped", {"reason": "shut down", "rested": True}, e.DaemonStopped(True)),
        ("queue_held", {"reason": "a crash"}, e.QueueHeld(Told("a crash"))),
        ("run_waits", {"run": "r1", "reason": ""}, e.RunWaits("r1", None)),
        ("run_waits", {"run": "r1", "reason": "a link"}, e.RunWaits("r1", Told("a link"))),
        (
            "run_paused", {"run": "r1", "reason": "disk full", "by": "kpd", "infra": True},
            e.RunPaused("r1", Told("disk full"), "kpd", True),
        ),
        ("run_ended", {"run": "r1", "outcome": "failed", "reason": "no"}, e.RunEnded("r1", "failed", Told("no"))),
        (
            "faulted", {"run": "r1", "iteration": 2, "step": "build", "attempt": 1, "message": "no ;"},
            e.Faulted("r1", 2, "build", 1, Told("no ;")),
        ),
        (
            "device_idle",
            {"host": "a", "device": "b", "device_id": "c", "seconds": 9.0, "runs": ["r1"], "reason": "held"},
            e.DeviceIdle("a", "b", "c", 9.0, ("r1",), Told("held")),
        ),
    ],
)  # fmt: skip
def test_each_kind(kind: str, body: dict[str, object], fact: e.Fact) -> None:
    assert codec.fact_from(kind, json.dumps(body)) == fact


@pytest.mark.parametrize(
    ("word", "rule", "now"),
    [
        ("inconclusive", "noisy", ("undecided", "undecided")),
        ("inconclusive", "no_gain", ("no_gain", "no_gain")),
        ("faster", "too_little", ("faster", "too_little")),
    ],
)
def test_words_of_verdicts_that_have_other_names_now(word: str, rule: str, now: tuple[str, str]) -> None:
    gain = {"pct": 1.0, "low": -1.0, "high": 3.0}
    old = {"word": word, "gain": gain, "processes": 15, "accepted": False, "rule": rule}
    at = {"run": "r1", "iteration": 1}
    judged = codec.fact_from("judged", json.dumps({**at, "seconds": 0.0, "overhead_s": 0.0, "verdict": old}))
    cause = {"kind": "verdict", "verdict": old}
    ended = codec.fact_from("iteration_ended", json.dumps({**at, "outcome": "rejected", "cause": cause}))
    assert isinstance(judged, e.Judged) and isinstance(ended, e.IterationEnded)
    assert isinstance(ended.cause, ByVerdict)
    assert {(it.word, it.rule) for it in (judged.verdict, ended.cause.verdict)} == {now}


def test_todays_facts_are_as_they_were_written() -> None:
    fact = e.RunEnded("r1", "failed", NotMeasurable("no kernel"))
    assert json.loads(codec.encode(fact))["cause"] == {"kind": "not_measurable", "error": "no kernel"}
    assert codec.fact_from(fact.kind(), codec.encode(fact)) == fact
