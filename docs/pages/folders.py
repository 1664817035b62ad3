"""Where documents and results are."""

from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
RESULTS = DOCS.parent / "results"
