"""Ctrl-C in a command that keeps something else than runs."""


class Interrupted(Exception):  # noqa: N818  # no error: somebody wished it
    """Carries what the command line says after 'interrupted; ': what is kept, and what the next call does."""
