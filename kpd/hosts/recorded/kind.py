"""The recorded transport as it is registered."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kpd.workspace.paths import Workspace, WorkspaceError, expanded
from kpd.workspace.strict import Text
from kpd.workspace.transports import BadKey, TransportKind

if TYPE_CHECKING:
    from kpd.hosts.link import Transport
    from kpd.workspace.config import HostConfig


@dataclass(frozen=True, slots=True)
class Keys:
    """`recording` is a folder on this machine, here or below the workspace."""

    recording: Text

    def __post_init__(self) -> None:
        try:
            expanded(self.recording)
        except WorkspaceError as err:
            raise BadKey("recording", err.message, err.remedy) from err


def _make(name: str, host: "HostConfig", workspace: Workspace) -> "Transport":
    from kpd.hosts.recorded.transport import Recorded

    return Recorded(
        name, workspace.root / expanded(host.options.recording), workspace.private / "recorded" / name / "tapes"
    )


RECORDED = TransportKind(_make, Keys, here=True)
