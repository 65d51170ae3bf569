"""The picture of the house in docs/architecture.md, held against the imports."""

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.places import ROOT
from tests.support.statements import of_file

MAY: dict[str, str] = {
    "model": "",
    "text": "model",
    "source": "",
    "workspace": "model",
    "operations": "model text workspace",
    "hosts": "model text workspace",
    "measure": "model text source workspace hosts",
    "profile": "model text workspace hosts measure",
    "knowledge": "model text workspace profile",
    "claude": "model text workspace knowledge",
    "agents": "model text source workspace measure profile knowledge claude",
    "tools": "model workspace hosts",
    "sessions": "model text workspace hosts knowledge claude agents tools",
    "engine": "model text workspace operations hosts measure profile knowledge claude agents tools",
    "onboarding": "model source workspace hosts measure claude agents",
    "production": "model text source workspace hosts measure knowledge claude agents onboarding",
    "daemon": "model text workspace operations hosts measure profile knowledge agents engine production",
    "demo": "model workspace operations daemon",
    "imports": "source workspace hosts measure",
    "mcp": "",
    "report": "model text profile",
    "evidence": "model text workspace measure",
    "cli": "model text workspace operations hosts measure profile claude agents tools sessions daemon demo onboarding"
    " imports production mcp report evidence",
}
"""What each room imports of kpd besides itself, and so may: docs/architecture.md has the same table."""
ROOMS = tuple(MAY)
SHELVES = ("format", "model", "actions", "panes", "widgets", "screens")
"""Those of the UI, likewise; what stands beside them may import them all."""
WIRE = {"kpd.wire", "kpd.messages", "kpd.client", "kpd.subscription"}
WIRE_MAY = {"model", "text", "workspace"}
UI_MAY = {"model", "text", "workspace", "operations"}
ENDS = {"operations": {"kpd.wire"}, "mcp": {"kpd.wire"}, "engine.tools": {"kpd.wire", "kpd.messages"}}
"""Who else knows a part of the socket's protocol: refusals have its codes, and a session has a socket of its own."""
ONE_IMPORTER = ("tomli", "yaml", "watchfiles", "optuna", "anthropic", "asyncssh", "pandas", "mcp", "mcp_types", "acp")
TRANSPORTS = ("kpd.hosts.ssh", "kpd.hosts.openssh")
SLURM = "kpd.hosts.slurm"
FORBIDDEN = {"utils", "helpers", "common", "misc", "manager"}


def modules(*packages: str) -> Iterator[tuple[str, Path]]:
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield name.removesuffix(".__init__"), path


@functools.cache
def imports(path: Path) -> frozenset[str]:
    found = set()
    for node in of_file(path).imports:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "kpd" and len(parts) > 1 and parts[1] in ROOMS else None


def test_imports_are_in_the_table() -> None:
    """Rooms import what the table says, and only the daemons and the CLI speak over the socket."""
    stray = [
        f"{module} imports {name}" for module, path in modules("kpd") for name in imports(path) if not may(module, name)
    ]
    assert stray == []


def may(module: str, name: str) -> bool:
    here, there = room(module), room(name)
    if module in WIRE and not (there is None or there in WIRE_MAY):
        return False
    if module not in WIRE and None not in (here, there) and there != here and there not in MAY[here or ""].split():
        return False
    known = {end for who, ends in ENDS.items() if module.startswith(f"kpd.{who}") for end in ends}
    return here in (None, "daemon", "demo", "cli") or name in known or name not in WIRE


def test_who_measures_knows_no_transport_and_no_other_way_to_measure() -> None:
    for module, path in modules("kpd/measure", "kpd/profile"):
        for name in imports(path):
            assert not name.startswith(TRANSPORTS), f"{module} imports {name}"
            if module.startswith("kpd.measure.command"):
                assert not name.startswith("kpd.measure.driver"), f"{module} imports {name}"


def test_only_the_registry_of_transports_knows_slurm() -> None:
    knows = {module for module, path in modules("kpd", "tui") for name in imports(path) if name.startswith(SLURM)}
    assert {module for module in knows if not module.startswith(SLURM)} == {"kpd.hosts.kinds"}


def test_the_table_says_no_more_than_is_so() -> None:
    used: dict[str, set[str]] = {here: set() for here in ROOMS}
    for module, path in modules("kpd"):
        if (here := room(module)) is not None:
            used[here] |= {there for name in imports(path) if (there := room(name)) not in (None, here)}
    assert {here: set(may.split()) for here, may in MAY.items()} == used
    for at, here in enumerate(ROOMS):
        assert not set(MAY[here].split()) & set(ROOMS[at:]), f"{here} and a room after it need each other"


def test_the_page_has_the_same_table() -> None:
    rows = re.findall(r"^\| `kpd/(\w+)` \|.*\| ([^|]+) \|$", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    assert {here: ("nothing of kpd" if not may else may.replace(" ", ", ")) for here, may in MAY.items()} == dict(rows)


def test_nobody_else_imports_the_inside_of_the_helper() -> None:
    """But for the programs that are staged beside it, and run on the host as it does."""
    users = {
        module
        for module, path in modules("kpd", "tui")
        if room(module) != "hosts" and any(name.startswith("kpd.hosts.helper") for name in imports(path))
    }
    host = "kpd.measure.python.host"
    far = {f"kpd.production.far.{name}" for name in ("disk", "main", "refusals", "restore", "switch")}
    assert users == {
        "kpd.measure.command.runner",
        *(f"{host}.{name}" for name in ("ahead", "calls", "confined", "heap", "main", "profiled", "spare", "turns")),
        *far,
    }


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
    """One verb needs it when it is asked for, what brings a kernel in, and what observes a program its table.

    It needs nothing of a run.
    """
    users = {
        module
        for module, path in modules("kpd", "tui")
        if not module.startswith("kpd.onboarding") and any(name.startswith("kpd.onboarding") for name in imports(path))
    }
    assert users == {
        "kpd.cli.task_new", "kpd.cli.task_like", "kpd.cli.project_run", "kpd.cli.project_phase",
        "kpd.production.extract",
        "kpd.production.observe.names", "kpd.production.observe.observation", "kpd.production.logged.lines",
    }  # fmt: skip
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


def test_agents_are_known_by_what_they_are_and_not_by_name() -> None:
    """But where facts older than that are read, for the agent of a run that names none, and where no coding agent may
    take a name. A tool of sessions and a table of task.toml only share the name of one."""
    names = {"claude", "sweep", "mailbox", "script"}
    users = {
        module
        for module, path in modules("kpd", "tui")
        if room(module) != "agents"
        and any(name in path.read_text() for name in names)
        and names & {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
    }
    assert users == {
        "kpd.model.agents", "kpd.workspace.config", "kpd.workspace.coding_agents", "kpd.engine.tools.catalogue",
        "kpd.workspace.tune_space", "kpd.imports.kernel_tuner",
    }  # fmt: skip


def test_heavy_libraries_have_one_importing_module() -> None:
    importers = defaultdict(set)
    for module, path in modules("kpd", "tui"):
        for name in imports(path):
            if name.split(".")[0] in ONE_IMPORTER:
                importers[name.split(".")[0]].add(module)
    assert importers.pop("optuna") == {"kpd.agents.suggest", "kpd.report.importance"}
    both_ends = importers.pop("mcp"), importers.pop("mcp_types")
    assert all(users == {"kpd.mcp.server", "kpd.tools.server_talk"} for users in both_ends), both_ends
    assert all(len(users) == 1 for users in importers.values()), importers


def test_a_transport_over_ssh_is_imported_when_a_host_needs_it() -> None:
    packages = ("kpd.hosts.ssh", "kpd.hosts.openssh")
    for module, path in modules("kpd", "tui"):
        if not module.startswith(packages) and any(name.startswith(packages) for name in imports(path)):
            at_once = [
                node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)
            ]
            names = {getattr(node, "module", None) or node.names[0].name for node in at_once}
            assert not [name for name in names if name.startswith(packages)], module


def test_no_module_without_a_subject() -> None:
    names = {module.rsplit(".", 1)[-1] for module, _ in modules("kpd", "tui")}
    assert not names & FORBIDDEN


def test_test_files_share_through_support_alone() -> None:
    for name, path in modules("tests", "benchmarks"):
        across = re.findall(r"^ *(?:from|import) (tests\.(?:unit|io|slow)\.\S+)", path.read_text(), re.MULTILINE)
        assert not across, f"{name}: what test files share lies in tests/support"
