"""Make a run on a GPU into the recording that `kpd demo` plays.

    python benchmarks/demo_pack.py WORKSPACE OUT [--run r1] [--word NAME …] [--command TEXT]

WORKSPACE has `.kpd/events.db`, `runs/` and `memory/`, with no daemon on it. OUT is the file to write; the demo plays
kpd/demo/h100.tar.xz unless it is told another. The run must be one on a GPU, with at least eight iterations, of which
some were accepted, rejected, incorrect and not to be built. Paths, names of people and machines, and the GPU's own id
are taken out; `--word` names what else must not be in it (the user and the host it ran on, say). What is left is looked
through once more, and refused if it still tells anything.
"""

import argparse
import getpass
import json
import socket
import sys
from pathlib import Path

from kpd.demo.packing import NotFit, pack, refuse_private, refuse_unfit
from kpd.demo.recording import save
from kpd.model import codec
from kpd.workspace.paths import Workspace

PUBLIC = ("", "/", "/root", "root", "localhost")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a run on a GPU into the recording that kpd demo plays.")
    parser.add_argument("workspace", metavar="WORKSPACE", type=Path)
    parser.add_argument("out", metavar="OUT", type=Path)
    parser.add_argument("--run", default="r1", metavar="RUN", help="the run's id (default: r1)")
    parser.add_argument("--word", action="append", default=[], metavar="NAME", help="what must not be in it")
    parser.add_argument("--command", default="", help="what made the run, if that was more than kpd run")
    args = parser.parse_args()
    here = (str(Path.home()), socket.gethostname(), getpass.getuser(), str(args.workspace.resolve()))
    words = sorted({*args.word, *here} - set(PUBLIC))
    try:
        recording = pack(Workspace(args.workspace.resolve()), args.run, words, args.command)
        refuse_unfit(recording)
        refuse_private(recording, words)
    except NotFit as err:
        sys.exit(str(err))
    save(recording, args.out)
    about = json.loads(codec.encode(recording.about))
    held = {"events": len(recording.events), "files": len(recording.files), "bytes": args.out.stat().st_size}
    print(json.dumps({**about, **held}, indent=1))


if __name__ == "__main__":
    main()
