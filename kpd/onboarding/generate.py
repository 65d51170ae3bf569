"""Lets a model write a harness, checks it, and returns what is wrong for another try."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kpd.agents.answers import PromptAnswers
from kpd.measure.compiling import BuildError
from kpd.onboarding import prompt
from kpd.onboarding.compiled import Compiler, said
from kpd.onboarding.facts import KernelFacts
from kpd.onboarding.folder import Draft, Truth, drafted, files, statement
from kpd.onboarding.preprocess import SourceError
from kpd.onboarding.reply import UnusableHarness, harness_section
from kpd.onboarding.standalone import StandaloneTrial
from kpd.onboarding.verify import assembled, problems
from kpd.workspace.paths import WorkspaceError
from kpd.workspace.task import Task, TaskError, load_task

_STOPS = {
    "refusal": "the model declines to answer",
    "context": "the sources and facts are longer than the model can read",
}
Accept = Callable[[Path], list[str]]
"""Returns what is wrong with the task in a folder, one line each, except for errors in its code."""


class GivenUp(WorkspaceError):
    """A failure to make a harness; `message` has the last reason. Nothing is left of the attempts."""


Alone = Callable[[Task], Awaitable[StandaloneTrial]]
"""Runs the task's own kernel on the device of its program."""
Stage = Literal["geometry", "compile"]
"""Which tries an answer counts to: those for what its text says, or for what compiler and device say of it."""
TRIES: Mapping[Stage, int] = {"geometry": 3, "compile": 8}


@dataclass(frozen=True, slots=True)
class HarnessMaker:
    """A maker of tasks. Without a `compiler` nothing is compiled, and without `alone` nothing is run.

    `tell` is called with each step of the progress. `tries` are the answers of each kind that may be refused.
    """

    answers: PromptAnswers
    accept: Accept
    compiler: Compiler | None
    tell: Callable[[str], None]
    truth: Truth = "oracle"
    alone: Alone | None = None
    tries: Mapping[Stage, int] = field(default_factory=lambda: TRIES)

    async def make(self, tasks: Path, name: str, facts: KernelFacts) -> Path:
        """Make the task `name` in the folder `tasks`, and return the task's folder.

        Raises GivenUp where no answer could be used, SourceError where no harness can help, Unavailable, OverBudget,
        HostError, WorkspaceError and OSError.
        """
        if facts.conflict:
            raise SourceError(facts.conflict, "the wrapper has changed since, or is another one: observe it again")
        await self._alone(facts)
        with drafted(tasks, name) as draft:
            section, wrong, refused = "", "", Counter[Stage]()
            while all(refused[stage] < most for stage, most in self.tries.items()):
                asked = refused.total() + 1
                self.tell(f"asking {self.answers.name} for the harness (answer {asked})")
                section, wrong, stage = await self._try(draft, name, facts, section, wrong)
                if not wrong:
                    return draft.keep()
                refused[stage] += 1
                self.tell(f"refused: {wrong}")
        raise GivenUp(
            f"no harness after {refused.total()} answers; the last was refused: {wrong}",
            "nothing was made: see what --facts says of it",
        )

    async def _alone(self, facts: KernelFacts) -> None:
        """Compile the kernel by itself. Raises SourceError where it fails: a model could not mend that."""
        if self.compiler is None:
            self.tell("there is no nvcc: the task will be compiled when it first runs")
            return
        log = await self.compiler.alone(facts.prepared.text, facts.flags)
        if log:
            remedy = "put what it needs beside it or into it, or say with --arch for which GPUs it is"
            raise SourceError(f"the kernel does not compile on its own: {log.strip()}", remedy)

    async def _try(
        self, draft: Draft, name: str, facts: KernelFacts, section: str, wrong: str
    ) -> tuple[str, str, Stage]:
        """Ask once; return the section, what is wrong with it (empty: nothing), and what found that."""
        text = prompt.again(facts, section, wrong, self.truth) if wrong else prompt.user(facts, self.truth)
        answer = await self.answers.ask(prompt.system(), text)
        if answer.stop in _STOPS:
            raise GivenUp(f"no harness: {_STOPS[answer.stop]}", "write it by hand: kpd task new NAME has an example")
        if answer.stop == "length":
            return "", "the answer was cut off where it became too long; write a shorter harness", "geometry"
        try:
            section = harness_section(answer.text)
        except UnusableHarness as err:
            return "", str(err), "geometry"
        if found := problems(facts, section):
            return section, "\n".join(found), "geometry"
        whole = assembled(facts.prepared.text, section)
        draft.write(files(name, facts, whole, self.truth))
        if wrong := await self._wrong(draft.folder, facts):
            return section, wrong, "compile"
        if self.alone is None:
            return section, "", "compile"
        self.tell("checking it on the device, and timing it")
        tried = await self.alone(load_task(draft.folder))
        if not tried.wrong:
            told = statement(tried)
            draft.write(files(name, facts, whole, self.truth, told))
            for line in told:
                self.tell(line)
        return section, tried.wrong, "compile"

    async def _wrong(self, folder: Path, facts: KernelFacts) -> str:
        """Return what the task's rules or the compiler find wrong with the task in the folder."""
        if found := self.accept(folder):
            return "\n".join(found).replace(f"{folder}/", "")
        try:
            task = load_task(folder)
        except TaskError as err:
            return err.what
        if self.compiler is None:
            return ""
        self.tell("compiling it")
        try:
            cases = {case.name: case for case in await self.compiler.task(task)}
        except BuildError as err:
            return said(err)
        missing = [config.name for config in facts.configs if config.name not in cases or not cases[config.name].timed]
        if missing:
            return f"the compiled harness does not time {', '.join(missing)}"
        return "\n".join(_other_work(facts, {name: case.dims for name, case in cases.items()}))


def _other_work(facts: KernelFacts, dims: dict[str, dict[str, int]]) -> list[str]:
    """Return where the compiled harness has other values than were observed: its output counts, not its text."""
    return [
        f"case {name} has {scalar.name} = {dims[name].get(scalar.name)}, but {value} was observed"
        for scalar in facts.scalars
        for name, value in scalar.values.items()
        if scalar.role != "other" and isinstance(value, int) and dims[name].get(scalar.name, value) != value
    ]
