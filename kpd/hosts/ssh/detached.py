"""Runs work that may hang for ever, such as programs of ssh's configuration, in a thread that nobody waits for."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class DetachedThread(Generic[T]):
    """A thread for one piece of work at a time. The program does not wait for it at its end."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._running: Future[T] | None = None

    @property
    def busy(self) -> bool:
        return self._running is not None and not self._running.done()

    async def run(self, work: Callable[[], T], patience_s: float) -> T:
        """Run `work` in the thread, and return or raise what it does.

        Raises TimeoutError if it, or the work before it, hangs for `patience_s` seconds. Work that hangs is left alone,
        and no other begins before it has ended.
        """
        async with self._turn, asyncio.timeout(patience_s):
            if self._running is not None:
                # Its caller has had a TimeoutError, or was cancelled.
                await asyncio.gather(asyncio.wrap_future(self._running), return_exceptions=True)
            self._running = future = Future[T]()
            future.set_running_or_notify_cancel()  # from now on it cannot be cancelled, only left
            threading.Thread(target=_settle, args=(future, work), name="aside", daemon=True).start()
            return await asyncio.wrap_future(future)


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        done = work()
    except BaseException as err:  # noqa: BLE001 - whatever it is, it is raised where the outcome is waited for
        future.set_exception(err)
    else:
        future.set_result(done)
