"""The runner: programs that run on the host, under the task's own Python (3.10 or newer), from one zip archive."""
