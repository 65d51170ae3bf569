"""State, events and the pure fold. Imports nothing of kpd."""
