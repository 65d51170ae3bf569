"""From a production kernel to a task: what its source, its host wrapper and observed launches say, and a harness."""
