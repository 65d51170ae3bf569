"""Hashes of the files that a build left on a host: taken at its end, and compared before another job uses them."""

import re
import shlex
from collections.abc import Mapping

STALE, CHANGED = 88, 89
"""The exit statuses of a script that finds a file not as it was built: before it has run anything else, and later.

The file's path is the last line of its stderr.
"""
UNCHANGED = "unchanged"
"""A function of the shell, defined by `guard`, that ends the script where a file is not as it was built."""
Seals = Mapping[str, Mapping[str, str]]
"""The sha256 of each file in a folder on a host: by the folder's path, then by the file's name."""

SHA256 = 'sha256() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }\n'
"""A function of the shell that prints the hashes of files, a line each."""
TAKE = f'{SHA256}cd "$out" && sha256 *\n'
"""Shell that prints the hashes of all files in `$out`: the end of a build."""
_TAKEN = re.compile(
    r"^([0-9a-f]{64}) [ *]([^\s/]+)$", re.MULTILINE
)  # of one folder: what a build prints names no other


def taken(stdout: bytes) -> dict[str, str]:
    """Parse what `TAKE` printed last: the hashes by name."""
    return {name: digest for digest, name in _TAKEN.findall(stdout.decode(errors="replace"))}


def guard(seals: Seals, gone: int) -> str:
    """Return shell that defines `unchanged` and calls it; empty where there is nothing to compare.

    It ends with status `gone` where a file is missing, and with STALE or CHANGED where one has changed or was added.
    """
    files = {f"{folder}/{name}": digest for folder, names in seals.items() for name, digest in sorted(names.items())}
    if not files:
        return ""
    paths = " ".join(map(shlex.quote, files))
    added = "".join(
        f"set -- {folder}/*; [ $# -eq {len(names)} ] || {{ echo {folder} >&2; exit $changed; }}\n"
        for folder, names in ((shlex.quote(folder), names) for folder, names in seals.items())
        if names
    )
    expected = shlex.quote("\n".join(f"{digest}  {path}" for path, digest in files.items()))
    differing = r"sort | uniq -u | sed 's/^[^ ]* [ *]//' | sort -u | head -n 1 >&2"
    return (
        f"{SHA256}expected={expected}\n"
        f"{UNCHANGED}() {{\n"
        f'for file in {paths}; do [ -e "$file" ] || {{ echo "$file" >&2; exit {gone}; }}; done\n'
        f"{added}"
        f"found=$(sha256 {paths})\n"
        f'[ "$found" = "$expected" ] && return\n'
        f'printf \'%s\\n\' "$found" "$expected" | {differing}\n'
        f"exit $changed\n"
        f"}}\nchanged={STALE}\n{UNCHANGED}\nchanged={CHANGED}\n"
    )
