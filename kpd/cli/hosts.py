"""kpd hosts: each host as it was probed, with what kpd measured of it."""

from argparse import ArgumentParser, Namespace
from typing import Any

from kpd.cli import words
from kpd.cli.ask import query, workspace
from kpd.cli.outcome import OK
from kpd.cli.parser import add_json
from kpd.cli.text import clean, columns, narrate, out, out_json, wrapped


def arguments(parser: ArgumentParser) -> None:
    add_json(parser)


def execute(args: Namespace) -> int:
    hosts = query(workspace(args), "hosts")
    if args.json:
        out_json(hosts)
        return OK
    for host in clean(hosts):
        for text in report(host, columns()):
            out(text)
    if not hosts:
        narrate("no host was probed yet; the daemon does it when it starts")
    return OK


def report(host: dict[str, Any], limit: int | None) -> list[str]:
    """One host as lines."""
    roofline = [
        f"{words.number(host[key])} {unit}" for key, unit in (("bandwidth_gbs", "GB/s"), ("peak_gflops", "GFLOP/s"))
        if host[key] is not None
    ]  # fmt: skip
    facts = {
        "system": host["system"],
        "device": host["device"],
        "pinned to": "" if host["cpu"] is None else f"CPU {host['cpu']}",
        "compiler": host["compiler"],
        "counters": host["counters"],
        "roofline": ", ".join(roofline),
        "error": host["error"],
    }
    sign = "●" if host["link"] == "up" else "○"
    lines = [f"{sign} {host['name']} ({host['transport']}, {host['link']})"]
    for name, fact in facts.items():
        if fact:
            lines += wrapped(f"{name:<10} {fact}", limit, "  ")
    return lines
