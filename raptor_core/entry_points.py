"""Parts that other packages register by entry points, such as those of ``raptor_lab``."""

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from raptor_core.errors import MissingExtraError


@cache
def load_registered(group: str, name: str, purpose: str) -> Any:
    """Load the object that an installed package registers in a group of entry points.

    Raises:
        MissingExtraError: no package registers the name; ``purpose`` says what needs it.
    """
    points = entry_points(group=group)
    if name not in points.names:
        raise MissingExtraError("lab", purpose)
    return points[name].load()
