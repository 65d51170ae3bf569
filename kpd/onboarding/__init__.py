"""Makes a task of a production kernel, from its source, its host wrapper and observed launches."""
