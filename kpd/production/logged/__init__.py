"""Observes a program by lines that log its launches in its source, where no library can be loaded into it."""
