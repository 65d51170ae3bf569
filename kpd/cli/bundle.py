"""kpd bundle, verify: a run as one archive of evidence, and the derivation of its verdicts from that alone."""

import os
import re
import socket
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kpd.cli.ask import query, workspace
from kpd.cli.exit_codes import FAILED, INFRA, OK, CliError
from kpd.cli.log import recorded
from kpd.cli.parser import add_json, nearest
from kpd.cli.terminal_text import colours, line, narrate, out, out_json, paint
from kpd.client import user_name
from kpd.model import codec
from kpd.model.hosts import HostCard
from kpd.model.state import TaskCard
from kpd.text.numbers import counted
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import write_atomic

if TYPE_CHECKING:
    from kpd.evidence.archive import Bundle
    from kpd.evidence.contents import RunSource
    from kpd.evidence.line import VerifiedLine
    from kpd.evidence.scrub import Scrub

UNREADABLE = 2
_SECRET = re.compile(r"(?:_|^)(?:KEY|TOKEN|SECRET|PASSWORD|WEBHOOK)(?:_|$)")
"""Names of environment variables that hold a key."""


def bundle_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id (default: the newest run)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="where to write it (default: TASK-RUN.kpd.tgz)"
    )
    parser.add_argument(
        "--scrub", action="store_true", help="replace names of people and hosts, and home paths, by placeholders"
    )
    parser.add_argument("--sign", metavar="KEY", type=Path, help="sign it with this SSH key (ssh-keygen -Y sign)")
    add_json(parser)


def bundle(args: Namespace) -> int:
    ws = workspace(args)
    source = _source(ws, args.run)
    path = args.output or Path(default_name(source.task, source.run))
    made, size, wrong = written(ws, source, path, args.scrub, args.sign)
    if args.json:
        said = {"run": source.run, "path": str(path), "bytes": size, "holds": not wrong}
        out_json({**said, "scrubbed": args.scrub, "redacted": made.manifest.redacted, "signed": args.sign is not None})
    else:
        out(str(path))
        narrate(f"{size / 1000:.0f} kB; kpd verify {path} derives its verdicts again")
    if made.manifest.redacted:
        narrate(f"replaced {counted(made.manifest.redacted, 'key')} in it")
    if not args.scrub:
        narrate("it names people, hosts and paths: --scrub replaces them")
    for found in wrong:
        narrate(line(f"{found.about} {found.text}"))
    return FAILED if wrong else OK


def default_name(task: str, run: str) -> str:
    """Return the name that a bundle has unless another is given."""
    return f"{task}-{run}.kpd.tgz"


def archive(ws: Workspace, run: str, folder: Path) -> Path:
    """Write a run's bundle into a folder, and return its path. Raises CliError, also where the bundle does not hold."""
    source = _source(ws, run)
    path = folder / default_name(source.task, run)
    if path.exists():
        raise CliError(f"there is {path} already", "move it away, or name another folder", FAILED)
    _, _, wrong = written(ws, source, path, scrub=False)
    if wrong:
        path.unlink()
        raise CliError(f"a bundle of {run} does not hold", f"kpd bundle {run} says where; nothing was removed", FAILED)
    return path


def written(
    ws: Workspace, source: "RunSource", path: Path, scrub: bool, sign: Path | None = None
) -> tuple["Bundle", int, list["VerifiedLine"]]:
    """Write the bundle of a run; return it, its size in bytes, and what does not hold. Raises CliError, OSError."""
    from kpd.evidence.archive import BadBundle, Bundle, pack, unpack
    from kpd.evidence.contents import gather
    from kpd.evidence.scrub import StillNamed
    from kpd.evidence.signature import CannotSign, sign as signature
    from kpd.evidence.verify import verify as verified

    if not path.absolute().parent.is_dir():
        raise CliError(f"there is no folder {path.parent}", "make it first, or name a file in another one")
    try:
        made = gather(source, _scrub(ws, source, scrub))
        if sign is not None:
            made = Bundle(made.manifest, made.files, made.signed, signature(made.signed, sign.expanduser()))
    except StillNamed as err:
        raise CliError(f"the bundle could not be cleaned: {err}", "nothing was written", FAILED) from err
    except CannotSign as err:
        raise CliError(f"the bundle could not be signed: {err}", "--sign wants a private SSH key", INFRA) from err
    packed = pack(made)
    try:
        wrong = [found for found in verified(unpack(packed)) if not found.holds]
    except BadBundle as err:
        raise CliError(f"{source.run} does not fit into a bundle: {err}", "kpd export has its table", FAILED) from err
    write_atomic(path, packed)
    return made, len(packed), wrong


def verify_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("bundle", metavar="BUNDLE", type=Path, help="a file that kpd bundle made")
    parser.add_argument(
        "--signers", metavar="FILE", type=Path, help="require a signature by one of these (ssh-keygen(1))"
    )
    add_json(parser)


def verify(args: Namespace) -> int:
    from kpd.evidence.archive import BadBundle, read
    from kpd.evidence.signature import CannotSign, check
    from kpd.evidence.verify import verify as verified

    if args.signers is not None and not args.signers.is_file():
        raise CliError(
            f"there is no file {args.signers}", "a line of it: ada@example.org ssh-ed25519 AAAA…", UNREADABLE
        )
    try:
        found = read(args.bundle)
        lines = [check(found, args.signers), *verified(found)]
    except BadBundle as err:
        raise CliError(line(f"{args.bundle}: {err}"), "kpd bundle RUN makes one", UNREADABLE) from err
    except CannotSign as err:
        raise CliError(str(err), "install the OpenSSH client", INFRA) from err
    holds = all(said.holds for said in lines)
    if args.json:
        out_json({"holds": holds, "manifest": codec.jsonable(found.manifest), "lines": codec.jsonable(lines)})
        return OK if holds else FAILED
    wide = min(24, max(len(said.about) for said in lines))
    colour = colours()
    for said in lines:
        mark = paint("✓", "green", colour) if said.holds else paint("✗", "red", colour)
        out(f"{mark} {line(said.about):<{wide}}  {line(said.text)}")
    wrong = sum(not said.holds for said in lines)
    fails = f"{wrong} of {counted(len(lines), 'line')} {'does' if wrong == 1 else 'do'} not hold"
    narrate("everything holds" if holds else fails)
    narrate("as recorded, not derived: that the samples were measured, results of checks, counters, rooflines")
    return OK if holds else FAILED


def _source(ws: Workspace, name: str | None) -> "RunSource":
    from kpd.evidence.contents import RunSource

    status = query(ws, "status")
    runs = status["runs"]
    if name is not None and name not in runs:
        raise CliError(f"no run {name!r}", nearest(name, list(runs)[-10:]) or "kpd run TASK queues one")
    run_id = name or next(reversed(runs), None)
    if run_id is None:
        raise CliError("no run yet", "kpd run TASK queues one")
    if runs[run_id]["pruned"]:
        remedy = "kpd runs prune --archive DIR would have made it first"
        raise CliError(f"{run_id} was pruned: samples of it are gone", remedy, FAILED)
    host, card = status["hosts"].get(runs[run_id]["host"]), status["tasks"].get(runs[run_id]["task"])
    return RunSource(
        ws,
        run_id,
        tuple(recorded(ws, run_id)),
        None if host is None else codec.decode(codec.encode(host), HostCard),
        None if card is None else codec.decode(codec.encode(card), TaskCard),
    )


def _scrub(ws: Workspace, source: "RunSource", names: bool) -> "Scrub":
    """Return what must go: keys of this environment, and with `names` those of people, machines and places."""
    from kpd.evidence.scrub import SHORTEST_KEY, Scrub, placeholders

    held = (value for name, value in os.environ.items() if _SECRET.search(name.upper()))
    keys = tuple(sorted((value for value in held if len(value) >= SHORTEST_KEY), key=len, reverse=True))
    if not names:
        return Scrub(keys)
    status: Any = query(ws, "status")
    hosts = {socket.gethostname(), socket.gethostname().partition(".")[0], source.host.name if source.host else ""}
    people = {user_name(), *source.people} - {str(os.getuid())}  # a number is in kernels, too
    for card in status["hosts"].values():
        user, _, address = card["address"].rpartition("@")
        hosts |= {card["name"], address, address.rpartition(":")[0]}
        people.add(user)
    home = Path.home()
    paths = {str(ws.root): "/workspace"} | ({} if str(home) in ("/", "/root") else {str(home): "/home/user0"})
    return Scrub(keys, placeholders(people - hosts, hosts, paths))
