# make train | make test | make lint | make clean. The first three make .venv by themselves, once.
PYTHON ?= python3

VENV := .venv
STAMP := $(VENV)/.installed
# Left by an installation that did not get to its end; the next one then starts from nothing.
UNFINISHED := $(VENV)/.unfinished

.PHONY: help train test lint install clean
.DELETE_ON_ERROR:

help:
	@echo 'make train   train configs/quick.yaml and benchmark the policy'
	@echo 'make test    run the tests'
	@echo 'make lint    run ruff, mypy and import-linter'
	@echo 'make clean   remove .venv and caches (runs/ stays)'
	@echo 'Another Python for .venv: make PYTHON=python3.12 ...'

train: $(STAMP)
	@$(VENV)/bin/tressette train configs/quick.yaml --benchmark

# One file's tests stay in one worker, so that what they compile or train is made once; one thread
# for each of the two workers.
test: $(STAMP)
	@OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 2 --dist loadfile

lint: $(STAMP)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy --strict
	$(VENV)/bin/lint-imports --no-logo

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { \
	    echo "tressette needs Python 3.11 or newer and finds no '$(PYTHON)': install one, or name it: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "tressette needs Python 3.11 or newer, '$(PYTHON)' is $$("$(PYTHON)" -V 2>/dev/null || echo not a working one): name another: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import venv' 2>/dev/null || { \
	    echo "'$(PYTHON)' has no venv module: install it (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip' 2>/dev/null || "$(PYTHON)" -m pip --version >/dev/null 2>&1 || { \
	    echo "'$(PYTHON)' has neither pip nor ensurepip: install one (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@if test -e $(UNFINISHED); then rm -rf $(VENV); fi
	@rm -f $@ && mkdir -p $(VENV) && touch $(UNFINISHED)
	@echo "Installing tressette and its pinned dependencies into $(VENV), once: a few minutes"
	@if "$(PYTHON)" -c 'import ensurepip' 2>/dev/null; then "$(PYTHON)" -m venv $(VENV); \
	 else "$(PYTHON)" -m venv --without-pip $(VENV) && "$(PYTHON)" -m pip --python $(VENV)/bin/python install --quiet pip; fi
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@rm -f $(UNFINISHED) && touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
