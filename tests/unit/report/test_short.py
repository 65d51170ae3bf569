"""The short form of a report in Markdown, and the tables of many runs."""

import re
from dataclasses import replace
from functools import cache

from kpd.model.state import State, TaskCard
from kpd.report.overview import best, devices, reported
from kpd.report.render import overview_page
from kpd.report.short import short, short_overview
from tests.support.recorded import recorded_facts

HOSTILE = "a | b [x](javascript:alert(1)) <script>alert(2)</script>\n# heading `code`"


@cache
def text() -> str:
    return short(recorded_facts(), {"page": "run.html", "13": "iter_0013/diff.patch"})


def state() -> State:
    """The recorded run, the same one on another device, one without a gain, and one before its baseline."""
    run = recorded_facts().run
    assert run.baseline is not None
    none = replace(run, id="r3", incumbent=run.baseline.number)
    runs = [run, replace(run, id="r2", device="NVIDIA H200", started=9e9), none, replace(run, id="r4", iterations=())]
    return State(runs={one.id: one for one in runs}, tasks={run.task: TaskCard(run.task, score="us")})


def test_it_tells_the_headline_with_unit_cases_dates_and_links() -> None:
    shown = text()
    assert "**5.30× [5.13, 5.48], chained, over the baseline**" in shown
    assert "Measured on NVIDIA H100 80GB HBM3, 2026-11-21 23:54 UTC." in shown
    assert "| case | before, µs | best, µs | speed-up | of the roofline |" in shown
    assert "| square\\_1024 | 20.82 | 5.950 | 3.50× | 50 % |" in shown
    assert "[run.html](run.html)" in shown and "[iteration 13](iter_0013/diff.patch), 4.7 % less time" in shown
    assert "2. iteration 2, 1.50× [1.48, 1.51]: " in shown, "a link only where there is a file"
    rows = [line for line in shown.splitlines() if line.startswith("| ") and " | near miss | " in line]
    assert [row.split(" | ")[3] for row in rows] == ["5.10×", "5.40×"]


def test_no_text_of_others_has_markup() -> None:
    facts = recorded_facts()
    iterations = tuple(replace(it, memo=HOSTILE) for it in facts.run.iterations)
    shown = short(replace(facts, run=replace(facts.run, iterations=iterations)), {})
    assert not re.search(r"(?<!\\)<script|(?<!\\)\]\(javascript|\n# heading", shown)
    assert "a \\| b" in shown


def test_the_best_of_each_task_is_shown_by_device() -> None:
    runs = reported(state())
    assert [one.run.id for one in runs] == ["r2", "r1", "r3"], "the newest first, none without a baseline"
    assert devices(runs) == ("NVIDIA H100 80GB HBM3", "NVIDIA H200")
    found = best(runs)
    assert {key: (one.run.id, count) for key, (one, count) in found.items()} == {
        ("transpose_cuda", "NVIDIA H100 80GB HBM3"): ("r1", 2),
        ("transpose_cuda", "NVIDIA H200"): ("r2", 1),
    }
    shown = short_overview(runs)
    assert "| task | NVIDIA H100 80GB HBM3 | NVIDIA H200 |" in shown
    assert "5.30× \\[5.13, 5.48\\] (r1, 30.99 µs; 2 runs)" in shown


def test_the_page_of_many_runs_lists_them_all_and_escapes_their_texts() -> None:
    run = recorded_facts().run
    hostile = replace(run, id="r9", task="<script>alert(1)</script>", device="<b>")
    shown = overview_page(reported(replace(state(), runs={**state().runs, "r9": hostile})))
    assert shown.count("<script>") == 1 and "&lt;script&gt;alert(1)" in shown and "<b>" not in shown
    for said in ("5.30× [5.13, 5.48]", "no gain", "NVIDIA H200", "2 runs", "2026-11-21 23:54 UTC"):
        assert said in shown, said
