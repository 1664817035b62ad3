# Everything is installed into .venv; the stamp file avoids installing it again.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint site clean

demo: .venv/.installed
	$(BIN)/noiselimit demo

test: .venv/.installed lint
	$(BIN)/pytest -n auto --maxprocesses 8 --dist loadfile

lint: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Opens from disk: build/site/VERSION/index.html
site: export NO_MKDOCS_2_WARNING = 1
site: .venv/.installed
	$(BIN)/python -m mkdocs build --quiet --strict

# timm comes without torchvision, whose published build does not import beside a CPU build of torch.
.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "noiselimit needs Python 3.11 or newer; set one with: make PYTHON=python3.12" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps timm==1.0.31 --editable .
	@touch $@

clean:
	rm -rf .venv build demo runs .pytest_cache .mypy_cache .ruff_cache
