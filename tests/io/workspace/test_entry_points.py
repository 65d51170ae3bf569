"""Entry points: kpd's own, those of plug-ins, and all that can be wrong with one."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.agents.catalogue import AGENTS, UNNAMED, choices, refusal, traits
from kpd.measure.catalogue import flags_of, prepare
from kpd.model.agents import AgentTraits
from kpd.profile.catalogue import RULE_LISTS, of_plug_ins, rule_lists, rules
from kpd.workspace import entry_points, languages
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.config import Config, load_config
from kpd.workspace.entry_points import EntryPointGroup, PlugInError, plug_in_at_fault
from kpd.workspace.host_tables import HostConfig
from kpd.workspace.languages import LANGUAGES, Syntax, syntax_of
from kpd.workspace.paths import Workspace
from kpd.workspace.task import load_task
from kpd.workspace.transports import TRANSPORTS

GROUPS: tuple[EntryPointGroup[object], ...] = (AGENTS, TRANSPORTS, LANGUAGES, RULE_LISTS)  # type: ignore[assignment]
AGENT = "from kpd.agents.agent import AgentKind\nAGENT = AgentKind(lambda config, of: None)\n"


class Plugged:
    """Distributions in a folder on the path, as pip leaves them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, group: str, entries: str, **modules: str) -> None:
        """`entries` are lines NAME = MODULE:OBJECT; `modules` are the text of each."""
        info = self.folder / f"{name.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{entries}\n")
        for module, text in modules.items():
            (self.folder / f"{module}.py").write_text(text)


@pytest.fixture(name="plugged")
def _plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugged]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    forget()
    yield Plugged(folder)
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(folder) in str(sys.modules[name].__file__):
            del sys.modules[name]
    monkeypatch.undo()
    forget()


def forget() -> None:
    """As a new process would be."""
    for cached in (
        entry_points._own,
        entry_points._of_plug_ins,
        entry_points._all_others,
        rules,
        rule_lists,
        languages._of_suffix,
    ):
        cached.cache_clear()
    for seam in GROUPS:
        seam._found.clear()


@pytest.mark.parametrize("seam", GROUPS, ids=lambda seam: seam.group)
def test_kpds_own_are_entry_points_like_any_other(seam: EntryPointGroup[object]) -> None:
    for name in seam.own():
        assert seam.get(name) is not None
    assert set(seam.own()) <= set(seam.names())
    assert seam.get("nothing-of-that-name") is None
    assert not AGENTS.own().keys() & UNNAMED.keys()


def help_of(*verb: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kpd.cli.main", *verb, "--help"],
        env={**os.environ, "PYTHONPATH": sys.path[0], "COLUMNS": "300"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


async def test_all_that_a_language_refers_to_is_there(tmp_path: Path) -> None:
    for name in LANGUAGES.own():
        language = LANGUAGES.get(name)
        assert language is not None
        for reference in (language.bench, language.flags, language.syntax.lexer):
            assert not reference or entry_points.referred(reference) is not None


def test_to_know_the_names_imports_nothing() -> None:
    program = (
        "import sys; from kpd.workspace.transports import TRANSPORTS; from kpd.workspace.languages import LANGUAGES\n"
        "before = set(sys.modules); TRANSPORTS.names(); LANGUAGES.names()\n"
        "print(*(name for name in set(sys.modules) - before if name.startswith('kpd')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_plug_in_is_known_by_its_name(plugged: Plugged, tmp_path: Path) -> None:
    plugged.add("kpd-mine", "kpd.agents", "mine = mine_agent:AGENT", mine_agent=AGENT)
    assert "mine" in AGENTS.names()
    plugged.add("kpd-over", "kpd.transports", "over = over_transport:KIND")
    assert "script, sweep, mine; claude,sweep take turns" in help_of("run")
    assert "script, sweep, mine; several take turns" in help_of("agent")
    assert "--transport {controlmaster,slurm,ssh,over}" in help_of("hosts", "add")
    assert "mine_agent" not in sys.modules, "nobody has used it"
    assert refusal("mine,sweep", Workspace(tmp_path), Config()) == ("", "")
    assert traits("mine,sweep,gone", Config()) == {"mine": AgentTraits(), "sweep": AgentTraits(explores=True)}
    assert "mine" in choices(Config()) and "session" not in choices(Config())
    assert "own" in choices(Config(agents={"own": AgentConfig(exec=("own",))}))


@pytest.mark.parametrize(
    ("entries", "text", "wrong"),
    [
        ("mine = mine_agent:AGENT", "import nothing_like_it\n", "cannot be imported: ModuleNotFoundError: No module"),
        ("mine = mine_agent:AGENT", "1 / 0\n", "cannot be imported: ZeroDivisionError"),
        ("mine = mine_agent:AGENT", "", "cannot be imported: AttributeError"),
        ("mine = mine_agent:AGENT", "AGENT = 7\n", "it is int instead of a kpd.agents.agent.AgentKind"),
    ],
)
def test_a_broken_plug_in_is_refused_where_it_is_named(
    plugged: Plugged, tmp_path: Path, entries: str, text: str, wrong: str
) -> None:
    plugged.add("kpd-mine", "kpd.agents", entries, mine_agent=text)
    for _ in range(2):  # a second import would not fail in the same way
        reason, remedy = refusal("mine", Workspace(tmp_path), Config())
        assert reason.startswith("'mine' of kpd-mine 1.2 (kpd.agents, mine_agent:AGENT) ")
        assert wrong in reason
        assert remedy.startswith("correct the plug-in or uninstall it")
    assert refusal("sweep", Workspace(tmp_path), Config()) == ("", "")
    assert [(told, str(found).split(";")[0]) for told, found in AGENTS.plug_ins()] == [
        ("'mine' of kpd-mine 1.2 (kpd.agents, mine_agent:AGENT)", reason)
    ]


def test_no_plug_in_takes_a_name_that_is_taken(plugged: Plugged, tmp_path: Path) -> None:
    plugged.add("kpd-b", "kpd.agents", "sweep = b_agent:AGENT\nmine = b_agent:AGENT", b_agent=AGENT)
    plugged.add("kpd-a", "kpd.agents", "mine = a_agent:AGENT\nNot:plain = a_agent:AGENT", a_agent=AGENT)
    assert AGENTS.get("sweep") is not None
    assert AGENTS.get("mine") is not None
    assert "a_agent" in sys.modules
    assert "b_agent" not in sys.modules
    told = [found.message for _, found in AGENTS.plug_ins() if isinstance(found, PlugInError)]
    assert [re.sub(r".*: ", "", each) for each in told] == [
        "a name is lower-case letters, digits, _ and -", "kpd's own has that name",
        "'mine' of kpd-a 1.2 (kpd.agents, a_agent:AGENT) has that name",
    ]  # fmt: skip


def test_metadata_of_another_kpd_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(entry_points, "_own", dict)
    with pytest.raises(PlugInError, match=r"metadata of kpd has no kpd.agents: .*; install kpd again: pip install -e"):
        AGENTS.names()
    AGENTS._found.clear()
    assert "install kpd again" in refusal("sweep", Workspace(tmp_path), Config())[1]


def test_where_an_error_comes_from(plugged: Plugged) -> None:
    plugged.add("kpd-mine", "kpd.agents", "mine = mine_agent:AGENT", mine_agent=f"{AGENT}def fail(): return 1 / 0\n")
    assert AGENTS.get("mine") is not None
    with pytest.raises(ZeroDivisionError) as caught:
        sys.modules["mine_agent"].fail()
    assert plug_in_at_fault(caught.value.__traceback__) == "kpd-mine 1.2"
    with pytest.raises(ValueError, match="no such") as own:
        raise ValueError("no such")
    assert plug_in_at_fault(own.value.__traceback__) == ""


# ── transports ──────────────────────────────────────────────────────────────────────────────────────────────────────

BOX = """
from dataclasses import dataclass
from kpd.workspace.transports import BadKey, TransportKind

@dataclass(frozen=True)
class Keys:
    image: str
    def __post_init__(self):
        if " " in self.image:
            raise BadKey("image", "has a blank", "leave it out")

BOX = TransportKind(lambda name, host, workspace: host.options.image, Keys)
"""


def read(tmp_path: Path, table: str) -> HostConfig:
    (tmp_path / "config.toml").write_text(f"[hosts.a]\n{table}\n")
    return load_config(Workspace(tmp_path)).hosts["a"]


def test_a_transport_has_keys_of_its_own(plugged: Plugged, tmp_path: Path) -> None:
    plugged.add("kpd-box", "kpd.transports", "box = box_transport:BOX", box_transport=BOX)
    host = read(tmp_path, 'transport = "box"\nimage = "debian"\ngpus = [0]')
    assert (host.options.image, host.gpus) == ("debian", (0,))
    for table, wrong in (
        ('transport = "box"', r"config.toml:1: 'image' in \[hosts.a\] is missing"),
        ('transport = "box"\nimage = 7', r"config.toml:3: 'image' in \[hosts.a\] must be a string"),
        ('transport = "box"\nimage = "a b"', r"config.toml:3: 'image' in \[hosts.a\] has a blank; leave it out"),
        ('transport = "box"\nimgae = "a"', r"config.toml:3: unknown key 'imgae' in \[hosts.a\]; did you mean 'image'"),
        ('image = "a"', r"config.toml:2: unknown key 'image' in \[hosts.a\]"),
    ):
        with pytest.raises(Exception, match=wrong):
            read(tmp_path, table)


def test_a_broken_transport_is_its_hosts_trouble_alone(plugged: Plugged, tmp_path: Path) -> None:
    plugged.add("kpd-box", "kpd.transports", "box = box_transport:BOX", box_transport="BOX = None\n")
    host = read(tmp_path, 'transport = "box"\nimage = "debian"')
    assert (host.transport, host.options) == ("box", None)


# ── languages ───────────────────────────────────────────────────────────────────────────────────────────────────────

FORTH = """
from kpd.workspace.languages import Language, Syntax
FORTH = Language(Syntax((".fs", ".c"), "forth"), "forth_language:prepare", commands=True, flags="forth_language:none")
"""


async def test_a_language_that_is_broken_or_gone_is_its_tasks_fault(plugged: Plugged, tmp_path: Path) -> None:
    plugged.add("kpd-forth", "kpd.languages", "forth = forth_language:FORTH", forth_language=FORTH)
    folder = tmp_path / "add"
    folder.mkdir()
    (folder / "task.toml").write_text(
        '[task]\nname = "add"\nlanguage = "forth"\neditable = ["kernel.fs"]\nsummary = "adds"\n'
        '[bench]\ncommand = "true"\nscore = "us"\n'
    )
    (folder / "kernel.fs").touch()
    task = load_task(folder)
    assert syntax_of("x/kernel.fs").name == "forth"
    assert syntax_of("kernel.c").name == "c", "no plug-in takes a suffix of kpd's own"
    assert syntax_of("a.unheard_of") == Syntax((".unheard_of",))
    with pytest.raises(PlugInError, match="forth is measured with forth_language:prepare, which cannot be imported"):
        await prepare(None, task, None, print)  # type: ignore[arg-type]
    with pytest.raises(PlugInError, match="forth has the flags of forth_language:none, which cannot"):
        flags_of(task)
    forget()
    (plugged.folder / "forth_language.py").write_text("1 / 0\n")
    del sys.modules["forth_language"]
    with pytest.raises(Exception, match=r"task.toml:3: 'forth' of kpd-forth .*ZeroDivisionError"):
        load_task(folder)


# ── rules ───────────────────────────────────────────────────────────────────────────────────────────────────────────

RULES = """
from pathlib import Path
from kpd.profile.rules import Rule, RuleList
RULE = Rule({id!r}, "low", {condition!r}, {finding!r}, "do")
RULES = RuleList("cpu", (RULE,), Path(__file__).parent)
"""


def test_a_broken_rule_list_is_told_and_the_rest_goes_on(plugged: Plugged) -> None:
    before = len(rules())
    for name, id, condition, finding in (
        ("good", "is_good", "ipc / waves < 1", "{ipc:.1f}"), ("skill", "no_skill", "ipc < 1", "{ipc}"),
        ("format", "is_odd", "ipc < 1", "{ipc:d}"), ("code", "is_code", "ipc.real < 1", "{ipc}"),
        ("taken", "low_ipc", "ipc < 1", "{ipc}"), ("name", "Is Odd", "ipc < 1", "{ipc}"),
    ):  # fmt: skip
        text = RULES.format(id=id, condition=condition, finding=finding)
        plugged.add(f"kpd-{name}", "kpd.rules", f"{name} = {name}_rules:RULES", **{f"{name}_rules": text})
        if name != "skill":
            (plugged.folder / f"{id}.md").touch()
    forget()
    wrong = {told.split("'")[1]: str(found) for told, found in of_plug_ins() if isinstance(found, PlugInError)}
    assert wrong.keys() == {"skill", "format", "code", "taken", "name"}
    assert "the rule no_skill has no skill: there is no " in wrong["skill"]
    assert "the rule is_odd cannot be told: Unknown format code 'd'" in wrong["format"]
    assert "the rule is_code cannot be told: 'ipc.real < 1' is not a condition: it has Attribute in it" in wrong["code"]
    assert "there is a rule low_ipc already" in wrong["taken"]
    assert "an id is like low_ipc" in wrong["name"]
    assert len(rules()) == before + 1
    assert rules("cpu")[-1].fire({"ipc": 0.5, "waves": 0}) is None, (
        "its condition has no value, and the profile goes on"
    )
    assert rules("cpu")[-1].fire({"ipc": 0.5, "waves": 2}) is not None
    assert rules("gpu")[-1].id != "is_good"
