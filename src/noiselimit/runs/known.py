"""What a spec names that is not known here, because its code is elsewhere."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from noiselimit.dotted import TABLES, Named, is_dotted
from noiselimit.errors import InputError
from noiselimit.methods import METHODS, Method
from noiselimit.registry import where_to_register

if TYPE_CHECKING:
    from noiselimit.runs.spec import RunSpec


class _Unknown:
    """Stands for a network or a method's loss whose code is not here."""

    def __init__(self, what: str, name: str) -> None:
        self.what, self.name = what, name

    def __call__(self, *arguments: Any) -> Any:
        raise InputError(_unknown_here(self.what, self.name))


def _unknown_here(what: str, name: str) -> str:
    if is_dotted(name):
        return f"{what} '{name}' was not imported: if you trust this run, load it with trusted=True."
    place = where_to_register(what)
    return f"{what} '{name}' is not known here: install its package, or add it with {place}('{name}', …)."


def replace_unknown(values: dict[str, Any], trusted: bool) -> None:
    """Put something in the place of a method and networks that are not known here."""
    from noiselimit.networks import NETWORKS

    for field_name in ("network", "predictor_network"):
        name = values.get(field_name)
        if isinstance(name, str) and name != "auto" and not is_dotted(name) and name not in NETWORKS:
            values[field_name] = Named(name, _Unknown("network", name))
    name = values.get("method")
    if isinstance(name, str) and name not in METHODS and not (trusted and is_dotted(name)):
        # Whether a hyper-parameter is at its default is not known, so none is.
        hyper = dict.fromkeys(values["hyper"], math.nan)
        values["method"] = Named(name, Method(name, _Unknown("method", name), hyper))


def not_known(spec: RunSpec) -> list[str]:
    """What the spec of a file names that is not known here, as sentences; paths are left out."""
    from noiselimit.noise import UnknownNoise

    named = [("method", spec.method), ("network", spec.network), ("network", spec.predictor_network)]
    found = [(what, str(name)) for what, name in named if isinstance(name, Named)]
    noises = [each for each in (spec.noise, spec.transition) if isinstance(each, UnknownNoise)]
    found += [("noise", noise.kind) for noise in noises]
    return [_unknown_here(what, name) for what, name in dict.fromkeys(found) if not is_dotted(name)]


def require_loadable(spec: RunSpec) -> None:
    """Refuse a spec that nobody could load from its run folder."""
    from noiselimit.noise import noise_from_json, noise_kind, noise_to_json

    noises = [each for each in (spec.noise, spec.transition) if each is not None]
    named: list[tuple[str, Any]] = [("method", spec.method), ("network", spec.network)]
    named += [("network", spec.predictor_network), ("predictor_features", spec.predictor_features)]
    named += [("noise", noise_kind(noise)) for noise in noises]
    for what, name in named:
        if isinstance(name, Named):
            known = f", call {where_to_register(what)}('NAME', …)" if what in TABLES else ""
            raise InputError(
                f"{what} '{name}' exists in this program only, so its run could not be loaded again: "
                f"put it into a module{known}, or leave out the folder of the runs."
            )
    for noise in noises:
        again: object
        try:
            again = noise_from_json(json.loads(json.dumps(noise_to_json(noise))), trusted=True)
        except (TypeError, ValueError):
            again = None
        if again != noise:
            raise InputError(
                f"noise '{noise_kind(noise)}' could not be loaded again: make it a frozen dataclass whose "
                f"from_parameter({noise.parameter!r}) returns an equal one."
            )
