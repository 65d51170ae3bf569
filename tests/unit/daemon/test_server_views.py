"""Answers to questions: from the state, a real log and real files; the same with and without a daemon."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kpd.daemon.artefacts import MOST_DIFFED, MOST_TEXT
from kpd.daemon.journal import EventJournal
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.daemon.views import answer
from kpd.measure.judge import judge
from kpd.measure.samples import CaseSample, ProcessSample, samples_to_json
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.codec import decode, encode
from kpd.model.detail import Detail
from kpd.model.fold import fold_all
from kpd.model.hosts import HostCard
from kpd.model.iteration import Iteration
from kpd.model.kinds import Told
from kpd.model.state import State, TaskCard
from kpd.operations.references import iteration_ref, run_ref
from kpd.text import json_views
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder
from tests.support.model.strategies import logs

SAMPLES = tuple(ProcessSample(n, {"big": CaseSample(10, (200, 202, 204, 199), (100, 101, 99, 100))}) for n in range(7))
VERDICT = judge(SAMPLES, 1.0)
RUN = e.RunQueued("r1", "scale", "sweep", "local", Budget())
FACTS = (
    e.DaemonStarted("0.1.0", 77, "/somewhere"),
    e.TaskLoaded(TaskCard("scale", "y = a x", "c", ("kernel.c",))),
    e.HostProbed(HostCard("local", "local", device="a CPU")),
    RUN,
    e.RunStarted("r1", "cpu 1"),
    e.IterationStarted("r1", 0, "baseline", 0),
    e.Built("r1", 0, 0.5, 0.01, "job-0", cached=False),
    e.Timed("r1", 0, 0.5, 0.01, 12.0, 5, ()),
    e.Accepted("r1", 0, {"kernel.c": "00"}),
    e.IterationEnded("r1", 0, "baseline", Told("")),
    e.IterationStarted("r1", 1, "sweep", 0),
    e.Proposed("r1", 1, 0.1, 0.1, {"kernel.c": "11"}, "tile 8"),
    e.Built("r1", 1, 0.5, 0.01, "job-1", cached=True),
    e.Judged("r1", 1, 0.1, 0.1, VERDICT),
    e.IterationEnded("r1", 1, "rejected", Told("not enough")),
    e.RunQueued("r2", "other", "sweep", "local", Budget()),
)


class Asked:
    """A workspace with two runs; `ask` puts a question the way a daemon does."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root)
        for folder in (self.workspace.private, self.workspace.memory, self.workspace.skills):
            folder.mkdir(parents=True)
        self.store = EventStore(self.workspace.store)
        self.journal = EventJournal(self.store)
        for fact in FACTS:
            self.journal.emit(fact)
        self.iteration(0).write_candidate({"kernel.c": b"one\ntwo\n", "build.json": b"{}"})
        self.iteration(1).write_candidate({"kernel.c": b"one\n2\n", "build.json": b"{}"})
        self.iteration(1).write("build.log", b"cc: fine \xff\n")

    def iteration(self, number: int) -> IterationFolder:
        return IterationFolder(self.workspace.iteration_folder("scale", "r1", number))

    def ask(self, what: str, **args: Any) -> Any:
        return answer(what, args, Sources(self.journal.state, self.workspace))

    def refused(self, what: str, **args: Any) -> DaemonError:
        with pytest.raises(DaemonError) as caught:
            self.ask(what, **args)
        assert caught.value.message
        return caught.value


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    found = Asked(tmp_path / "w")
    yield found
    found.store.close()


# ── naming runs and iterations ────────────────────────────────────────────────────────────────────────────────────


def test_runs_and_iterations_by_name(asked: Asked) -> None:
    state = asked.journal.state
    assert run_ref(state).id == "r2"
    assert run_ref(state, "r1").id == "r1"
    run, iteration = iteration_ref(state, "r1.1")
    assert (run.id, iteration.number) == ("r1", 1)
    asked.journal.emit(e.IterationStarted("r2", 0, "baseline", 0))
    run, iteration = iteration_ref(asked.journal.state, "0")
    assert (run.id, iteration.number) == ("r2", 0)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("r1", "usage", "r1.0, r1.1"),
        ("r9.1", "unknown", "no run r9; the newest is r2"),
        ("r1.9", "unknown", "no iteration 9; it has 0 to 1"),
        ("3", "unknown", "run r2 has no iteration 3; it has none yet"),
        ("", "usage", "not an iteration"),
        ("r1.", "usage", "not an iteration"),
        ("r01.1", "usage", "not an iteration"),
        ("r1.-1", "usage", "not an iteration"),
        ("../r1.1", "usage", "not an iteration"),
        ("r1.1\n", "usage", "not an iteration"),
        ("r1.٣", "usage", "not an iteration"),
    ],
)
def test_a_name_that_is_none_is_explained(asked: Asked, text: str, code: str, says: str) -> None:
    with pytest.raises(DaemonError) as caught:
        iteration_ref(asked.journal.state, text)
    assert caught.value.code == code
    assert says in str(caught.value)


def test_without_runs_the_remedy_is_to_make_one() -> None:
    for refer in (lambda: run_ref(State()), lambda: iteration_ref(State(), "7")):
        with pytest.raises(DaemonError, match="no run yet; kpd run"):
            refer()


@given(st.text(max_size=12))
def test_any_text_is_a_name_or_a_refusal(text: str) -> None:
    try:
        iteration_ref(State(), text)
    except DaemonError as err:
        assert err.code in ("usage", "unknown")


# ── questions ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_unknown_question_names_the_known_ones(asked: Asked) -> None:
    assert "status" in asked.refused("weather").remedy


@pytest.mark.parametrize(
    ("what", "args", "says"),
    [
        ("show", {}, "iteration"),
        ("show", {"iteration": 7}, "iteration"),
        ("show", {"iteration": "r1.1", "colour": "red"}, "takes no 'colour'"),
        ("status", {"run": "r1"}, "it takes: nothing"),
        ("events", {"after": "x"}, "after"),
        ("events", {"run": "r7"}, "no run r7"),
        ("log", {"run": "x"}, "not a run"),
    ],
)
def test_wrong_arguments_are_named(asked: Asked, what: str, args: dict[str, Any], says: str) -> None:
    refusal = asked.refused(what, **args)
    assert refusal.code in ("usage", "unknown")
    assert says in str(refusal)


def test_status_carries_its_own_facts(asked: Asked) -> None:
    status = asked.ask("status")
    assert (status["version"], status["pid"], status["seq"], status["held"]) == ("0.1.0", 77, len(FACTS), "")
    assert status["active"]["id"] == "r1"
    assert [run["id"] for run in status["queued"]] == ["r2"]
    run = status["runs"]["r1"]
    assert (run["count"], run["current"], run["best"]["score"], run["baseline"]["number"]) == (2, None, 12.0, 0)
    assert "iterations" not in run
    assert status["hosts"]["local"]["device"] == "a CPU"
    assert status["tasks"]["scale"]["summary"] == "y = a x"


def test_queue_hosts_and_tasks(asked: Asked) -> None:
    queue = asked.ask("queue")
    assert (queue["active"]["id"], [run["id"] for run in queue["queued"]], queue["held"]) == ("r1", ["r2"], "")
    assert [host["name"] for host in asked.ask("hosts")] == ["local"]
    assert [task["name"] for task in asked.ask("tasks")] == ["scale"]


def seqs(found: list[dict[str, int]]) -> list[int]:
    return [event["seq"] for event in found]


def test_log_gives_the_newest_events_and_events_the_next_ones(asked: Asked) -> None:
    assert seqs(asked.ask("log", limit=2)) == [len(FACTS) - 1, len(FACTS)]
    assert seqs(asked.ask("log", limit=2, run="r1")) == [len(FACTS) - 2, len(FACTS) - 1]
    assert seqs(asked.ask("log", run=None)) == seqs(asked.ask("events")) == list(range(1, len(FACTS) + 1))
    assert seqs(asked.ask("events", after=3, limit=2)) == [4, 5]
    assert seqs(asked.ask("events", run="r1", iteration=1)) == [11, 12, 13, 14, 15]
    assert asked.ask("events", limit=-1) == asked.ask("log", limit=0) == []
    first = asked.ask("events", limit=1)[0]
    assert (first["kind"], first["body"]["pid"]) == ("daemon_started", 77)


def test_show_has_the_iteration_beside_its_parent_and_the_baseline(asked: Asked) -> None:
    shown = asked.ask("show", iteration="r1.1")
    assert (shown["run"]["id"], shown["run"]["task"]) == ("r1", "scale")
    assert decode(encode(shown["iteration"]), Iteration) == asked.journal.state.runs["r1"].iterations[1]
    assert decode(encode(shown["detail"]), Detail).judged == FACTS[13]
    assert shown["parent"]["timed"]["score"] == shown["baseline"]["timed"]["score"] == 12.0
    assert Path(shown["folder"]) == asked.iteration(1).folder
    assert asked.ask("show", iteration="r1.0")["parent"] is None


def test_diff_compares_with_the_parent_or_another(asked: Asked) -> None:
    found = asked.ask("diff", iteration="r1.1")
    assert (found["from"], found["to"]) == ("r1.0", "r1.1")
    assert found["text"] == "--- r1.0/kernel.c\n+++ r1.1/kernel.c\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    assert "-2\n+two\n" in asked.ask("diff", iteration="r1.0", against="r1.1")["text"]
    assert asked.ask("diff", iteration="r1.1", against="r1.1")["text"] == ""
    assert "baseline" in asked.refused("diff", iteration="r1.0").message


def test_diff_of_runs_of_different_tasks_is_refused(asked: Asked) -> None:
    asked.journal.emit(e.IterationStarted("r2", 0, "baseline", 0))
    assert "r2 is a run of other" in asked.refused("diff", iteration="r1.1", against="r2.0").message


def test_diff_shows_files_that_come_and_go_and_missing_newlines(asked: Asked) -> None:
    asked.iteration(1).write_candidate({"new.h": b"no newline"})
    text = asked.ask("diff", iteration="r1.1")["text"]
    assert "+no newline\n\\ No newline at end of file\n" in text
    assert "-{}\n\\ No newline at end of file\n" in text


def test_diff_of_files_that_are_gone_names_their_folder(asked: Asked) -> None:
    asked.workspace.runs.rename(asked.workspace.root / "runs.away")
    refusal = asked.refused("diff", iteration="r1.1")
    assert refusal.message == f"the files of r1.0 are not there: no folder {asked.iteration(0).candidate}"
    assert refusal.remedy.startswith("put it back")


def test_diff_of_something_huge_or_strange_answers_at_once(asked: Asked) -> None:
    asked.iteration(1).write_candidate({"kernel.c": b"}\n" * MOST_DIFFED, "data.bin": b"\x00\xff\n"})
    (asked.iteration(1).candidate / "link").symlink_to("/etc/passwd")
    text = asked.ask("diff", iteration="r1.1")["text"]
    assert "kernel.c: too large to compare" in text
    assert "+\x00\ufffd\n" in text
    assert "root:" not in text


def test_file_reads_text_of_the_iteration_whatever_its_bytes(asked: Asked) -> None:
    assert asked.ask("file", iteration="r1.1", name="build.log") == {"text": "cc: fine \ufffd\n", "truncated": False}
    assert asked.ask("file", iteration="r1.1", name="candidate/kernel.c")["text"] == "one\n2\n"
    asked.iteration(1).write("big", b"x" * (MOST_TEXT + 1))
    assert asked.ask("file", iteration="r1.1", name="big") == {"text": "x" * MOST_TEXT, "truncated": True}


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../iter_0000/candidate/kernel.c", "candidate/../../x", "", ".", "link", "way/passwd", "a\0b"],
)
def test_file_stays_in_the_iteration_s_folder(asked: Asked, name: str) -> None:
    (asked.iteration(1).folder / "link").symlink_to("/etc/passwd")
    (asked.iteration(1).folder / "way").symlink_to("/etc")
    assert asked.refused("file", iteration="r1.1", name=name).code == "usage"


def test_file_that_is_not_there_says_what_is(asked: Asked) -> None:
    refusal = asked.refused("file", iteration="r1.1", name="memo.md")
    assert refusal.code == "no_file"
    assert "build.log, candidate/build.json, candidate/kernel.c" in refusal.remedy
    assert "not a file" in asked.refused("file", iteration="r1.1", name="candidate").message


def test_a_verdict_is_derived_again_from_the_samples(asked: Asked) -> None:
    asked.iteration(1).write("timing.json", samples_to_json(SAMPLES))
    found = asked.ask("rederive", iteration="r1.1")
    assert found["recorded"] == found["rederived"] == json_views.judged(VERDICT)
    assert VERDICT.word == "faster"


def test_without_samples_there_is_no_verdict_to_derive(asked: Asked) -> None:
    assert asked.refused("rederive", iteration="r1.1").code == "unknown"
    asked.iteration(1).write("timing.json", b'{"version": 1}')
    assert "gives no verdict" in asked.refused("rederive", iteration="r1.1").message


def test_samples_that_are_gone_are_not_taken_for_none(asked: Asked) -> None:
    refusal = asked.refused("rederive", iteration="r1.0")
    assert refusal.code == "infra"
    assert refusal.message.startswith("timing.json of r1.0 is missing, though it was timed")
    assert str(asked.iteration(0).folder) in refusal.message


def test_rules_and_skills(asked: Asked) -> None:
    rules = asked.ask("rules")
    so_far = {"fired", "tried", "accepted", "median_gain_pct"}
    assert {"id", "severity", "finding", "condition", "action", "stand"} | so_far == set(rules[0])
    listed = asked.ask("skills")
    assert {"id", "signal"} == set(listed[0])
    first = listed[0]["id"]
    (asked.workspace.skills / f"{first}.md").write_text(
        "**Signal**: my own\n\n**Root causes**\n- a\n\n**Fixes**\n- b\n\n**Anti-patterns**\n- c\n"
    )
    own = asked.ask("skill", id=first)
    assert (own["id"], own["signal"]) == (first, "my own")
    assert "**Fixes**" in own["body"]


def test_a_skill_that_is_not_there_or_not_good_is_explained(asked: Asked) -> None:
    assert "no skill 'x'" in asked.refused("skill", id="x").message
    (asked.workspace.skills / "own.md").write_text("no signal")
    assert "Signal" in asked.refused("skill", id="own").message


def test_the_model_key_is_looked_for_where_the_config_says_and_not_told(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.workspace.config.write_text('[claude]\napi_key_env = "MY_KEY"\n')
    monkeypatch.setenv("MY_KEY", "sk-secret")
    assert asked.ask("model_key") == {"variable": "MY_KEY", "trouble": ""}
    monkeypatch.setenv("MY_KEY", "no secret")
    assert asked.ask("model_key") == {"variable": "MY_KEY", "trouble": "what MY_KEY holds is no API key"}
    monkeypatch.delenv("MY_KEY")
    assert asked.ask("model_key")["trouble"] == "there is no API key: MY_KEY is not set"
    asked.workspace.config.write_text("[cloud]\n")
    assert asked.refused("model_key").code == "infra"


def test_memory_of_a_task(asked: Asked) -> None:
    assert asked.ask("memory", task="scale") == {"text": ""}
    (asked.workspace.memory / "scale.md").write_text("# Scale\n")
    assert asked.ask("memory", task="scale") == {"text": "# Scale\n"}
    (asked.workspace.root / "secret.md").write_text("secret")
    assert asked.refused("memory", task="../secret").code == "usage"


# ── with and without a daemon ─────────────────────────────────────────────────────────────────────────────────────


def test_the_same_answers_without_a_daemon(asked: Asked) -> None:
    questions: tuple[tuple[str, dict[str, Any]], ...] = (
        ("queue", {}), ("events", {}), ("show", {"iteration": "r1.1"}), ("diff", {"iteration": "r1.1"}),
    )  # fmt: skip
    with_daemon = [asked.ask(what, **args) for what, args in questions]
    asked.journal.close()
    offline = Sources.offline(asked.workspace)
    assert [answer(what, args, offline) for what, args in questions] == with_daemon
    assert answer("status", {}, offline)["pid"] is None


def test_before_the_first_daemon_there_is_nothing_to_tell(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    offline = Sources.offline(workspace)
    assert answer("status", {}, offline)["runs"] == {}
    assert answer("events", {}, offline) == answer("log", {}, offline) == []
    assert list(tmp_path.iterdir()) == []


@given(logs)
def test_any_state_has_a_status(log: list[e.Event]) -> None:
    sources = Sources(fold_all(log), Workspace(Path("/nowhere")))
    for what in ("status", "queue", "hosts", "tasks"):
        json.dumps(answer(what, {}, sources))
