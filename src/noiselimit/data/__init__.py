"""Examples and where they come from: named data sets, idx folders, .npz files, arrays, torch Datasets."""

from noiselimit.data.catalogue import DATA_SETS, as_data_set, load_data, load_inputs
from noiselimit.data.examples import DataSet, Examples, make_examples

__all__ = ["DATA_SETS", "DataSet", "Examples", "as_data_set", "load_data", "load_inputs", "make_examples"]
