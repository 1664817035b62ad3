"""K runs trained together as rows of one tensor program."""
