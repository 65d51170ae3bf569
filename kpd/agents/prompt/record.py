"""prompt.json: which blocks the prompts of an iteration had, and what they weighed. The texts stay only if asked.

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
class Weighed:
    """A block without its text."""

    name: str
    place: Literal["system", "user"]
    tokens: int
    characters: int
    cached: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt; `text` is empty where its text was not kept."""

    purpose: Purpose
    tokens: int
    blocks: tuple[Weighed, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """The content of prompt.json."""

    version: int
    prompts: tuple[Asked, ...]


def artefacts(home: Path, prompt: Prompt, purpose: Purpose, with_text: bool) -> dict[str, bytes]:
    """What is kept of a prompt in its iteration's folder, by name: prompt.json, and its text if that is wanted.

    Reads what `home` has of earlier ones. Raises OSError.
    """
    earlier = _earlier(home)
    name = f"prompt_{len(earlier) + 1}.md" if earlier else "prompt.md"
    asked = Asked(purpose, prompt.tokens, tuple(_weighed(prompt)), name if with_text else "")
    record = encode(Record(VERSION, (*earlier, asked)))
    return {RECORD: record, **({name: prompt.markdown().encode()} if with_text else {})}


def _earlier(home: Path) -> tuple[Asked, ...]:
    with suppress(FileNotFoundError, CodecError):  # a record that was spoilt is begun anew
        return decode((home / RECORD).read_bytes(), Record).prompts
    return ()


def _weighed(prompt: Prompt) -> list[Weighed]:
    system = [Weighed(block.name, "system", block.tokens, len(block.text), True) for block in prompt.system]
    return system + [Weighed(block.name, "user", block.tokens, len(block.text), False) for block in prompt.user]
