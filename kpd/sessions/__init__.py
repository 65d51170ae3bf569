"""Sessions: coding agents that work for minutes on a copy of a task, and propose what then lies in it."""
