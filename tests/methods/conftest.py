"""No test is timed: the first call into a part of torch may load it for a second on a busy machine."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
