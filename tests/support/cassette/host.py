"""The transport `cassette`: the helper on this machine, with the proxies that replay before all other programs."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kpd.hosts.child import ChildChannel
from kpd.hosts.errors import HostError, HostKey
from kpd.hosts.local import Local
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.paths import Workspace, WorkspaceError, expanded
from kpd.workspace.strict import Text
from kpd.workspace.transports import BadKey, TransportKind
from tests.support.cassette.cassette import BadCassette, identity, load
from tests.support.cassette.proxies import Settings, lay

NAME = "cassette"


@dataclass(frozen=True, slots=True)
class Keys:
    """`cassette` is a folder on this machine, here or below the workspace."""

    cassette: Text

    def __post_init__(self) -> None:
        try:
            expanded(self.cassette)
        except WorkspaceError as err:
            raise BadKey("cassette", err.message, err.remedy) from err


@dataclass(frozen=True, slots=True)
class Replays:
    """Replays the cassette in `folder`; `proxies` is a folder for the programs that do."""

    kind: ClassVar[str] = NAME
    name: str
    folder: Path
    proxies: Path

    async def open(self) -> ChildChannel:
        """Raises HostError (config, no_python)."""
        programs = await asyncio.to_thread(self._lay)
        return await Local(programs=programs).open()

    def _lay(self) -> Path:
        try:
            found = load(self.folder)
            # Another cassette is another toolkit: what was built with this one's must not be taken for that one's.
            return lay(self.proxies / identity(self.folder), Settings(str(self.folder), found.device))
        except BadCassette as err:
            remedy = "correct `cassette` in config.toml, or record it again with benchmarks/record_gpu.py"
            raise HostError("config", f"{self.name}: {err}", remedy) from err
        except OSError as err:
            raise HostError("no_space", f"{self.name}: {err}", "check the disk that the workspace is on") from err

    async def trust(self, key: HostKey) -> None:
        """Raises HostError (host_key): a cassette has no key."""
        raise HostError("host_key", f"{self.name}: a cassette shows no key", "there is nothing to trust")

    async def close(self) -> None:
        """Nothing is kept between channels."""


def folder_of(host: HostConfig, workspace: Workspace) -> Path:
    return workspace.root / expanded(host.options.cassette)


TRANSPORT = TransportKind(
    lambda name, host, workspace: Replays(name, folder_of(host, workspace), workspace.private / NAME / name),
    Keys,
    here=True,
)
