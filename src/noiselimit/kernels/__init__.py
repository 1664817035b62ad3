"""Triton kernels of the fast path on a GPU; the plain computation stands beside each in the tests."""
