"""The terminal UI: shows one frozen state and sends commands. It decides nothing."""
