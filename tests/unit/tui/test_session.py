"""What the cockpit shows of a coding agent at work: its conversation, what it asks for, and its tools."""

import json

import pytest

from kpd.model import events as e
from kpd.operations.sessions import AnswerAgent
from kpd.subscription import Live
from kpd.text.tools import worse
from tests.support.tui import logs, sessions
from tests.support.tui.views import plain, view_of
from tui.actions.table import BY_ID, reason
from tui.model.answers import LoadedDetails, Text
from tui.model.conversation import SESSION_LOG, SpokenLine, spoken
from tui.model.outline import TreePosition
from tui.model.output import Output
from tui.panes import log
from tui.panes.overview import lines as overview
from tui.panes.tools import tool_lines

AT = TreePosition(logs.TASK, "r1", 1)


def entries(*said: tuple[float, str, str]) -> str:
    return "".join(json.dumps({"at": at, "who": who, "text": text}) + "\n" for at, who, text in said)


def test_pieces_of_a_speaker_are_joined_to_lines() -> None:
    told = entries(
        (1.0, "agent", "I lo"), (2.0, "agent", "ok.\nThen"), (3.0, "✓", "Read"), (4.0, "kpd", "a\n\nb\nc\nd")
    )
    assert spoken(told + '{"torn\n') == (
        SpokenLine(1.0, "agent", "I look."), SpokenLine(2.0, "agent", "Then"), SpokenLine(3.0, "✓", "Read"),
        *(SpokenLine(4.0, "kpd", line) for line in ("a", "b", "c", "…")),
    )  # fmt: skip


def test_who_attaches_late_reads_what_was_said_before_and_nothing_twice() -> None:
    made = sessions.at_work()
    last = made.events[-1]
    text = entries((last.at - 72.0, "agent", "said before\n"), (last.at + 1.0, "agent", "heard\n"))
    output = Output()
    output.hear(Live("agent", "r1", 1, "heard\n"), after=last.seq)
    shown = LoadedDetails(events=tuple(made.events[-12:]), texts=(Text(SESSION_LOG, text),))
    drawn = plain(log.lines(view_of(made, AT, shown=shown, output=output.lines()), 100, 40))
    assert drawn.index("said before") < drawn.index("turn 1 of session") < drawn.index("heard")
    assert drawn.count("heard") == 1
    alone = plain(log.lines(view_of(made, AT, shown=shown), 100, 40))
    assert alone.count("heard") == 1


def test_a_question_says_which_keys_answer_it() -> None:
    drawn = " ".join(plain(overview(view_of(sessions.at_work(), AT), 100, 40)).split())
    assert "asks to execute: cargo asm --lib" in drawn
    assert "O allows it, X refuses it" in drawn


def test_before_it_is_allowed_a_question_is_shown_whole_and_its_number_is_kept() -> None:
    view = view_of(sessions.at_work(), AT)
    action = BY_ID["allow"]
    assert action.ask is not None and action.pick is not None
    question = action.ask(view)
    assert question is not None
    assert question.text[0] == "execute: cargo asm --lib"
    assert question.scrolls
    op = action.pick(view, "")
    assert isinstance(op, AnswerAgent)
    assert op.args() == {"reply": "allow", "iteration": "r1.1", "question": 2}
    assert reason(action, view) == ""


@pytest.mark.parametrize("width", [74, 120])
def test_tools_with_calls_failures_and_states(width: int) -> None:
    feed = sessions.with_its_words(sessions.at_work())
    call = {"run": "r1", "server": "kpd", "tool": "try", "calls": 3, "failed": 1, "median_ms": 12.0}
    call |= {"longest_ms": 14_000.0, "answer_bytes": 2048}
    trial = {"run": "r1", "iteration": 1, "ends": {"measured": 2}, "device_s": 3.0}
    read = {"run": "r1", "skill": "memory-bound", "sessions": 2}
    drawn = tool_lines({"calls": [call], "trials": [trial], "skills_read": [read]}, feed.built, width)
    assert max(line.cell_length for line in drawn) <= width
    told = plain(drawn)
    assert "try" in told
    assert "r1.1" in told
    assert "quarantined" in told
    whole = " ".join(told.split())
    assert "⚑ attempts with asm-diff@77b01de rank lower than those without; chance explains it in 1.2 %" in whole
    assert "chance explains it in less than 0.1 % of cases" in worse("asm-diff", 0.0002)
    assert "⚑ asm-notes@9c02bb1 points at asm-diff, which no session may get" in whole
    assert "memory-bound r1 2 sessions" in whole
    assert whole.count("1 attempt ") == 2 and "−1.2 % of 8 4.1 % of 8" in whole
    assert "No agent has called a tool" in " ".join(plain(tool_lines({}, [], width)).split())


def test_calls_and_trials_are_lines_of_the_log() -> None:
    shown = LoadedDetails(
        events=tuple(one for one in sessions.at_work().events if isinstance(one.fact, e.IterationFact))
    )
    drawn = plain(log.lines(view_of(sessions.at_work(), AT, shown=shown), 100, 60))
    assert "kpd: try" in drawn
    assert "trial 1 against iteration 0: 9.8 % less time" in drawn
