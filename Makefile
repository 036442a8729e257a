# make book [PRESET=quick] [JOBS=8]   the book, _build/book/<preset>/index.html; as many notebooks run at a
#                                     time as cores and memory allow (1.3 GB each), or JOBS
# make pdf [PRESET=quick]             the same book as one PDF, where Chromium is installed
# make release [PRESET=quick]         book, PDF, notebooks and package as archives in _build/release
# make lint                           format, lint, imports, types
# make check                          the same and unit tests: a minute
# make test                           every test
# PROFILE=profiles/slurm runs the notebooks as jobs of a cluster.
# make sweep NOTEBOOK=planet GRID="noise_std=0.5,0.25 seeds=5,10" [COLLECT=P1.planet.radius,windows]
#                                     tables of what was judged, and of claims and tables by name;
#                                     GRID=grid.yml reads a file
# make replicate [SEED=1,2]           every sampled verdict again, with other random numbers: a table
# make bench | lab | sync | lock | clean
# LAB_OPTIONS is handed to JupyterLab: --allow-root --ip=0.0.0.0 in a container.
# Each sets up .venv first, once. PYTHON=python3.12 chooses another interpreter; PIP_OPTIONS is handed
# to pip, e.g. an index with CPU-only builds of torch.

PYTHON ?= python3
PRESET ?= quick
JOBS ?=
SEED ?= 1,2,3,4,5
PIP_OPTIONS ?=
LAB_OPTIONS ?=
PY := .venv/bin/python
BENCHMARKS := $(wildcard benchmarks/*.py)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_USER := 0
# A container's user may have no home that can be written; pip, uv and JupyterLab need one.
ifneq ($(shell test -w "$$HOME" && echo yes),yes)
export HOME := $(shell mkdir -p _build/home && cd _build/home && pwd)
endif
export PRESET JOBS PROFILE NOTEBOOK GRID COLLECT SEED  # a recipe that reads them there runs nothing in them

# Who ends make ends the programs that it started, but not what a shell between them started.
define run
	@exec $(PY) $(1)

endef

.PHONY: book pdf release lint check test bench sweep replicate lab sync lock clean

book: .venv/.installed
	@exec $(PY) -m icl_book book --preset "$$PRESET" --jobs "$$JOBS" --profile "$$PROFILE"

lint: .venv/.installed
	@$(PY) -m ruff format --check --quiet . && $(PY) -m ruff check --quiet . && .venv/bin/lint-imports
	@exec $(PY) -m mypy

check: lint
	@exec $(PY) -m pytest -q -n auto -m "not slow" tests/icl

test: .venv/.installed
	@exec $(PY) -m pytest -n auto $(TESTS)

bench: .venv/.installed
	$(foreach f,$(BENCHMARKS),$(call run,$(f)))
	@echo "$(words $(BENCHMARKS)) benchmarks run"

sweep: .venv/.installed
	@exec $(PY) -m icl_book sweep "$$NOTEBOOK" --grid "$$GRID" --collect "$$COLLECT" --preset "$$PRESET" \
	  --jobs "$$JOBS" --profile "$$PROFILE"

replicate: .venv/.installed
	@exec $(PY) -m icl_book replicate --seed "$$SEED" --jobs "$$JOBS" --profile "$$PROFILE"

pdf: .venv/.installed
	@exec $(PY) -m icl_book pdf --preset "$$PRESET"

release: .venv/.installed
	@exec $(PY) -m icl_book release --preset "$$PRESET"

lab: .venv/.installed
	@exec $(PY) -m jupyterlab $(LAB_OPTIONS) notebooks

sync: .venv/.installed  # notebooks/*.ipynb from notebooks/*.py
	@exec $(PY) -m icl_book sync

# What installs and what packs is in no lock file of the book.
HASHED = $(PY) -m uv pip compile - -c requirements.lock --python-version 3.11 --no-annotate --no-header --quiet \
  --generate-hashes $(UV_OPTIONS) -o
# UV_OPTIONS=--upgrade takes newer versions. What only CUDA builds of torch need, torch itself pins.
lock: .venv/.installed
	@$(PY) -m pip install --quiet --require-hashes -r .ci/uv.hashes
	@$(PY) -m uv pip compile pyproject.toml book/pyproject.toml --all-extras --no-emit-package softmax-icl \
	  --python-version 3.11 --no-annotate --quiet --prerelease disallow \
	  --custom-compile-command "make lock" $(UV_OPTIONS) -o requirements.lock
	@sed -i -e 's/+cpu$$//' -e '/^\(nvidia-\|cuda-\|triton==\)/d' requirements.lock
	@$(PY) -m uv pip compile requirements.lock --no-deps --python-version 3.11 --no-annotate --no-header --quiet \
	  --generate-hashes --no-emit-package torch -o .ci/requirements.hashes
	@printf '%s\n' uv | $(HASHED) .ci/uv.hashes
	@printf '%s\n' build setuptools twine | $(HASHED) .ci/package.hashes

clean:
	rm -rf _build .snakemake .pytest_cache .ruff_cache

# An environment works on the folder that it was made for: in a copy of that folder, or after a move, it is
# made anew.
MOVED := $(shell [ ! -s .venv/.installed ] || [ "$$(cat .venv/.installed)" = "$$(pwd -P)" ] || echo moved)
# Where .venv is a link, nothing is written or removed through it but in an environment of this folder.
define own
	@if [ -L .venv ] && [ "$$(cat .venv/.installed 2>&1)" != "$$(pwd -P)" ] && [ -n "$$(ls -A .venv/)" ]; then \
	  echo "error: .venv is a link to $$(readlink .venv), which has no environment of this folder; remove the link" >&2; \
	  exit 1; fi
endef
.PHONY: moved
moved:
	$(own)
	@echo ".venv was made for $$(cat .venv/.installed): it is made anew for $$(pwd -P)"
	@rm -f .venv/.installed && touch .venv/.installing

# The stamp, which names the folder, is written last: an interrupted installation is begun again from nothing.
.venv/.installed: $(MOVED) requirements.lock .ci/requirements.hashes .ci/install.py pyproject.toml book/pyproject.toml
	$(own)
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("error: Python %d.%d found, 3.11 or newer is needed; try: make PYTHON=python3.12" % sys.version_info[:2])'
	@if [ -e .venv/.installing ]; then rm -rf .venv; fi
	@echo "installing into .venv, once: $$(grep -c == requirements.lock) packages, 2 GB (6 with CUDA), one to ten minutes"
	@mkdir -p .venv && touch .venv/.installing
	@exec $(PYTHON) .ci/install.py $(PIP_OPTIONS)
	@rm .venv/.installing && pwd -P > .venv/.installed
