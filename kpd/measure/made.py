"""What a bench has staged and built on its host, by content, so that asking for it again costs no round trip."""

from collections import OrderedDict
from collections.abc import Mapping

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import Object

MOST = 32
"""Objects to remember, the latest used: an iteration needs the candidate's and the incumbent's."""


class Made:
    """Forgotten as a whole when the host has lost something, or the link: who knows what else has happened there."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._tries = host.tries
        self._trees: dict[str, str] = {}
        self._objects: OrderedDict[str, tuple[str, Object]] = OrderedDict()

    def tree(self, files: Mapping[str, bytes]) -> str | None:
        """The tree that was staged of these files, if it is untouched or will not be read: its object is there."""
        key = self._key(files)
        return self._objects[key][0] if key in self._objects else self._trees.get(key)

    def object(self, files: Mapping[str, bytes]) -> Object | None:
        """What was built of these files."""
        key = self._key(files)
        if key not in self._objects:
            return None
        self._objects.move_to_end(key)
        return self._objects[key][1]

    def staged(self, files: Mapping[str, bytes], tree: str) -> None:
        self._trees[self._key(files)] = tree

    def built(self, files: Mapping[str, bytes], tree: str, built: Object) -> None:
        self._objects[self._key(files)] = (tree, built)
        if len(self._objects) > MOST:
            self._objects.popitem(last=False)

    def may_be_touched(self) -> None:
        """A candidate's code is about to run, as the user whose the trees are: the host has to look at them again."""
        self._trees.clear()

    def forget(self) -> None:
        self._trees.clear()
        self._objects.clear()

    def _key(self, files: Mapping[str, bytes]) -> str:
        if self._tries != self._host.tries:
            self._tries = self._host.tries
            self.forget()
        return jobs.key("made", *(part for path in sorted(files) for part in (path, files[path])))
