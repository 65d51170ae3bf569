"""Data as words: the one place where kpd makes sentences of its facts, for the CLI, the UI, reports and prompts."""
