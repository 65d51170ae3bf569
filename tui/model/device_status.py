"""Polls the status of hosts while their tab is open."""

from kpd.model.codec import CodecError, decode, encode
from kpd.model.hosts import HostStatus
from kpd.subscription import DaemonError
from tui.model.feed import Feed

EVERY_S = 3.0
"""From one answer's question to the next."""
CANNOT = ("usage", "unknown")
"""Codes of errors that say that the daemon is too old for the question, or the host is gone."""


class DeviceStatusPoller:
    """The newest look at each host; what a daemon cannot answer is not asked again over the same connection."""

    def __init__(self) -> None:
        self.looks: dict[str, HostStatus] = {}
        self._asking: set[str] = set()
        self._never: set[tuple[int, str]] = set()

    async def ask(self, feed: Feed, host: str) -> bool:
        """Look at the host, unless that is under way; whether there is anything new to show."""
        if host in self._asking or (id(feed), host) in self._never:
            return False
        self._asking.add(host)
        try:
            found = decode(encode(await feed.query("glance", host=host)), tuple[HostStatus, ...])
        except DaemonError as err:
            if err.code in CANNOT:
                self._never.add((id(feed), host))
            return False
        except CodecError:
            self._never.add((id(feed), host))
            return False
        finally:
            self._asking.discard(host)
        # Whoever reads the old looks goes on doing so: a view is frozen.
        self.looks = {**self.looks, **{look.host: look for look in found}}
        return bool(found)
