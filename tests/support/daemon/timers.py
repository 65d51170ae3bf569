"""Watches the timers of the running event loop."""

import asyncio
from collections.abc import Callable

import pytest


def armed(monkeypatch: pytest.MonkeyPatch, owner: type) -> Callable[[], int]:
    """Return what counts the timers that will call a method of `owner`, and were set since."""
    loop = asyncio.get_running_loop()
    sets, timers = loop.call_later, list[asyncio.TimerHandle]()

    def call_later(delay: float, callback: Callable[..., object], *args: object) -> asyncio.TimerHandle:
        timer = sets(delay, callback, *args)
        if isinstance(getattr(callback, "__self__", None), owner):
            timers.append(timer)
        return timer

    monkeypatch.setattr(loop, "call_later", call_later)
    return lambda: sum(not timer.cancelled() for timer in timers)
