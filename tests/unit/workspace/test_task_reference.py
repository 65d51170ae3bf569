"""docs/tasks.md has every key of task.toml, with the type, default and an example that the code takes."""

import dataclasses
import re
import typing
from pathlib import Path

import pytest
import tomli

from kpd.workspace.specs import TaskFile
from kpd.workspace.strict import Document
from kpd.workspace.type_words import wanted

PAGE = Path(__file__).parents[3] / "docs" / "tasks.md"
ROW = re.compile(r"^\| `(?P<key>\w+)` \| (?P<type>[^|]+) \| (?P<default>[^|]+) \| (?P<meaning>[^|]+) \|$", re.MULTILINE)
Keys = dict[str, tuple[typing.Any, typing.Any]]
"""The type and the default of each key of a table."""


def tables() -> dict[str, Keys]:
    """Every table of task.toml by its header. NAME stands for a name that the task chooses."""
    found = {}
    for name, hint in typing.get_type_hints(TaskFile, include_extras=True).items():
        if typing.get_origin(hint) is not dict:
            found[name] = keys(hint)
        elif dataclasses.is_dataclass(of := typing.get_args(hint)[1]):
            found[f"{name}.NAME"] = keys(of)
        else:
            found[name] = {"NAME": (of, None)}
    return found


def keys(kind: type) -> Keys:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: (hints[field.name], field.default) for field in dataclasses.fields(kind)}


def sections() -> dict[str, str]:
    """The text of the page below each header that is a table's."""
    parts = re.split(r"^## \[([\w.]+)\]$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_page_has_a_section_for_every_table_in_the_order_of_the_code() -> None:
    assert list(sections()) == list(tables())


@pytest.mark.parametrize("table", tables())
def test_every_key_is_there_with_its_type_and_default_and_no_other(table: str) -> None:
    rows = {row["key"]: row for row in ROW.finditer(sections()[table])}
    assert set(rows) == set(tables()[table])
    for key, (kind, default) in tables()[table].items():
        assert (key, rows[key]["type"]) == (key, wanted(kind))
        match rows[key]["default"]:
            case "required":
                assert default is dataclasses.MISSING, key
            case "none":
                assert default is None, key
            case written:
                value = tomli.loads(f"value = {written.strip('`')}")["value"]
                assert (key, tuple(value) if isinstance(value, list) else value) == (key, default)


@pytest.mark.parametrize("table", tables())
def test_the_example_has_every_key_and_the_code_takes_it(table: str, tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    fence = re.search(r"```toml\n(.*?)```", sections()[table], re.DOTALL)
    assert fence is not None, f"[{table}] has no example"
    path.write_text(fence[1])
    document = Document.read(path)
    (header,) = document.table
    given, known = document.table[header], tables()[table]
    if table.endswith(".NAME"):
        (given,) = given.values()
    assert header == table.removesuffix(".NAME")
    if "NAME" not in known:
        assert set(given) == set(known)
    for key, value in given.items():
        document.part(value, known.get(key, known.get("NAME"))[0], header, key)
