"""How many tokens an iteration of the agent claude takes, and how many of them come from the service's cache.

    PYTHONPATH=. python benchmarks/prompt_tokens.py [--model claude-sonnet-5-5]

The agent is asked for eight iterations on a plain transpose, and a stand-in for the model service answers with rewrites
as a model writes them, each whole (tests/data/transpose): two are accepted, five are not, one is not even compiled at
first and is repaired. Questions, answers, parsing and gates are the agent's own. What was measured is told as it was
recorded on an H100 (tests/data/gpu): the counters of a naive kernel until a rewrite is accepted, then those of a tiled
one. The stand-in counts tokens and keeps its cache by the service's rules
(tests/support/claude/anthropic_cache.py); its clock goes on by an iteration's time. What a model thinks before it
answers is not included.

Prints one JSON object; exits 1 when a limit is not held. Beside that, without a limit: a question after a long pause,
and a run on the parametrised kernel of the task transpose_cuda, whose source is six times as long. Needs neither a GPU
nor a key.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kpd.agents.agent import Context, Failure
from kpd.agents.claude import Claude
from kpd.agents.prompt.record import RECORD, PromptRecord
from kpd.claude.prices import known
from kpd.claude.tokens import BYTES_A_TOKEN, tokens
from kpd.model.budget import Budget
from kpd.model.codec import decode
from kpd.model.iteration import Iteration
from kpd.profile.changes import changes
from kpd.workspace.config import ClaudeConfig
from tests.support.agents.prompted import attempt, context, measured as profile_of, proposed, rules
from tests.support.agents.transposes import Turn, parametrised, rewrites, source
from tests.support.claude.anthropic_server import KEY, Asked, Reply, Server, serving

MOST_TOKENS = 7000
"""Of one question with its answer."""
LEAST_CACHED_PCT = 60.0
"""Of all tokens from the second iteration on, those that are read from the cache."""
ITERATION_S = 10.0
"""From an answer to the next question: an iteration on an H100 takes 9 to 12 s (docs/figures/gpu_run.json)."""
PAUSE_S = 360.0
"""Longer than the service keeps a prompt."""


@dataclass(frozen=True)
class Call:
    """Tokens of a question by how they are billed, and of its answer."""

    iteration: int
    purpose: str
    input: int
    cache_write: int
    cache_read: int
    output: int

    @property
    def in_all(self) -> int:
        return self.input + self.cache_write + self.cache_read + self.output


@dataclass(frozen=True)
class Played:
    """The calls of a run, the one after a long pause, and the blocks of each iteration's proposal."""

    calls: tuple[Call, ...]
    paused: Call
    blocks: dict[str, list[int]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=ClaudeConfig().model, help="one that prices.toml knows")
    found = asyncio.run(measured(parser.parse_args().model))
    print(json.dumps(found, indent=2))
    for broken in found["broken"]:
        print(broken, file=sys.stderr)
    return 1 if found["broken"] else 0


async def measured(model: str) -> dict[str, Any]:
    """All figures; `broken` has a line for each limit that is not held."""
    plain = await played(source("naive"), rewrites(), model)
    long, candidates = parametrised()
    recorded = await played(long, candidates, model)
    summary, price = told(plain), known(model)
    return {
        "model": model,
        "bytes_a_token": BYTES_A_TOKEN,
        "least_cached_tokens": price.min_cache if price else None,
        "iteration_s": ITERATION_S,
        "broken": list(unheld(summary)),
        "plain_transpose": {"source_tokens": tokens(source("naive")), **summary},
        "parametrised_transpose": {"source_tokens": tokens(long), **told(recorded)},
    }


def unheld(summary: dict[str, Any]) -> Iterator[str]:
    """A line for each limit that is not held."""
    most, cached = summary["most_in_all"], summary["cached_pct_from_the_second_on"]
    if most > MOST_TOKENS:
        yield f"a question and its answer take {most} tokens: {MOST_TOKENS} are the most"
    if cached < LEAST_CACHED_PCT:
        yield f"{cached} % of the tokens are read from the cache: {LEAST_CACHED_PCT} are the least"


async def played(first: str, turns: Sequence[Turn], model: str) -> Played:
    """The agent's questions of a run that starts from the kernel `first`, answered in turn."""
    asked: list[Asked] = []
    pending: list[str] = []

    def answer(question: Asked) -> Reply:
        asked.append(question)
        return Reply(pending.pop(0))

    os.environ[ClaudeConfig().api_key_env] = KEY  # where the agent looks for it
    with tempfile.TemporaryDirectory(prefix="kpd-prompt-") as scratch:
        async with serving(answer) as service:
            claude = Claude(replace(ClaudeConfig(), model=model, base_url=service.url))
            run = Run(Path(scratch), first, claude, service, pending)
            for turn in turns:
                await run.iterate(turn)
            calls, blocks = tuple(run.calls), dict(run.blocks)
            service.clock += PAUSE_S
            await run.iterate(replace(turns[0], before=None))
            await claude.close()
    return Played(calls, run.calls[-1], blocks)


class Run:
    """A run as far as it has come: what was tried, what the next iteration starts from, what was called."""

    def __init__(self, scratch: Path, first: str, claude: Claude, service: Server, pending: list[str]) -> None:
        self._scratch, self._claude, self._service, self._pending = scratch, claude, service, pending
        self._done: list[Iteration] = []
        self._incumbent, self._source = 0, first
        self.calls: list[Call] = []
        self.blocks: defaultdict[str, list[int]] = defaultdict(list)

    async def iterate(self, turn: Turn) -> None:
        """One iteration: the proposal, the repair of what failed, and what became of it."""
        of = self._context()
        proposed(of, self._incumbent, {"kernel.cu": self._source.encode()})
        failed = turn.before
        await self._ask(of, "propose", turn.reply(failed.source if failed else ""))
        if failed:
            failure = Failure(failed.step, failed.message, failed.feedback, {"kernel.cu": failed.source.encode()})
            now = replace(of.run.iterations[-1], memo=turn.remarks.memo)
            run = replace(of.run, iterations=(*of.run.iterations[:-1], now))
            purpose = "compile_fix" if failed.step == "build" else "runtime_fix"
            await self._ask(replace(of, run=run, failure=failure), purpose, turn.reply())
        self._weigh(of)
        self._end(of.number, turn)
        self._service.clock += ITERATION_S

    def _context(self) -> Context:
        number, last = len(self._done) + 1, self._done[-1] if self._done else None
        kernel = "tiled" if self._incumbent else "naive"
        files = {"kernel.cu": self._source.encode()}
        moved = changes(profile_of("naive")["metrics"], profile_of("tiled")["metrics"]) if last else ()
        of = context(
            self._scratch, *self._done, attempt(number, self._incumbent), kernel=kernel, files=files, last=last,
            changes=moved,
        )  # fmt: skip
        return replace(of, run=replace(of.run, budget=Budget(iterations=16, patience=12)))

    async def _ask(self, of: Context, purpose: str, reply: str) -> None:
        """Raises BadReply where the agent would not take the answer."""
        self._pending.append(reply)
        await self._claude.propose(of)
        charge = self._service.charged[-1]
        self.calls.append(Call(of.number, purpose, charge.input, charge.cache_write, charge.cache_read, tokens(reply)))

    def _end(self, number: int, turn: Turn) -> None:
        said = turn.remarks
        ended = attempt(
            number, self._incumbent, turn.outcome, memo=said.memo, aims=said.aims, expected=said.expected, score=36.0,
            rules=rules("tiled"),
        )  # fmt: skip
        self._done.append(ended)
        if turn.outcome == "accepted":
            self._incumbent, self._source = number, turn.source

    def _weigh(self, of: Context) -> None:
        record = decode((of.home / RECORD).read_bytes(), PromptRecord).prompts[0]
        weights: defaultdict[str, int] = defaultdict(int)
        for block in record.blocks:
            weights[block.name.partition(":")[0]] += block.tokens
        for name in dict.fromkeys((*self.blocks, *weights)):
            column = self.blocks[name]
            column += [0] * (of.number - 1 - len(column)) + [weights[name]]


def told(run: Played) -> dict[str, Any]:
    later = [call for call in run.calls if call.iteration > 1]
    proposals = [call for call in later if call.purpose == "propose"]
    iterations = {call.iteration for call in run.calls}
    return {
        "most_in_all": max(call.in_all for call in run.calls),
        "most_of_an_iteration": max(sum(c.in_all for c in run.calls if c.iteration == number) for number in iterations),
        "cached_pct_from_the_second_on": share(later),
        "cached_pct_of_proposals": share(proposals),
        "least_cached_pct_of_a_call": min(share([call]) for call in later),
        "calls": [{**asdict(call), "in_all": call.in_all, "cached_pct": share([call])} for call in run.calls],
        "after_a_long_pause": asdict(run.paused),
        "blocks": run.blocks,
    }


def share(calls: Sequence[Call]) -> float:
    """The part of their tokens, answers included, that was read from the cache, in percent."""
    return round(100 * sum(call.cache_read for call in calls) / sum(call.in_all for call in calls), 1)


if __name__ == "__main__":
    sys.exit(main())
