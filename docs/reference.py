"""Makes the pages of the site that are made of the code, and mends links that leave `docs/`. mkdocs calls it."""

import argparse
import re
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from posixpath import normpath
from typing import Any

from kpd.cli.main import VERBS, Verb, prepare
from kpd.cli.parser import Parser
from kpd.model.metrics import GROUPS, METRICS, Metric
from kpd.profile.catalogue import rules

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "config.toml.example": "reference/config.md"}
"""Files outside `docs/` that are a page of the site."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages. Imports mkdocs, which only `make docs` needs."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the page's text with links that hold within the site. Raises ValueError for one that leads nowhere."""
    name = page.file.src_uri
    return linked(markdown, "README.md" if name == "index.md" else f"docs/{name}")


def pages() -> dict[str, str]:
    """Return the pages that no file in `docs/` holds, by their names on the site."""
    return {
        "index.md": (ROOT / "README.md").read_text(),
        "reference/config.md": config_page(),
        "reference/commands.md": "\n".join(commands()),
        "reference/metrics.md": "\n".join(metrics()),
        "reference/rules.md": "\n".join(rule_table()),
    }


def linked(markdown: str, path: str) -> str:
    """Return the text of the file at `path` with each link to a file of the repository changed for the site.

    What is no page of the site is named without a link. Raises ValueError where there is no such file.
    """
    here = path.rpartition("/")[0]

    def changed(found: re.Match[str]) -> str:
        mark, words, target, anchor = found.groups()
        if "://" in target or path.startswith("docs/reference/"):
            return found[0]
        whole = normpath(f"{here}/{target}" if here else target)
        if not (ROOT / whole).exists():
            raise ValueError(f"{path} links to {whole}, and there is no such file")
        inside = PAGES.get(whole) or (whole.removeprefix("docs/") if whole.startswith("docs/") else "")
        if not inside or (ROOT / whole).is_dir():
            return words
        return f"{mark}[{words}]({inside}{anchor or ''})"

    return LINK.sub(changed, markdown)


def config_page() -> str:
    text = (ROOT / "config.toml.example").read_text()
    return f"# config.toml\n\nEvery key with its default.\n\n```toml\n{text}```\n"


def commands() -> Iterator[str]:
    """Yield the page of all verbs with their arguments, as `kpd VERB --help` prints them."""
    yield "# Commands\n"
    for title, verbs in VERBS:
        yield f"## {title}\n"
        for verb in verbs:
            yield f"### kpd {verb.name}\n\n```text\n{help_of(verb)}```\n"


def help_of(verb: Verb) -> str:
    parser = Parser(prog=f"kpd {verb.name}", description=verb.help, allow_abbrev=False)
    prepare(parser, verb)
    found = list(whole(parser))
    for each in found:
        each.formatter_class = partial(argparse.HelpFormatter, width=80)
    return "\n".join(each.format_help() for each in found)


def whole(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parser, and those of the words below it."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in dict.fromkeys(action.choices.values()):
                yield from whole(inner)


def group_of(metric: Metric) -> int:
    return GROUPS.index(metric.group)


def metrics() -> Iterator[str]:
    yield "# Metrics\n\nThe name of a metric is what rules and `kpd show --json` have.\n"
    for group, found in groupby(sorted(METRICS.values(), key=group_of), lambda metric: metric.group):
        yield f"\n## {group}\n\n| name | what it is | unit | better |\n|---|---|---|---|"
        for metric in found:
            yield f"| `{metric.name}` | {metric.label} | {metric.unit} | {metric.better or ''} |"


def rule_table() -> Iterator[str]:
    yield "# Rules\n\nEach has a skill: `kpd skills ID`.\n"
    yield "| rule | weight | when | what to do |\n|---|---|---|---|"
    for rule in rules():
        cells = (f"`{rule.id}`", rule.severity, f"`{rule.condition}`", rule.action)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
