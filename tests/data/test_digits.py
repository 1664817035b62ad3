"""The embedded digits are what their docstring says."""

import numpy as np
from sklearn.datasets import load_digits

from noiselimit.data.mnist import digits


def test_digits():
    data = digits()
    examples = data.examples
    assert (examples.inputs.shape, examples.inputs.dtype) == ((1797, 1, 8, 8), np.uint8)
    assert examples.class_names == tuple("0123456789")
    assert np.array_equal(examples.inputs.reshape(1797, 64), load_digits().data)
    assert np.array_equal(examples.labels, load_digits().target)
    assert (data.name, data.test) == ("digits", None)
