# Everything lives in .venv; the stamp file makes a second call reinstall nothing.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint docs clean fuzz faults

demo: .venv/.installed
	$(BIN)/noiselimit demo

test: .venv/.installed lint
	$(BIN)/pytest -n auto --maxprocesses 8 --dist loadfile

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# 24,000 damaged and hostile files; a quarter of an hour.
fuzz: .venv/.installed
	$(BIN)/python tools/fuzz.py

# Over 100 processes killed, disks filled and files damaged; a quarter of an hour.
faults: .venv/.installed
	$(BIN)/python tools/faults.py

docs: .venv/.installed
	$(BIN)/python docs/generate.py

.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "noiselimit needs Python 3.11 or newer; set one with: make PYTHON=python3.12" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

clean:
	rm -rf .venv demo runs .pytest_cache .mypy_cache .ruff_cache
