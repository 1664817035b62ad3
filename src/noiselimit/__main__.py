"""`python -m noiselimit`, and the installed command."""

from noiselimit.cli.main import main

if __name__ == "__main__":
    main()
