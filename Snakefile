# The graph: runs -> stamps. Snakemake only schedules, here or on a cluster.
#
# What is up to date is decided by names: a result's name holds a digest of everything its numbers depend on
# (icl_book.runner.plan). icl_book.runner.schedule writes what is left to do into a folder of its own, where
# each finished run leaves a stamp; results themselves are out of Snakemake's reach, which deletes the outputs
# of a job that it starts or that fails. Flags that go with this: profiles/default/config.yaml.

import json
import shlex

FOLDER = config["folder"]
PLAN = json.loads(Path(workflow.basedir, FOLDER, "plan.json").read_text())
TASKS = PLAN["tasks"]  # stamp -> notebook, and the words of its command
EXECUTE = (
    f"OMP_NUM_THREADS={PLAN['threads']} PYTHONPATH=book${{PYTHONPATH:+:$PYTHONPATH}} "
    f"{shlex.join([PLAN['python'], '-m', 'icl_book', 'execute'])} "
)


localrules:
    all,


rule all:
    input:
        [f"{FOLDER}/{stamp}" for stamp in TASKS],


# One rule for each notebook, because a rule has one priority: notebooks start in the order of the plan. A
# cluster's profile sets resources by these names.
for position, notebook in enumerate(reversed(dict.fromkeys(name for name, _ in TASKS.values())), 1):

    rule:
        name:
            notebook
        output:
            touch(f"{FOLDER}/{notebook}.{{digest}}"),
        priority: position
        params:
            command=lambda wildcards, output: EXECUTE + TASKS[os.path.basename(output[0])][1],
        shell:
            "{params.command} 2>&1"
