"""Proposes what a coding agent leaves in a copy of the task, after a session of minutes."""

from kpd.agents.agent import Agent, Context, Proposal
from kpd.claude.errors import Unavailable
from kpd.sessions.attempt import SessionAttempt
from kpd.sessions.session import WorkingSession
from kpd.sessions.smith import Toolsmith
from kpd.sessions.terms import secrets, settings_of, why_not
from kpd.workspace.config import Config
from kpd.workspace.environment import take_key


class SessionAgent(Agent):
    """A coding agent, started for each turn and ended after it, so that nothing of it runs while kpd measures."""

    repairs = True
    reads_steering = True

    def __init__(self, name: str, config: Config) -> None:
        self._name = name
        self._config = config
        for key in secrets(settings_of(name, config).keys):
            take_key(key)

    async def propose(self, context: Context) -> Proposal:
        """Let the agent work for a turn, and return what then lies in its tree.

        A turn that a former daemon did not see the end of goes on in the same session. Raises BadReply when nothing has
        changed, Exhausted, Unavailable, OverBudget, OSError.
        """
        attempt = SessionAttempt(self._name, settings_of(self._name, self._config), context)
        if why := why_not(self._name, self._config):
            raise Unavailable(why, "kpd agent gives the run another one")
        return await attempt.proposal()

    async def reflect(self, context: Context) -> None:
        """Have the session of the iteration name what would have helped it, and build that."""
        session = WorkingSession(self._name, settings_of(self._name, self._config), context)
        await Toolsmith(session, self._config.toolsmith).improve()
