"""Renders data as sentences, for the CLI, the UI, reports and prompts. No other package does."""
