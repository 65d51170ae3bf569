"""kpd skills, memory, rules: print kpd's knowledge, and pin or ban rules."""

from argparse import ArgumentParser, Namespace
from typing import Any

from kpd.cli.ask import command, query, workspace
from kpd.cli.exit_codes import OK, CliError
from kpd.cli.parser import add_json
from kpd.cli.terminal_text import clean, columns, narrate, out, out_json, table, wrapped
from kpd.text.foreign import bare, visible
from kpd.text.gains import brief


def skills_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="SKILL", help="show this skill (default: list all)")
    add_json(parser)


def skills(args: Namespace) -> int:
    ws = workspace(args)
    answer = query(ws, "skill", id=args.id) if args.id else query(ws, "skills")
    if args.json:
        out_json(answer)
    elif args.id:
        skill = clean(answer)
        out(f"**Signal**: {skill['signal']}\n\n{skill['body'].strip()}")
    else:
        rows = [(skill["id"], skill["signal"]) for skill in clean(answer)]
        out(*table(("SKILL", "SIGNAL"), rows, columns()))
    return OK


def memory_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="a task's name or folder")
    add_json(parser)


def memory(args: Namespace) -> int:
    from kpd.cli.run import task_name  # reads the tasks, which the other verbs need not

    ws = workspace(args)
    task = task_name(ws, args.task)
    answer = query(ws, "memory", task=task)
    if args.json:
        out_json(answer)
    elif answer["text"].strip():
        out(visible(bare(answer["text"])).rstrip())
    else:
        narrate(f"nothing is remembered of {task} yet")
    return OK


STANDS = {
    "pin": ("pinned", "agents hear of it first, and of what helps against it"),
    "ban": ("banned", "agents hear of it no more"),
    "plain": ("plain", "agents hear of it when it fires"),
}


def rules_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "stand", nargs="?", choices=tuple(STANDS), help="pin or ban a rule in a run, or undo that with plain"
    )
    parser.add_argument("rule", nargs="?", metavar="RULE", help="a rule's id")
    parser.add_argument("--run", metavar="RUN", help="a run's id (default: the active run)")
    add_json(parser)


def rules(args: Namespace) -> int:
    if args.stand:
        if not args.rule:
            raise CliError(f"which rule to {args.stand}?", f"kpd rules {args.stand} RULE; kpd rules lists them")
        stand, means = STANDS[args.stand]
        done = command(workspace(args), "rule", rule=args.rule, stand=stand, run=args.run)
        narrate(f"{visible(args.rule)} is {stand} in {done['run']}: from its next iteration on {means}")
        return OK
    rules = query(workspace(args), "rules", run=args.run)
    if args.json:
        out_json(rules)
        return OK
    for rule in clean(rules):
        stand = f" · {rule['stand']}" if rule["stand"] != "plain" else ""
        out(f"{rule['id']} ({rule['severity']}){stand}")
        when = [f"when {rule['condition']}"] if rule["condition"] else []
        for paragraph in (rule["finding"], *when, f"→ {rule['action']}", *_so_far(rule)):
            out(*wrapped(paragraph, columns(), "    "))
    return OK


def _so_far(rule: dict[str, Any]) -> list[str]:
    """Return what the runs of this workspace found about a rule; empty for a rule that never fired."""
    if not rule["fired"]:
        return []
    parts = [f"fired on {rule['fired']}", f"aimed at by {rule['tried']}"]
    if rule["tried"]:
        parts.append(f"accepted {rule['accepted']}")
    if rule["median_gain_pct"] is not None:
        parts.append(f"median gain {brief(rule['median_gain_pct'])}")
    return ["so far: " + ", ".join(parts)]
