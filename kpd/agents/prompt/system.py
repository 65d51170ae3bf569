"""Builds the system prompt: what stays the same in a run, the skills it needs, and the source.

The source stands here and not in the user's turn, because it changes only when a candidate is accepted, and is shown
again only when that changed much of it: all attempts and repairs in between read it from the cache. When it is shown
again, it stands after the bodies of skills, so that these are still read from the cache; bodies that are needed later
come after it. Last comes what this run has tried, which only grows, by one block per iteration.
"""

import textwrap
from collections.abc import Iterator

from kpd.agents.agent import Context
from kpd.agents.prompt import ground_rules, history, machine, skill_choice
from kpd.agents.prompt.anchor import Anchored, around
from kpd.agents.prompt.background import Background, pinned
from kpd.agents.prompt.blocks import PromptBlock
from kpd.agents.prompt.quoting import close_fences, fenced, quoted, readable
from kpd.knowledge.markdown import cut
from kpd.knowledge.skills import SECTIONS, Skill
from kpd.measure.cuda.nvcc import STANDARD
from kpd.measure.flags import BUILD_FILE
from kpd.text.foreign import plain
from kpd.workspace.languages import syntax_of
from kpd.workspace.paths import inside

LONGEST_BODY = 2000
LONGEST_FILE = 16_000
SHORTEST_SIGNAL, LONGEST_SIGNAL = 12, 48
"""Characters: of a skill's body, of a file that the task shows beside the editable ones, of a line of the catalogue."""
FIXES = SECTIONS[1]


def stretches(context: Context, known: Background, files: Anchored) -> tuple[tuple[PromptBlock, ...], ...]:
    """Build the stretches of the system prompt, those that stay the same longest first; see `blocks.Prompt`.

    Raises OSError, OutsideFolder.
    """
    first = pinned(context.run)
    texts = {id: _body(skill, id in first) for id, skill in known.skills.by_id.items()}
    sizes = {id: block.tokens for id, block in texts.items()}
    fired = [found.rule for found in context.findings]
    shown = skill_choice.shown_skills(context.run, context.number, fired, sizes, files.anew)
    found = (
        tuple(of_run(context, known)),
        tuple(texts[skill] for skill in shown.early),
        (
            PromptBlock("source", "\n\n".join(_source(context, files))),
            *(texts[skill] for skill in shown.late),
            *_besides(known),
        ),
        tuple(history.so_far(context.run, context.number)),
    )
    return tuple(stretch for stretch in found if stretch)


def of_run(context: Context, known: Background) -> Iterator[PromptBlock]:
    """Yield the blocks that are the same in every question of a run, until a person edits a skill or a note."""
    kind = machine.kind_of(context.arch)
    yield PromptBlock("role", ground_rules.role(context.task, context.run, kind))
    yield PromptBlock("work", ground_rules.work(kind, known.works))
    yield PromptBlock("limits", ground_rules.limits(context.task, kind))
    yield PromptBlock("format", f"## The form of the reply\n{known.format.strip()}")
    yield PromptBlock(
        "machine", f"## The machine\nIt is {machine.described(plain(context.device), plain(context.arch))}"
    )
    yield PromptBlock("task", "\n\n".join(_task(context)))
    if catalogue := "\n".join(map(_signal, known.skills.catalogue(kind).splitlines())):
        yield PromptBlock("catalogue", f"## Rules, and what they look for\n{catalogue}", short="")
    if known.avoid or known.wanted:
        yield PromptBlock("notes", "\n".join(("## Standing notes of the people whose task this is", *_notes(known))))
    if known.past.strip():
        yield PromptBlock("memory", f"## What earlier runs tried\n{fenced(readable(known.past))}", short="")


def _besides(known: Background) -> Iterator[PromptBlock]:
    """Yield the blocks that belong to the findings and to the incumbent's code, and may change with each of them."""
    if known.patterns.strip():
        text = f"## What helped against such findings in other tasks\n{fenced(readable(known.patterns))}"
        yield PromptBlock("patterns", text, short="")
    if known.hints:
        hints = "\n".join(f"- {plain(hint, 400)}" for hint in known.hints)
        yield PromptBlock("hints", f"## Of this code\n{hints}", short="")


def source(path: str, data: bytes) -> str:
    """Return a whole file between fences."""
    return fenced(data.decode(errors="replace"), syntax_of(path).name)


def _task(context: Context) -> Iterator[str]:
    task, judge = context.task, machine.text_of(context.task)
    facts = (
        f"## The task: {plain(task.summary) or task.name}",
        *_built(context),
        *_least(context),
        machine.cases(judge),
    )
    yield "\n".join(fact for fact in facts if fact)
    for name in task.context:
        text = cut(inside(task.folder, name).read_text(errors="replace"), LONGEST_FILE)
        yield f"`{plain(name)}`, protected:\n{source(name, text.encode())}"
    declared = any(name.endswith((".h", ".hpp", ".cuh")) for name in task.context)
    if not declared and (call := machine.call(judge)):
        yield f"The harness calls it so:\n{fenced(call, 'c')}"


def _built(context: Context) -> Iterator[str]:
    task = context.task
    words = " ".join(task.build.flags)
    if task.language == "cuda":
        words = " ".join(("nvcc -O3", f"-arch={plain(context.arch)}", STANDARD, *task.build.flags))
    if words:
        own = f", then the flags in `{BUILD_FILE}`" if BUILD_FILE in task.editable else ""
        yield f"Built with `{plain(words)}`{own}."


def _least(context: Context) -> Iterator[str]:
    """Yield what one call must move and compute, as the task counts it for its roofline."""
    sides = ((context.task.roofline.bytes, "bytes"), (context.task.roofline.flops, "operations"))
    least = [f"{side.text} {unit}" for side, unit in sides if side is not None and side.text.strip() != "0"]
    if least:
        yield f"The roofline is the time for what a call needs at least: {', '.join(least)}."


def _notes(known: Background) -> Iterator[str]:
    for title, text in (("To avoid:", known.avoid), ("To try:", known.wanted)):
        if text.strip():
            yield f"{title}\n{quoted(text.strip())}"


def _signal(line: str) -> str:
    """Shorten a line of the catalogue to its first clause. The rule's name says the rest."""
    id, _, signal = line.rstrip(".").partition(": ")
    clause = next((signal[:at] for at, char in enumerate(signal) if char in ",:;" and at >= SHORTEST_SIGNAL), signal)
    return f"{id}: {textwrap.shorten(clause, LONGEST_SIGNAL, placeholder=' …')}"


def _body(skill: Skill, pinned: bool) -> PromptBlock:
    """Return the part of a skill that says what helps and what does not.

    Causes are left out, because the findings and the source show them, and so are the sources, which are for people. A
    pinned skill stays, however short the prompt must be.
    """
    lines = skill.body[skill.body.index(FIXES) :].splitlines()
    body = "\n".join(line for line in lines if line and not line.startswith("Sources:"))
    return PromptBlock(
        f"skill:{skill.id}", close_fences(f"## [{skill.id}]\n{_items(body)}"), short=None if pinned else ""
    )


def _items(body: str) -> str:
    """Cut a body to as many whole items as fit LONGEST_BODY; if not even one fits, to whole lines."""
    if len(body) <= LONGEST_BODY:
        return body
    whole = body[: max(body.rfind("\n- ", 0, LONGEST_BODY), 0)].removesuffix(f"\n{SECTIONS[2]}")
    return f"{whole}\n…" if whole.removeprefix(FIXES) else cut(body, LONGEST_BODY)


def _source(context: Context, shown: Anchored) -> Iterator[str]:
    yield "## The source"
    for path, data in sorted(shown.files.items()):
        section = ", its kernel section, which alone is yours" if path == context.task.sectioned else ""
        yield f"`{path}` of iteration {shown.since[path]}{section}:\n{source(path, data)}"
        if section and (outside := around(context.task, context.incumbent)):
            yield f"`{path}` around that section, protected:\n{source(path, cut(outside, LONGEST_FILE).encode())}"
