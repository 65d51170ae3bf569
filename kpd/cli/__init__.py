"""The `kpd` command: one small module a verb. stdout is data, stderr is narration, exit codes are an API."""
