"""The words below kpd tools: list, show, qualify, quarantine, restore, retire, export and import built tools."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from kpd.cli.ask import query
from kpd.cli.exit_codes import FAILED, OK, USAGE, CliError
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, table
from kpd.client import ask, operator
from kpd.text.numbers import counted
from kpd.text.tools import worse
from kpd.workspace.paths import Workspace

LONGEST_S = 900.0
"""The longest that the checks of a tool may take."""
HELP = """\
kpd tools list                          the tools that agents have built, with their state
kpd tools show TOOL                     a tool's checks, and its files
kpd tools qualify TOOL                  check it in a clean copy of its task
kpd tools quarantine TOOL [--why WHY]   keep it from all sessions
kpd tools retire TOOL                   give it to no session any more
kpd tools restore TOOL                  end a quarantine or a retirement
kpd tools export DIR [TOOL …]           copy qualified tools (or these) into DIR, a folder each
kpd tools import DIR --task TASK        bring in such a folder, one of such folders, or a .harnessgym, and check it

TOOL is name@version, of which the first digits will do, or a name: to quarantine and retire that means all versions,
elsewhere the newest one.
"""


def list_tools(ws: Workspace, args: Namespace) -> int:
    refuse_names(args)
    found = query(ws, "toolbox")
    if args.json:
        out_json(found)
        return OK
    if not found:
        narrate("no agent has built a tool yet; kpd run TASK --agent AGENT --evolve lets it")
        return OK
    heads = ("TOOL", "STATE", "TASK", "BUILT IN", "CALLS", "FAILED", "SESSIONS", "USED", "WHAT IT IS")
    out(*table(heads, map(_row, clean(found)), columns(), right="CALLS FAILED SESSIONS USED"))
    return OK


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    where = f"{one['run']}.{one['iteration']}" if one["run"] else "imported"
    counts = tuple(str(one[name]) for name in ("calls", "failed", "sessions", "used"))
    return (one["shown"], one["state"], one["task"], where, *counts, one["summary"])


def show(ws: Workspace, args: Namespace) -> int:
    from kpd.tools.files import shelf

    one = _one(ws, _name(args))
    if args.json:
        out_json(one)
        return OK
    folder = shelf(ws, one["tool"], one["version"])
    told = clean(one)
    why = f": {told['why']}" if told["why"] else ""
    if told["lost"]:
        why = f": it points at {', '.join(told['lost'])}, which no session may get"
    out(f"{told['shown']} ({told['state']}{why}) for {told['task']}")
    out(f"  {told['summary']}", f"  files     {folder}")
    if told["inventory"]:
        out(f"  server    {', '.join(told['inventory'])}")
    read = f", {told['read']} read its skill" if told["skill"] else ""
    counts = f"{told['calls']} calls, {told['failed']} failed{read}"
    out(f"  sessions  {told['sessions']}, of which {told['used']} used it: {counts}")
    out(f"  with it   {_attempts(told['effect']['having'])}", f"  without   {_attempts(told['effect']['lacking'])}")
    if told["effect"]["retire"]:
        out(f"  {worse(told['shown'], told['effect']['worse'])}")
    for check in told["checks"]:
        of = f" {check['of']}" if check["of"] else ""
        said = check["said"].splitlines()[-1:] if check["ok"] else check["said"].splitlines()
        sign = "✓" if check["ok"] else "✗"
        out(f"  {sign} {check['name']}{of} ({check['seconds']:.1f} s)", *(f"      {line}" for line in said))
    return OK


def _attempts(found: dict[str, Any]) -> str:
    gain = f", median gain {found['median_pct']:.1f} % of {found['measured']} measured" if found["measured"] else ""
    return f"{counted(found['attempts'], 'attempt')}, {found['accepted']} accepted{gain}"


def qualify(ws: Workspace, args: Namespace) -> int:
    return _checked(_do(ws, args, "qualify_tool", tool=_name(args)), args)


def quarantine(ws: Workspace, args: Namespace) -> int:
    return _stopped(_do(ws, args, "quarantine_tool", tool=_name(args), why=args.why), args, "quarantined")


def retire(ws: Workspace, args: Namespace) -> int:
    return _stopped(_do(ws, args, "retire_tool", tool=_name(args)), args, "retired")


def _stopped(found: dict[str, Any], args: Namespace, what: str) -> int:
    left = found["active"] or "no version of it"
    also = f", nor {', '.join(found['withheld'])}, which pointed at it" if found["withheld"] else ""
    return _told(found, args, f"{'are' if ',' in found['tool'] else 'is'} {what}; sessions get {clean(left + also)}")


def restore(ws: Workspace, args: Namespace) -> int:
    found = _do(ws, args, "restore_tool", tool=_name(args))
    return _told(found, args, f"is {found['state']} again")


def export(ws: Workspace, args: Namespace) -> int:
    """Copy tools into a folder; the files are compared with the registry first."""
    from kpd.model.codec import decode, encode
    from kpd.model.toolbox import ToolVersion
    from kpd.tools.files import kept
    from kpd.workspace.run_files import write_tree

    if not args.names:
        raise CliError("into which folder?", "kpd tools export DIR", USAGE)
    found = query(ws, "toolbox")
    chosen = [_of(found, name) for name in args.names[1:]] or [one for one in found if one["state"] == "qualified"]
    for one in chosen:
        known = {key: value for key, value in one.items() if key in ToolVersion.__dataclass_fields__}
        version = decode(encode(known), ToolVersion)
        folder = Path(args.names[0]) / version.tool
        if folder.exists():
            raise CliError(f"{folder} is there already", "remove it, or export elsewhere", USAGE)
        files = kept(ws, version)
        folder.mkdir(parents=True)
        write_tree(folder, files)
        narrate(f"{one['shown']} is in {folder}")
    if not chosen:
        narrate("no tool is qualified: nothing to export")
    return OK


def bring_in(ws: Workspace, args: Namespace) -> int:
    """Import a tool's folder, each folder in it that has a manifest, or the tools of a `.harnessgym` folder."""
    from kpd.tools.harnessgym import bundle_of
    from kpd.tools.manifest import MANIFEST

    if len(args.names) != 1 or not args.task:
        raise CliError("which folder, and for which task?", "kpd tools import DIR --task TASK", USAGE)
    folder = Path(args.names[0]).resolve()
    if not folder.is_dir():
        raise CliError(f"{folder} is no folder", "name a tool's, one of tools', or a .harnessgym", USAGE)
    folders = [folder] if (folder / MANIFEST).exists() else sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if not folders and (bundle := bundle_of(folder)) is not None:
        return _bring_in_bundle(ws, args, bundle)
    if not folders:
        raise CliError(f"no {MANIFEST} in {folder}, or in a folder of it", "docs/toolsmith.md has an example", USAGE)
    return max(_import(ws, args, one) for one in folders)


def _bring_in_bundle(ws: Workspace, args: Namespace, bundle: Path) -> int:
    """Import the tools of a `.harnessgym` folder in kpd's own form."""
    from tempfile import TemporaryDirectory

    from kpd.tools.files import lay
    from kpd.tools.harnessgym import foreign_tools

    tools, left = foreign_tools(bundle)
    for line in left:
        narrate(f"left out: {clean(line)}")
    with TemporaryDirectory(prefix="kpd-tools-") as temporary:
        codes = []
        for nth, tool in enumerate(tools):
            folder = Path(temporary).resolve() / str(nth) / tool.name
            lay(folder, tool.files)
            for note in tool.notes:
                narrate(f"{tool.name}: {clean(note)}")
            codes.append(_import(ws, args, folder))
    return max(codes)


def _import(ws: Workspace, args: Namespace, folder: Path) -> int:
    return _checked(_do(ws, args, "import_tool", folder=str(folder), task=args.task), args)


def refuse_names(args: Namespace) -> None:
    if args.names:
        raise CliError(f"{args.names[0]!r} is too much", "kpd tools --help", USAGE)


def _name(args: Namespace) -> str:
    if len(args.names) != 1:
        raise CliError(f"kpd tools {args.what} takes one tool", "kpd tools list", USAGE)
    return str(args.names[0])


def _one(ws: Workspace, name: str) -> dict[str, Any]:
    return _of(query(ws, "toolbox"), name)


def _of(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    named = [one for one in found if name == one["tool"] or ("@" in name and one["ref"].startswith(name))]
    if not named:
        raise CliError(f"no tool {name!r}", "kpd tools list", USAGE)
    return max(named, key=lambda one: one["built"])


def _do(ws: Workspace, args: Namespace, verb: str, **given: Any) -> dict[str, Any]:
    known = {name: value for name, value in given.items() if value is not None}
    found: dict[str, Any] = ask(ws.socket, "command", verb, known, by=operator(), timeout=LONGEST_S)
    return found


def _told(found: dict[str, Any], args: Namespace, what: str) -> int:
    if args.json:
        out_json(found)
    else:
        out(f"{clean(found)['tool']} {what}")
    return OK


def _checked(found: dict[str, Any], args: Namespace) -> int:
    _told(found, args, f"is {found['state']}")
    if not args.json:
        out(*(f"  ✗ {line}" for one in clean(found)["trouble"] for line in one.splitlines()))
    return OK if found["state"] == "qualified" else FAILED
