"""Has this process, or a daemon of its own, know the transport and the agent `cassette`."""

from kpd.agents.catalogue import AGENTS
from kpd.workspace.transports import TRANSPORTS
from tests.support.cassette.agent import AGENT
from tests.support.cassette.host import NAME, TRANSPORT

DAEMON = """
import sys
from kpd.cli.main import main
from tests.support.cassette.plug_in import register
register()
sys.exit(main(["-w", sys.argv[1], "daemon"]))
"""
"""A program for `RealDaemon.start`."""


def register() -> None:
    TRANSPORTS.register(NAME, TRANSPORT)
    AGENTS.register(NAME, AGENT)
