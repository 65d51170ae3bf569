"""Starts kpd: has the table of verbs, and imports only the requested one."""

import argparse
import errno
import importlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, NoReturn, TextIO, cast

from kpd import __version__
from kpd.cli.exit_codes import DAEMON_CODES, INFRA, INTERRUPTED, OK, USAGE, CliError
from kpd.cli.parser import Parser, add_workspace, nearest
from kpd.cli.terminal_text import narrate
from kpd.operations.catalogue import OPERATIONS
from kpd.operations.operation import help_of
from kpd.operations.runs import MoveRun
from kpd.text.foreign import visible


class Verb(NamedTuple):
    """A verb, which the module `module` of kpd.cli implements.

    It has `arguments(parser)` and `execute(args) -> exit code`; a module with several verbs calls them `VERB_arguments`
    and `VERB`.
    """

    name: str
    help: str
    module: str


def _operations() -> Iterator[Verb]:
    """Yield the verbs of operations, with the help from their declarations, except those listed in other groups."""
    own = {"steer": "terms", "budget": "terms", "agent": "terms", "edit": "edit"}
    for kind in OPERATIONS.values():
        for key in kind.keys if not kind.verb else ():
            if key.id != "run":
                yield Verb(key.id, key.help or help_of(kind), own.get(key.id, "operate"))
    yield Verb(MoveRun.name, help_of(MoveRun), "operate")


VERBS: tuple[tuple[str, tuple[Verb, ...]], ...] = (
    (
        "begin",
        (
            Verb("demo", "play a recorded run on a GPU; needs no GPU", "demo"),
            Verb("init", "create a workspace: config, example tasks, skills", "init"),
            Verb("start", "start the daemon if none runs, queue tasks, open the UI", "start"),
            Verb("attach", "open the UI on the running daemon", "attach"),
            Verb("run", "queue a run of a task", "run"),
        ),
    ),
    (
        "look",
        (
            Verb("status", "show what runs where, what waits, and what needs you", "status"),
            Verb("queue", "list the queued runs", "status"),
            Verb("runs", "list all runs, with the disk that each takes", "runs"),
            Verb("held", "list what waits for you: candidates to review, flagged winners, deployments", "held"),
            Verb("log", "list a run's iterations with their verdicts", "log"),
            Verb("show", "show one iteration in full", "show"),
            Verb("cases", "show the speed-up of the incumbent and of the best candidate in each case", "cases"),
            Verb("diff", "show what an iteration changed", "show"),
            Verb("report", "make a page of a run that you can send: one HTML file", "run_report"),
            Verb("bundle", "pack a run as evidence: candidates, samples, events, hashes; signed, scrubbed", "bundle"),
            Verb("verify", "derive all verdicts of such a bundle again, without GPU and workspace", "bundle"),
            Verb("cost", "show the cost of models: tokens and dollars by run, iteration and purpose", "cost"),
            Verb("tools", "show which tools agents called in their sessions, and their trials", "tools"),
            Verb("compare", "compare tools that agents have built with none, in interleaved runs", "compare"),
            Verb("events", "show the event log", "events"),
            Verb("export", "write a run's candidates as a table, or result files in HarnessGym's shapes", "export"),
            Verb("hosts", "show the hosts; add, trust or retry one", "hosts"),
            Verb("doctor", "check this machine and the hosts, and say how to fix problems", "doctor"),
        ),
    ),
    (
        "steer",
        tuple(_operations()),
    ),
    (
        "know",
        (
            Verb("task", "create, check and list tasks", "task"),
            Verb("project", "production programs that kpd may change: add, check, look at, restore", "project"),
            Verb("skills", "show the skill files that belong to rules", "knowledge"),
            Verb("memory", "show what earlier runs of a task found", "knowledge"),
            Verb("rules", "show the rules that explain a profile; pin or ban one for a run's agents", "knowledge"),
        ),
    ),
    (
        "serve",
        (
            Verb("daemon", "run the daemon in the foreground", "daemon"),
            Verb("mcp", "serve kpd's tools to an agent's client (MCP on stdin and stdout)", "mcp"),
            Verb("notify", "send a message to a desktop, Slack, Teams, ntfy or by mail", "notify"),
            Verb("shutdown", "end the daemon after its current steps, or at once", "daemon"),
            Verb("completion", "print the script for completion in a shell", "completion"),
            Verb("help", "say how a verb is used", "help"),
        ),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Expected errors become one line on stderr."""
    open_missing()
    keep_others_out()
    try:
        if "_ARGCOMPLETE" in os.environ:
            from kpd.cli.completions import complete

            complete([verb for _, group in VERBS for verb in group], prepare)
        return _run(list(sys.argv[1:] if argv is None else argv))
    finally:
        discard_unwritten()


def keep_others_out() -> None:
    """Make what is made writable for this user alone, if the umask would let everybody write to it."""
    mask = os.umask(0o022)
    os.umask(mask | 0o022 if not mask & 0o002 else mask)


def _run(argv: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Flush every line, into a pipe too, so that a reader sees what a verb printed before it waits.
            stream.reconfigure(errors="replace", line_buffering=True)
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
        return code
    except CliError as err:
        return _complain(err.message, err.remedy, err.code)
    except BrokenPipeError:
        return OK  # the reader (head, less) has seen enough
    except OSError as err:
        from kpd.workspace.disk import explained

        return _complain(*explained(err, "the workspace", "check the path, its owner and the disk"), INFRA)
    except KeyboardInterrupt:
        return _complain("interrupted", "", INTERRUPTED)


def _dispatch(argv: list[str]) -> int:
    top = _top_parser()
    args = top.parse_args(argv)
    if args.verb is None:
        top.print_help(sys.stderr)
        return USAGE
    verbs = {verb.name: verb for _, group in VERBS for verb in group}
    verb = verbs.get(args.verb)
    if verb is None:
        raise CliError(f"no verb {args.verb!r}", nearest(args.verb, list(verbs)))
    parser = Parser(prog=f"kpd {verb.name}", description=verb.help, allow_abbrev=False)
    add_workspace(parser, args.workspace)
    execute = prepare(parser, verb)
    return _execute(execute, parser.parse_args(args.rest))


def prepare(parser: argparse.ArgumentParser, verb: Verb) -> Callable[[argparse.Namespace], int]:
    """Add the verb's arguments to `parser`, and return the function that executes it. Imports its module."""
    module = importlib.import_module(f"kpd.cli.{verb.module}")
    parser.set_defaults(verb=verb.name)
    several = hasattr(module, f"{verb.name}_arguments")
    getattr(module, f"{verb.name}_arguments" if several else "arguments")(parser)
    execute: Callable[[argparse.Namespace], int] = getattr(module, verb.name if several else "execute")
    return execute


def _execute(execute: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    from kpd.client import DaemonError
    from kpd.workspace.paths import WorkspaceError

    try:
        return execute(args)
    except WorkspaceError as err:
        raise CliError(err.message, err.remedy) from err
    except DaemonError as err:
        raise CliError(err.message, err.remedy, DAEMON_CODES.get(err.code, INFRA)) from err


def _top_parser() -> Parser:
    width = max(len(verb.name) for _, group in VERBS for verb in group)
    groups = [
        f"{title}:\n" + "\n".join(f"  {verb.name:<{width}}  {verb.help}" for verb in group) for title, group in VERBS
    ]
    parser = Parser(
        prog="kpd",
        usage="kpd [-w DIR] VERB …",
        description="Optimise compute kernels, with verdicts that hold up.\n\n" + "\n\n".join(groups),
        epilog="kpd help VERB says more. "
        "Exit codes: 0 ok, 1 failed, 2 no gain, 3 infrastructure, 4 not over, 64 usage.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_workspace(parser, None)
    parser.add_argument("--version", action="version", version=f"kpd {__version__}")
    parser.add_argument("verb", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _complain(message: str, remedy: str, code: int) -> int:
    line = f"{message}; {remedy}" if remedy else message
    narrate(f"kpd: {visible(line)}")
    return code


class ClosedStdout(io.TextIOBase):
    """A stand-in for a stdout that was closed before kpd began: writing to it fails as on a full disk."""

    def write(self, text: str) -> NoReturn:
        raise OSError(errno.EBADF, "it is closed", "stdout")


def open_missing() -> None:
    """Open each standard stream that is closed: else kpd's next file would get its number."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        os.open(os.devnull, os.O_WRONLY)
        sys.stdout = cast(TextIO, ClosedStdout())
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def discard_unwritten() -> None:
    """Discard what could not be written: Python would try again at exit, and the failure would change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
