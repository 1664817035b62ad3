"""How fast this machine trains, measured through `noiselimit.train`, beside what its hardware allows.

Nothing is imported here: the process whose set-up is timed would have to wait for it.
"""
