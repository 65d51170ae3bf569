"""Makes a task from a production kernel: its source, its host wrapper and observed launches."""
