"""The picture of the house in docs/architecture.md, held against the imports."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

ROOMS = (
    "model", "text", "source", "workspace", "operations", "hosts", "measure", "profile", "knowledge", "claude",
    "agents", "engine", "daemon", "demo", "onboarding", "cli",
)  # fmt: skip
"""Each room may import those before it, never those after it."""
SHELVES = ("words", "model", "acts", "panes", "widgets", "screens")
"""Those of the UI, likewise; what stands beside them may import them all."""
WIRE = {"kpd.wire", "kpd.messages", "kpd.client", "kpd.subscription"}
WIRE_MAY = {"model", "text", "workspace"}
UI_MAY = {"model", "text", "workspace", "operations"}
ONE_IMPORTER = ("tomli", "watchfiles", "optuna", "anthropic", "asyncssh", "pandas")
TRANSPORTS = ("kpd.hosts.ssh", "kpd.hosts.openssh", "kpd.hosts.recorded")
FORBIDDEN = {"utils", "helpers", "common", "misc", "manager"}


def modules(*packages: str) -> Iterator[tuple[str, Path]]:
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield name.removesuffix(".__init__"), path


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "kpd" and len(parts) > 1 and parts[1] in ROOMS else None


@pytest.mark.parametrize(("module", "path"), modules("kpd"), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_go_one_way(module: str, path: Path) -> None:
    here = room(module)
    for name in imports(path):
        there = room(name)
        if module in WIRE:
            assert there is None or there in WIRE_MAY, f"{module} imports {name}"
        elif here is not None and there is not None:
            assert ROOMS.index(there) <= ROOMS.index(here), f"{module} imports {name}: against the order of rooms"
        if here not in (None, "daemon", "demo", "cli") and (here, name) != ("operations", "kpd.wire"):
            assert name not in WIRE, f"{module} imports {name}: only the daemons and the CLI speak over the socket"


@pytest.mark.parametrize(("module", "path"), modules("kpd/measure", "kpd/profile"), ids=lambda value: str(value)[:60])
def test_who_measures_knows_no_transport_and_no_other_way_to_measure(module: str, path: Path) -> None:
    for name in imports(path):
        assert not name.startswith(TRANSPORTS), f"{module} imports {name}"
        if module.startswith("kpd.measure.command"):
            assert not name.startswith("kpd.measure.driver"), f"{module} imports {name}"


def test_only_the_verbs_that_start_it_know_the_ui() -> None:
    users = {
        module for module, path in modules("kpd") for name in imports(path) if name.split(".")[0] in ("tui", "textual")
    }
    assert users <= {"kpd.cli.start", "kpd.cli.attach", "kpd.cli.demo"}


def test_the_ui_knows_only_the_model_the_client_the_workspace_and_the_operations() -> None:
    for module, path in modules("tui"):
        for name in imports(path):
            if name.startswith("kpd"):
                ends = any(name == end or name.startswith(f"{end}.") for end in WIRE)
                allowed = (
                    room(name) in ("model", "text", "workspace", "operations")
                    or ends
                    or name in ("kpd", "kpd.__version__")
                )
                assert allowed, f"{module} imports {name}"


def test_in_the_ui_imports_go_one_way_too() -> None:
    for module, path in modules("tui"):
        here = module.split(".")[1] if module != "tui" else ""
        if here in SHELVES:
            for name in imports(path):
                there = name.split(".")[1] if name.startswith("tui.") else here
                assert there in SHELVES[: SHELVES.index(here) + 1], f"{module} imports {name}"


def test_onboarding_hangs_at_the_side() -> None:
    """One verb needs it, when it is asked for; it needs nothing of a run."""
    users = {
        module
        for module, path in modules("kpd", "tui")
        if not module.startswith("kpd.onboarding") and any(name.startswith("kpd.onboarding") for name in imports(path))
    }
    assert users == {"kpd.cli.task_new"}
    for module, path in modules("kpd/onboarding"):
        assert not {room(name) for name in imports(path)} & {"engine", "daemon", "demo"}, module


def test_the_reader_of_source_knows_nothing_of_kpd_and_one_module_its_grammars() -> None:
    for module, path in modules("kpd", "tui"):
        for name in imports(path):
            if module.startswith("kpd.source"):
                assert not name.startswith("kpd.") or name.startswith("kpd.source"), f"{module} imports {name}"
            if name.split(".")[0] == "tree_sitter":
                assert module == "kpd.source.tree", f"{module} imports {name}"
    at_once = ast.parse((ROOT / "kpd" / "source" / "tree.py").read_text()).body
    assert "tree_sitter" not in {node.module for node in at_once if isinstance(node, ast.ImportFrom)}


def test_heavy_libraries_have_one_importing_module() -> None:
    importers = defaultdict(set)
    for module, path in modules("kpd", "tui"):
        for name in imports(path):
            if name.split(".")[0] in ONE_IMPORTER:
                importers[name.split(".")[0]].add(module)
    assert all(len(users) == 1 for users in importers.values()), importers


def test_a_transport_over_ssh_is_imported_when_a_host_needs_it() -> None:
    packages = ("kpd.hosts.ssh", "kpd.hosts.openssh")
    for module, path in modules("kpd", "tui"):
        if not module.startswith(packages):
            at_once = [
                node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)
            ]
            names = {getattr(node, "module", None) or node.names[0].name for node in at_once}
            assert not [name for name in names if name.startswith(packages)], module


def test_no_module_without_a_subject() -> None:
    names = {module.rsplit(".", 1)[-1] for module, _ in modules("kpd", "tui")}
    assert not names & FORBIDDEN
