"""Implements the operations: a function with the name of each, in a module per subject.

It takes the engine, the operation as declared, its target, and who asks for it; what it returns is added to the answer.
kpd/operations has checked the arguments before, and whether the operation is possible. What only the disk, a host or
the log can tell is refused here.
"""
