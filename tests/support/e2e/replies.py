"""Replies of a model service, in turn."""

from collections.abc import Callable

from tests.support.claude.anthropic_script import Asked, Behaviour, Reply

KERNEL = """\
#define REPEAT {repeat}

void scale(const float *x, volatile float *y, long n) {{
    for (int r = 0; r < REPEAT; r++)
        for (long i = 0; i < n; i++)
            y[i] = 2.0f * x[i];
}}
"""


def reply(
    repeat: object, memo: str = "MEMO: [call_in_loop] once is enough", kernel: str = KERNEL, more: str = ""
) -> str:
    body = KERNEL.format(repeat=repeat)
    return f"{memo}\nEXPECT: ipc up, gain 80 %\n\n```c kernel.c\n{body}```\n{more}"


def in_turn(*behaviours: Behaviour) -> Callable[[Asked], Behaviour]:
    left = list(behaviours)
    return lambda asked: left.pop(0) if left else Reply(reply(8))
