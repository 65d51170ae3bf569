"""Real coding agents from the npm registry, installed once into a cache."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kpd-tests"


def installed(package: str, program_name: str = "") -> Path:
    """Return the program of a package; it needs npm, and the first time some seconds and 100 to 460 MB."""
    name = package.rpartition("/")[2]
    program = CACHE / name / "node_modules" / ".bin" / (program_name or name)
    if not program.exists():
        assert shutil.which("npm"), f"install npm: {package} comes from its registry"
        program.parents[2].mkdir(parents=True, exist_ok=True)
        quiet = ("--silent", "--no-fund", "--no-audit")
        subprocess.run(["npm", "install", *quiet, package], cwd=program.parents[2], check=True, timeout=240)
    return program


@pytest.fixture(scope="session")
def claude_code() -> Path:
    return installed("@agentclientprotocol/claude-agent-acp")


@pytest.fixture(scope="session")
def codex() -> Path:
    return installed("@agentclientprotocol/codex-acp")


@pytest.fixture(scope="session")
def opencode() -> Path:
    return installed("opencode-ai", "opencode")


@pytest.fixture(scope="session")
def gemini() -> Path:
    return installed("@google/gemini-cli", "gemini")
