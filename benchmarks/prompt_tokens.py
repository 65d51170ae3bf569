"""How many tokens an iteration of the agent claude takes, and how many of them come from the service's cache.

    PYTHONPATH=. python benchmarks/prompt_tokens.py [--model claude-sonnet-5-5] [--reply 1200]

A real daemon plays the recording of a transpose on an H100 (tests/data/recordings), and a stand-in for the model
service answers with the candidates that were measured then: two that are accepted, one that is slower, one that does
not compile and one that is wrong, each of the last two repaired once. It counts tokens and accounts for the cache as
the service documents it (tests/anthropic_cache.py); the bills are those of the run. The recorded files are the whole
source with other macros; `in_all` counts an answer as the --reply tokens that a model is likely to need instead.
Prints one JSON object. Needs neither a GPU nor a key.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from own_daemon import own_daemon

from kpd.agents.prompt.record import RECORD, Record
from kpd.claude.prices import known
from kpd.claude.tokens import BYTES_A_TOKEN
from kpd.hosts.recorded.recording import load
from kpd.model import events as e
from kpd.model.codec import decode
from kpd.workspace.config import ClaudeConfig
from kpd.workspace.paths import Workspace
from tests.anthropic_server import KEY, Asked, Reply, serving

RECORDINGS = Path(__file__).parent.parent / "tests" / "data" / "recordings"
TASK = "transpose_cuda"
TURNS = (
    ("TILE=32; PAD=1", "uncoalesced_store", "sectors_per_store down, gain 70 %"),
    ("TILE=64; PAD=1; VEC=4; ROWS=16", "stall_long_scoreboard", "dram_pct up, gain 10 %"),
    ("TILE=16; ROWS=4", "low_occupancy", "occupancy_pct up, gain 5 %"),
    ("does_not_compile", "smem_bank_conflicts", "shared_conflict_pct down, gain 5 %"),
    ("leaves_an_edge", "", ""),
    ("leaves_an_edge", "low_waves_per_sm", "waves up, gain 3 %"),
    ("does_not_compile", "", ""),
)
"""The answers in their order: a candidate of the recording by its memo, the rule it aims at, what it expects."""
ITERATIONS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=ClaudeConfig().model, help="one that prices.toml knows")
    parser.add_argument("--reply", type=int, default=1200, metavar="TOKENS")
    args = parser.parse_args()
    os.environ[ClaudeConfig().api_key_env] = KEY
    with tempfile.TemporaryDirectory(prefix="kpd-prompt-") as scratch:
        bills, prompts = asyncio.run(run(Path(scratch), args.model))
    print(json.dumps(told(bills, prompts, args.model, args.reply), indent=2))


async def run(scratch: Path, model: str) -> tuple[list[e.Billed], dict[int, Record]]:
    """The bills of a run in the order in which they came, and what each iteration kept of its prompts."""
    workspace = Workspace((scratch / "workspace").resolve())
    for folder in (workspace.memory, workspace.skills):
        folder.mkdir(parents=True)
    shutil.copytree(RECORDINGS / "tasks" / TASK, workspace.tasks / TASK)
    replies = answers()

    def answer(asked: Asked) -> Reply:
        return Reply(replies.pop(0))

    async with serving(answer) as service:
        workspace.config.write_text(
            f'[run]\nfix_attempts = 1\n[claude]\nmodel = "{model}"\nbase_url = "{service.url}"\n'
            f'[hosts.h100]\ntransport = "recorded"\nrecording = {json.dumps(str(RECORDINGS / "transpose_h100"))}\n'
        )
        async with own_daemon(workspace, lambda fact: print(fact.kind(), file=sys.stderr)) as daemon:
            await daemon.command(
                "run", task=TASK, host="h100", agent="claude", iterations=ITERATIONS, patience=ITERATIONS
            )
            await daemon.until(e.RunEnded)
            bills = [fact for fact in daemon.facts if isinstance(fact, e.Billed)]
            (started,) = {bill.run for bill in bills}
    kept = {
        number: decode((workspace.iteration_folder(TASK, started, number) / RECORD).read_bytes(), Record)
        for number in range(1, ITERATIONS + 1)
    }
    return bills, kept


def answers() -> list[str]:
    """What the model says, in turn."""
    found = {candidate.memo: candidate for candidate in load(RECORDINGS / "transpose_h100").candidates}
    replies = []
    for memo, rule, expected in TURNS:
        files = "\n".join(f"```cuda {path}\n{text}```" for path, text in found[memo].files.items())
        head = f"MEMO: [{rule}] {memo}\nEXPECT: {expected}\n" if rule else f"MEMO: repaired: {memo}\n"
        replies.append(f"{head}\n{files}\n")
    return replies


def told(bills: list[e.Billed], prompts: dict[int, Record], model: str, reply: int) -> dict[str, Any]:
    calls = [call(bill, reply) for bill in bills]
    proposals = [one for one in calls if one["purpose"] == "propose"]
    later = [one for one in proposals if one["iteration"] > 1]
    found = known(model)
    return {
        "task": TASK,
        "model": model,
        "bytes_a_token": BYTES_A_TOKEN,
        "least_cached_tokens": found.min_cache if found else None,
        "reply_tokens": reply,
        "most_in_all": max(one["in_all"] for one in proposals),
        "from_the_second_on": {
            "cached_pct": share(later, "in_all"),
            "least_cached_pct": min(one["cached_pct"] for one in later),
            "cached_of_prompt_pct": share(later, "prompt"),
        },
        "with_repairs_from_the_second_on": {
            "cached_pct": share([one for one in calls if one["iteration"] > 1], "in_all"),
        },
        "usd": round(sum(bill.usd or 0.0 for bill in bills), 4),
        "calls": calls,
        "blocks": blocks(prompts),
    }


def call(bill: e.Billed, reply: int) -> dict[str, Any]:
    """One call: its prompt by how it was billed, its answer as it came, and all of it with an answer of `reply`."""
    usage = bill.usage
    prompt = usage.input + usage.cache_write + usage.cache_read
    return {
        "iteration": bill.iteration,
        "purpose": bill.purpose,
        "input": usage.input,
        "cache_write": usage.cache_write,
        "cache_read": usage.cache_read,
        "output": usage.output,
        "prompt": prompt,
        "in_all": prompt + reply,
        "cached_pct": round(100 * usage.cache_read / (prompt + reply), 1),
    }


def share(calls: list[dict[str, Any]], of: str) -> float:
    read, whole = (sum(int(one[name]) for one in calls) for name in ("cache_read", of))
    return round(100 * read / whole, 1)


def blocks(prompts: dict[int, Record]) -> dict[str, list[int]]:
    """Tokens of each block in the proposals, by iteration; 0 where it was not."""
    found: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(prompts))
    for at, record in enumerate(prompts.values()):
        for block in record.prompts[0].blocks:
            name = "skills" if block.name.startswith("skill:") else block.name
            found[name][at] += block.tokens
    return dict(found)


if __name__ == "__main__":
    main()
