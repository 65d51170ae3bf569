"""Blocking work that may hang for ever, beside the event loop and beside its pool of threads, which others need."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class DetachedThread(Generic[T]):
    """One piece of work at a time, in a thread that nobody waits for at the end of the program."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._running: Future[T] | None = None

    @property
    def busy(self) -> bool:
        return self._running is not None and not self._running.done()

    async def run(self, work: Callable[[], T], patience_s: float) -> T:
        """What `work` returns or raises. Raises TimeoutError if it, or the work before it, hangs for `patience_s`.

        Work that hangs is left to itself, and none begins before it has ended.
        """
        async with self._turn, asyncio.timeout(patience_s):
            if self._running is not None:
                # Who wanted its outcome has been told, or has left.
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
