# `make start`, `make demo` and `make test` make the virtual environment first if it is missing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TASK   ?= rmsnorm_silu_cpu
# Four tests at a time: most wait for a process or a network. A worker that has none left takes over some of another's.
# Two where something is measured: more would disturb it.
PYTEST   := $(BIN)/python -m pytest --dist worksteal -n 4
MEASURES := tests/slow/measure tests/slow/profile
# A unit test starts no program, so its files may lie in memory, where none waits for a disk: 20 MB at once at most, since
# those of a test that has passed are removed.
UNIT     := $(if $(wildcard /dev/shm/.),TMPDIR=/dev/shm) $(PYTEST) -n 2 -o tmp_path_retention_policy=failed

# Tests start a thousand programs: without compiled modules beside the sources, each would compile kpd anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: start demo quick test tested unit lint slow again docs pictures mutants snapshots clean

start: $(VENV)/.installed
	$(BIN)/kpd start $(TASK)

# A recorded run on an H100: nothing is built, and nothing measured.
demo: $(VENV)/.installed
	$(BIN)/kpd demo

# Before a commit: style, types, and what needs no process.
# The types take half a minute on one core where nothing of them is cached: the tests begin meanwhile.
quick: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory -j 2 lint unit

test: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory -j 2 lint tested

unit: $(VENV)/.installed-dev
	$(UNIT) tests/unit

tested: $(VENV)/.installed-dev
	$(UNIT) tests/unit; unit=$$?; \
	$(PYTEST) tests/io && exit $$unit

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# What takes longer than a few seconds a test; hypothesis's tests with more examples; what says how fast something is.
# Half of its files with HALF=0, and the others with HALF=1: CI takes one of both, by the number of commits.
HALF     ?=
HALVED   := $(PYTEST) $(HALF:%=--half=%)
slow: $(VENV)/.installed-dev
	$(HALVED) -m 'not alone' tests/slow $(MEASURES:%=--ignore=%); waited=$$?; \
	$(HALVED) -n 2 -m hypothesis --hypothesis-profile=thorough $$(grep -rl --include='test_*.py' hypothesis tests/unit tests/io); \
	drawn=$$?; \
	$(HALVED) -n 2 -m 'not alone' $(MEASURES); measured=$$?; \
	$(HALVED) -n 0 -m alone tests/slow; alone=$$?; \
	exit $$((waited + drawn + measured + (alone == 5 ? 0 : alone)))

# What failed last, alone and one after the other.
again: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 0 --maxfail 5 --last-failed --last-failed-no-failures none tests

# The documentation as a static site in dist/docs; a link that leads nowhere fails it.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

# Which change of a number or a comparison no unit test notices; for a file: make mutants OF=kpd/measure/judge.py
OF      ?= kpd/measure kpd/model
MINUTES ?= 60
mutants: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.mutants --minutes $(MINUTES) $(OF)

# The pictures of the documents, from the recording of `kpd demo`.
pictures: $(VENV)/.installed
	$(BIN)/python -m benchmarks.pictures

# After a wanted change of a screen; look at the pictures before committing them.
snapshots: $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests/io/tui/test_snapshots.py --snapshot-update

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "kpd needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). Try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "This Python cannot make virtual environments. Try: sudo apt install python3-venv" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml | $(BIN)/pip
	@echo "Installing kpd and its dependencies into $(VENV): about 235 MB on disk, once."
	@echo "That took 27 to 40 s on two busy cores; a slow machine or network needs minutes. docs/dependencies.md says what it is."
	$(BIN)/pip install --quiet --no-compile --disable-pip-version-check --editable .
	@echo 'Installed. To type kpd alone in this shell: export PATH=$(CURDIR)/$(BIN):$$PATH'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --disable-pip-version-check --group dev
	@touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/pip install --quiet --disable-pip-version-check --group docs
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache dist
