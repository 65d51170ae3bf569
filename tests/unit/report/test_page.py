"""What a report says of the recorded run on an H100, and that nothing in it can run or be fetched."""

import base64
import hashlib
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

from kpd.model.iteration import Iteration
from kpd.model.status import Running, Stepping
from kpd.report.facts import Facts
from kpd.report.render import page
from tests.support.recorded import recorded_facts

MOST_BYTES = 2_000_000
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e& {{ 7 * 7 }}"


class Tags(HTMLParser):
    """The start tags of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@cache
def recorded_page() -> str:
    return page(recorded_facts())


def test_it_tells_the_headline_the_cases_and_every_candidate() -> None:
    facts, shown = recorded_facts(), Tags(recorded_page()).text
    assert "5.30×" in shown and "[5.13, 5.48]" in shown and "over the baseline, chained" in shown
    assert "NVIDIA H100 80GB HBM3" in shown
    for it in facts.run.iterations:
        assert it.memo in shown, it.number
    assert "3.50×" in shown and "5.87×" in shown, "the speed-ups of the cases, paired along the line"
    assert "the baseline against itself: 0.0 % less time [−0.1, 0.1] over 5 processes" in shown
    assert "incorrect: 1x1000" in shown and "does not build" in shown


def test_it_is_one_file_that_fetches_nothing() -> None:
    text = recorded_page()
    assert len(text.encode()) < MOST_BYTES
    for tag, attrs in Tags(text).tags:
        assert tag not in ("link", "img", "iframe", "object", "base", "form"), tag
        assert not {"src", "href", "xlink:href", "action"} & attrs.keys(), (tag, attrs)
    assert not re.search(r"url\(|@import", text)


def test_its_policy_knows_its_one_script_by_hash() -> None:
    text = recorded_page()
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in text


def test_text_of_others_stays_text() -> None:
    facts = recorded_facts()

    def spoilt(it: Iteration) -> Iteration:
        return replace(it, memo=HOSTILE, point={HOSTILE: HOSTILE}, bottleneck=HOSTILE)

    run = replace(facts.run, iterations=tuple(map(spoilt, facts.run.iterations)), device=HOSTILE, agent=f"{HOSTILE},b")
    diffs = dict.fromkeys(facts.diffs, f"+{HOSTILE}\n-{HOSTILE}\n")
    shown = Tags(page(replace(facts, run=run, diffs=diffs)))
    assert [tag for tag, _ in shown.tags].count("script") == 1
    assert not any(tag == "img" or any(name.startswith("on") for name in attrs) for tag, attrs in shown.tags)
    assert "{{ 7 * 7 }}" in shown.text and "49" not in re.findall(r"& (\S+)", shown.text)


def test_a_run_without_a_gain_says_so() -> None:
    facts = recorded_facts()
    baseline = facts.run.iterations[0]
    run = replace(facts.run, iterations=(baseline,), incumbent=0)
    shown = Tags(page(replace(facts, run=run, diffs={}))).text
    assert "no gain over the baseline" in shown and "What made it faster" not in shown


def test_a_speed_up_that_is_not_known_is_not_called_none() -> None:
    facts = recorded_facts()
    unjudged = [replace(it, verdict=None) if it.number == 2 else it for it in facts.run.iterations]
    shown = Tags(page(replace(facts, run=replace(facts.run, iterations=tuple(unjudged))))).text
    assert "the speed-up over the baseline is not known" in shown and "no gain" not in shown


def test_over_a_first_right_candidate_nothing_is_called_the_baseline() -> None:
    facts = recorded_facts()
    first, *others = facts.run.iterations
    assert facts.card is not None
    card = replace(facts.card, score="gflops", direction="higher")
    run = replace(facts.run, iterations=(replace(first, agent="sweep"), *others), own_files="absent")
    shown = Tags(page(replace(facts, run=run, card=card))).text
    assert "The task's own files are no right baseline" in shown
    assert "over iteration 0, the first right candidate" in shown and "over the baseline" not in shown
    assert "gflops as measured then; more is better" in shown


def test_a_run_under_way_without_counters_or_times_has_a_page() -> None:
    facts = recorded_facts()
    first, second, *_ = facts.run.iterations
    going = replace(second, status=Stepping(), verdict=None)
    run = replace(facts.run, iterations=(first, going), incumbent=0, status=Running())
    details = {0: replace(facts.details[0], profiled=None, timed=None)}
    shown = Tags(page(Facts(run, details, {}, None, None))).text
    assert "The run is still under way." in shown and "Counters" not in shown and "roofline µs" not in shown
