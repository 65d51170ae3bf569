"""Makes the part that drafts for kpd's own runner share: a kernel that may change, and a harness.py that judges it."""

import re
from collections.abc import Iterable, Mapping

from kpd.imports import glue
from kpd.imports.draft import Answers, TaskDraft
from kpd.imports.errors import ImportRefused

KPD, FOLDER = "kpd", "folder"
"""Who can measure: kpd's own runner or driver, or the folder's own benchmark."""
MEASURED_BY = f"--measured-by {KPD}"
OF_COMMANDS = ("bench", "check", "score", "direction", "good", "baseline", "last", "unchecked")
"""Answers that only a task with commands needs."""
LIMIT_S = 600
"""Seconds that a check, or a process of a contest, may take: it may import torch, compile, and have large inputs."""


def runner_task(answers: Answers, summary: str, *context: str, editable: str = "kernel.py") -> TaskDraft:
    """Return a draft whose kernel.py and harness.py are to be made; `context` are files that an agent is shown.

    Raises ImportRefused for another editable file.
    """
    if answers.editable not in ((), (editable,)):
        raise ImportRefused(
            f"kpd's own runner measures this task: {editable} is what may change", "leave out --editable"
        )
    language = answers.language or ("python" if answers.device == "cpu" else "triton")
    found = TaskDraft((), {"task": {"name": "", "language": language}})
    found.put("task", "summary", " ".join(summary.split())[:120])
    found.put("task", "editable", [editable])
    found.put("task", "baseline", answers.baseline)
    found.put("task", "context", list(context))
    found.put("check", "distributions", ["normal"])
    found.put("check", "limit_s", LIMIT_S)
    found.put("bench", "limit_s", LIMIT_S)
    found.checked = True
    return found


def doubled(reference: str) -> str:
    """Return a reference by torch as it computes in double precision, and rounds nothing at its end."""
    text = re.sub(r"\btorch\.(float32|float16|bfloat16|float|half)\b", "torch.float64", reference)
    return re.sub(r"\.(float|half|bfloat16)\(\)", ".double()", text)


def measured_by_kpd(answers: Answers, why_not: str) -> bool:
    """Return whether kpd's own runner or driver is to measure: where it can, unless an answer means the folder's own.

    `why_not` says why it cannot. Raises ImportRefused where it is asked for all the same.
    """
    meant = [f"--{name}" for name in OF_COMMANDS if getattr(answers, name)]
    if answers.measured_by == KPD and (why_not or meant):
        why = why_not or f"{meant[0]} is about the folder's own benchmark"
        raise ImportRefused(f"kpd cannot measure it itself: {why}", f"leave out {meant[0] if meant else MEASURED_BY}")
    return not why_not and not meant and answers.measured_by != FOLDER


def second_opinion(
    found: TaskDraft, places: Mapping[str, str], commands: Iterable[str], folders: Iterable[str] = ()
) -> None:
    """Add a program to a draft for kpd's own runner that asks the folder's own commands about a candidate.

    `places` says for each editable file where the folder has it; `folders` are made for what the commands write.
    """
    found.made[glue.SECOND] = glue.second(places, list(commands), list(folders))
    found.assumed.append(
        f"the folder's own benchmark is a second opinion by hand: python3 {glue.SECOND} [FOLDER of a candidate]"
    )
