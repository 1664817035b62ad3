"""Pages of the Python API: the names they hold. mkdocstrings fills them in from signatures and docstrings."""

from importlib import import_module

import noiselimit.information

PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "label-errors": (
        "Find label errors",
        (
            "find_label_issues",
            "open_audit",
            "audit.saved.SavedAudit",
            "audit.plan.AuditPlan",
            "review.open",
            "review.server.Review",
        ),
    ),
    "training": (
        "Train",
        (
            "LimitClassifier",
            "train",
            "grid",
            "RunSpec",
            "Run",
            "load_run",
            "load_runs",
            "choose",
        ),
    ),
    "loops": (
        "Your own loop",
        (
            "LimitLoss",
            "MemorisationMeter",
            "integrations.torch.Limit",
            "integrations.lightning.LimitModule",
            "integrations.lightning.LimitCallback",
            "integrations.transformers.LimitTrainer",
            "integrations.loggers.RunLogger",
        ),
    ),
    "data": (
        "Data",
        (
            "load_data",
            "make_examples",
            "DataSet",
            "Examples",
            "Reading",
            "InputError",
            "errors.Notice",
        ),
    ),
    "numbers": ("Numbers and several labels", ("LimitRegressor", "make_values", "make_multilabel")),
    "noise": (
        "Noise",
        (
            "UniformNoise",
            "SymmetricNoise",
            "PairNoise",
            "MatrixNoise",
            "InstanceNoise",
            "GivenNoise",
            "noise.base.Noise",
            "noise.parse_noise",
            "noise.preview",
        ),
    ),
    "information": ("Memorised bits", ()),  # all of noiselimit.information
    "extending": (
        "Extend",
        (
            "methods.method.Method",
            "methods.method.Batch",
            "testing.check_method",
            "registry.Registry",
            "data.catalogue.Source",
            "networks.Pretrained",
        ),
    ),
}
"""Page → title, and names below `noiselimit`."""


def api_pages() -> dict[str, str]:
    """Page → Markdown with one mkdocstrings block for each name."""
    theory = [
        name for name in dir(noiselimit.information) if _is_theory(getattr(noiselimit.information, name))
    ]
    found = {}
    for page, (title, names) in PAGES.items():
        blocks = [_block(name) for name in names or (f"information.{name}" for name in theory)]
        found[f"api/{page}.md"] = "\n\n".join([f"# {title}", *blocks]) + "\n"
    return found


def _is_theory(value: object) -> bool:
    return callable(value) and str(getattr(value, "__module__", "")).startswith("noiselimit.information.")


def _block(name: str) -> str:
    """Where a name is defined, under the name that users import."""
    package, _, last = f"noiselimit.{name}".rpartition(".")
    defined = getattr(getattr(import_module(package), last), "__module__", package)
    label = f"    options:\n      heading: {package}.{last}\n      toc_label: {last}"
    return f"::: {defined}.{last}\n{label}"
