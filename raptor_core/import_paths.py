"""Parts of other packages, by an import path in the settings."""

import pkgutil
from typing import Any

from raptor_core.errors import SettingsError


def import_named(path: str, label: str) -> Any:
    """Return the object of an import path such as "package.module:name".

    Raises:
        SettingsError: there is no such object; ``label`` is the setting that names it.
    """
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"{label}: {error}. Name package.module:factory; install its package, or name its "
            "folder in PYTHONPATH"
        ) from error


def make_named(path: str, settings: Any, label: str) -> Any:
    """Return what the class or function of an import path makes of the settings.

    Raises:
        SettingsError: see ``import_named``; or the call failed.
    """
    factory = import_named(path, label)
    try:
        return factory(settings)
    except Exception as error:
        raise SettingsError(
            f"{label}: a call with the settings failed: {type(error).__name__}: {error}"
        ) from error
