"""The command line: ``python -m icl_book COMMAND``, ``--help`` lists the commands."""

from __future__ import annotations

import argparse
import os
import sys

try:
    from icl_book import process
    from icl_book.parameters import BadInput
    from icl_book.runner import plan
    from icl_book.runner.schedule import schedule
except ModuleNotFoundError as missing:  # the package without its extras
    sys.exit(f"error: {missing.name} is not installed; it comes with the extra icl[notebook]")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    whole = argparse.ArgumentParser(prog="python -m icl_book", description="Execute and sync notebooks.")
    commands = whole.add_subparsers(dest="command", required=True)
    one = commands.add_parser("execute", help="execute one notebook")
    one.add_argument("-p", dest="values", action="append", default=[], metavar="NAME=VALUE")
    one.add_argument("--label", default="", help="printed before each line, e.g. '1 of 2'")
    one.add_argument("--digest", default="", help="refuse to run unless the run has this digest")
    book = commands.add_parser("book", help="execute what is not done and build the book")
    sweep = commands.add_parser("sweep", help="execute one notebook over a grid of parameters")
    sweep.add_argument("--grid", default="", help="e.g. 'noise_std=0.5,1 seed=0,1', or a YAML file")
    sweep.add_argument("--collect", default="", metavar="NAMES", help="claims and tables of the notebook")
    confirm = commands.add_parser("confirm", help="run the plan, book/protocol.yml, and write its results")
    repeat = commands.add_parser("replicate", help="judge every sampled verdict with fresh random streams")
    repeat.add_argument("--seed", default="", help="roots of the streams, e.g. 1,2,3; else those of the plan")
    source = commands.add_parser("source", help="compare a paper that you have with its claims")
    source.add_argument("paper", help="its key in book/references.bib, e.g. collins2024")
    source.add_argument("file", help="a .pdf, .tex or .txt file")
    for command in (one, sweep):
        command.add_argument("name")
    for command in (one, book, sweep):
        command.add_argument("--preset", default="quick")
    for command in (book, sweep, confirm, repeat):
        command.add_argument("--jobs", default="2")
        command.add_argument("--profile", default="", help="a cluster's settings, e.g. profiles/slurm")
    commands.add_parser("readme", help="rewrite README.md's findings and verdicts from the quick results")
    commands.add_parser("plan", help="write what follows from the sizes into book/protocol.yml")
    commands.add_parser("rules", help="print the digest of the rules, for book/changelog.yml")
    commands.add_parser("sync", help="rewrite notebooks/*.ipynb from notebooks/*.py")
    return whole


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    options = parser().parse_args(arguments)
    try:
        return _run(options)
    except KeyboardInterrupt:
        print("interrupted; what is done is kept, the same command goes on from there", flush=True)
        return 130
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
    except OSError as error:  # a full disk, a folder that may not be written
        why = f"{error.filename or 'a file'}: {error.strerror}"
        if error.strerror is None:  # a folder could not be copied: the first file and its reason
            why = str(error.args[0][0][-1] if isinstance(error.args[0], list) else error)
        print(f"error: {why}; what is done is kept", file=sys.stderr)
    return 1


def _run(options: argparse.Namespace) -> int:
    """Do what is asked for; what is slow to import is imported by the command that needs it."""
    match options.command:
        case "execute":
            from icl_book.runner.execute import execute

            for run in plan.plan(options.preset, options.name, " ".join(options.values)):
                if options.digest not in ("", run.digest):
                    raise BadInput(f"{run.name}: notebook, code, lock or data changed since it was asked for")
                execute(run, options.label)
        case "book":
            plan.for_book()
            runs = plan.plan(options.preset)
            if status := schedule(runs, options.jobs, options.profile):
                return status
            from icl_book.site import assemble

            print(assemble.build(options.preset, {run.name: run.path for run in runs}))
        case "sweep":
            if not (options.name and options.grid):
                example = 'make sweep NOTEBOOK=theorem2_scaling GRID="seed=0,1"'
                raise BadInput(f"sweep needs a notebook and a grid: {example}")
            runs = plan.plan(options.preset, options.name, options.grid)
            if status := schedule(runs, options.jobs, options.profile):
                return status
            from icl_book.runner import table

            written = table.write(runs, [name for name in options.collect.split(",") if name])
            print(f"tables, the same as .parquet: {' '.join(map(os.path.relpath, written))}")
        case "confirm":
            from icl_book.runner import protocol

            return protocol.confirm(options.jobs, options.profile)
        case "replicate":
            from icl_book.runner import again, protocol

            words = options.seed.split(",") if options.seed else protocol.seeds(protocol.read())[1:]
            if not all(map(str.isdecimal, map(str, words))):
                raise BadInput(f"seed={options.seed!r}: must be positive integers, e.g. 1,2,3")
            return again.replicate([int(word) for word in words], options.jobs, options.profile)
        case "readme":
            from icl_book.site import assemble

            assemble.readme()
        case "source":
            from icl_book.site import source

            print("\n".join(source.compare(options.paper, options.file)))
        case "plan":
            from icl_book.runner import protocol

            protocol.write()
        case "rules":
            from icl_book.claims import changes

            print(changes.digest())
        case "sync":
            from icl_book.runner.execute import sync

            for path in sync():
                print(f"wrote {os.path.relpath(path)}")
    return 0


if __name__ == "__main__":
    process.prepare()
    process.end_in_order()
    sys.exit(main())
