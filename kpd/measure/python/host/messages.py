"""What the runner and its worker say to each other over their socket: JSON, but for a batch, whose clock runs.

A batch is asked for, and answered, in a few bytes that take little time to read and to make: a kernel that answers in
its worker's place saves that time, and no clock can tell it from a gain (`batching.OWN_SHARE`).
"""

from __future__ import annotations

import json
import struct
from functools import cache
from typing import Any

HEADER = struct.Struct("!I")  # the bytes that follow
BATCH = struct.Struct("!IcQIIQ")  # of a request: side, base, count, rounds, id
PLACES = struct.Struct("!cQ")  # an answer begins so, with MARK and the id: then come the addresses
MARK = b"p"  # no JSON begins with it


def packed(what: dict[str, Any]) -> bytes:
    """Return a request or an answer with its header. A batch has `what` and what BATCH packs only."""
    if what.get("what") == "run":
        side = what["side"].encode()
        return BATCH.pack(BATCH.size - HEADER.size, side, what["base"], what["count"], what["rounds"], what["id"])
    raw = json.dumps(what).encode()
    return HEADER.pack(len(raw)) + raw


def at_places(places: list[int], id: int) -> bytes:
    """Return the answer to a batch whose results lie at these addresses, with its header."""
    return _of(len(places)).pack(PLACES.size + 8 * len(places), MARK, id, *places)


@cache
def _of(many: int) -> struct.Struct:
    return struct.Struct(f"!IcQ{many}Q")


def asked(message: bytes) -> dict[str, Any]:
    """Return a request that has no header any more."""
    if message[:1] != b"{":
        side, base, count, rounds, id = struct.unpack("!cQIIQ", message)
        return {"what": "run", "side": side.decode(), "base": base, "count": count, "rounds": rounds, "id": id}
    found: dict[str, Any] = json.loads(message)
    return found


def answered(message: bytes) -> Any:
    """Return an answer that has no header any more. Raises ValueError and RecursionError for what is none."""
    if message[:1] != MARK:
        return json.loads(message.decode())
    places, rest = divmod(len(message) - PLACES.size, 8)
    if rest or places < 0:
        raise ValueError("it ends within an address")
    _, id, *at = struct.unpack(f"!cQ{places}Q", message)
    return {"id": id, "at": at}
