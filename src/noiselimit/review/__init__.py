"""Review flagged labels in the browser: decisions, the order of review, estimates, and the server."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noiselimit.audit.saved import SavedAudit
    from noiselimit.review.server import Review


def open(
    audit: "SavedAudit | Path | str", *, host: str = "127.0.0.1", port: int = 0, reviewer: str | None = None
) -> "Review":
    """Serve the review page of an audit in a thread.

    Parameters
    ----------
    audit
        The folder of an audit, or what `noiselimit.open_audit` returned.
    host, port
        Where to serve. By default, only this machine can open the page, on a free port.
    reviewer
        Who decides; by default the name of the user.

    Returns
    -------
    Review
        Its `url` is what to open in a browser, `decisions.current()` what was decided so far, and `close()`
        ends it.
    """
    from noiselimit.audit.folder import open_audit
    from noiselimit.audit.saved import SavedAudit
    from noiselimit.review.server import Review
    from noiselimit.review.session import Session

    saved = audit if isinstance(audit, SavedAudit) else open_audit(audit)
    return Review(Session(saved), host=host, port=port, reviewer=reviewer or user_name())


def user_name() -> str:
    """The name of the user of this machine."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may have no user
        return "reviewer"
