"""Checks of the addresses that a source names, and to which its requests go.

A source's URL or a redirect must not reach services of this machine, the private network or a
cloud's metadata. So HTTP goes to public addresses, or to hosts that the settings name.
Every resolved name, every address in a URL and every redirect is checked.
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
    """Raise SourceError for a URL, or a part of a chained one, whose protocol is not allowed."""
    for protocol in _protocols(url):
        if protocol not in settings.protocols:
            raise SourceError(
                f"{hide_secrets(url)} is read by {protocol!r}, which source.protocols does not "
                f"allow; it allows {', '.join(settings.protocols)}. Add it there if you trust it"
            )


def http_options(url: str, settings: SourceSettings) -> dict[str, Any]:
    """Return options for fsspec that limit the HTTP parts of a URL to allowed addresses."""
    guarded = GuardedClient(settings.private_hosts)
    return {p: {"get_client": guarded} for p in _protocols(url) if p in _HTTP}


def _protocols(url: str) -> Iterable[str]:
    """Yield the protocol of each part; a part may be a protocol alone, or the path of a file."""
    from fsspec import available_protocols

    protocols = set(available_protocols())
    for part in url.split("::"):
        protocol, mark, _ = part.partition("://")
        yield protocol if mark or part in protocols else "file"


@dataclass(frozen=True)
class GuardedClient:
    """Factory of HTTP clients that reach public addresses and these hosts; fsspec calls it."""

    private_hosts: tuple[str, ...]

    async def __call__(self, *, loop: Any = None, **options: Any) -> ClientSession:  # noqa: ARG002  # fsspec's
        """Return a client in the running event loop."""
        import aiohttp

        guard = self

        class Resolver(aiohttp.DefaultResolver):  # type: ignore[misc, valid-type]
            async def resolve(self, host: str, *args: Any, **options: Any) -> list[Any]:
                addresses: list[Any] = await super().resolve(host, *args, **options)
                for address in addresses:
                    guard.check(host, address["host"])
                return addresses

        trace = aiohttp.TraceConfig()
        trace.on_request_start.append(self._at_start)
        trace.on_request_redirect.append(self._at_redirect)
        connector = aiohttp.TCPConnector(resolver=Resolver(loop=asyncio.get_running_loop()))
        return aiohttp.ClientSession(connector=connector, trace_configs=[trace], **options)

    def check(self, host: str, address: str) -> None:
        """Raise SourceError for an address that is not public, unless its host is named."""
        if host in self.private_hosts or _is_public(address):
            return
        raise SourceError(
            f"{host} is at {address}, which is not a public address; name it in "
            "source.private_hosts if documents may be read there"
        )

    def check_url(self, url: str) -> None:
        """Raise SourceError for a URL beyond HTTP, or with an address that is not public."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme not in _HTTP:
            raise SourceError(f"a redirect leads to {hide_secrets(url)}, which is not HTTP")
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return  # a name, which the resolver checks
        self.check(host, str(address))

    async def _at_start(self, _session: Any, _context: SimpleNamespace, event: Any) -> None:
        self.check_url(str(event.url))

    async def _at_redirect(self, _session: Any, _context: SimpleNamespace, event: Any) -> None:
        headers = event.response.headers
        target = headers.get("Location") or headers.get("URI") or ""
        self.check_url(urljoin(str(event.response.url), target))


def _is_public(address: str) -> bool:
    """Return whether an address is public; an IPv6 one may contain an IPv4 one, which counts."""
    ip = ipaddress.ip_address(address)
    inner = None
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
    return (inner or ip).is_global
