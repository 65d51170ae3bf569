"""kpd hosts add: asks for the keys of a host that a scheduler lends, and writes its table."""

import dataclasses
import json
import re
import sys
from argparse import Namespace
from typing import Any

from kpd.cli.exit_codes import CliError
from kpd.cli.terminal_text import narrate
from kpd.text.foreign import visible
from kpd.workspace.config import Config
from kpd.workspace.host_tables import LOCAL
from kpd.workspace.transports import ASKED, TRANSPORTS

NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def cluster_rows(args: Namespace, config: Config) -> list[str]:
    """Return the rows of the host's table, from the command line and from a person's answers. Raises CliError."""
    via = "" if args.address == LOCAL else args.address
    if via and via not in config.hosts:
        remedy = f"kpd hosts add {visible(via)} first; or write local where this machine has the scheduler's commands"
        raise CliError(f"config.toml has no host {visible(via)} to go through", remedy)
    kind = TRANSPORTS.get(args.transport)
    assert kind is not None and kind.keys is not None
    known = {field.name: field for field in dataclasses.fields(kind.keys)}
    given = {"via": via} if via else {}
    for pair in args.set or ():
        key, equals, value = pair.partition("=")
        if not equals or key not in known:
            raise CliError(f"--set {visible(pair)} sets no key of {args.transport}", f"keys are {', '.join(known)}")
        given[key] = value
    for key, field in known.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        question = field.metadata.get(ASKED) or ("which the table cannot be without" if required else "")
        if question and key not in given:
            if said := _asked(key, question if required else f"{question} (Enter: {known[key].default or 'none'})"):
                given[key] = said
            elif required:
                raise CliError(f"a host of {args.transport} needs {key}, {question}", f"say it with --set {key}=…")
    return [f'transport = "{args.transport}"', *(f"{key} = {_toml(key, given[key], known)}" for key in given)]


def _asked(key: str, question: str) -> str:
    """Return a person's answer; empty where there is none."""
    if not sys.stdin.isatty():
        return ""
    narrate(question)
    try:
        return input(f"{key}: ").strip()
    except EOFError:
        return ""


def _toml(key: str, value: str, known: dict[str, dataclasses.Field[Any]]) -> str:
    default = known[key].default
    if isinstance(default, int | float) and NUMBER.fullmatch(value):
        return value
    return json.dumps(value.split() if isinstance(default, tuple) else value, ensure_ascii=False)
