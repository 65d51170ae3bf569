"""What ends a question to the model service without an answer. What time heals is waited for, while it is worth it."""

from typing import Literal

Scope = Literal["run", "day"]


class Unavailable(Exception):
    """The service will not answer until a person does something, or not soon enough for what the answer is worth.

    `message` says what is wrong, `remedy` what helps.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}"


class OverBudget(Exception):
    """The next call could cost more than the run or the day may still spend. `message` names the limit."""

    def __init__(self, message: str, scope: Scope) -> None:
        super().__init__(message)
        self.message = message
        self.scope: Scope = scope
