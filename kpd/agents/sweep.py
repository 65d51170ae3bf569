"""Searches a task's `[tune]` space with Optuna, which runs in a child process (see `suggest`)."""

import asyncio
import contextlib
import json
import math
import re
import sys
import zlib
from dataclasses import replace

from kpd.agents import space
from kpd.agents.agent import AgentKind, Context, Exhausted, Proposal, SweepBase
from kpd.model.headline import speedups
from kpd.model.run import Run
from kpd.text.numbers import counted
from kpd.workspace import expr
from kpd.workspace.environment import child_environment

Tune = dict[str, tuple[str, ...]]
_PIN = re.compile(r"(\w+)\s*=\s*(\S+)")


class Sweep:
    """An agent that searches the `[tune]` space. It never proposes a point twice in a run.

    It says when the space is exhausted. A note like `VEC=8` pins a parameter. Where another agent left parameters open
    (`Context.base`), it searches those.
    """

    repairs = False
    reads_steering = True

    def __init__(self) -> None:
        self._child: asyncio.subprocess.Process | None = None

    async def propose(self, context: Context) -> Proposal:
        base = context.base or SweepBase(0, context.incumbent, context.task.tune)
        if not base.tune:
            raise Exhausted("the task declares no [tune] space; add one to task.toml or choose another agent")
        try:
            at = space.read_point(replace(context.task, tune=base.tune), base.files)
        except space.SpaceError as err:
            raise Exhausted(str(err)) from err
        tried = history(context.run, base.number, context.number)
        pinned = steered(context.run, base.tune)
        point = await self._suggest(context, {**base.tune, **pinned}, tried) if pinned else None
        if point is None:
            point = await self._suggest(context, base.tune, tried)
        if point is None:
            which = (
                "points that [sweep] where allows" if context.task.where else counted(space.size(base.tune), "point")
            )
            raise Exhausted(f"the sweep has tried all {which} of the [tune] space")
        changes = [f"{name} {at[name]} → {value}" for name, value in point.items() if value != at[name]]
        of = f"iteration {base.number} with " if context.base else ""
        files = space.write_point(base.files, point)
        memo = of + ("; ".join(changes) or "its own point") + not_taken(context.run, context.number, base.tune)
        return replace(Proposal.of_tree(files, context.incumbent, memo), point=point)

    async def _suggest(
        self, context: Context, tune: Tune, tried: list[tuple[space.Point, float | None]]
    ) -> space.Point | None:
        try:
            return await self._ask(context, tune, tried)
        except BaseException:  # the answer to a cancelled question would stay in the pipe and be read as the next one's
            await self.close()
            raise

    async def _ask(
        self, context: Context, tune: Tune, tried: list[tuple[space.Point, float | None]]
    ) -> space.Point | None:
        child = await self._running()
        assert child.stdin is not None
        assert child.stdout is not None
        seed = zlib.crc32(context.run.id.encode())
        where = [text for text in context.task.where if expr.condition(text).names <= tune.keys()]
        request = {"space": tune, "history": tried, "seed": seed, "where": where}
        child.stdin.write(json.dumps(request).encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # it has ended: then it says nothing
            await child.stdin.drain()
        line = await child.stdout.readline()
        if not line:
            self._child = None
            raise RuntimeError(f"the sweep's search process ended by itself (exit {await child.wait()})")
        point: space.Point | None = json.loads(line)
        return point

    async def _running(self) -> asyncio.subprocess.Process:
        if self._child is None or self._child.returncode is not None:
            # -P: a module that lies in the workspace is not taken for one of Python's own.
            self._child = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "kpd.agents.suggest",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
                env=child_environment(),
            )  # fmt: skip
        return self._child

    async def close(self) -> None:
        if self._child is not None and self._child.returncode is None:
            self._child.kill()
            await self._child.wait()
        self._child = None


def steered(run: Run, tune: Tune) -> Tune:
    """Return the values that the operator's notes pin: `VEC=8` in a note holds until a later note sets another.

    Where agents take turns, all notes count, and stay unread for the agents that read them; otherwise those that an
    iteration has taken.
    """
    turns = len(run.agents) > 1
    notes = (line.text for line in run.steering if turns or line.consumed_by is not None)
    pairs = (pair for text in notes for pair in _PIN.findall(text))
    return {name: (value,) for name, value in pairs if value in tune.get(name, ())}


def not_taken(run: Run, number: int, tune: Tune) -> str:
    """Say what of the notes that iteration `number` has taken pins nothing, and why; empty where everything does."""
    said = []
    alone = len(run.agents) == 1
    for note, text in ((one.note, one.text) for one in run.steering if alone and one.consumed_by == number):
        pairs = _PIN.findall(text)
        said += [] if pairs else [f"note {note} names no parameter; {next(iter(tune))}=… would pin one"]
        for name, value in pairs:
            if name not in tune:
                said.append(f"note {note}: {name} is none of the parameters {', '.join(tune)}")
            elif value not in tune[name]:
                said.append(f"note {note}: {name} has no value {value} in [tune], but {', '.join(tune[name])}")
    return f" ({'; '.join(said)})" if said else ""


def history(run: Run, since: int = 0, own: int | None = None) -> list[tuple[space.Point, float | None]]:
    """List every point from iteration `since` on with its log time relative to the baseline, None if not measured.

    The times follow from the paired speed-ups along the parents: those of separate iterations are never compared.
    """
    known = speedups(run)
    return [
        (it.point, -math.log(known[it.number]) if it.number in known else None)
        for it in run.iterations
        if it.point and it.number != own and it.number >= since and not it.confirming
    ]


AGENT = AgentKind(lambda config, of: Sweep(), explores=True)
