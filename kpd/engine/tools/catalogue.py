"""Lists the tools: those that any client may use, and those of a session."""

from collections.abc import Mapping

from kpd.engine.tools import knowing, measuring, reading
from kpd.engine.tools.tool import Tool

_ALL = (
    Tool("inspect", reading.inspect),
    Tool("findings", reading.findings),
    Tool("try", measuring.measure, measures=True),
    Tool("sweep", measuring.sweep, measures=True),
    Tool("profile", measuring.profile, measures=True),
    Tool("history", reading.history),
    Tool("rank", reading.rank),
    Tool("diff", reading.diff),
    Tool("rules", knowing.rules),
    Tool("skill", knowing.skill),
    Tool("memory", knowing.memory),
    Tool("note", knowing.note, writes=True),
)
SESSION: Mapping[str, Tool] = {one.name: one for one in _ALL}
"""The tools of an agent in its session."""
ANYBODY: Mapping[str, Tool] = {one.name: one for one in _ALL if not one.measures}
"""The tools for clients outside of any session: they measure nothing."""
