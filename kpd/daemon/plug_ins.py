"""What plug-ins add to kpd, and what is wrong with them: for `kpd doctor`, and for a daemon's notices at its start."""

from collections.abc import Iterator

from kpd.agents.catalogue import AGENTS
from kpd.profile import catalogue
from kpd.workspace.languages import LANGUAGES
from kpd.workspace.seams import PlugInError
from kpd.workspace.transports import TRANSPORTS


def plug_ins() -> Iterator[tuple[str, PlugInError | None]]:
    """Each entry of a plug-in in words, with what is wrong with it. Imports them all.

    Raises PlugInError when kpd's own entries are not installed.
    """
    for entries in (AGENTS.plug_ins(), TRANSPORTS.plug_ins(), LANGUAGES.plug_ins(), catalogue.of_plug_ins()):
        for told, found in entries:
            yield told, found if isinstance(found, PlugInError) else None
