"""The terminal UI: shows one frozen state and sends commands. Nothing here decides anything."""
