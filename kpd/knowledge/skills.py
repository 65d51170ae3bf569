"""Reads skills: one file per rule, with usual causes of the finding, what helps, and what does not."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from kpd.profile.catalogue import rule_lists, rules
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import read_plain
from kpd.workspace.shipped import shipped

LARGEST = 64 * 1024
SECTIONS = ("**Root causes**", "**Fixes**", "**Anti-patterns**")
_SIGNAL = re.compile(r"\*\*Signal\*\*: (\S.*)")
_ID = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Skill:
    """The content of a skill file: `signal` says in one line when it applies; `body` is the rest."""

    id: str
    signal: str
    body: str


@dataclass(frozen=True, slots=True)
class Skills:
    """The skills that could be read, by id; and for each file that could not, what is wrong with it."""

    by_id: dict[str, Skill]
    bad: Mapping[str, str] = field(default_factory=dict)

    def catalogue(self, kind: Literal["cpu", "gpu"] | None = None) -> str:
        """Return one line per skill, from which an agent chooses before it reads a body.

        With `kind`, the skills of rules for the other kind of device are left out. A skill without a rule is for both.
        """
        others = {rule.id for rule in rules()} - {rule.id for rule in rules(kind)}
        return "\n".join(f"{skill.id}: {skill.signal}" for id, skill in sorted(self.by_id.items()) if id not in others)


class BadSkill(ValueError):
    """A file that is not a valid skill; the message says what is wrong with it."""


def load_skills(workspace: Workspace | None = None) -> Skills:
    """Read the skills of plug-ins' rules, the shipped ones, and the workspace's, which override both.

    A bad file does not hide others, or the shipped one of the same name. All files are read anew, which takes a
    millisecond: a caller that asks once per iteration has each edit in the next one.
    """
    found: dict[str, Skill] = {}
    bad: dict[str, str] = {}
    own = shipped("skills")
    paths = [each.skills / f"{rule.id}.md" for each in rule_lists() for rule in each.rules if each.skills != own]
    paths += sorted(own.glob("*.md"))
    if workspace is not None and workspace.skills.resolve() != own.resolve():
        paths += sorted(workspace.skills.glob("*.md"))
    for path in paths:
        if path.name in ("README.md",) or path.name.startswith("."):
            continue
        try:
            skill = read_skill(path)
        except BadSkill as err:
            instead = " (the shipped skill holds)" if path.stem in found else ""
            bad[path.name] = f"skills/{path.name}: {err}{instead}"
        else:
            found[skill.id] = skill
    return Skills(found, bad)


def read_skill(path: Path) -> Skill:
    """Read and parse a skill file. Raises BadSkill, also for a file that is not regular or cannot be read."""
    if not _ID.fullmatch(path.stem):
        raise BadSkill("a skill is named after its rule: lower-case letters, digits and _")
    try:
        text = read_plain(path, LARGEST).decode()
    except OSError as err:
        raise BadSkill(err.strerror) from err
    except UnicodeDecodeError as err:
        raise BadSkill(f"not UTF-8 at byte {err.start}") from err
    first, _, body = text.partition("\n")
    signal = _SIGNAL.fullmatch(first.strip())
    if signal is None:
        raise BadSkill("line 1 must be `**Signal**: …`")
    lines = [line.strip() for line in body.splitlines()]
    for section in SECTIONS:
        if lines.count(section) != 1:
            raise BadSkill(f"the line `{section}` must appear exactly once")
    if sorted(SECTIONS, key=lines.index) != list(SECTIONS):
        raise BadSkill(f"the sections must come in the order {', '.join(SECTIONS)}")
    return Skill(path.stem, signal[1], body.strip())
