"""A session's tools over its own socket: a real log, real files, a bench that answers what a test wrote down."""

import asyncio
import gc
import json
import os
import shutil

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from kpd.engine.tools.catalogue import ANYBODY, SESSION
from kpd.engine.tools.desk import Desk, Workplace
from kpd.engine.trials import trials_of
from kpd.model import events as e
from kpd.model.acts import Noted
from kpd.model.trials import TrialBudget
from kpd.wire import DaemonError
from tests.support.e2e.desk_calls import called, place, refused
from tests.support.e2e.desk_place import Place

__all__ = ["place"]


# ── trials ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_trial_is_measured_told_and_recorded_and_decides_nothing(place: Place) -> None:
    async with called(place) as call:
        place.write(4)
        found = await call("try")
    trial = found["trial"]
    assert (trial["trial"], trial["end"], trial["against"], trial["processes"]) == (1, "measured", 1, 3)
    assert trial["gain_pct"]["low"] > 40 and trial["gain_pct"]["confidence"] == 0.95
    assert "2.00×" in found["text"] and "a trial decides nothing" in found["text"]
    assert found["left"] == {"trials": 3, "device_s": pytest.approx(60, abs=1)}
    (tried,) = place.facts(e.Tried)
    run = place.journal.state.runs["r1"]
    assert isinstance(tried, e.Tried) and (run.incumbent, run.iterations[2].verdict) == (1, None)
    assert (place.attempt.folder.folder / "trials" / "001" / "timing.json").is_file()
    assert (run.iterations[2].step, run.iterations[2].status.use) == ("propose", "thinks")


@pytest.mark.parametrize(
    ("repeat", "end", "says"),
    [("word", "not_built", "'word' undeclared"), (0, "wrong", "SIGSEGV"), (3, "trouble", "something else runs")],
)
async def test_what_is_wrong_with_the_files_or_the_host_is_told(
    place: Place, repeat: object, end: str, says: str
) -> None:
    async with called(place) as call:
        place.write(repeat)
        found = await call("try")
    assert (found["trial"]["end"], found["trial"]["gain_pct"]) == (end, None)
    assert says in found["text"]
    assert not place.journal.state.runs["r1"].paused


async def test_disturbed_processes_are_measured_again_and_too_many_are_trouble(place: Place) -> None:
    place.bench.busy = True
    async with called(place) as call:
        found = await call("try")
    assert found["trial"]["end"] == "trouble" and "only 0 untainted processes" in found["text"]


async def test_a_job_that_was_cut_short_is_gone_on_with(place: Place) -> None:
    place.bench.ran["r1.2.1-trial1-time0"] = []
    async with called(place) as call:
        found = await call("try", processes=4)
    assert (found["trial"]["end"], found["trial"]["processes"]) == ("measured", 4)
    assert place.bench.asked == [("r1.2.1-trial1-time0", 0, 7), ("r1.2.1-trial1-time1", 0, 7)]


async def test_budgets_end_the_trials_and_the_remedy_is_to_finish(place: Place) -> None:
    async with called(place, trials=2) as call:
        await call("try")
        await call("try", processes=2)
        over = await refused(call, "try")
        assert (over.code, over.message) == ("refused", "all 2 trials of this iteration are used")
        assert "measures what lies in the tree" in over.remedy
    async with called(place, trials=9, device_s=1e-9) as call:
        assert "s on the device" in (await refused(call, "try")).message
    assert len(place.facts(e.TrialStarted)) == 2


async def test_a_trial_that_a_crash_has_cut_is_taken_up_with_the_same_files_and_else_closed(place: Place) -> None:
    async with called(place) as call:
        await call("try")
    place.write(5)
    hashes = dict(trials_of(place.attempt).ended and place.facts(e.TrialStarted)[0].files)  # type: ignore[attr-defined]
    place.journal.emit(e.TrialStarted("r1", 2, 2, hashes))
    place.write(8)
    async with called(place) as call:
        assert (await call("try"))["trial"]["trial"] == 2
    place.journal.emit(e.TrialStarted("r1", 2, 3, hashes))
    place.write(2)
    async with called(place) as call:
        found = await call("try")
    assert found["trial"]["trial"] == 4 and found["left"]["trials"] == 1
    assert [one.end for one in place.facts(e.Tried)] == ["measured", "measured", "cut", "measured"]  # type: ignore[attr-defined]


async def test_a_trial_under_way_when_the_session_ends_is_cut_off_and_costs_none(place: Place) -> None:
    place.journal.emit(e.TrialStarted("r1", 2, 1, {}))
    async with place.serve():
        pass
    assert [one.end for one in place.facts(e.Tried)] == ["cut"]  # type: ignore[attr-defined]
    assert trials_of(place.attempt).spent == TrialBudget(0, 0.0)


async def test_a_trial_that_is_cut_off_counts_for_its_seconds_on_the_device(place: Place) -> None:
    place.bench.process_s = 60.0
    async with called(place) as call:
        trial = asyncio.create_task(call("try"))
        await place.bench.asking.wait()
        await asyncio.sleep(0.2)
    with pytest.raises(DaemonError):
        await trial
    (tried,) = place.facts(e.Tried)
    assert isinstance(tried, e.Tried) and (tried.end, tried.device_s >= 0.2) == ("cut", True)
    assert trials_of(place.attempt).spent == TrialBudget(0, tried.device_s)


async def test_a_trial_that_takes_longer_than_what_is_left_is_cut_off_and_was_the_last(place: Place) -> None:
    place.bench.process_s = 60.0
    async with called(place, device_s=0.2) as call:
        found = await call("try")
        assert (found["trial"]["end"], found["left"]["device_s"]) == ("cut", 0.0)
        assert "0.2 s on the device" in (await refused(call, "try")).message


@pytest.mark.parametrize(("tool", "name", "least", "most"), [("try", "processes", 2, 9), ("sweep", "points", 1, 16)])
async def test_arguments_have_limits(place: Place, tool: str, name: str, least: int, most: int) -> None:
    async with called(place, trials=0) as call:
        for value in (least - 1, most + 1):
            assert (await refused(call, tool, **{name: value})).code == "usage"
        for value in (least, most):
            assert (await refused(call, tool, **{name: value})).code == "refused", "there are no trials"
        assert (await refused(call, "note", text="x" * 1001)).code == "usage"
        assert (await call("note", text="x" * 1000))["text"]


async def test_a_sweep_ranks_the_points_and_leaves_the_tree_as_it_was(place: Place) -> None:
    before = (place.tree / "kernel.c").read_bytes()
    async with called(place, trials=3) as call:
        found = await call("sweep", tune={"REPEAT": ["8", "4", "word", "2"]})
        assert (place.tree / "kernel.c").read_bytes() == before
        tried = [row["point"]["REPEAT"] for row in found["points"]]
        assert len(tried) == 3 and "8" in tried, "the tree's own point comes first"
        gains = [row["gain_pct"]["pct"] for row in found["points"] if row["gain_pct"]]
        assert gains == sorted(gains, reverse=True)
        assert "all 3 trials" in found["stopped"] and "your tree is unchanged" in found["text"]
        assert "is neither a #define" in (await refused(call, "sweep", tune={"NOPE": ["1"]})).message
        assert "points" in (await refused(call, "sweep", tune={"REPEAT": []})).message


# ── what lies in the tree ─────────────────────────────────────────────────────────────────────────────────────────


async def test_what_is_not_the_agent_s_is_named_and_not_taken(place: Place) -> None:
    shutil.copytree(place.task.folder, place.tree, dirs_exist_ok=True)
    (place.tree / "build.json").write_text("{}")
    (place.tree / "harness.c").write_text("int cheat;")
    (place.tree / "notes.txt").write_text("mine")
    async with called(place) as call:
        place.write(4)
        found = await call("try")
    assert found["trial"]["end"] == "measured"
    assert found["not_taken"] == ["harness.c", "notes.txt"] and "harness.c, notes.txt" in found["text"]


async def test_a_hostile_tree_is_refused_and_nothing_of_it_is_read(place: Place) -> None:
    kernel = place.tree / "kernel.c"
    async with called(place) as call:
        kernel.unlink()
        assert "kernel.c is missing" in (await refused(call, "try")).message
        kernel.symlink_to("/etc/passwd")
        assert "kernel.c" in (await refused(call, "try")).message
        kernel.unlink()
        os.mkfifo(kernel)
        assert "regular file" in (await refused(call, "try")).message
        kernel.unlink()
        kernel.write_bytes(b"x" * (2 << 20))
        await refused(call, "try")
        await refused(call, "diff")
    assert not place.facts(e.TrialStarted)


async def test_the_tree_is_compared_with_the_incumbent(place: Place) -> None:
    async with called(place) as call:
        assert "changes nothing" in (await call("diff"))["text"]
        place.write(2)
        assert "+#define REPEAT 2" in (await call("diff"))["text"]
        assert "kernel.c" in (await call("diff", iteration=1))["text"]
        assert "no iteration 9" in (await refused(call, "diff", iteration=9)).message


# ── what is known ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_every_tool_answers_in_words_and_data(place: Place) -> None:
    async with called(place) as call:
        answers = {name: await call(name) for name in SESSION if name not in ("sweep", "profile", "note")}
        answers["note"] = await call("note", text="the fan was loud")
    assert all(found["text"] for found in answers.values())
    assert answers["inspect"]["cases"][0]["headroom"] == pytest.approx(2.5)
    assert answers["inspect"]["peak_gb_s"] == 12.0
    assert answers["findings"]["findings"][0]["rule"] == "call_in_loop"
    assert answers["findings"]["metrics"] == {"ipc": 0.5, "call_us": 10.0}
    assert [row["iteration"] for row in answers["history"]["iterations"]] == [0, 1, 2]
    assert answers["rank"]["candidates"][0]["speedup"]["ratio"] == pytest.approx(2.0)
    assert answers["rank"]["cases"][0]["best"] == 1
    assert answers["rules"]["rules"] and answers["skill"]["skills"]
    noted = [event.fact.text for event in place.journal.events("r1") if isinstance(event.fact, Noted)]
    assert noted == ["the fan was loud"]


async def test_a_call_is_recorded_with_sizes_and_no_value(place: Place) -> None:
    async with called(place) as call:
        await call("skill", id="call_in_loop")
        await refused(call, "skill", id="no_such_skill")
        await refused(call, "try", secret="hunter2", profile=True)
    facts = [fact for fact in place.facts(e.ToolCalled) if isinstance(fact, e.ToolCalled)]
    assert [(one.tool, one.ok, one.arguments) for one in facts] == [
        ("skill", True, {"id": 14}), ("skill", False, {"id": 15}), ("try", False, {"?": 9, "profile": 4}),
    ]  # fmt: skip
    assert facts[0].result > 100 and facts[0].ms > 0
    assert "hunter2" not in str(facts) and "secret" not in str(facts)


def test_every_tool_is_declared_for_the_protocol() -> None:
    for tool in SESSION.values():
        told = tool.declaration(of_run=False)
        assert len(told["description"]) > 40 and told["schema"]["additionalProperties"] is False
        assert set(told["schema"]) <= {"type", "properties", "additionalProperties", "required"}
        assert "$ref" not in json.dumps(told)
        assert told["read_only"] == (tool.name not in ("try", "sweep", "profile", "note"))
        assert "run" in tool.declaration(of_run=True)["schema"]["properties"]
    assert not set(ANYBODY) & {"try", "sweep", "profile"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["id", "iteration", "tune", "points", "processes", "profile", "text", "run", "x"])


@given(st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_arguments_are_answered_or_refused(place: Place, data: st.DataObject) -> None:
    tool = SESSION[data.draw(st.sampled_from(sorted(SESSION)))]
    args = data.draw(st.dictionaries(NAMES, JSON, max_size=3))
    desk = Desk(
        place.workspace, place.journal.state, place.attempt.run, place.journal.events,
        Workplace(place.attempt, place.tree, TrialBudget(0, 0.0)),
    )  # fmt: skip
    try:
        assert (await tool.answer(desk, args))["text"]
    except DaemonError as err:
        assert err.code in ("usage", "unknown", "refused")
    assert not place.facts(e.TrialStarted)


async def test_cuts_at_any_moment_lose_no_trial_and_count_none_twice(place: Place) -> None:
    async def session(repeat: int) -> None:
        place.write(repeat)
        async with called(place, trials=200) as call:
            await call("try")

    place.bench.process_s = 0.003
    for cut in range(25):
        under_way = asyncio.create_task(session(1 + cut % 2 if cut % 3 else 4))
        await asyncio.sleep(0.001 * cut)
        under_way.cancel()
        await asyncio.gather(under_way, return_exceptions=True)
    await session(7)
    # A connection that comes while its server closes is forgotten by Python 3.11, and closed with its last reference:
    # the thread of a call that was cut would wait a minute for its answer, and the test for the thread.
    gc.collect()
    await asyncio.get_running_loop().shutdown_default_executor()
    started = [fact.trial for fact in place.facts(e.TrialStarted) if isinstance(fact, e.TrialStarted)]
    ended = [fact for fact in place.facts(e.Tried) if isinstance(fact, e.Tried)]
    assert started == [*range(1, len(started) + 1)] == [one.trial for one in ended]
    assert ended[-1].end == "measured" and {one.end for one in ended} == {"measured", "cut"}
    assert trials_of(place.attempt).spent.trials == sum(one.end == "measured" for one in ended)
    assert place.journal.state.runs["r1"].waiting is None
