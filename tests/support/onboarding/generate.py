"""A workshop in which a model writes a harness."""

import shutil
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from kpd.agents.answers import ServiceAnswers
from kpd.claude.purse import Purse
from kpd.claude.question import Hooks
from kpd.cli.diagnosis import problems as task_problems
from kpd.onboarding.compiled import compiler
from kpd.onboarding.facts import KernelFacts, findings
from kpd.onboarding.generate import HarnessMaker
from kpd.workspace.config import ClaudeConfig
from tests.places import READS
from tests.support.agents.asked import at_once
from tests.support.claude.anthropic_server import Script, Server, serving
from tests.support.claude.asking import service_at
from tests.support.measure.cuda_driver import NVCC
from tests.support.measure.cuda_measured import needs_nvcc
from tests.support.onboarding.kernels import Sources, sources


@dataclass
class Workshop:
    """A maker of tasks that talks to a scripted service. `told` is what it has said."""

    maker: HarnessMaker
    server: Server
    tasks: Path
    facts: KernelFacts
    purse: Purse
    told: list[str] = field(default_factory=list)

    async def make(self, name: str = "rows", tries: int = 3, builds: int = 8) -> Path:
        maker = replace(self.maker, tries={"geometry": tries, "compile": builds})
        return await maker.make(self.tasks, name, self.facts)

    def asks(self, **changes: Any) -> None:
        """Change the settings of the model service."""
        answers = self.maker.answers
        assert isinstance(answers, ServiceAnswers)
        changed = replace(answers, config=replace(answers.config, **changes))
        self.maker = replace(self.maker, answers=changed)

    @property
    def left(self) -> list[str]:
        """All that lies in the folder of tasks."""
        return sorted(path.name for path in self.tasks.iterdir()) if self.tasks.exists() else []


@asynccontextmanager
async def workshop(
    folder: Path, script: Script, given: Sources | None = None, nvcc: str = "", limit_usd: float = 5.0
) -> AsyncIterator[Workshop]:
    found = given or sources(folder / "project")
    purse, told = (
        Purse(folder, "a task", replace(ClaudeConfig(), max_usd_per_run=limit_usd, max_usd_per_day=0.0), lambda: 0.0),
        list[str](),
    )
    async with serving(script) as server:
        service = service_at(server.url)
        try:
            hooks = Hooks(lambda text: None, lambda why: None, purse, at_once)
            maker = HarnessMaker(ServiceAnswers(service, ClaudeConfig(), hooks), task_problems, None, told.append)
            facts = findings(found.kernel, found.wrapper, found.observed, 5)
            ready = Workshop(maker, server, folder / "tasks", facts, purse, told)
            if nvcc:
                async with compiler(nvcc, reads=READS) as here:
                    ready.maker = replace(maker, compiler=here)
                    yield ready
            else:
                yield ready
        finally:
            await service.close()


def compilers() -> Iterable[object]:
    yield pytest.param(NVCC, id="stand-in")
    yield pytest.param(shutil.which("nvcc") or "", id="nvcc", marks=needs_nvcc)
