"""LIMIT in the training loops of other libraries. Import the module of the library that you use."""
