"""kpd help VERB: prints how a verb is used, as its option --help does."""

from argparse import ArgumentParser, Namespace


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="VERB", help="a verb, and a word below it (default: all verbs)")


def execute(args: Namespace) -> int:
    from kpd.cli.main import main

    return main([*args.words, "--help"])
