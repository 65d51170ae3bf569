"""The prompt cache as the service documents it, with one approximation: tokens are counted by `kpd.claude.tokens`.

A prompt is the system's blocks and then the conversation's, cached from its start up to a block with `cache_control`.
What is read must be the same to the byte. A prefix that is shorter than the model's minimum is not cached, without a
word. An entry lives five minutes from the start of the request that wrote or last read it; it is looked for at most
twenty blocks back from each breakpoint. Caches of models are apart.
"""

import json
from dataclasses import dataclass
from typing import Any

from kpd.claude.prices import known
from kpd.claude.tokens import tokens

LIVES_S = 300.0
LOOKS_BACK = 20
LEAST = 1024
"""For a model whose minimum is not documented."""


@dataclass(frozen=True)
class Charge:
    """Tokens of one prompt, by how they are billed."""

    input: int
    cache_write: int
    cache_read: int


class Cache:
    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], float] = {}

    def charge(self, body: dict[str, Any], now: float) -> Charge:
        """Counts a request's prompt, and remembers it."""
        model = known(body["model"])
        least = (model.min_cache if model else None) or LEAST
        prompt = blocks(body)
        sizes = [tokens(block["text"]) for block in prompt]
        points = [at for at, block in enumerate(prompt, 1) if "cache_control" in block]
        names = [self._name(body["model"], prompt[:at]) for at in range(len(prompt) + 1)]
        places = {at for point in points for at in range(max(point - LOOKS_BACK + 1, 1), point + 1)}
        alive = [at for at in places if self._entries.get(names[at], -LIVES_S - 1) + LIVES_S >= now]
        read = max(alive, default=0)
        kept = max([read, *(at for at in points if sum(sizes[:at]) >= least)])
        for at in points:
            if at <= read or sum(sizes[:at]) >= least:
                self._entries[names[at]] = now
        if read:
            self._entries[names[read]] = now
        return Charge(sum(sizes[kept:]), sum(sizes[read:kept]), sum(sizes[:read]))

    def _name(self, model: str, prefix: list[dict[str, Any]]) -> tuple[str, str]:
        plain = [{key: value for key, value in block.items() if key != "cache_control"} for block in prefix]
        return model, json.dumps(plain)


def blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a prompt in the order in which they are cached."""
    prompt = [{"of": "system"} | block for block in _blocks(body.get("system", []))]
    for turn in body["messages"]:
        prompt += [{"of": turn["role"]} | block for block in _blocks(turn["content"])]
    return prompt


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
