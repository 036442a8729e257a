#!/usr/bin/env python3
"""A fake Slurm: under the names of Slurm's programs, this file starts jobs on this machine.

The folder ``FAKE_SLURM`` holds a JSON file ``<number>`` for each job. Jobs run one after the other, as on one
core.
"""

import argparse
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path


def main(program, words):
    match program:
        case "sbatch":
            submit(words)
        case "squeue":
            show_jobs(words)
        case "scancel":
            cancel(words)
        case "srun":
            command = [word for word in words if not word.startswith("-")]
            os.execvp(command[0], words[words.index(command[0]) :])
        case "sinfo":
            print("main*" if "%P" in words else "idle")
        case "sacct" | "sacctmgr" | "sshare":
            sys.exit("Slurm accounting storage is disabled")
        case "scontrol":
            print("MinJobAge = 300 sec")


def place(number):
    return Path(os.environ["FAKE_SLURM"], str(number))


def read(number):
    return json.loads(place(number).read_text())


def write(number, **changes):
    """Replace the file of a job as a whole, because other processes read it at any time."""
    known = read(number) if place(number).exists() else {}
    part = place(number).with_suffix(".part")
    part.write_text(json.dumps(known | changes))
    part.replace(place(number))


def numbers():
    return sorted(int(path.name) for path in place("").iterdir() if path.name.isdecimal())


def submit(words):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in ("--job-name", "--output", "--wrap"):
        parser.add_argument(option, required=True)
    job, _ = parser.parse_known_args(words)
    with place("submitting").open("w") as lock:  # two jobs that come at once get two numbers
        fcntl.flock(lock, fcntl.LOCK_EX)
        number = len(numbers()) + 1
        write(number, name=job.job_name, state="PENDING", folder=os.getcwd())
    null = subprocess.DEVNULL
    subprocess.Popen(
        [
            sys.executable,
            __file__,
            "run",
            str(number),
            job.output.replace("%j", str(number)),
            job.wrap,
        ],
        stdin=null,
        stdout=null,
        stderr=null,
        start_new_session=True,
    )
    print(number)


def run(number, log, command):
    """Wait for the jobs before this one, then run it to its end."""
    with place("lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        with open(log, "wb") as said:
            job = subprocess.Popen(
                command,
                shell=True,
                env=os.environ | {"SLURM_JOB_ID": number},
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        write(number, state="RUNNING", pid=job.pid)
        write(number, state="COMPLETED" if job.wait() == 0 else "FAILED")


def show_jobs(words):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-o", "--format", required=True)
    parser.add_argument("-t", "--states", required=True)
    parser.add_argument("--name")
    asked, _ = parser.parse_known_args(words)
    for number in numbers():
        job = read(number)
        if asked.states in ("all", job["state"]) and asked.name in (None, job["name"]):
            line = asked.format
            for key, value in (("%A", number), ("%i", number), ("%T", job["state"])):
                line = line.replace(key, str(value))
            print(line.replace("%Z", job["folder"]))


def cancel(words):
    for number in filter(str.isdecimal, words):
        if "pid" in read(number):
            os.killpg(read(number)["pid"], signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(*sys.argv[2:])
    else:
        main(Path(sys.argv[0]).name, sys.argv[1:])
