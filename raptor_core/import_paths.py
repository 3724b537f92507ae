"""Loading of objects that settings name by an import path, such as custom components."""

import pkgutil
from typing import Any

from raptor_core.errors import SettingsError


def import_object(path: str, label: str) -> Any:
    """Import the object at a path such as "package.module:name".

    Raises:
        SettingsError: there is no such object; the message names the setting ``label``.
    """
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"{label}: {error}. Expected package.module:name; install the package, or add its "
            "folder to PYTHONPATH"
        ) from error


def make_from_path(path: str, settings: Any, label: str) -> Any:
    """Import a class or function, call it with the settings and return the result.

    Raises:
        SettingsError: it cannot be imported, or the call failed.
    """
    factory = import_object(path, label)
    try:
        return factory(settings)
    except Exception as error:
        raise SettingsError(
            f"{label}: calling it with the settings failed: {type(error).__name__}: {error}"
        ) from error
