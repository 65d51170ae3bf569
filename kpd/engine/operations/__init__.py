"""Implements the operations: a function with the name of each, in a module per subject.

It takes the engine, the operation as declared, what it is done to, and who does it; what it returns is added to the
answer. By then kpd/operations has checked the arguments and said that it can be done; what only the disk, a host or the
log can tell is refused here.
"""
