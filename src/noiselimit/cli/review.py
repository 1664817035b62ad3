"""noiselimit review."""

from pathlib import Path
from typing import Annotated

import typer

from noiselimit.cli.options import parse_path, path_option


def review(
    audit: Annotated[
        Path, typer.Argument(metavar="AUDIT", help="Folder that noiselimit audit wrote.", parser=parse_path)
    ],
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to serve at; the default allows access from this machine only."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", help="Port. Default: a free one.", show_default=False)
    ] = 0,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who reviews. Default: your user name.")
    ] = None,
    data: Annotated[Path | None, path_option("PATH", "Where the data are now, if they moved.")] = None,
) -> None:
    """Review flagged labels in the browser.

    Prints an address to open. Decisions are stored in the audit's folder as you make them. The data are never
    changed; noiselimit apply writes a corrected copy.
    """
    import noiselimit.review
    from noiselimit.audit.folder import open_audit

    with noiselimit.review.open(open_audit(audit, data), host=host, port=port, reviewer=name) as served:
        print(f"Review {audit} at {served.url}")
        print("Decisions are stored as you make them. End with Ctrl-C.", flush=True)
        if open_browser:
            served.show()
        try:
            served.wait()
        except KeyboardInterrupt:
            count = len(served.decisions.current())
            print(f"\n{count:,} label{'' if count == 1 else 's'} decided.")
