"""The examples of docs/extending.md, taken from the page, installed as any package is, and run by the real kpd."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import TASK_TEMPLATE
from tests.places import ROOT
from tests.support.daemon.real_daemon import RealDaemon

PAGE = ROOT / "docs/extending.md"
FILE = re.compile(r"^```\w+ (?P<path>[\w./-]+/[\w./-]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PACKAGES = ("kpd-cpp", "kpd-filter", "kpd-short-calls", "kpd-through")
AGENT = "filter:sed s/64/256/"
WAITS = "for (volatile int wait = 0; wait < 200; wait = wait + 1) continue;"
"""In each block, so that larger blocks are faster beyond doubt."""


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside the tree with the packages, as pip installs them; nothing is fetched."""
    sources, site = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("site")
    for found in FILE.finditer(PAGE.read_text()):
        path = sources / found["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found["text"])
    assert tuple(sorted(path.name for path in sources.iterdir())) == PACKAGES
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
    folders = [str(sources / name) for name in PACKAGES]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(site), *folders], check=True)
    return site


@pytest.fixture(name="workspace")
def _workspace(tmp_path: Path) -> Workspace:
    """With the small C task in C++, and a host that a command leads to."""
    workspace = Workspace(tmp_path / "workspace")
    folder = workspace.tasks / "add"
    folder.mkdir(parents=True)
    task, kernel, harness = ((TASK_TEMPLATE / name).read_text() for name in ("task.toml", "kernel.c", "harness.c"))
    task = task.replace("@NAME@", "add").replace('"c"', '"cpp"').replace('"kernel.c", "build.json"', '"kernel.cpp"')
    task = task.replace("seeds = 3", "seeds = 1")
    (folder / "task.toml").write_text(re.sub(r"^flags = .*$", "", task, flags=re.MULTILINE))
    kernel = kernel.replace("        size_t end", f"        {WAITS}\n        size_t end")
    (folder / "kernel.cpp").write_text(kernel.replace("void kernel", 'extern "C" void kernel'))
    (folder / "harness.c").write_text(harness)
    (workspace.root / "config.toml").write_text(
        f'[hosts.local]\nleases = "{tmp_path}/leases"\n[hosts.box]\ntransport = "through"\nthrough = ["env"]\n'
        f'python = "{sys.executable}"\nroot = "{tmp_path}/far"\nleases = "{tmp_path}/leases"\n'
    )
    return workspace


@pytest.fixture(name="daemon")
def _daemon(workspace: Workspace, site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealDaemon]:
    monkeypatch.setenv("PYTHONPATH", str(site))
    daemon = RealDaemon(workspace)
    daemon.start()
    yield daemon
    daemon.stop()


def kpd(workspace: Workspace, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kpd.cli.main", "-w", str(workspace.root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def bodies(daemon: RealDaemon, kind: str) -> list[dict[str, Any]]:
    return [event["body"] for event in daemon.events(kind)]


@pytest.mark.alone
def test_each_example_does_what_the_page_says(daemon: RealDaemon, workspace: Workspace) -> None:
    looked = kpd(workspace, "doctor", "--json").stdout
    for name in PACKAGES:
        assert f"of {name} 0.1 (kpd." in looked
    assert "short_calls" in kpd(workspace, "rules").stdout
    assert "set-up before the loop" in kpd(workspace, "skills", "short_calls").stdout
    assert kpd(workspace, "task", "check", "--static", "add").stdout == "✓ add\n"

    ran = kpd(workspace, "run", "add", "--agent", AGENT, "--host", "box", "--iterations", "1", "--wait")
    assert [it["iteration"] for it in bodies(daemon, "judged")] == [0, 1, 2], ran.stderr  # and the best once more
    assert bodies(daemon, "run_started")[0]["host"] == "box"
    fired = [{found["rule"] for found in one["findings"]} for one in bodies(daemon, "explained")]
    assert ["short_calls" in one for one in fired] == [True, True]
    assert "kernel.cpp as sed s/64/256/ has it" in kpd(workspace, "show", "r1.1").stdout


def test_what_the_page_refuses(daemon: RealDaemon, workspace: Workspace) -> None:
    done = kpd(workspace, "run", "add", "--agent", "filter:no-such-program")
    assert "there is no program 'no-such-program'" in done.stderr
    (workspace.root / "config.toml").write_text('[hosts.box]\ntransport = "through"\nthrough = []\n')
    assert "'through' in [hosts.box] is empty" in kpd(workspace, "doctor", "--json").stdout


FAILS = """
from kpd.agents.agent import AgentKind

class Fails:
    repairs = reads_steering = False
    async def propose(self, context):
        return 1 / 0
    async def close(self):
        pass

AGENT = AgentKind(lambda config, of: Fails())
"""


@pytest.mark.alone
def test_an_error_in_a_plug_in_ends_its_run_and_holds_no_other(
    workspace: Workspace, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "more" / "kpd_fails-0.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kpd-fails\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(
        "[kpd.agents]\nfails = kpd_fails:AGENT\n[kpd.rules]\nnothing = kpd_fails:NOTHING\n"
    )
    (info.parent / "kpd_fails.py").write_text(FAILS)
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{info.parent}")
    daemon = RealDaemon(workspace)
    daemon.start()
    try:
        for agent in ("fails", AGENT):
            budget = ("--iterations", "1", "--min-gain", "95")  # so that contests are short
            kpd(workspace, "run", "add", "--agent", agent, "--host", "box", *budget, "--wait")
        first, second = bodies(daemon, "run_ended")
        assert (first["outcome"], second["outcome"] in ("improved", "no_gain")) == ("failed", True)
        assert "the plug-in kpd-fails 0.1 failed: ZeroDivisionError" in first["reason"]
        told = [notice["text"] for notice in bodies(daemon, "noticed")]
        assert any(
            "'nothing' of kpd-fails 0.1 (kpd.rules, kpd_fails:NOTHING) cannot be imported" in one for one in told
        )
    finally:
        daemon.stop()
