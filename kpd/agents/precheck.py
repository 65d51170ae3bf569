"""Checks a reply before anything is built: is the candidate complete, and can the task's other files use it?

A compiler or the task's check would find most of these errors later. Here they cost nothing, and the reason is exact.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from kpd.agents.agent import BadReply
from kpd.agents.interface import kernel_text, lost_interface
from kpd.measure.omitted_code import elided
from kpd.measure.screen import LONGEST_LINE, UNFINISHED, added, protected_touched, spliced
from kpd.source import modules
from kpd.source.functions import functions
from kpd.source.text import language
from kpd.text.foreign import plain
from kpd.workspace.sections import ProtectedSection, SectionError
from kpd.workspace.task import Task

MOST_REASONS = 6
LONGEST_QUOTE = 100
_UNFINISHED = re.compile(UNFINISHED, re.IGNORECASE)
_ONLY_DOTS = re.compile(r"\s*[\[{(<]?\s*(\.\.\.|…)\s*[\]})>]?\s*")


def precheck(
    task: Task, incumbent: Mapping[str, bytes], files: Mapping[str, bytes], removed: Collection[str] = ()
) -> None:
    """Raise BadReply with everything that is wrong, in one line, for an agent that is asked once more."""
    reasons = list(islice(_reasons(task, incumbent, files, removed), MOST_REASONS))
    if reasons:
        raise BadReply("; ".join(reasons))


def _reasons(
    task: Task, incumbent: Mapping[str, bytes], files: Mapping[str, bytes], removed: Collection[str]
) -> Iterator[str]:
    if strangers := protected_touched(task, files, removed):
        how = "removed" if set(strangers) <= set(removed) else "edited"
        yield f"{', '.join(map(plain, strangers))} may not be {how}; editable are {task.told}"
        return
    for path, data in files.items():
        yield from _gaps(path, incumbent.get(path, b""), data)
    try:
        whole = {**incumbent, **spliced(task, files)}
        candidate = {path: data for path, data in whole.items() if path not in removed}
    except ProtectedSection:
        yield f"{task.sectioned} is changed outside its kernel section; give the kernel section alone"
        return
    except SectionError as err:
        yield f"{task.sectioned}:{err.line}: {err}; give the kernel section alone"
        return
    yield from _emptied(kernel_text(task, incumbent), kernel_text(task, candidate))
    yield from lost_interface(task, incumbent, candidate)


def _gaps(path: str, before: bytes, after: bytes) -> Iterator[str]:
    """Yield a reason for each new line of the reply that stands for code left out."""
    for number, whole in added(before, after):
        line = whole[:LONGEST_LINE]
        if elided(path, line) or (language(path) == "c" and _ONLY_DOTS.fullmatch(line)):
            yield f'{path}:{number}: "{plain(line, LONGEST_QUOTE)}" leaves code out; the whole is needed'
        elif _UNFINISHED.search(line):
            yield f'{path}:{number}: "{plain(line, LONGEST_QUOTE)}" leaves work undone'


def _emptied(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield a reason for each function that did something and now has an empty body.

    Of several functions with one name, as in an #if, one that does something is enough.
    """
    full = {each.name for path, text in before.items() if language(path) == "c" for each in functions(path, text)
            if each.defined and not each.empty}  # fmt: skip
    now = [(path, each) for path, text in after.items() if language(path) == "c" for each in functions(path, text)
           if each.defined and each.before.strip()]  # fmt: skip
    still = {each.name for _, each in now if not each.empty}
    for path, each in now:
        if each.empty and each.name in full - still:
            yield f"{path}:{each.line}: the body of `{each.name}` is empty"
    yield from modules.emptied(before, after)
