"""Examples and where they come from: named data sets, files, folders, arrays and torch Datasets."""
