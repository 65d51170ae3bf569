"""Spells an operation as the command that does the same."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from kpd.operations.catalogue import KEYS
from kpd.operations.operation import Operation, fields, spoken


def command_of(op: Operation[Any]) -> str:
    """Return the command line that does what `op` does; empty where there is none with these arguments."""
    if op.name in OWN:
        words = OWN[op.name](op.args())
    else:
        given = {name: value for name, value in op.args().items() if value is not None}
        kind = type(op)
        key = next((key for of, key in KEYS if of is kind and _fits(key.fixed, given)), None)
        verb = kind.verb or (key.id if key is not None else op.name)
        fixed = {} if kind.verb or key is None else key.fixed
        said = {name: spoken(hint) for name, hint in fields(kind).items() if name in given and name not in fixed}
        if any(arg is None for arg in said.values()):
            return ""
        words = [verb]
        for words_last in (False, True):
            for name in sorted(said, key=lambda name: hasattr(kind, name)):
                arg = said[name]
                if arg is not None and arg.words is words_last:
                    words += ["--"] if words_last and str(given[name]).startswith("-") else []
                    words += _words(arg.option, given[name])
    return shlex.join(["kpd", *words]) if words else ""


def _fits(fixed: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return all(given.get(name) == value for name, value in fixed.items())


def _words(option: str, value: Any) -> list[str]:
    if isinstance(value, bool) and option:
        return [option] if value else []
    text = ("on" if value else "off") if isinstance(value, bool) else str(value)
    return [f"{option}={text}"] if option else [text]


def _rule(args: Mapping[str, Any]) -> list[str]:
    means = {"pinned": "pin", "banned": "ban", "plain": "plain"}
    run = [f"--run={args['run']}"] if args.get("run") else []
    return ["rules", means[args["stand"]], args["rule"], *run]


def _agent(args: Mapping[str, Any]) -> list[str]:
    if not args.get("agent"):  # one word beside --model would be read as an agent
        return []
    run = [args["run"]] if args.get("run") else []
    model = [f"--model={args['model']}"] if args.get("model") is not None else []
    return ["agent", *run, args["agent"], *model]


def _deployment(args: Mapping[str, Any]) -> list[str]:
    project = args["deployment"].partition("#")[0]
    return ["project", "approve", project, f"--diff={args['diff']}"] if args["yes"] else ["project", "decline", project]


OWN: Mapping[str, Callable[[Mapping[str, Any]], list[str]]] = {
    "rule": _rule,
    "agent": _agent,
    "prune": lambda args: ["runs", "prune", args["run"], *(["--keep-best"] if args.get("keep_best") else [])],
    "edit": lambda args: ["edit", *([args["run"]] if args.get("run") else [])],
    "profile": lambda args: ["show", args["iteration"], "--profile=full"],
    "check_hosts": lambda args: ["doctor"],
    "nudge": lambda args: ["hosts", "retry", args["host"]],
    "answer_deployment": _deployment,
    "trust": lambda args: ["hosts", "trust", args["host"]],
}
"""Operations whose verb has a shape of its own."""
