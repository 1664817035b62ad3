"""One suspicious example on a card of its own."""

from dataclasses import dataclass

from noiselimit.report.content import Suspect
from noiselimit.report.pictures import data_uri
from noiselimit.report.wording import decimal, shorten

_PIXELATED_UP_TO = 64
_LONGEST_VALUES = 160


@dataclass(frozen=True)
class Card:
    """What the template needs to show a suspect."""

    suspect: Suspect
    picture: str | None
    small: bool
    values: str
    gap: str


def card(suspect: Suspect) -> Card:
    """The suspect ready to be shown."""
    image = suspect.image
    return Card(
        suspect,
        None if image is None else data_uri(image),
        image is not None and max(image.shape[-2:]) <= _PIXELATED_UP_TO,
        shorten(suspect.values or "", _LONGEST_VALUES),
        decimal(suspect.gap),
    )
