"""Remembers what was staged and built on a host, by content, to save round trips."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Protocol

from kpd.hosts.errors import LOST_BUILDS, HostError, LostBuild
from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.bench import BuiltObject, Say
from kpd.measure.seals import Seals

MOST = 32
"""The number of objects to remember, the last used ones: an iteration needs the candidate's and the incumbent's."""


class CompileTree(Protocol):
    """A function that builds a staged tree with these editable files.

    Raises BuildError when the candidate is at fault, and HostError.
    """

    def __call__(self, tree: str, files: Mapping[str, bytes], say: Say) -> Awaitable[BuiltObject]: ...


class BuildCache:
    """The trees and objects that a host is known to have.

    All of it is forgotten when the host has lost something, or after the link was down: more may be gone.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._tries = host.tries
        self._trees: dict[str, str] = {}
        self._objects: OrderedDict[str, tuple[str, BuiltObject]] = OrderedDict()

    async def stage(self, files: Mapping[str, bytes], whole: Mapping[str, bytes]) -> str:
        """Stage `whole`, the task with a candidate's `files` in it, and return the tree's digest. Raises HostError.

        A known tree is not sent again: it is unchanged on the host, or not needed because its object is there.
        """
        key = self._key(files)
        known = self._objects[key][0] if key in self._objects else self._trees.get(key)
        if known is None:
            known = self._trees[key] = await self._host.stage(whole)
        return known

    async def build(
        self, tree: str, files: Mapping[str, bytes], build: Callable[[], Awaitable[BuiltObject]]
    ) -> BuiltObject:
        """Return the object of these files: the known one, or else what `build` returns. Raises what `build` raises."""
        key = self._key(files)
        if key in self._objects:
            self._objects.move_to_end(key)
            return replace(self._objects[key][1], cached=True)
        async with self.again_if_gone():
            built = await build()
        self._objects[key] = (tree, built)
        if len(self._objects) > MOST:
            self._objects.popitem(last=False)
        return built

    @asynccontextmanager
    async def again_if_gone(self, *built: str, seals: Seals = MappingProxyType({})) -> AsyncIterator[None]:
        """Run a block that uses these build jobs. If a file is gone, forget all that was staged and built.

        It is then staged and built again when next asked for. So are the jobs whose folders are among `seals` if a file
        there is gone, and all of them if one has changed: the bench has to be prepared again, as its own programs may
        be among them. Raises HostError.
        """
        try:
            yield
        except HostError as err:
            if err.kind in LOST_BUILDS:
                self._trees.clear()
                self._objects.clear()
                lost = {PurePosixPath(folder).parent.name for folder in seals}
                if err.kind == "not_found":
                    lost &= {err.built} if isinstance(err, LostBuild) else set()
                for job in {*built, *lost}:
                    await self._host.forget(job)
            raise

    def hashes(self, built: str) -> Mapping[str, str]:
        """Return the sha256 of the files of a known build job, by name."""
        return next((made.hashes for _, made in self._objects.values() if made.job == built), {})

    def may_be_touched(self) -> None:
        """Forget the staged trees: a candidate is about to run as the user who owns them, and may change them."""
        self._trees.clear()

    def _key(self, files: Mapping[str, bytes]) -> str:
        if self._tries != self._host.tries:
            self._tries = self._host.tries
            self._trees.clear()
            self._objects.clear()
        return jobs.key("made", *(part for path in sorted(files) for part in (path, files[path])))
