"""Whether two machines have one folder: by what is in a file there, as each may have a folder of that name."""

import shlex
from pathlib import PurePath
from typing import TYPE_CHECKING
from uuid import uuid4

from kpd.hosts.link import RunOnNode
from kpd.model.hosts import Check

if TYPE_CHECKING:
    from kpd.hosts.host import Host

LOOK_S = 10.0


async def sees(read: RunOnNode, write: RunOnNode, folder: PurePath) -> bool:
    """Return whether one machine reads in `folder` what the other has just written there. Raises HostError."""
    word, path = uuid4().hex, shlex.quote(f"{folder}/.shared-{uuid4().hex}")
    await write(f"printf %s {word} >{path}", LOOK_S)
    try:
        found = await read(f"cat {path}", LOOK_S)
    finally:
        await write(f"rm -f {path}", LOOK_S)
    return bool(found.stdout == word.encode())


async def builds_check(host: "Host", builder: "Host") -> Check:
    """Tell how what `builder` has built comes to `host`. Raises HostError."""
    if not builder.up:
        why = f": {builder.trouble.message}" if builder.trouble is not None else ""
        return Check("builds", "off", f"{builder.name} is not there now, so how builds come from it is not known{why}")
    if await sees(host.run, builder.run, builder.root):
        return Check("builds", "ok", f"{builder.root} of {builder.name} is here, too: what is built there is copied")
    found = f"{builder.root} of {builder.name} is not here: what is built there comes through the connection"
    return Check("builds", "off", found, "set `root` to a folder that the nodes of both partitions share")
