"""Examples and where they come from: named data sets, idx folders, .npz files, arrays, torch Datasets."""

from noiselimit.data.catalogue import DATA_SETS
from noiselimit.data.convert import as_data_set
from noiselimit.data.examples import DataSet, Examples, make_examples
from noiselimit.data.sources import load_data
from noiselimit.data.unlabelled import load_inputs

__all__ = ["DATA_SETS", "DataSet", "Examples", "as_data_set", "load_data", "load_inputs", "make_examples"]
