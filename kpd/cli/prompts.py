"""Prints the prompt of an iteration for `kpd show --prompt`: its blocks, and the text if it was kept."""

from collections.abc import Iterator

from kpd.agents.prompt.record import RECORD, PromptRecord, PromptSummary
from kpd.cli.ask import query
from kpd.cli.exit_codes import FAILED, OK, CliError
from kpd.cli.terminal_text import columns, narrate, out, out_json, table
from kpd.model.codec import CodecError, decode, jsonable
from kpd.text.foreign import visible
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace

KEEP = "keep_prompts = true under [claude] in config.toml keeps the text of those to come"


def show(ws: Workspace, iteration: str, as_json: bool) -> int:
    """Print all prompts of the iteration, and return the exit code. Raises DaemonError, CliError."""
    asked = [(prompt, _file(ws, iteration, prompt.text) if prompt.text else None) for prompt in _asked(ws, iteration)]
    if as_json:
        out_json({"prompts": [{**jsonable(prompt), "content": text} for prompt, text in asked]})
        return OK
    for number, (prompt, text) in enumerate(asked):
        if number:
            out("")
        for line in _told(prompt):
            out(line)
        if text is not None:
            out(f"\n{visible(text)}")
    if any(text is None for _, text in asked):
        narrate(f"kpd: no text was kept; {KEEP}")
    return OK


def _asked(ws: Workspace, iteration: str) -> tuple[PromptSummary, ...]:
    try:
        return decode(_file(ws, iteration, RECORD).encode(), PromptRecord).prompts
    except DaemonError as err:
        if err.code != "no_file":
            raise
        raise CliError(f"{iteration} has no {RECORD}", "only agents that ask a model leave one", FAILED) from err
    except CodecError as err:
        raise CliError(f"{RECORD} of {iteration} cannot be read: {err}", code=FAILED) from err


def _file(ws: Workspace, iteration: str, name: str) -> str:
    text: str = query(ws, "file", iteration=iteration, name=name)["text"]
    return text


def _told(prompt: PromptSummary) -> Iterator[str]:
    cached = sum(block.tokens for block in prompt.blocks if block.cached)
    share = 100 * cached / prompt.tokens if prompt.tokens else 0
    yield f"{prompt.purpose}: about {prompt.tokens:,} tokens, {share:.0f} % of them for the cache"
    rows = [
        (block.name, block.place, f"{block.tokens:,}", "cached" if block.cached else "new") for block in prompt.blocks
    ]
    yield from table(("BLOCK", "PLACE", "TOKENS", "CACHE"), rows, columns(), right="TOKENS")
