"""Defines the exit codes, and the error that is printed in one line."""

OK = 0
FAILED = 1
NO_GAIN = 2
INFRA = 3
NOT_OVER = 4
USAGE = 64
INTERRUPTED = 130

DAEMON_CODES = {"usage": USAGE, "unknown": USAGE, "no_command": USAGE, "no_file": USAGE, "refused": FAILED}
"""What the daemon's error codes mean here; all others are infrastructure."""


class CliError(Exception):
    """An error that ends the command with `code`, after "kpd: message; remedy" on stderr."""

    def __init__(self, message: str, remedy: str = "", code: int = USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code
