"""Lends this machine to the tickets of a folder, the oldest first, so many at a time.

A ticket `NAME.ask` is a JSON object: `time_s`, for how long it is lent at most, and `abandon_s`, after which it ends
where nobody is inside. `NAME.state` says what became of it. A file `NAME.cancel` ends it, and so does `NAME.preempt`.
"""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TICK_S = 0.1
INSIDE = Path(__file__).with_name("inside.py")
ENDED_BY = {"cancel": "CANCELLED", "preempt": "PREEMPTED"}


@dataclass
class Lent:
    """What a ticket has now: a container, until a Unix time. Its `id` is no other's."""

    id: str
    process: subprocess.Popen[bytes]
    ends: float


def serve(folder: Path, slots: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lent: dict[str, Lent] = {}
    while True:
        for name, one in tuple(lent.items()):
            if how := how_it_ends(folder, name, one):
                one.process.kill()
                one.process.wait()
                close(folder, name, how, one.id)
                del lent[name]
        for order in [path for suffix in ENDED_BY for path in folder.glob(f"*.{suffix}")]:
            if not order.with_suffix(".ask").exists():
                order.unlink()  # it came too late
        asked = sorted(folder.glob("*.ask"), key=lambda path: path.stat().st_mtime_ns)
        for ask in [path for path in asked if path.stem not in lent]:
            if (folder / f"{ask.stem}.cancel").exists():
                close(folder, ask.stem, "CANCELLED")
            elif len(lent) < slots:
                lent[ask.stem] = begin(folder, ask)
            else:
                tell(folder, ask.stem, state="pending", reason=f"{len(lent)} of {slots} slots are taken")
        time.sleep(TICK_S)


def begin(folder: Path, ask: Path) -> Lent:
    wants = json.loads(ask.read_text())
    id, now = f"{ask.stem}-{time.time_ns()}", time.time()
    socket = folder / f"{ask.stem}.socket"
    socket.unlink(missing_ok=True)
    container = ("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent", "--")
    inside = (sys.executable, "-I", "-S", str(INSIDE), str(socket), id, str(wants["abandon_s"]))
    process = subprocess.Popen((*container, *inside), stdin=subprocess.DEVNULL)
    tell(folder, ask.stem, state="running", id=id, begun=now, ends=now + wants["time_s"])
    return Lent(id, process, now + wants["time_s"])


def how_it_ends(folder: Path, name: str, one: Lent) -> str:
    """Return why what a ticket has ends now; empty while it goes on."""
    for order, how in ENDED_BY.items():
        if (folder / f"{name}.{order}").exists():
            return how
    if time.time() > one.ends:
        return "TIMEOUT"
    return "" if one.process.poll() is None else f"ENDED {one.process.returncode}"


def close(folder: Path, name: str, how: str, id: str = "") -> None:
    """Forget a ticket; its state says how it ended until there is another of its name."""
    tell(folder, name, state="ended", how=how, id=id)
    for suffix in ("ask", "socket", *ENDED_BY):
        (folder / f"{name}.{suffix}").unlink(missing_ok=True)


def tell(folder: Path, name: str, **said: object) -> None:
    new = folder / f"{name}.new"
    new.write_text(json.dumps(said))
    new.replace(folder / f"{name}.state")


if __name__ == "__main__":
    if shutil.which("bwrap") is None:
        sys.exit("bubblewrap is needed: what is lent is a container")
    serve(Path(sys.argv[1]), int(sys.argv[2]))
