"""Makes the part that drafts for kpd's own runner share: a kernel.py that may change, and a harness.py that judges."""

from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused

LIMIT_S = 600
"""Seconds that a check, or a process of a contest, may take: both import torch, and may compile."""


def runner_task(answers: Answers, summary: str, *context: str) -> TaskDraft:
    """Return a draft whose kernel.py and harness.py are to be made; `context` are files that an agent is shown.

    Raises ImportRefused for another editable file.
    """
    if answers.editable not in ((), ("kernel.py",)):
        raise ImportRefused("kpd's own runner measures this task: kernel.py is what may change", "leave out --editable")
    language = answers.language or ("python" if answers.device == "cpu" else "triton")
    found = TaskDraft((), {"task": {"name": "", "language": language}})
    found.put("task", "summary", " ".join(summary.split())[:120])
    found.put("task", "editable", ["kernel.py"])
    found.put("task", "baseline", answers.baseline)
    found.put("task", "context", list(context))
    found.put("check", "distributions", ["normal"])
    found.put("check", "limit_s", LIMIT_S)
    found.put("bench", "limit_s", LIMIT_S)
    found.checked = True
    return found
