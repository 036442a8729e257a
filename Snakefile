# The graph: notebook x parameters -> executed notebook -> book.
#
# Snakemake only schedules. What is up to date is decided by names: an output's file name holds a
# digest of everything its numbers depend on (icl_book.runner.plan), so a file that exists is right and
# rules need no inputs. Flags that go with this are in profiles/default/config.yaml.
#
#   make book PRESET=paper JOBS=8                       on this machine
#   make sweep NOTEBOOK=theorem2_scaling GRID="seed=0,1"
#
#   make book PRESET=paper JOBS=20 PROFILE=profiles/slurm      on a cluster, see there

import shlex
import sys

sys.path[:0] = [workflow.basedir, os.path.join(workflow.basedir, "book")]
from icl_book.runner.plan import plan, threads

PRESET = config.get("preset", "quick")
NOTEBOOK = config.get("notebook")
ONLY = str(config.get("only", "")).split()  # notebooks to run; no book is made of them
RUNS = {
    os.path.relpath(r.path, workflow.basedir): r
    for r in plan(PRESET, NOTEBOOK, config.get("grid", ""))
    if not ONLY or r.name in ONLY
}
WAITING = [path for path in RUNS if not os.path.exists(path)]
LABELS = {path: f"{i} of {len(WAITING)}" for i, path in enumerate(WAITING, 1)}
PYTHON = "PYTHONPATH=book${{PYTHONPATH:+:$PYTHONPATH}} exec " + shlex.quote(sys.executable)
# (exec: a run notices when Snakemake is gone)


def arguments(wildcards, output):
    """Command-line arguments of the run with this output."""
    if output[0] not in RUNS:  # in a job of a cluster
        raise ValueError(f"{output[0]}: notebook, code or lock changed since the run was asked for")
    run = RUNS[output[0]]
    words = [run.name, "--preset", run.preset, "--label", LABELS.get(output[0], "")]
    for name, value in run.overrides.items():
        words += ["-p", f"{name}={value}"]
    return shlex.join(words)


localrules:
    all,


rule all:
    input:
        list(RUNS),
    shell:
        "true" if NOTEBOOK or ONLY else PYTHON + " -m icl_book.site.assemble --preset {PRESET} " + shlex.join(
            f"{run.name}={path}" for path, run in RUNS.items()) + " 2>&1"


# One rule for each notebook, because a rule has one priority: notebooks start in the order of the plan.
for position, notebook in enumerate(reversed(dict.fromkeys(run.name for run in RUNS.values())), 1):

    rule:
        name:
            notebook
        output:
            f"_build/runs/{{folder}}/{notebook}.{{digest}}.ipynb",
        priority: position
        params:
            arguments=arguments,
            threads=threads(workflow.cores or 1),
        shell:
            "OMP_NUM_THREADS=${{SLURM_CPUS_PER_TASK:-{params.threads}}} " + PYTHON + " -m icl_book execute --tied {params.arguments} 2>&1"
