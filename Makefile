# Two commands do all the set-up: `make run` and `make test`. Both need only Python >= 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# One that was moved or is not whole would fail later, with "No such file" of a file that is there.
ifneq ($(wildcard $(VENV)),)
ifeq ($(filter clean,$(MAKECMDGOALS)),)
ifneq ($(shell test -x $(BIN)/python && grep -qsF -e '$(CURDIR)/$(BIN)/' -e '$(realpath $(VENV))/bin/' $(BIN)/pip && echo whole),whole)
$(error $(VENV) was moved, is half made, or its Python is gone; run: make clean)
endif
endif
endif

.PHONY: run test check format bench clean

run: $(VENV)/run.stamp
	$(BIN)/memoryd serve

test: check
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term-missing:skip-covered

check: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev.stamp
	$(BIN)/python bench/ingest.py
	$(BIN)/python bench/crash.py --kills 100
	$(BIN)/python bench/secrets.py
	$(BIN)/python bench/size.py
	$(BIN)/python bench/bundle.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("memoryd needs Python >= 3.11; try: make PYTHON=python3.12 run" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/run.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@ $(VENV)/run.stamp

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
