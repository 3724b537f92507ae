"""Callers of a server: who they are, by their key or token, and what they may do.

``http`` and ``mcp`` identify the caller of each request and set ``CALLER``; ``answers`` reads on
the caller's behalf. The settings are ``access``.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import threading
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints

from raptor_core.documents.base import EVERYONE
from raptor_core.errors import AccessError, MissingExtraError, SettingsError
from raptor_core.identity import to_nfc
from raptor_core.settings.access import AccessSettings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Algorithms of tokens: only those with a public key, which a server may store."""

CLOCK_SECONDS = 30
"""Clock skew up to which an expired token is accepted, in seconds."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Caller:
    """Caller of a request.

    Attributes:
        readers: names of the caller and of the caller's groups; None if it may read everything.
        can_decide: whether the caller may record decisions.
        name: name of the key, or subject of the token; decisions are recorded under it.
    """

    readers: tuple[str, ...] | None
    can_decide: bool = False
    name: str = ""


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""Caller of the request that this task or thread serves; None outside of requests."""


def current_readers() -> tuple[str, ...] | None:
    """Return the readers of the current request's caller; None if it may read everything."""
    caller = CALLER.get()
    return None if caller is None else caller.readers


class Callers(Protocol):
    """Identifies callers."""

    can_decide: bool
    """Whether any caller may record decisions."""
    is_open: bool
    """Whether everyone is accepted without a key."""

    def identify(self, token: str | None) -> Caller:
        """Identify the caller from a bearer token, or from its absence.

        Raises:
            AccessError: the token belongs to no caller.
        """


async def set_caller(callers: Callers, authorization: str) -> None:
    """Set ``CALLER`` from a header ``Authorization``, such as "Bearer KEY".

    Raises:
        AccessError: the header belongs to no caller.
    """
    scheme, _, token = authorization.partition(" ")
    sent = token.strip() if scheme.lower() == "bearer" else None
    # In a thread, because the keys of an issuer may have to be fetched.
    CALLER.set(await asyncio.to_thread(callers.identify, sent))


WRITING_KEY = "writing key"
"""Name under which decisions made with a server's writing key are recorded."""


class ServerKeys(Callers):
    """Callers of a server without rights: everyone who is accepted may read everything.

    Args:
        key: key for reading; None if no key is needed.
        writing_key: key for decisions, which also allows reading; None if nobody may decide.
    """

    def __init__(self, key: str | None = None, writing_key: str | None = None) -> None:
        self._key = key
        self._writing_key = writing_key
        self.can_decide = writing_key is not None
        self.is_open = key is None

    def identify(self, token: str | None) -> Caller:
        """Return the caller who sent a key."""
        sent = (token or "").encode()
        keys = [(key or "").encode() for key in (self._key, self._writing_key)]
        # Both are always compared, so that the time taken reveals nothing.
        reads, decides = (secrets.compare_digest(sent, key) for key in keys)
        if self._writing_key is not None and decides:
            return Caller(None, can_decide=True, name=WRITING_KEY)
        if self._key is not None and not reads:
            raise AccessError("send the server's key as 'Authorization: Bearer KEY'")
        return Caller(None)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Holder of a key or token: its name and its readers."""

    name: str
    readers: Collection[str]


class KnownCallers(Callers):
    """Callers with their own readers: holders of keys in a file, and of an issuer's tokens.

    Files are read again when they change. Each caller may also read what everyone may read.

    Raises:
        SettingsError: no source of callers is configured, or its file is invalid.
        MissingExtraError: tokens need the extra ``jwt``.
    """

    def __init__(self, access: AccessSettings, folder: Path) -> None:
        if not (access.keys or access.jwt_issuer):
            raise SettingsError(
                "access.required needs a way to identify callers: set access.keys to a file of "
                "keys, or access.jwt_issuer to the issuer of their tokens"
            )
        self._keys = ReloadedFile(folder / access.keys, parse_key_holders) if access.keys else None
        self._tokens = IssuerTokens(access, folder) if access.jwt_issuer else None
        self._deciders = frozenset(map(to_nfc, access.deciders))
        self.can_decide = bool(access.deciders)
        self.is_open = False
        if self._keys is not None:
            self._keys.value()

    def identify(self, token: str | None) -> Caller:
        """Return the caller who sent a key or token."""
        try:
            known = self._find_holder(token) if token else None
        except SettingsError as error:
            logging.getLogger(__name__).warning("no caller can be identified: %s", error)
            raise AccessError("the server cannot identify callers now; see its log") from error
        if known is None:
            raise AccessError("send your key or token as 'Authorization: Bearer KEY'")
        decides = not self._deciders.isdisjoint(map(to_nfc, known.readers))
        return Caller(tuple(sorted({*known.readers, EVERYONE})), decides, known.name)

    def _find_holder(self, token: str) -> KeyHolder | None:
        """Return the holder of a key or token; None if nobody has it."""
        digest = hashlib.sha256(token.encode(errors="replace")).hexdigest()
        if self._keys is not None and (holder := self._keys.value().get(digest)) is not None:
            return holder
        return None if self._tokens is None else self._tokens.identify(token)


class ReloadedFile(Generic[Value]):
    """Value of a file that is read again when the file changes; SettingsError if it is invalid."""

    def __init__(self, path: Path, read: Callable[[str], Value]) -> None:
        self._path, self._read = path, read
        self._lock = threading.Lock()
        self._known: tuple[tuple[int, ...], Value] | None = None

    def value(self) -> Value:
        """Return the current value of the file."""
        with self._lock:
            try:
                stat = self._path.stat()
                stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
                if self._known is None or self._known[0] != stamp:
                    self._known = (stamp, self._read(self._path.read_text(encoding="utf-8-sig")))
            except (OSError, ValueError) as error:
                self._known = None
                raise SettingsError(f"{self._path}: {error}; correct the file") from error
            return self._known[1]


class _KeyEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    name: str = ""
    digest: Annotated[str, StringConstraints(pattern="^[0-9a-fA-F]{64}$", to_lower=True)]
    readers: tuple[Annotated[str, StringConstraints(min_length=1)], ...]


class _KeyFile(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    keys: tuple[_KeyEntry, ...]


def parse_key_holders(text: str) -> dict[str, KeyHolder]:
    """Parse TOML with a table ``[[keys]]`` for each key; return the holders by digest of their key.

    ``digest`` is the key's SHA-256, 64 hexadecimal digits. Decisions are recorded under the key's
    ``name``, or under the beginning of its digest.

    Raises:
        ValueError: the text is malformed, or two keys are the same.
    """
    entries = _KeyFile.model_validate(tomllib.loads(text)).keys
    holders = {
        entry.digest: KeyHolder(entry.name or f"key {entry.digest[:8]}", entry.readers)
        for entry in entries
    }
    if len(holders) < len(entries):
        raise ValueError("two of the keys have the same digest")
    return holders


_MALFORMED = (ValueError, TypeError, AttributeError, LookupError)
"""Errors of a key set that is not UTF-8, not JSON, or JSON of another form."""


class IssuerTokens:
    """Tokens (JWT) of one issuer, which its published keys verify.

    Raises:
        MissingExtraError: the extra ``jwt`` is missing.
    """

    def __init__(self, access: AccessSettings, folder: Path) -> None:
        try:
            import jwt
        except ModuleNotFoundError as error:
            raise MissingExtraError("jwt", "verifying tokens") from error
        self._jwt = jwt
        self._access = access
        self._warned: set[str] = set()
        self._client: Any = None
        self._file = ReloadedFile(folder / access.jwt_keys, self._read_key_set)
        if access.jwt_keys.startswith("https://"):
            self._client = jwt.PyJWKClient(access.jwt_keys, timeout=10)

    def identify(self, token: str) -> KeyHolder | None:
        """Return the subject and readers from a token's claims; None for tokens of other issuers.

        Raises:
            SettingsError: the issuer's keys cannot be read.
        """
        jwt = self._jwt
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token,
                self._find_key(token),
                algorithms=ALGORITHMS,
                audience=self._access.jwt_audience,
                issuer=self._access.jwt_issuer,
                leeway=CLOCK_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError:
            return None
        subject = next(_names_in_claim(claims, "sub"), "")
        self._warn_of_omitted_groups(claims, subject)
        readers = {
            name for claim in self._access.jwt_claims for name in _names_in_claim(claims, claim)
        }
        return KeyHolder(subject, readers)

    def _warn_of_omitted_groups(self, claims: Mapping[str, Any], subject: str) -> None:
        """Log that a token omits groups, as some login services do above 200 groups."""
        elsewhere = claims.get("_claim_names")
        missing = set(self._access.jwt_claims).intersection(elsewhere or ())
        if (missing or claims.get("hasgroups")) and subject not in self._warned:
            self._warned.add(subject)
            logging.getLogger(__name__).warning(
                "the token of %r does not list its groups, because there are too many: the caller "
                "is treated as a member of none. Let the login service send only the groups of "
                "this application, or application roles",
                subject,
            )

    def _find_key(self, token: str) -> Any:
        """Return the key that a token names; raise SettingsError if the key set is unusable."""
        name = self._jwt.get_unverified_header(token).get("kid")
        if self._client is None:
            keys = [key for key in self._file.value().keys if key.key_id == name]
            if len(keys) != 1:
                raise self._jwt.InvalidKeyError("the token names no key of the set")
            return keys[0]
        refused = self._jwt.PyJWTError
        try:
            self._client.get_signing_keys()
            refused = self._jwt.PyJWKClientConnectionError  # others concern the token's key
            return self._client.get_signing_key(name)
        except (refused, *_MALFORMED) as error:
            raise SettingsError(f"the key set at access.jwt_keys: {error}") from error

    def _read_key_set(self, text: str) -> Any:
        try:
            return self._jwt.PyJWKSet.from_json(text)
        except (self._jwt.PyJWTError, *_MALFORMED) as error:
            raise ValueError(f"expected a key set (JWKS): {error}") from error


def _names_in_claim(claims: Mapping[str, Any], claim: str) -> Iterator[str]:
    """Yield the names in a claim, which may be nested in others."""
    value: Any = claims.get(claim)
    if value is None:
        value = claims
        for part in claim.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    for name in value if isinstance(value, list) else (value,):
        if isinstance(name, str) and name:
            yield name
