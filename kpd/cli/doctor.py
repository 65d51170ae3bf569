"""kpd doctor: checks the workspace and its hosts, and prints a remedy for each problem."""

import errno
import shutil
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kpd.agents.catalogue import asks_models
from kpd.cli import checks
from kpd.cli.ask import query, workspace
from kpd.cli.check_hosts import Card, check_hosts
from kpd.cli.diagnosis import problems
from kpd.cli.exit_codes import CliError
from kpd.cli.hosts_trust import known
from kpd.cli.parser import add_json
from kpd.cli.terminal_text import clean, colours, columns, out, out_json, paint
from kpd.daemon.knowledge_views import plug_ins
from kpd.hosts.kept import can_confine
from kpd.hosts.own_network import can_isolate
from kpd.hosts.preflight.checks import LEAST_DISK
from kpd.hosts.preflight.gpu_checks import free
from kpd.model import codec
from kpd.model.hosts import Check, HostCard
from kpd.text.foreign import visible
from kpd.text.numbers import counted
from kpd.wire import DaemonError
from kpd.workspace.config import Config, load_config
from kpd.workspace.entry_points import PlugInError
from kpd.workspace.paths import Workspace, WorkspaceError
from kpd.workspace.task import find_tasks


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="hosts to check (default: all)")
    add_json(parser)


def execute(args: Namespace) -> int:
    ws = workspace(args)
    settings, config = _config(ws)
    hosts = known(ws, *args.hosts) if config.state == "ok" else {}
    found = [config, _tasks(ws), _disk(ws), _state(ws), _daemon(ws), *_model_key(ws, settings), agents(), *_plug_ins()]
    cards = []
    try:
        cards = [_with_use(card) for card in check_hosts(ws, hosts)] if hosts else []
    except (WorkspaceError, DaemonError, OSError) as err:
        found.append(Check("hosts", "bad", f"none was looked at: {_words(err)}", "correct the state, then look again"))
    own = [asdict(check) for check in found]
    code = checks.code(own, cards)
    if args.json:
        out_json({"workspace": str(ws.root), "checks": own, "hosts": cards})
        return code
    limit, colour = columns(), colours()
    out(f"{paint('workspace', 'bold', colour)}  {visible(str(ws.root))}")
    out(*checks.lines(own, limit, colour))
    for card in clean(cards):
        out("")
        out(*checks.host(card, limit, colour))
    bad = [check for check in [*own, *(check for card in cards for check in card["checks"])] if check["state"] == "bad"]
    out("")
    out(paint("nothing to correct", "green", colour) if not bad else paint(f"{len(bad)} to correct", "red", colour))
    return code


def _words(err: WorkspaceError | DaemonError | OSError) -> str:
    if isinstance(err, WorkspaceError | DaemonError):
        return err.message
    return f"{err.filename}: {err.strerror}" if err.filename else str(err)


def _with_use(card: Card) -> Card:
    """Return the card with checks that say whether its GPUs are free."""
    use = free(codec.decode(codec.encode(card), HostCard))
    return {**card, "checks": [*card["checks"], *map(asdict, use)]}


def _config(ws: Workspace) -> tuple[Config | None, Check]:
    try:
        config = load_config(ws)
    except WorkspaceError as err:
        remedy = f"{err.remedy or 'correct it'}; until then no host is looked at"
        return None, Check("config.toml", "bad", err.message, remedy)
    if not ws.config.exists():
        return config, Check("config.toml", "ok", "there is none: all settings have their defaults")
    hosts = config.hosts
    return config, Check("config.toml", "ok", f"{counted(len(hosts), 'host')}: {', '.join(hosts)}")


def _tasks(ws: Workspace) -> Check:
    tasks = find_tasks(ws)
    refused = [name for name, folder in tasks.items() if _refused(folder)]
    if refused:
        remedy = f"kpd task check {' '.join(refused)} says why"
        return Check("tasks", "bad", f"{len(refused)} of {len(tasks)} refused: {', '.join(refused)}", remedy)
    return Check("tasks", "ok", f"{len(tasks)} accepted")


def _refused(folder: Path) -> bool:
    try:
        return bool(problems(folder))
    except OSError:
        return True


def _disk(ws: Workspace) -> Check:
    free = shutil.disk_usage(ws.root).free
    found = f"{free / (1 << 30):.1f} GiB free"
    if free >= LEAST_DISK:
        return Check("disk", "ok", found)
    return Check("disk", "bad", found, "free at least 1 GiB where the workspace is; kpd never removes runs/ by itself")


def _state(ws: Workspace) -> Check:
    """Check that kpd can write where it keeps its log, and read the log."""
    try:
        with tempfile.TemporaryFile(dir=ws.make_private()) as file:
            file.write(b"?")
        query(ws, "queue")
    except WorkspaceError as err:
        return Check("state", "bad", err.message, err.remedy)
    except OSError as err:
        remedy = "mount it writable, or copy the workspace to where you can write"
        remedy = remedy if err.errno == errno.EROFS else "check its owner and the disk"
        return Check("state", "bad", f"{ws.private} is not writable: {err.strerror}", remedy)
    except (CliError, DaemonError) as err:
        return Check("state", "bad", err.message, err.remedy)
    return Check("state", "ok", f"{ws.private.name}/ is private and writable, the log is readable")


def agents() -> Check:
    """Say what confines coding agents on this machine, which is the daemon's."""
    if not can_confine():
        return Check(
            "agents", "off", "nothing here confines coding agents: neither Landlock nor a bubblewrap that works"
        )
    try:
        alone = can_isolate()
    except OSError as err:
        return Check("agents", "bad", f"{err}; no coding agent starts before that is known", "kpd doctor tries again")
    if not alone:
        allow = "a container's rules, user.max_user_namespaces or AppArmor forbid user namespaces"
        return Check("agents", "off", f"coding agents are in a sandbox, but their network is open: {allow}")
    return Check("agents", "ok", "coding agents are in a sandbox, and reach only the hosts of their table")


def _plug_ins() -> Iterator[Check]:
    """Yield a check for each broken plug-in, and one for all others; none where none is installed."""
    from kpd.imports.importer import IMPORTERS

    good = []
    try:
        importers = ((told, one if isinstance(one, PlugInError) else None) for told, one in IMPORTERS.plug_ins())
        for told, wrong in (*plug_ins(), *importers):
            if wrong is None:
                good.append(told)
            else:
                yield Check("plug-ins", "bad", wrong.message, wrong.remedy)
    except PlugInError as err:
        yield Check("plug-ins", "bad", err.message, err.remedy)
    if good:
        yield Check("plug-ins", "ok", "; ".join(good))


def _daemon(ws: Workspace) -> Check:
    try:
        status = query(ws, "status")
    except (CliError, DaemonError, WorkspaceError) as err:
        return Check("daemon", "bad", err.message, err.remedy)
    if status["pid"] is None:
        return Check("daemon", "off", "none runs; kpd start starts one")
    return Check("daemon", "ok", f"kpd {status['version']}, process {status['pid']}")


def _model_key(ws: Workspace, config: Config | None) -> tuple[Check, ...]:
    """Return the check of the model key; none without a config, which names the variable of the key."""
    if config is None:
        return ()
    try:
        known, status = query(ws, "model_key"), query(ws, "status")
    except (CliError, DaemonError, WorkspaceError) as err:
        return (Check(NAME, "off", f"not known: {err.message}"),)
    runs = {run["id"]: run["agent"] for run in (*status["begun"], *status["queued"])}
    return (model_key(known, config.run.agent, runs, status["pid"] is not None),)


NAME = "model key"


def model_key(known: Mapping[str, Any], agent: str, runs: Mapping[str, str], daemon: bool) -> Check:
    """Check the key that agents need which ask models.

    `known` is the answer to the query `model_key`, from the daemon if one runs (`daemon`), else from this process.
    `agent` is the one in config.toml, `runs` maps the ids of the runs that have not ended to their agents.
    """
    name, trouble = known["variable"], known["trouble"]
    where = "the daemon's environment" if daemon else "this environment; kpd start hands it on"
    if not trouble:
        return Check(NAME, "ok", f"{name} is set in {where}")
    needs = [f"the agent of config.toml ({agent})"] if asks_models(agent) else []
    needs += [run for run, agents in runs.items() if asks_models(agents)]
    if not needs:
        return Check(NAME, "off", f"{trouble}; the agent claude and kpd task new --from need it")
    restart = "kpd shutdown, then kpd start" if daemon else "then kpd start"
    return Check(NAME, "bad", f"{trouble}; needed by {', '.join(needs)}", f"export {name}=…, {restart}")
