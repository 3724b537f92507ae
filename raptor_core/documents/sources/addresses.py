"""Which addresses a source may name, and where its requests may end up.

Who can write a source's URL, or answer one with a redirect, must not reach what only this machine
can reach: its own services, the private network, a cloud's metadata. So HTTP goes to public
addresses, unless the settings name the host; that is looked at for every name that is resolved,
for addresses that stand in a URL, and again at every redirect.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from raptor_core.errors import SourceError
from raptor_core.redaction import hide_secrets
from raptor_core.settings import SourceSettings

if TYPE_CHECKING:
    from aiohttp import ClientSession

_HTTP = ("http", "https")


def check_protocols(url: str, settings: SourceSettings) -> None:
    """Refuse a URL, or a part of a chained one, whose protocol the settings do not allow.

    Raises:
        SourceError: names the protocol and the setting.
    """
    for protocol in _protocols(url):
        if protocol not in settings.protocols:
            raise SourceError(
                f"{hide_secrets(url)} is read by {protocol!r}, which source.protocols does not "
                f"allow; it allows {', '.join(settings.protocols)}. Add it there if you trust it"
            )


def http_options(url: str, settings: SourceSettings) -> dict[str, Any]:
    """Options for fsspec that keep the HTTP parts of a URL to where they may go."""
    guarded = GuardedClient(settings.private_hosts)
    return {p: {"get_client": guarded} for p in _protocols(url) if p in _HTTP}


def _protocols(url: str) -> Iterable[str]:
    """Of each part; a part may be a protocol alone, or the path of a file."""
    from fsspec import available_protocols

    alone = set(available_protocols())
    for part in url.split("::"):
        protocol, mark, _ = part.partition("://")
        yield protocol if mark or part in alone else "file"


@dataclass(frozen=True)
class GuardedClient:
    """Makes HTTP clients that reach public addresses, and these hosts; called by fsspec."""

    private_hosts: tuple[str, ...]

    async def __call__(self, *, loop: Any = None, **options: Any) -> ClientSession:  # noqa: ARG002  # fsspec's
        """A client in the running event loop."""
        import aiohttp

        guard = self

        class Resolver(aiohttp.DefaultResolver):  # type: ignore[misc, valid-type]
            async def resolve(self, host: str, *given: Any, **more: Any) -> list[Any]:
                addresses: list[Any] = await super().resolve(host, *given, **more)
                for address in addresses:
                    guard.check(host, address["host"])
                return addresses

        trace = aiohttp.TraceConfig()
        trace.on_request_start.append(self._at_start)
        trace.on_request_redirect.append(self._at_redirect)
        connector = aiohttp.TCPConnector(resolver=Resolver(loop=asyncio.get_running_loop()))
        return aiohttp.ClientSession(connector=connector, trace_configs=[trace], **options)

    def check(self, host: str, address: str) -> None:
        """Refuse an address that is not public, unless its host is named.

        Raises:
            SourceError: names the host and the setting.
        """
        if host in self.private_hosts or _is_public(address):
            return
        raise SourceError(
            f"{host} is at {address}, which is not a public address; name it in "
            "source.private_hosts if documents may be read there"
        )

    def check_url(self, url: str) -> None:
        """Refuse a URL that leaves HTTP, or whose host is an address that is not public.

        Raises:
            SourceError: names what is refused.
        """
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme not in _HTTP:
            raise SourceError(f"a redirect leads to {hide_secrets(url)}, which is not HTTP")
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return  # a name, which the resolver looks at
        self.check(host, str(address))

    async def _at_start(self, _session: Any, _context: SimpleNamespace, told: Any) -> None:
        self.check_url(str(told.url))

    async def _at_redirect(self, _session: Any, _context: SimpleNamespace, told: Any) -> None:
        headers = told.response.headers
        target = headers.get("Location") or headers.get("URI") or ""
        self.check_url(urljoin(str(told.response.url), target))


def _is_public(address: str) -> bool:
    """Also of the IPv4 address that an IPv6 address carries."""
    given = ipaddress.ip_address(address)
    carried = None
    if isinstance(given, ipaddress.IPv6Address):
        carried = given.ipv4_mapped or given.sixtofour
    return (carried or given).is_global
