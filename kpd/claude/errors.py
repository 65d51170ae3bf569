"""Defines the errors that end a question without an answer. Temporary errors are retried, within limits."""

from kpd.model.exhaustion import Overspent
from kpd.text.waits import overspent


class Unavailable(Exception):
    """No answer until a person does something, or none soon enough to be of use.

    `message` says what is wrong, `remedy` what helps.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"


class OverBudget(Exception):
    """The next call could cost more than the run or the day may still spend."""

    def __init__(self, over: Overspent) -> None:
        self.message = overspent(over)
        super().__init__(self.message)
        self.over = over
