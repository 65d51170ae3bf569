"""The examples of docs/extending.md, taken from the page, installed as any package is, and run by the real kpd."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.workspace.paths import Workspace
from kpd.workspace.shipped import TASK_TEMPLATE
from tests.places import ROOT
from tests.support.daemon.real_daemon import RealDaemon

PAGE = ROOT / "docs/extending.md"
FILE = re.compile(r"^```\w+ (?P<path>[\w./-]+/[\w./-]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PACKAGES = ("kpd-cpp", "kpd-filter", "kpd-short-calls", "kpd-through")
AGENT = "filter:sed s/64/256/"


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
    """With a task in C++, the small C task in other words, and a host that a command leads to."""
    workspace = Workspace(tmp_path / "workspace")
    folder = workspace.tasks / "add"
    folder.mkdir(parents=True)
    for source in TASK_TEMPLATE.iterdir():
        text = source.read_text().replace("@NAME@", "add")
        if source.name == "kernel.c":
            text = text.replace("void kernel", 'extern "C" void kernel')
            (folder / "kernel.cpp").write_text(text)
        elif source.name == "task.toml":
            text = text.replace('"c"', '"cpp"').replace('["kernel.c", "build.json"]', '["kernel.cpp"]')
            (folder / "task.toml").write_text(re.sub(r"^flags = .*$", "", text, flags=re.MULTILINE))
        elif source.name == "harness.c":
            (folder / "harness.c").write_text(text)
    host = (
        f'[hosts.box]\ntransport = "through"\nthrough = ["env"]\nroot = "{tmp_path}/far"\npython = "{sys.executable}"\n'
    )
    (workspace.root / "config.toml").write_text(
        f'[hosts.local]\nleases = "{tmp_path}/l"\n{host}leases = "{tmp_path}/l"\n'
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
    return subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))


def test_each_example_does_what_the_page_says(daemon: RealDaemon, workspace: Workspace) -> None:
    doctor = kpd(workspace, "doctor", "--json").stdout
    for name in PACKAGES:
        assert f"of {name} 0.1 (kpd." in doctor
    assert "short_calls" in kpd(workspace, "rules").stdout
    assert "set-up before the loop" in kpd(workspace, "skills", "short_calls").stdout
    assert kpd(workspace, "task", "check", "add").stdout == "✓ add\n"

    ran = kpd(workspace, "run", "add", "--agent", AGENT, "--host", "box", "--iterations", "1", "--wait")
    run = daemon.query("run", run="r1") if "run" in ran.stdout else None
    assert daemon.events("RunEnded"), ran.stderr
    verdicts = [event["body"] for event in daemon.events("Judged")]
    assert [it["iteration"] for it in verdicts] == [0, 1], (ran.stderr, run)
    assert daemon.events("RunStarted")[0]["body"]["host"] == "box"
    explained = [event["body"] for event in daemon.events("Explained")]
    assert all("short_calls" in {found["rule"] for found in one["findings"]} for one in explained)
    assert explained
    show = kpd(workspace, "show", "r1.1").stdout
    assert "kernel.cpp as sed s/64/256/ has it" in show


def test_what_the_page_refuses(daemon: RealDaemon, workspace: Workspace) -> None:
    done = kpd(workspace, "run", "add", "--agent", "filter:no-such-program")
    assert "there is no program 'no-such-program'" in done.stderr
    (workspace.root / "config.toml").write_text('[hosts.box]\ntransport = "through"\nthrough = []\n')
    assert (
        "'through' in [hosts.box] is empty; name a command"
        in kpd(workspace, "hosts").stderr + kpd(workspace, "doctor").stdout
    )
