"""Builds the user message: what is new in each question."""

from collections.abc import Iterator, Mapping

from kpd.agents.agent import Context, Failure
from kpd.agents.prompt import history, measured
from kpd.agents.prompt.anchor import Anchored, differing, parent_of, yours
from kpd.agents.prompt.background import Background, pinned
from kpd.agents.prompt.blocks import PromptBlock
from kpd.agents.prompt.quoting import fenced, quoted, readable
from kpd.agents.prompt.system import source
from kpd.knowledge.markdown import cut
from kpd.text.foreign import plain

LONGEST_LOG = 4000
SHORT_LOG = 1500
"""Characters of a tool's output, usually and when the prompt has to be shorter."""


def proposing(context: Context, known: Background, shown: Anchored) -> Iterator[PromptBlock]:
    """Yield the blocks for the next candidate: what limits the incumbent, what was tried, what the operator wants."""
    first = pinned(context.run)
    yield PromptBlock("bottleneck", "\n".join(_standing(context)))
    if shown.lines:
        yield PromptBlock("patch", _patched(shown))
    if context.findings:
        fired = "\n".join(measured.findings(context.findings, known.efficacy, context.advice, first))
        yield PromptBlock("findings", f"## What fired, the most pressing first\n{fired}")
    if told := "\n".join(measured.counters(context.metrics, context.findings, known.efficacy, first)):
        yield PromptBlock("counters", f"## Counters (their range over the cases)\n{told}", short="")
    if advice := measured.advice(context.advice):
        yield PromptBlock("advice", f"## NVIDIA's profiler besides\n{advice}", short="")
    if context.last is not None and context.changes:
        heading = f"## What moved in iteration {context.last.number}, against what it began with"
        yield PromptBlock("changes", f"{heading}\n{history.moved(context.changes)}", short="")
    yield PromptBlock("standing", f"## This run\n{history.standing(context)}")
    if context.failure is not None:
        yield PromptBlock("failure", f"## Your reply could not be used\n{_reason(context.failure)}")
    yield from _steering(context)
    yield PromptBlock("request", "## Now\nThe next candidate, in the form given above.")


def repairing(context: Context, failure: Failure, shown: Anchored) -> Iterator[PromptBlock]:
    """Yield the blocks for a candidate that failed: its aim, what went wrong, and its files."""
    now = context.run.iteration(context.number)
    memo = f"\nIts memo:\n{fenced(plain(now.memo, 400))}" if now is not None and now.memo else ""
    yield PromptBlock("failure", f"## Your candidate failed: {failure.step}\n{_reason(failure)}{memo}")
    if failure.feedback.strip():
        said = readable(failure.feedback.strip())
        log, short = (f"## What was said\n{fenced(cut(said, most))}" for most in (LONGEST_LOG, SHORT_LOG))
        yield PromptBlock("log", log, short)
    yield PromptBlock("candidate", "\n\n".join(("## The candidate", *_candidate(context, failure, shown))))
    yield from _steering(context)
    yield PromptBlock(
        "request",
        "## Now\nMend the cause and keep the idea; if the idea itself is at fault, come as near to it as is right. MEMO"
        " says what the candidate does now.",
    )


def _candidate(context: Context, failure: Failure, shown: Anchored) -> Iterator[str]:
    """Yield the candidate's files: only the changed lines where these are few, else the whole file."""
    incumbent = yours(context.task, context.incumbent)
    for path, data in sorted(yours(context.task, failure.files).items()):
        lines = differing(shown.files[path], data) if path in shown.files else None
        if data == incumbent.get(path):
            yield f"`{path}` is as in the incumbent."
        elif lines is None:
            yield f"`{path}`:\n{source(path, data)}"
        elif lines:
            yield f"`{path}` is the source above, but for these lines:\n{_lines(lines)}"
        else:
            yield f"`{path}` is the source above."
    yield from (f"`{path}` is removed." for path in sorted(incumbent.keys() - failure.files.keys()))


def _standing(context: Context) -> Iterator[str]:
    if context.run.incumbent is None and context.run.own_files != "right":
        yield "## Nothing is right yet"
        yield "The source above, if any, is the task's own, and not right. The first right candidate is then to beat."
        return
    yield f"## The incumbent, iteration {parent_of(context)}"
    yield f"Bottleneck: {plain(context.bottleneck, 400)}" if context.bottleneck else "It was not profiled."
    if cases := measured.cases(context.metrics):
        yield cases
    if launch := measured.launch(context.metrics):
        yield launch


def _patched(shown: Anchored) -> str:
    several = len(shown.files) > 1
    told = (f"`{path}`:\n{_lines(lines)}" if several else _lines(lines) for path, lines in sorted(shown.lines.items()))
    return "\n".join(("## The incumbent is the source above, but for these lines", *told))


def _lines(lines: Mapping[int, str]) -> str:
    return fenced("\n".join(f"{number}: {line}" for number, line in lines.items()))


def _reason(failure: Failure) -> str:
    return fenced(readable(cut(failure.message.strip(), LONGEST_LOG)))


def _steering(context: Context) -> Iterator[PromptBlock]:
    """Yield the operator's words on the task, and the notes, word for word: they are meant for the model."""
    words = (context.run.task_text, *(note.text for note in context.steering))
    if notes := "\n\n".join(quoted(text) for text in words if text):
        yield PromptBlock("steering", f"## From the operator\nThis comes before all else but correctness:\n{notes}")
