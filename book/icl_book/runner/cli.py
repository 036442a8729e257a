"""The command line: ``python -m icl_book book | execute | sweep | rules | confirm | replicate | sync``."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from icl_book.parameters import BadInput
from icl_book.runner import again, table
from icl_book.runner.execute import execute, sync
from icl_book.runner.plan import Run, configure, for_book, literal, plan
from icl_book.runner.schedule import schedule, tie


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m icl_book", description="Execute and sync notebooks.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("execute", help="execute one notebook")
    one.add_argument("-p", dest="values", action="append", default=[], metavar="NAME=VALUE")
    one.add_argument("--label", default="", help="printed before each line, e.g. '1 of 2'")
    one.add_argument("--tied", action="store_true", help="end when the process that started this one ends")
    book = commands.add_parser("book", help="execute what is not done and build the book")
    sweep = commands.add_parser("sweep", help="execute one notebook over a grid of parameters")
    sweep.add_argument("--grid", default="", help="e.g. 'noise_std=0.5,1 seed=0,1', or a YAML file")
    sweep.add_argument("--collect", default="", metavar="NAMES", help="names of glued numbers, e.g. risk,w")
    for command in (one, sweep):
        command.add_argument("name")
    for command in (one, book, sweep):
        command.add_argument("--preset", default="quick")
    for command in (book, sweep):
        command.add_argument("--jobs", default="2")
        command.add_argument("--profile", default="", help="a cluster's settings, e.g. profiles/slurm")
        command.add_argument("--force", action="store_true", help="start what may take very long")
    confirm = commands.add_parser("confirm", help="run the confirmatory preset and write its results")
    repeat = commands.add_parser("replicate", help="judge every sampled verdict with fresh random streams")
    repeat.add_argument("--seed", required=True, help="roots of the streams, positive integers, e.g. 1,2,3")
    for command in (confirm, repeat):
        command.add_argument("--jobs", default="2")
    commands.add_parser("rules", help="print the digest of the rules, for book/changelog.yml")
    commands.add_parser("sync", help="rewrite notebooks/*.ipynb from notebooks/*.py")
    options = parser.parse_args(arguments)
    try:
        match options.command:
            case "sync":
                for path in sync():
                    print(f"wrote {os.path.relpath(path)}")
            case "book":
                for_book(options.preset)
                return schedule({"preset": options.preset}, options.jobs, options.profile, options.force)
            case "sweep":
                return _sweep(options)
            case "rules":
                from icl_book.claims import changes

                print(changes.digest())
            case "confirm":
                return again.confirm(schedule, options.jobs)
            case "replicate":
                if not all(map(str.isdecimal, words := options.seed.split(","))):
                    raise BadInput(f"seed={options.seed!r}: must be positive integers, e.g. 1,2,3")
                return again.replicate(schedule, [int(word) for word in words], options.jobs)
            case "execute":
                if options.tied:
                    tie(signal.SIGINT)
                execute(_changed(options.name, options.preset, options.values), options.label)
    except KeyboardInterrupt:
        return 130
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:  # a full disk, a folder that may not be written
        print(f"error: {error.filename or 'a file'}: {error.strerror}; what is done is kept", file=sys.stderr)
        return 1
    return 0


def _sweep(options: argparse.Namespace) -> int:
    """Run a sweep and write its table."""
    if not options.grid:
        raise BadInput(
            'sweep needs a notebook and a grid: make sweep NOTEBOOK=theorem2_scaling GRID="seed=0,1"'
        )
    wanted = [name for name in options.collect.split(",") if name]
    table.check(options.name, wanted)
    settings = {"preset": options.preset, "notebook": options.name, "grid": options.grid}
    if status := schedule(settings, options.jobs, options.profile, options.force):
        return status
    folder = table.write(plan(options.preset, options.name, options.grid), wanted)
    print(
        f"table and page: {os.path.relpath(folder / 'table.csv')}, {os.path.relpath(folder / 'index.html')}"
    )
    return 0


def _changed(name: str, preset: str, words: list[str]) -> Run:
    """A preset's run with ``name=value`` words applied to it."""
    changes = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise BadInput(f"-p {word!r}: must look like name=value")
        try:
            changes[key] = literal(value)
        except BadInput as error:
            raise BadInput(f"-p {key}: {error}") from None
    return configure(name, preset, changes)
