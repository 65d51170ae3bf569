"""Tells the operator what is waited for."""

import asyncio
from collections.abc import Callable

from kpd.model.standing import Silent, Wait


class WaitNotices:
    """Tells of trouble at once, of silence when it lasts, and when it is over."""

    def __init__(self, waits: Callable[[Wait | None], None], quiet_s: float) -> None:
        self._waits = waits
        self._quiet_s = quiet_s
        self._timer: asyncio.TimerHandle | None = None
        self._told = False

    def begin(self) -> None:
        """From now on something should come. The service's mere signs of life are not heard here."""
        self.pause()
        self._timer = asyncio.get_running_loop().call_later(self._quiet_s, self.tell, Silent(self._quiet_s))

    def broken(self) -> None:
        """Something came."""
        self._over()
        self.begin()

    def pause(self) -> None:
        """Nothing is expected for now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def tell(self, wait: Wait) -> None:
        self._told = True
        self._waits(wait)

    def end(self) -> None:
        self.pause()
        self._over()

    def _over(self) -> None:
        if self._told:
            self._told = False
            self._waits(None)
