"""Polls the status of hosts while their tab is open."""

from kpd.model.codec import CodecError, decode, encode
from kpd.model.hosts import HostStatus
from kpd.subscription import DaemonError
from tui.model.feed import Feed

EVERY_S = 3.0
"""Seconds from one question to the next."""
CANNOT = ("usage", "unknown")
"""Error codes that mean that the daemon is too old for the question, or that the host no longer exists."""


class DeviceStatusPoller:
    """The newest status of each host. What a daemon cannot answer is not asked again over the same connection."""

    def __init__(self) -> None:
        self.looks: dict[str, HostStatus] = {}
        self._asking: set[str] = set()
        self._never: set[tuple[int, str]] = set()

    async def ask(self, feed: Feed, host: str) -> bool:
        """Ask for the host's status, unless a question is under way. Return whether there is anything new to show."""
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
        # A new mapping: views that hold the old one are frozen.
        self.looks = {**self.looks, **{look.host: look for look in found}}
        return bool(found)
