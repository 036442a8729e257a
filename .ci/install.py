"""Install the locked packages into .venv: with uv where it can be had, else with pip.

    python .ci/install.py [OPTIONS OF PIP]

Every archive, uv's too, is checked against its hash but torch's: each kind of processor has a build of its
own, from an index of its own. uv reads no configuration of pip, so pip's indexes are handed to it.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = ".venv/bin/python"
#: Options of pip's configuration that uv has under the same name.
SAME = ("index-url", "extra-index-url", "find-links", "no-index")
#: Where else a user may have packages put; set here, it outweighs the files of pip's configuration.
ELSEWHERE = {"PIP_USER": "0", "PIP_TARGET": "", "PIP_PREFIX": "", "PIP_ROOT": ""}
#: In which order packages come; the hashes leave out torch, and the packages here are linked.
STEPS = (
    ["--no-deps", "--require-hashes", "-r", ".ci/requirements.hashes"],
    ["-c", "requirements.lock", "torch"],
    ["--no-deps", "-e", ".", "-e", "./book"],
)


def configured(listing: str) -> tuple[list[str], dict[str, str]]:
    """Translate ``pip config list`` into options and environment variables of uv."""
    options, environment = [], {}
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        name, words = key.rpartition(".")[2], shlex.split(value.strip("'\""))
        if name in SAME:
            flag = name == "no-index"
            options += (
                [[f"--{name}"] for word in words if word == "true"]
                if flag
                else [[f"--{name}", w] for w in words]
            )
        elif name == "cert":
            environment["SSL_CERT_FILE"] = words[0]
        elif name == "trusted-host":
            options += [["--allow-insecure-host", word] for word in words]
    return [word for option in dict.fromkeys(map(tuple, options)) for word in option], environment


def find_uv() -> str:
    """Return uv's path, installed into .venv if need be; empty if it cannot be had."""
    if found := shutil.which("uv"):
        return found
    done = subprocess.run(
        [PYTHON, *"-m pip install --quiet --require-hashes -r .ci/uv.hashes".split()],
        capture_output=True,
        check=False,
    )
    return ".venv/bin/uv" if done.returncode == 0 else ""


def main(options: list[str]) -> int:
    os.chdir(ROOT)
    os.environ.update(ELSEWHERE)
    subprocess.run([sys.executable, "-m", "venv", ".venv"], check=True)
    # uv and pip draw their progress on a terminal.
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    command, environment = [PYTHON, "-m", "pip", "install"], {}
    if uv := find_uv():
        listing = subprocess.run(
            [PYTHON, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
        )
        indexes, environment = configured(listing.stdout)
        # pip takes the best version of all indexes, and so does this; hashes say what may come
        command = [
            uv,
            "pip",
            "install",
            "--compile-bytecode",  # where PYTHONDONTWRITEBYTECODE is set, each kernel would
            "--python",
            PYTHON,
            "--index-strategy",
            "unsafe-best-match",
        ]
        command += indexes
    else:
        print(
            "uv cannot be had from the configured indexes: pip installs, which takes longer",
            flush=True,
        )
    for step in STEPS:
        if status := subprocess.run(
            [*command, *quiet, *options, *step], env=os.environ | environment, check=False
        ).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
