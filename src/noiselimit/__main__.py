"""The installed command, and `python -m noiselimit`: Ctrl-C is no mistake even while modules are imported."""

import os
import sys


def main() -> None:
    """Run the command line that was typed."""
    try:
        from noiselimit.cli.signals import open_closed

        open_closed()
        from noiselimit.cli.main import main as command
    except KeyboardInterrupt:
        print("noiselimit: interrupted; nothing was begun.", file=sys.stderr, flush=True)
        os._exit(130)  # not by sys.exit: see `noiselimit.cli.interrupted.end`
    command()


if __name__ == "__main__":
    main()
