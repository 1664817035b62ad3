"""The installed command, and `python -m noiselimit`: Ctrl-C is no mistake even while modules are imported."""

import sys


def main() -> None:
    """Run the command line that was typed."""
    try:
        from noiselimit.cli.main import main as command
    except KeyboardInterrupt:
        print("noiselimit: interrupted; nothing was begun.", file=sys.stderr)
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
