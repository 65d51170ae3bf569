"""A systemd unit read strictly, where systemd itself is not there to do it."""

from collections import defaultdict

KNOWN = {
    "Unit": {"Description", "Documentation", "After", "Wants", "StartLimitIntervalSec", "StartLimitBurst"},
    "Service": {
        "Type", "ExecStart", "ExecReload", "WorkingDirectory", "Environment", "EnvironmentFile", "KillMode",
        "TimeoutStopSec", "Restart", "RestartSec", "OOMPolicy", "UMask", "NoNewPrivileges", "LockPersonality",
        "RestrictRealtime", "RestrictSUIDSGID", "SystemCallArchitectures", "LimitCORE",
    },
    "Install": {"WantedBy"},
}  # fmt: skip
"""The sections and settings of which the unit may make use: each is in systemd.unit, .service, .exec or .kill (5)."""
NEEDED = {"Service": {"ExecStart"}, "Install": {"WantedBy"}}


class BadUnit(ValueError):
    """The message says what systemd would not take."""


def read_unit(text: str) -> dict[str, dict[str, str]]:
    """The settings by section. Raises BadUnit."""
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith(("#", ";")):
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            if section not in KNOWN:
                raise BadUnit(f"no section {section!r}")
            continue
        key, sign, value = line.partition("=")
        if not sign:
            raise BadUnit(f"line {number} sets nothing")
        if not section:
            raise BadUnit(f"{key} stands before any section")
        if key not in KNOWN[section]:
            raise BadUnit(f"no setting {key!r} in [{section}]")
        if key in found[section]:
            raise BadUnit(f"{key} is set twice")
        found[section][key] = value
    for section, keys in NEEDED.items():
        if missing := keys - found[section].keys():
            raise BadUnit(f"[{section}] has no {', '.join(sorted(missing))}")
    return dict(found)
