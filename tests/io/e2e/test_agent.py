"""A new agent fits without a change of the engine: one that is wrong twice, is told why, and mends it."""

import pytest

from kpd.client import DaemonError
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]


def test_agents_that_there_are_not_are_refused(daemon: RealDaemon) -> None:
    daemon.start()
    for names, reason in (
        ("clyde", "no agent 'clyde'"), ("script:", "no agent 'script:'"), ("sweep:x", "no agent 'sweep:x'"),
        ("claude,operator", "takes no turns"), ("sweep,sweep", "names an agent twice"), ("claude,", "no agent ''"),
        ("script:nowhere", "nowhere is no folder"), ("sweep,script:config.toml", "config.toml is no folder"),
        (f"script:{'x' * 300}", "is no folder"),
    ):  # fmt: skip
        with pytest.raises(DaemonError, match=reason) as refused:
            daemon.command("run", task="scale", agent=names, host="local")
        assert refused.value.code == "unknown", "a wrong argument, as a wrong task is: exit code 64"
