"""Mutation testing with cosmic-ray: small changes of the code, drawn at random; the tests must find each.

    .venv/bin/python .ci/mutate.py [--count 40] [--seed 1] [attention judge tensor_trick risk]

Works on a clone of what is committed; cosmic-ray has an environment of its own. Writes
benchmarks/results/mutation.json: for each room how many mutants there are, how many were tried and found, and
each that was not.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "benchmarks" / "results" / "mutation.json"
CLAIMS = "book/icl_book/claims"
#: Room: the code that is changed, the tests that must find it.
ROOMS = {
    "attention": (["icl/attention.py"], ["tests/icl/test_attention.py"]),
    "judge": (
        [
            f"{CLAIMS}/judge.py",
            f"{CLAIMS}/case.py",
            f"{CLAIMS}/rules.py",
            "icl/statistics.py",
        ],
        [
            "tests/icl_book/test_claims.py",
            "tests/icl_book/test_registry.py",
            "tests/icl/test_statistics.py",
            "tests/icl/test_bad_input.py",
        ],
    ),
    "tensor_trick": (
        ["icl/tensor_trick"],
        ["tests/icl/tensor_trick", "tests/icl/test_bad_input.py"],
    ),
    "risk": (["icl/risk"], ["tests/icl/risk", "tests/icl/test_bad_input.py"]),
}
SECONDS = 900  # a mutant that runs longer is found: it does not come to an end
#: Draws the sample and skips all others. `X | Y` stands in annotations only, which nothing evaluates.
DRAW = """
import random, sys
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import WorkResult, WorkerOutcome
with use_db(sys.argv[1], WorkDB.Mode.open) as db:
    items = sorted(db.pending_work_items, key=lambda i: str(
        [(m.module_path, m.operator_name, m.occurrence) for m in i.mutations]))
    real = [i for i in items if "_BitOr_" not in i.mutations[0].operator_name]
    drawn = {i.job_id for i in random.Random(int(sys.argv[3])).sample(real, min(int(sys.argv[2]), len(real)))}
    for item in items:
        if item.job_id not in drawn:
            db.set_result(item.job_id, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
    print(len(real))
"""
READ = """
import json, sys
from cosmic_ray.work_db import WorkDB, use_db
with use_db(sys.argv[1], WorkDB.Mode.open) as db:
    tried = [(i.mutations[0], r) for i, r in db.completed_work_items if r.test_outcome is not None]
print(json.dumps([[str(m.module_path), m.start_pos[0], r.test_outcome.value, r.diff] for m, r in tried]))
"""


def test(room, count, seed, clone, tools):
    """Try some mutants of a room and return what became of them."""
    code, tests = ROOMS[room]
    python = shlex.join(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    )
    # What takes long comes last: most mutants are found before. 5 says that no test is slow.
    both = f"{python} -m 'not slow' && {{ {python} -m slow || [ $? -eq 5 ]; }}"
    base = subprocess.run(
        both, shell=True, cwd=clone, capture_output=True, text=True, check=False
    )
    if base.returncode:
        sys.exit(
            f"{room}: its tests fail before anything is changed:\n{base.stdout[-2000:]}"
        )
    session, config = clone / f"{room}.sqlite", clone / f"{room}.toml"
    config.write_text(
        f"[cosmic-ray]\nmodule-path = {json.dumps(code)}\ntimeout = {SECONDS}\nexcluded-modules = []\n"
        f"test-command = {json.dumps(shlex.join(['sh', '-c', both]))}\n"
        "[cosmic-ray.distributor]\nname = 'local'\n"
    )

    def tool(*words):
        return subprocess.run(
            words, cwd=clone, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    tool(tools / "cosmic-ray", "init", config, session)
    total = int(tool(tools / "python", "-c", DRAW, session, str(count), str(seed)))
    tool(tools / "cosmic-ray", "exec", config, session)
    tried = json.loads(tool(tools / "python", "-c", READ, session))
    survived = [
        {"place": f"{path}:{line}", "change": "\n".join(diff.splitlines()[2:])}
        for path, line, outcome, diff in sorted(tried)
        if outcome == "survived"
    ]
    return {
        "mutants": total,
        "tried": len(tried),
        "found": len(tried) - len(survived),
        "survived": survived,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=40, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help=", ".join(ROOMS))
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp())
    try:
        venv.create(work / "venv", with_pip=True)
        tools = work / "venv" / "bin"
        subprocess.run(
            [tools / "python", "-m", "pip", "install", "-q", "cosmic-ray"], check=True
        )
        clone = work / "clone"
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        os.environ |= {
            "PYTHONPATH": f"{clone}:{clone / 'book'}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        found = json.loads(OUT.read_text()) if OUT.is_file() else {}
        for room in options.rooms or ROOMS:
            found[room] = {"seed": options.seed} | test(
                room, options.count, options.seed, clone, tools
            )
            print(
                f"{room}: {found[room]['found']} of {found[room]['tried']} found",
                flush=True,
            )
            OUT.write_text(json.dumps(found, indent=1) + "\n")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
