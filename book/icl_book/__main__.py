"""The command line: ``python -m icl_book COMMAND``, ``--help`` lists the commands."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from icl_book import lean

lean.begin()
# Importing a name whose entry is None fails. Jupytext then does without its part for JupyterLab, which would
# take a quarter of a second.
for name in ("jupytext.sync_contentsmanager", "jupytext.async_contentsmanager"):
    sys.modules.setdefault(name, None)  # type: ignore[arg-type]
try:
    from icl_book import provenance
    from icl_book.parameters import BadInput
    from icl_book.runner import pairs, plan, process
    from icl_book.runner.schedule import check_ready, schedule
except ModuleNotFoundError as missing:
    # The package was installed without its extras.
    sys.exit(f"error: {missing.name} is not installed; it comes with softmax-icl-book")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    whole = argparse.ArgumentParser(
        prog="python -m icl_book",
        description="Run chapters, build the book, and sweep over parameters.",
    )
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add_command(name: str, does: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")

    execute = add_command("execute", "execute one notebook and print where the result is")
    book = add_command("book", "execute what is not done and build the book")
    sweep = add_command("sweep", "execute one notebook over a grid of parameters and write tables")
    pdf = add_command("pdf", "print the book that was built last as one PDF")
    release = add_command(
        "release", "write book, PDF, notebooks and package as archives of a release"
    )
    repeat = add_command("replicate", "judge every sampled verdict with other random streams")
    judge = add_command(
        "judge", "measure what one claim needs, and print its card, in seconds if it is exact"
    )
    judge.add_argument("claim", help="its id, e.g. P1.T2.upper")
    quotes = add_command("quotes", "find the book's quotations in a paper that you have")
    for one in (execute, sweep):
        one.add_argument("name", help="the notebook, without its suffix, e.g. theorem2_scaling")
    execute.add_argument(
        "-p",
        dest="values",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter, e.g. -p noise_std=0.5 or -p dims='[3, 5]', as often as you like "
        "(default: the values of the preset)",
    )
    execute.add_argument(
        "--label", default="", help="printed before each line, e.g. '1 of 2' (default: nothing)"
    )
    execute.add_argument(
        "--run",
        type=lambda text: plan.Run(**json.loads(text)),
        help="a run that another command has planned, e.g. "
        '\'{"name": "planet", "preset": ...}\' (default: planned by the other words)',
    )
    sweep.add_argument(
        "--grid",
        default="",
        help="values to combine, e.g. 'noise_std=0.5,0.25 seeds=5,10', or a YAML file, e.g. grid.yml "
        "(default: none; one is needed)",
    )
    sweep.add_argument(
        "--collect",
        default="",
        metavar="NAMES",
        help="claims and tables of the notebook, e.g. P1.planet.radius,windows "
        "(default: the cases of all claims)",
    )
    repeat.add_argument(
        "--seed",
        default="1,2,3,4,5",
        help="roots of the random streams, e.g. 6,7 (default: %(default)s)",
    )
    for one in (execute, book, sweep, pdf, release):
        one.add_argument(
            "--preset",
            default="quick",
            help="a file of presets/, e.g. smoke (default: %(default)s)",
        )
    book.add_argument(
        "--plain",
        action="store_true",
        help="by Sphinx without jupyter-book, into _build/book/PRESET-plain, e.g. book --plain "
        "(default: with it)",
    )
    for one in (book, sweep, repeat):
        one.add_argument(
            "--jobs",
            default="",
            help="how many run at a time, e.g. 8 (default: as many as cores and memory allow)",
        )
        one.add_argument(
            "--profile",
            default="",
            help="a cluster's settings, e.g. profiles/slurm (default: none, on this machine)",
        )
    quotes.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="PDF, TeX or text, e.g. paper.pdf",
    )
    quotes.add_argument(
        "--paper",
        default="",
        choices=("P1", "P2"),
        help="quotations of this paper's statements only, e.g. P1 (default: of both)",
    )
    add_command(
        "readme",
        "rewrite README.md's counts, and the numbers of pages, from the quick results",
    )
    add_command("sync", "write notebooks/*.ipynb from notebooks/*.py")
    return whole


def main(arguments: list[str] | None = None) -> int:
    """Run a command of the command line, and return the exit status."""
    options = make_parser().parse_args(arguments)
    try:
        # The working directory may lie in another copy of the repository than this code.
        provenance.check_tree(Path.cwd())
        status = _run_command(options)
        # If the pipe of the output is closed, this raises here, and not when Python ends.
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The program that reads the output, `head` for example, closed the pipe. What is still buffered goes
        # to the null device, so that Python does not fail when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        print("interrupted; what is done is kept, the same command goes on from there", flush=True)
        # A shell reports this status, 128 + SIGINT, after Ctrl-C.
        return 130
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
    except OSError as error:
        if error.strerror is not None:
            # If a file could not be moved, `filename2` is its new path.
            why = f"{error.filename2 or error.filename or 'a file'}: {error.strerror}"
        elif isinstance(error.args[0], list):
            # The error of a copied folder lists each file with its reason.
            why = str(error.args[0][0][-1])
        else:
            why = str(error)
        print(f"error: {why}; what is done is kept", file=sys.stderr)
    return 1


def _run_command(options: argparse.Namespace) -> int:
    """Run the chosen command, and return the exit status.

    Each command imports the slow modules that it needs itself.
    """
    match options.command:
        case "execute":
            from icl_book.runner.execute import execute

            # A planned run was checked by the command that planned it.
            if options.run:
                execute(options.run, options.label)
                return 0
            pairs.refuse_edited([options.name])
            for run in plan.plan(options.preset, options.name, " ".join(options.values)):
                check_ready([run])
                print(f"result: {os.path.relpath(execute(run, options.label))}")
        case "book":
            plan.refuse_other_seeds()
            pairs.refuse_edited(plan.notebooks())
            runs = plan.plan(options.preset)
            if status := schedule(runs, options.jobs, options.profile):
                return status
            from icl_book.site import assemble

            executed = {run.name: run.path for run in runs}
            print(assemble.build(options.preset, executed, plain=options.plain))
        case "pdf":
            from icl_book.site import pdf

            print(pdf.write_pdf(options.preset))
        case "release":
            from icl_book.site import release

            print(release.release(options.preset))
        case "sweep":
            # `make sweep` without its variables passes empty words.
            if not (options.name and options.grid):
                example = 'make sweep NOTEBOOK=planet GRID="noise_std=0.5,0.25"'
                raise BadInput(f"sweep needs a notebook and a grid: {example}")
            pairs.refuse_edited([options.name])
            runs = plan.plan(options.preset, options.name, options.grid)
            wanted = [name for name in options.collect.split(",") if name]
            plan.check_collect(options.name, wanted)
            if status := schedule(runs, options.jobs, options.profile):
                return status
            from icl_book.runner import table

            written = table.write(runs, wanted)
            print(f"tables, the same as .parquet: {' '.join(map(os.path.relpath, written))}")
        case "replicate":
            from icl_book.runner import again

            words = options.seed.split(",")
            if not all(map(str.isdecimal, words)):
                raise BadInput(f"seed={options.seed!r}: must be positive integers, e.g. 1,2,3")
            pairs.refuse_edited(plan.notebooks())
            return again.replicate([int(word) for word in words], options.jobs, options.profile)
        case "readme":
            from icl_book.site import assemble

            assemble.write_readme()
            # The numbers in the ``.py`` of chapters may have changed.
            pairs.sync()
        case "judge":
            from icl_book.claims.card import write_text
            from icl_book.runner import single

            print(write_text(single.judge_alone(options.claim).record()))
        case "quotes":
            from icl_book.claims import quotes

            print("\n".join(quotes.compare(options.files, options.paper)))
        case "sync":
            pairs.sync()
    return 0


if __name__ == "__main__":
    process.prepare()
    process.end_in_order()
    with lean.program():
        sys.exit(main())
