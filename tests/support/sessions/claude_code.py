"""Claude Code from the npm registry, installed once into a cache."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGE = "@agentclientprotocol/claude-agent-acp"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kpd-tests" / "claude-agent-acp"


@pytest.fixture(scope="session")
def claude_code() -> Path:
    """Return the program; it needs npm, and the first time some seconds and 300 MB."""
    program = CACHE / "node_modules" / ".bin" / "claude-agent-acp"
    if not program.exists():
        assert shutil.which("npm"), "install npm: the real Claude Code comes from its registry"
        CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "install", "--silent", "--no-fund", "--no-audit", PACKAGE], cwd=CACHE, check=True, timeout=240
        )
    return program
