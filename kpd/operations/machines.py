"""Declares the operations on hosts, on the daemon, and on a recording that is played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from kpd.operations.arguments import Arg
from kpd.operations.operation import Key, OnDaemon


class CheckHosts(OnDaemon):
    """Check hosts now: links, devices, programs; all of them, or one."""

    name = "check_hosts"
    verb = "doctor"
    keys = (
        Key("check_hosts", "c", "check hosts", "Host", 14, help="look at all hosts anew: links, devices, checks"),
        Key("check_host", "C", "check this host", "Host", help="the same for the chosen host alone"),
    )

    host: str | None = None


class RetryLink(OnDaemon):
    """Connect to the chosen host now."""

    name = "nudge"
    verb = "hosts"
    keys = (Key("retry_link", "R", "retry link", "Host", 13),)

    host: str


class TrustHost(OnDaemon):
    """Trust the key of the chosen host."""

    name = "trust"
    verb = "hosts"
    keys = (Key("trust", "T", "trust", "Host", 12),)
    done = "the key of {host} is trusted; kpd connects"

    host: str
    fingerprint: str


class ShutDown(OnDaemon):
    """End the daemon after its current steps, or at once."""

    name = "shutdown"
    verb = "shutdown"
    emits = ("daemon_stopped",)

    now: Annotated[bool, Arg("", "cancel the current steps; resume repeats them", "--now")] = False


class PlayRecording(OnDaemon):
    """Play or pause a recording, at another speed, or from another place.

    What is left out stays as it is. `to` goes there at once: forward it pauses there, the beginning plays.
    """

    name = "playback"
    verb = "demo"
    keys = (
        Key("play", "space", "play or pause", "Recording", help="go on with the recording, or pause it"),
        Key("to_iteration", "greater_than_sign", "next iteration", "Recording",
            help="go on to the end of an iteration, and pause", fixed={"to": "iteration"}),
        Key("to_step", "right_parenthesis", "next step", "Recording",
            help="go on to the end of a step, and pause", fixed={"to": "step"}),
        Key("faster", "plus", "faster", "Recording", help="play twice as fast"),
        Key("slower", "minus", "slower", "Recording", help="play half as fast"),
        Key("to_beginning", "less_than_sign", "from the beginning", "Recording",
            help="play the recording from its beginning", fixed={"to": "beginning"}),
    )  # fmt: skip
    emits = ("playback_changed",)

    play: bool | None = None
    speed: int | None = None
    to: Literal["step", "iteration", "beginning"] | None = None

    def told(self, answer: Mapping[str, Any]) -> str:
        if self.to == "beginning":
            return "from the beginning"
        return f"{answer.get('speed')}×" if self.speed is not None else str(answer.get("state"))
