"""Defines why a folder of others cannot become a task."""

from dataclasses import dataclass

from kpd.workspace.paths import WorkspaceError


class ImportRefused(WorkspaceError):
    """The error that a folder cannot become a task; the remedy says what helps."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Something that the folder does not tell. `flag` answers it on the command line; `choices` are what was found.

    `first` is what else helps, to be said before that.
    """

    flag: str
    text: str
    choices: tuple[str, ...] = ()
    first: str = ""


class Unclear(ImportRefused):
    """The error that the folder leaves questions open."""

    def __init__(self, *questions: OpenQuestion) -> None:
        asked = "; ".join(f"{question.text}{_or(question.choices)}" for question in questions)
        first = "".join(f"{question.first}, " for question in questions if question.first)
        super().__init__(asked, f"{first}say it with {', '.join(map(_option, questions))}")
        self.questions = questions


def _option(question: OpenQuestion) -> str:
    return " ".join((question.flag, *question.choices)) if len(question.choices) == 1 else question.flag


def _or(choices: tuple[str, ...]) -> str:
    return f" ({', '.join(choices)})" if len(choices) > 1 else ""
