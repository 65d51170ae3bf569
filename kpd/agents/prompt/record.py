"""Writes prompt.json: the blocks of an iteration's prompts with their sizes. The texts are kept only on request.

    {"version": 1, "prompts": [{"purpose": "propose", "tokens": 5210, "text": "prompt.md", "blocks": [
      {"name": "role", "place": "system", "tokens": 310, "characters": 1240, "cached": true}, …]}, …]}

One entry a question, in their order: the proposal, then repairs. Tokens are estimates; what the service counted is with
the call's bill. `cached` says that the service is asked to keep the prompt up to the end of this block: the next
question with the same beginning reads it from there. `text` names the file with the text, if it was kept.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kpd.agents.prompt.blocks import Prompt
from kpd.model.codec import CodecError, decode, encode
from kpd.model.spending import Purpose

RECORD = "prompt.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class BlockSize:
    """The size of a block, without its text."""

    name: str
    place: Literal["system", "user"]
    tokens: int
    characters: int
    cached: bool


@dataclass(frozen=True, slots=True)
class PromptSummary:
    """The sizes of one prompt; `text` names the file with its text, empty where the text was not kept."""

    purpose: Purpose
    tokens: int
    blocks: tuple[BlockSize, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """The content of prompt.json."""

    version: int
    prompts: tuple[PromptSummary, ...]


def artefacts(home: Path, prompt: Prompt, purpose: Purpose, with_text: bool) -> dict[str, bytes]:
    """Return the files to keep of a prompt, by name: prompt.json, and the prompt's text if `with_text`.

    Reads what `home` has of earlier prompts. Raises OSError.
    """
    earlier = _earlier(home)
    name = f"prompt_{len(earlier) + 1}.md" if earlier else "prompt.md"
    asked = PromptSummary(purpose, prompt.tokens, tuple(_weighed(prompt)), name if with_text else "")
    record = encode(PromptRecord(VERSION, (*earlier, asked)))
    return {RECORD: record, **({name: prompt.markdown().encode()} if with_text else {})}


def _earlier(home: Path) -> tuple[PromptSummary, ...]:
    with suppress(FileNotFoundError, CodecError):  # a damaged record is begun again
        return decode((home / RECORD).read_bytes(), PromptRecord).prompts
    return ()


def _weighed(prompt: Prompt) -> list[BlockSize]:
    system = [BlockSize(block.name, "system", block.tokens, len(block.text), True) for block in prompt.system]
    return system + [BlockSize(block.name, "user", block.tokens, len(block.text), False) for block in prompt.user]
