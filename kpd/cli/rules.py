"""kpd rules: what kpd concludes from a profile and when, and what has come of acting on it."""

from argparse import ArgumentParser, Namespace
from typing import Any

from kpd.cli.ask import query, workspace
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json
from kpd.cli.text import clean, columns, out, out_json, wrapped


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def execute(args: Namespace) -> int:
    rules = query(workspace(args), "rules")
    if args.json:
        out_json(rules)
        return OK
    for rule in clean(rules):
        out(f"{rule['id']} ({rule['severity']})")
        for paragraph in (rule["finding"], f"→ {rule['action']}", *_so_far(rule)):
            for text in wrapped(paragraph, columns(), "    "):
                out(text)
    return OK


def _so_far(rule: dict[str, Any]) -> list[str]:
    """What the runs of this workspace say of it; nothing of a rule that never fired."""
    if not rule["fired"]:
        return []
    parts = [f"fired on {rule['fired']}", f"aimed at by {rule['tried']}"]
    if rule["tried"]:
        parts.append(f"accepted {rule['accepted']}")
    if rule["median_gain_pct"] is not None:
        parts.append(f"median gain {rule['median_gain_pct']:+.1f} %")
    return ["so far: " + ", ".join(parts)]
