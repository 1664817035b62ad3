"""The table of per-example outputs: whether what a folder holds is one."""

import numpy as np
import pandas as pd
import pyarrow

LABELS = ("given_label", "clean_label", "predicted_label", "suggested_label")
SCORES = ("predicted_probability", "gap", "label_quality", "suggested_probability")
PARTS = {"train", "validation", "test"}


def checked_outputs(content: pyarrow.Table, classes: int) -> pd.DataFrame | None:
    """The table as it was written; None where a run on so many classes cannot have written it."""
    names = content.column_names
    wanted = {"index", "part", *LABELS, *SCORES}
    if not wanted <= set(names) <= wanted | {"name"} or len(set(names)) < len(names):
        return None
    numbers = dict.fromkeys(("index", *LABELS), pyarrow.types.is_integer)
    numbers |= dict.fromkeys(SCORES, pyarrow.types.is_floating)
    texts = {name for name in ("part", "name") if name in names}
    if not all(test(content.schema.field(name).type) for name, test in numbers.items()) or not all(
        pyarrow.types.is_string(content.schema.field(name).type)
        or pyarrow.types.is_large_string(content.schema.field(name).type)
        for name in texts
    ):
        return None
    if any(content[name].null_count for name in names if name != "clean_label"):
        return None
    for name in ("index", *LABELS):  # an error where they are too large
        content = content.set_column(names.index(name), name, content[name].cast(pyarrow.int64()))
    frame: pd.DataFrame = content.drop_columns(["clean_label"]).to_pandas(ignore_metadata=True)
    clean = pd.array(content["clean_label"].to_pandas(), dtype="Int64")
    frame.insert(names.index("clean_label"), "clean_label", clean)
    index = frame["index"].to_numpy(np.int64)
    labels = [frame[name].dropna().to_numpy(np.int64) for name in LABELS]
    ordered = len(index) > 0 and (np.diff(index, prepend=-1) > 0).all()
    known = all(((column >= -1) & (column < classes)).all() for column in labels)
    finite = all(np.isfinite(frame[name]).all() for name in SCORES)
    return frame if ordered and known and finite and set(frame["part"]) <= PARTS else None
