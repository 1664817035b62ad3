"""The handwritten digits that come with scikit-learn: nothing to download, seconds to train."""

import numpy as np

from noiselimit.data.examples import DataSet, make_examples


def digits() -> DataSet:
    """1,797 pictures [1, 8, 8] of the ten digits, values 0 to 16 as uint8; there is no official test part."""
    from sklearn.datasets import load_digits  # a second to import: only for those who ask for it

    bunch = load_digits()
    return DataSet("digits", make_examples(bunch.images.astype(np.uint8), bunch.target, source="digits"))
