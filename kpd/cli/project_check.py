"""kpd project check: checks the host and the project, says what kpd would change, and builds it if asked to."""

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict

from kpd.cli import checks
from kpd.cli.check_hosts import Card, check_hosts
from kpd.cli.exit_codes import FAILED, INFRA
from kpd.cli.project import at_place, known
from kpd.cli.terminal_text import clean, colours, columns, out, out_json
from kpd.hosts.preflight.gpu_checks import free
from kpd.model import codec
from kpd.model.hosts import Check, HostCard
from kpd.model.projects import FoundProject
from kpd.production.check import check_build, preflight
from kpd.text.foreign import visible
from kpd.workspace.config import load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.projects import ProjectConfig

LEFT_OUT = ("clock", "disassembler", "sandbox", "cpu counters")
"""Checks of a host on which no project depends."""


def check(ws: Workspace, args: Namespace) -> int:
    """Check the project; return 1 where anything is bad, 3 where its host cannot be reached.

    Raises HostError, PlaceError, CliError, WorkspaceError.
    """
    project = known(ws, args.name)[args.name]
    there, found, linked = checks_of(ws, project, lambda some: _print(args, some), not args.normalise)
    if not linked:
        return _end(args, found, INFRA)
    if not args.json:
        out(*(f"  {visible(line)}" for line in changes(project)))
    if there is not None and (args.build or args.normalise):
        _, built = at_place(ws, project, lambda place: check_build(place, args.normalise, _show))
        _print(args, built)
        found += built
    return _end(args, found, FAILED if any(one.state == "bad" for one in found) else 0, changes(project))


def checks_of(
    ws: Workspace, project: ProjectConfig, tell: Callable[[list[Check]], None], binary: bool = True
) -> tuple[FoundProject | None, list[Check], bool]:
    """Check the host and then, if it can be reached, the project: the `binary` only where no build is to come.

    `tell` is given the checks of each. Return the project as it was found, all checks, and whether there is a link.
    Raises HostError, PlaceError.
    """
    card = check_hosts(ws, {project.host: load_config(ws).hosts[project.host]})[0]
    found, there = _of_host(card), None
    tell(found)
    if linked := card["link"] == "up":
        there, mine = at_place(ws, project, preflight)
        mine = [one for one in mine if binary or one.name != "binary"]
        tell(mine)
        found += mine
    return there, found, linked


def changes(project: ProjectConfig) -> list[str]:
    """Say what kpd would change of a project."""
    return [
        f"kpd would replace   {', '.join(project.files)}",
        f"and restore         {', '.join((*project.binary, *project.files))}",
        f"the build writes    below {project.build_dir}, with `{project.build}`",
    ]


def _of_host(card: Card) -> list[Check]:
    if card["link"] != "up":
        return [Check("link", "bad", card["error"], f"kpd doctor {card['name']}")]
    host = codec.decode(codec.encode(card), HostCard)
    return [one for one in (*host.checks, *free(host)) if one.name not in LEFT_OUT]


def _show(stream: str, data: bytes) -> None:
    sys.stderr.write(visible(data.decode(errors="replace")))


def _print(args: Namespace, found: list[Check]) -> None:
    if not args.json:
        out(*checks.lines(clean([asdict(one) for one in found]), columns(), colours()))


def _end(args: Namespace, found: list[Check], code: int, changed: Sequence[str] = ()) -> int:
    if args.json:
        out_json({"name": args.name, "ok": code == 0, "checks": [asdict(one) for one in found], "changes": changed})
    return code
