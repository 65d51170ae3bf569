"""How long a test waits for what is certain to come."""

PATIENCE_S = 240.0  # a shared machine may hold a process up for minutes; what waits in vain still ends
