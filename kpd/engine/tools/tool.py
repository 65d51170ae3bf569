"""Declares tools: a name, and a function whose docstring describes the tool and whose signature has its arguments."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import cleandoc, isawaitable
from typing import Any

import msgspec

from kpd.engine.tools.desk import Desk
from kpd.model.codec import jsonable
from kpd.operations.calling import arguments_of, checked_call
from kpd.wire import DaemonError

Answer = dict[str, Any]
"""The answer of a tool: `text` in words, and its data beside it."""
Use = Callable[..., Answer | Awaitable[Answer]]
RUN = {"type": "string", "description": "the run: r3; the active or the newest one where it is left out"}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that agents call by `name`. It `measures` only in sessions; one that `writes` changes something."""

    name: str
    use: Use
    measures: bool = False
    writes: bool = False

    def declaration(self, of_run: bool) -> Answer:
        """Describe the tool as the Model Context Protocol wants it: `name`, `description`, JSON schema of arguments.

        With `of_run` it takes the name of a run, too.
        """
        (schema,), parts = msgspec.json.schema_components([arguments_of(self.use)], ref_template="#/$defs/{name}")
        found = dict(parts[schema["$ref"].rpartition("/")[2]])
        properties = found.get("properties", {})
        if of_run:
            properties = {**properties, "run": RUN}
        needed = {"required": list(found["required"])} if found.get("required") else {}
        return {
            "name": self.name,
            "description": cleandoc(self.use.__doc__ or ""),
            "schema": {"type": "object", "properties": properties, "additionalProperties": False, **needed},
            "read_only": not (self.measures or self.writes),
        }

    async def answer(self, desk: Desk, args: dict[str, Any]) -> Answer:
        """Check the arguments and call the function; return plain JSON values. Raises DaemonError."""
        found = self.use(desk, **checked_call(self.name, self.use, args))
        known: Answer = jsonable(await found if isawaitable(found) else found)
        return known

    def read(self, desk: Desk, args: dict[str, Any]) -> Answer:
        """Answer as `answer` does, for a tool that does not measure, of the run of `desk`. Raises DaemonError."""
        known: Answer = jsonable(self.use(desk, **checked_call(self.name, self.use, args, ("run",))))
        return known


def chosen(tools: Mapping[str, Tool], name: object) -> Tool:
    """Return the tool that is called so. Raises DaemonError (unknown)."""
    if not isinstance(name, str) or name not in tools:
        raise DaemonError("unknown", f"no tool {str(name)[:80]!r}", f"tools: {', '.join(tools)}")
    return tools[name]
