"""Plays a recording: a daemon without an engine, which emits the recorded events at their times."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Self

from kpd import __version__
from kpd.daemon import views
from kpd.daemon.server import Server
from kpd.daemon.sources import Sources
from kpd.demo.playback_journal import PlaybackJournal
from kpd.demo.playhead import Playhead, own_speed
from kpd.demo.recording import Recording
from kpd.demo.timeline import ENDS_ITERATION, ENDS_STEP, timeline, waits
from kpd.model import events as e
from kpd.model.playback import SPEEDS, Playback, PlaybackState
from kpd.operations.checking import checked
from kpd.operations.machines import PlayRecording
from kpd.wire import DaemonError
from kpd.workspace.paths import Workspace


class Player:
    """A player of one recording in a workspace of its own; as a context manager it closes the log."""

    def __init__(
        self,
        workspace: Workspace,
        recording: Recording,
        speed: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to play `recording` in `workspace`.

        `speed` is one of SPEEDS; None is the recording's own, at which it takes about two minutes. Raises StoreError,
        WorkspaceError.
        """
        self.recording = recording
        self.cues = timeline(recording)
        before = waits(self.cues)
        self.head = Playhead(before, speed or own_speed(before), clock())
        self.stage = PlaybackJournal(workspace)
        self._ended = False
        self._clock = clock
        self._changed = asyncio.Event()
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.stage.store.close()

    async def serve(self, ready: Callable[[], None]) -> None:
        """Play until `end` is called; `ready` is called once clients can connect. Raises OSError, WorkspaceError."""
        path = self.stage.workspace.make_socket_folder()
        async with Server(path, self.stage, self._query, self._command):
            ready()
            while not self._ended:
                due = self.tick()
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(due):
                        await self._changed.wait()

    def end(self) -> None:
        self._ended = True
        self._changed.set()

    def tick(self) -> float | None:
        """Emit what is due by now. Return the seconds until more is due, None while nothing comes by itself."""
        self._say(self.head.advance(self._clock()))
        return self.head.due()

    def go_on(self, until: Callable[[e.Fact], bool]) -> None:
        """Emit at once all up to the first fact for which `until` holds, or up to the end, and pause there."""
        rest = range(self.head.next, len(self.cues))
        last = next((nth for nth in rest if until(self.cues[nth].fact)), len(self.cues) - 1)
        self._say(self.head.jump(last + 1))
        self._tell()

    # ── acts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def command(self, verb: str, args: dict[str, object]) -> dict[str, Any]:
        """Execute the command `playback`. Raises DaemonError for all others, which a recording refuses."""
        if verb != "playback":
            of = f"{self.recording.about.device}, {self.recording.about.made}"
            raise DaemonError(
                "refused",
                f"this is a recording ({of}): nothing in it can be changed",
                "kpd start begins a run of your own; Ctrl-C or q, where this was begun, ends it",
            )
        wanted = checked(PlayRecording, args)
        self.tick()
        if wanted.speed is not None:
            self._set_speed(wanted.speed)
        if wanted.to is not None:
            self._go(wanted.to)
        if wanted.play is not None:
            if wanted.play and self.head.over:
                self._go("beginning")
            self.head.playing = wanted.play
        self._tell()
        self.tick()
        self._changed.set()
        return {"state": self._now.state, "speed": self._now.speed}

    def _set_speed(self, speed: int) -> None:
        if speed not in SPEEDS:
            raise DaemonError("usage", f"there is no speed {speed}", f"known are {', '.join(map(str, SPEEDS))}")
        self.head.speed = speed

    def _go(self, to: Literal["step", "iteration", "beginning"]) -> None:
        """Go to the beginning, or on to the end of a step or an iteration, and pause there."""
        if to == "beginning":
            self.stage.clear()
            self.head.rewind()
            self._begin()
            return
        if self.head.over:
            raise DaemonError("refused", "the recording is over", "play begins it again")
        ends = ENDS_ITERATION if to == "iteration" else (*ENDS_ITERATION, *ENDS_STEP)
        self.go_on(lambda fact: isinstance(fact, ends))

    # ── what is said ──────────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self) -> None:
        begins = self.recording.events[0].at
        self.stage.record(e.DaemonStarted(__version__, os.getpid(), str(self.stage.workspace.root)), begins)
        self._tell()

    def _say(self, passed: range) -> None:
        for nth in passed:
            cue = self.cues[nth]
            self.stage.write(cue.files)
            for printed in cue.printed:
                self.stage.live(printed.channel, printed.run, printed.iteration, printed.text)
            self.stage.record(cue.fact, cue.at)
        if passed and self.head.over:
            self._tell()

    @property
    def _now(self) -> Playback:
        state: PlaybackState = "over" if self.head.over else "playing" if self.head.playing else "paused"
        events, about = self.recording.events, self.recording.about
        return Playback(about.device, about.made, events[0].at, events[-1].at, self.head.speed, state)

    def _tell(self) -> None:
        """Record how it is being played, if that has changed."""
        if self._now != self.stage.state.playback:
            self.stage.record(e.PlaybackChanged(self._now), self.stage.state.at)

    # ── clients ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _query(self, what: str, args: dict[str, object]) -> object:
        sources = Sources(self.stage.state, self.stage.workspace)
        return await asyncio.to_thread(views.answer, what, args, sources)

    async def _command(self, verb: str, args: dict[str, object], by: str) -> object:
        return self.command(verb, args)
