"""The `kpd` command. Data goes to stdout, messages to stderr; exit codes are an API."""
