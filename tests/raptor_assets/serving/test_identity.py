"""A caller is who the key or the token says, and nobody else."""

import asyncio
import hashlib
import json
import os
import shutil
import ssl
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fastapi.testclient import TestClient
from mcp.shared.auth import ProtectedResourceMetadata
from support.authority import make_authority
from support.command import SMALL_PARTS, Place, raptor
from support.serving import served_here

from raptor_assets.serving.http import make_app
from raptor_assets.serving.identity import (
    CALLER,
    Caller,
    KnownCallers,
    ServerKeys,
    parse_key_holders,
)
from raptor_assets.serving.mcp import make_http_app, make_server
from raptor_core import HomeRetriever
from raptor_core.errors import AccessError, SettingsError
from raptor_core.settings.access import AccessSettings
from raptor_core.store.engines.base import Delete, Point, Upsert
from raptor_core.store.payload import manifest_point_id

ISSUER, AUDIENCE = "https://login.example", "handbook"


def entry(key, *readers):
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f'[[keys]]\nname = "{key}"\ndigest = "{digest}"\nreaders = {json.dumps(readers)}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("keys", "TOML|Expected|expected"),
        ("", "keys"),
        ("[[keys]]\nreaders = ['a']", "digest"),
        ("[[keys]]\ndigest = 'secret'\nreaders = ['a']", "digest"),
        (entry("a", ""), "readers"),
        (entry("a", "b").replace('["b"]', '"b"'), "readers"),
        (entry("a", "b") + entry("a", "c"), "same digest"),
        (entry("a", "b") + "reader = 'c'\n", "reader"),
    ],
)
def test_a_wrong_file_of_keys_is_refused_without_its_values(text, words):
    with pytest.raises(ValueError, match=words) as refused:
        parse_key_holders(text)
    assert "secret" not in str(refused.value)


def test_a_file_of_keys_may_have_a_byte_order_mark_and_digests_of_any_case(tmp_path):
    text = entry("one", "ana").replace(hashlib.sha256(b"one").hexdigest(), "{}")
    digest = hashlib.sha256(b"one").hexdigest().upper()
    (tmp_path / "keys.toml").write_text(text.format(digest), encoding="utf-8-sig")
    callers = KnownCallers(AccessSettings(keys="keys.toml"), tmp_path)
    assert callers.identify("one").readers == ("*", "ana")


def test_keys_are_read_again_when_their_file_changes_and_a_broken_file_lets_nobody_in(tmp_path):
    file = tmp_path / "keys.toml"
    access = AccessSettings(keys="keys.toml", deciders=("ana",))
    with pytest.raises(SettingsError, match=r"keys\.toml"):
        KnownCallers(access, tmp_path)
    file.write_text(entry("one", "ana") + entry("two"))
    callers = KnownCallers(access, tmp_path)
    assert callers.identify("one") == Caller(("*", "ana"), can_decide=True, name="one")
    assert (callers.identify("two").readers, callers.identify("two").can_decide) == (("*",), False)
    for sent in ("three", "", None, "ONE", hashlib.sha256(b"one").hexdigest(), "ö\udc80"):
        with pytest.raises(AccessError, match="send your key"):
            callers.identify(sent)
    file.write_text(entry("three", "ben"))
    assert callers.identify("three").readers == ("*", "ben")
    with pytest.raises(AccessError, match="send your key"):
        callers.identify("one")
    file.write_text("broken")
    with pytest.raises(AccessError, match="cannot identify callers"):
        callers.identify("three")
    file.write_text(entry("three", "ben"))
    os.utime(file, ns=(1, 1))
    assert callers.identify("three").readers == ("*", "ben")
    file.write_text(entry("three", "eva"))
    os.utime(file, ns=(1, 1))  # as a tool may, that copies times
    assert callers.identify("three").readers == ("*", "eva")


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    """A folder with a key set, and a function that signs claims with one of its keys."""
    folder = tmp_path_factory.mktemp("issuer")
    keys = {
        "rsa": rsa.generate_private_key(public_exponent=65537, key_size=2048),
        "ec": ec.generate_private_key(ec.SECP256R1()),
        "stranger": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    }
    algorithms = {"rsa": jwt.algorithms.RSAAlgorithm, "ec": jwt.algorithms.ECAlgorithm}
    published = [
        {**json.loads(made.to_jwk(keys[name].public_key())), "kid": name, "use": "sig"}
        for name, made in algorithms.items()
    ]
    (folder / "jwks.json").write_text(json.dumps({"keys": published}))

    def sign(key="rsa", kid=None, algorithm=None, secret=None, **claims):
        given = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "exp": time.time() + 60,
            "groups": ["hr"],
            **claims,
        }
        given = {name: value for name, value in given.items() if value is not None}
        algorithm = algorithm or {"ec": "ES256"}.get(key, "RS256")
        headers = {"kid": kid or key}
        return jwt.encode(given, secret or keys[key], algorithm=algorithm, headers=headers)

    public = (
        keys["rsa"]
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return folder, sign, public


def tokens_of(folder, **more):
    given = {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_keys": "jwks.json", **more}
    return KnownCallers(AccessSettings(**given), folder)


def test_a_token_of_the_issuer_has_the_readers_of_its_claims(issuer):
    folder, sign, _ = issuer
    claims = ("groups", "email", "realm.roles", "https://example/teams")
    callers = tokens_of(folder, jwt_claims=claims)
    for token, readers in (
        (sign(), {"hr"}),
        (sign("ec", groups="ops"), {"ops"}),
        (sign(groups=None), set()),
        (sign(groups=[], email="ana@x"), {"ana@x"}),
        (sign(groups=[1, "", None, "b"], realm={"roles": ["c"]}), {"b", "c"}),
        (sign(realm="roles", **{"https://example/teams": ["d"]}), {"hr", "d"}),
        (sign(aud=["other", AUDIENCE], exp=time.time() - 5), {"hr"}),
    ):
        assert set(callers.identify(token).readers) == {"*", *readers}
    names = [callers.identify(sign(sub=subject)).name for subject in ("ana", None)]
    assert names == ["ana", ""]


def test_a_key_without_a_name_decides_under_the_beginning_of_its_digest():
    text = entry("one", "ana").replace('name = "one"\n', "")
    digest = hashlib.sha256(b"one").hexdigest()
    assert parse_key_holders(text)[digest].name == f"key {digest[:8]}"


def test_no_other_token_is_taken(issuer):
    folder, sign, public = issuer
    callers = tokens_of(folder)
    head, body, signature = sign().split(".")
    own = body[:-3] + ("AAA" if body[-3:] != "AAA" else "BBB")
    hmac = jwt.utils.base64url_encode(b"x").decode()
    refused = [
        sign(exp=time.time() - 600),
        sign(exp=None),
        sign(aud="other"),
        sign(aud=None),
        sign(iss="https://elsewhere.example"),
        sign(iss=None),
        sign(nbf=time.time() + 600),
        sign("stranger", kid="rsa"),
        sign("stranger"),
        sign("rsa", kid="ec"),
        jwt.encode({"iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60}, None, "none"),
        jwt.encode(
            {"iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60},
            hashlib.sha256(public).hexdigest(),
            "HS256",
            headers={"kid": "rsa"},
        ),
        f"{head}.{own}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}.{hmac}",
        "a.b.c",
        "..",
    ]
    for token in refused:
        with pytest.raises(AccessError, match="send your key or token"):
            callers.identify(token)


BROKEN_SETS = [b"<html>Sign in</html>", b"\xff\xfe{\0}\0", b"[]", b'{"keys": []}', b'{"keys": "x"}']


@pytest.mark.parametrize("content", BROKEN_SETS)
def test_a_key_set_that_cannot_be_used_lets_nobody_in_and_is_logged(
    issuer, tmp_path, caplog, content
):
    _, sign, _ = issuer
    (tmp_path / "jwks.json").write_bytes(content)
    with pytest.raises(AccessError, match="cannot identify callers"):
        tokens_of(tmp_path).identify(sign())
    assert "jwks.json" in caplog.text


@pytest.mark.slow
def test_keys_of_tokens_are_fetched_from_their_issuer(issuer, tmp_path, monkeypatch):
    folder, sign, _ = issuer
    served = tmp_path / "jwks.json"
    make_authority(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "ca.pem", tmp_path / "key.pem")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://127.0.0.1:{server.server_port}/jwks.json"
        callers = tokens_of(tmp_path, jwt_keys=url)
        with pytest.raises(AccessError, match="cannot identify callers"):
            callers.identify(sign())  # a server that no authority of this machine knows
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        for content in BROKEN_SETS:
            served.write_bytes(content)
            with pytest.raises(AccessError, match="cannot identify callers"):
                callers.identify(sign())
        shutil.copy(folder / "jwks.json", served)
        assert callers.identify(sign()).readers == ("*", "hr")
        with pytest.raises(AccessError, match="send your key or token"):
            callers.identify(sign("stranger"))
        server.shutdown()
    assert callers.identify(sign()).readers == ("*", "hr")  # the key set is kept for minutes


def test_settings_of_tokens_are_whole(tmp_path):
    for given, words in (
        ({"jwt_issuer": ISSUER}, "jwt_audience"),
        ({"jwt_issuer": ISSUER, "jwt_audience": "a"}, "jwt_keys"),
        ({"jwt_issuer": ISSUER, "jwt_keys": "keys.json"}, "jwt_audience"),
        ({"jwt_keys": "http://login.example/keys"}, "https"),
    ):
        with pytest.raises(ValueError, match=words):
            AccessSettings(**given)
    with pytest.raises(SettingsError, match=r"access\.keys"):
        KnownCallers(AccessSettings(required=True), tmp_path)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("keyed"))
    for name in ("ana", "ben"):
        place.write(f"{name}.md", f"---\nreaders: {name}\n---\nThe pump of {name} is {name}only.")
    place.home.mkdir(parents=True)
    (place.home / "keys.toml").write_text(entry("a", "ana") + entry("b", "ben"))
    text = f'[source]\npaths = ["{place.docs}"]\n[access]\nrequired = true\nkeys = "keys.toml"\n'
    place.settings.write_text(text + SMALL_PARTS)
    assert place.call("build").code == 0
    return place


@pytest.mark.slow
def test_two_callers_of_the_model_context_protocol_at_once_read_their_own(home):
    async def ask(address, key):
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(headers=headers, timeout=60) as http:
            from mcp import Client
            from mcp.client.streamable_http import streamable_http_client

            async with Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client:
                calls = [client.call_tool("search", {"question": "the pump"}) for _ in range(4)]
                return str(await asyncio.gather(*calls))

    async def both(address):
        return await asyncio.gather(*(ask(address, key) for key in "abab"))

    retriever = HomeRetriever(home.home)
    callers = KnownCallers(retriever.settings.access, home.home)
    with served_here(make_http_app(retriever, callers)) as address:
        for key, text in zip("abab", asyncio.run(both(address)), strict=True):
            mine, other = ("ana", "ben") if key == "a" else ("ben", "ana")
            assert f"{mine}only" in text
            assert f"{other}only" not in text
        for headers in ({}, {"Authorization": "Bearer c"}, {"Authorization": "a"}):
            refused = httpx.post(f"{address}/mcp", json={}, headers=headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.slow
def test_clients_of_the_protocol_find_the_service_that_issues_tokens(home, issuer):
    folder, sign, _ = issuer
    retriever = HomeRetriever(home.home, is_operator=True)
    access = tokens_of(folder)._tokens._access
    retriever.settings = retriever.settings.model_copy(update={"access": access})
    app = make_http_app(retriever, tokens_of(folder))
    with TestClient(app, base_url="https://handbook.example") as client:
        refused = client.post("/mcp", json={})
        place = "https://handbook.example/.well-known/oauth-protected-resource/mcp"
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{place}"'
        for path in (place, place.removesuffix("/mcp")):
            metadata = ProtectedResourceMetadata.model_validate(client.get(path).json())
            assert str(metadata.resource) == "https://handbook.example/mcp"
            assert [str(url).rstrip("/") for url in metadata.authorization_servers] == [ISSUER]
        given = {"Authorization": f"Bearer {sign()}"}
        assert client.post("/mcp", json={}, headers=given).status_code != 401
    keyed = make_http_app(
        HomeRetriever(home.home), KnownCallers(HomeRetriever(home.home).settings.access, home.home)
    )
    with TestClient(keyed) as client:
        assert client.get("/.well-known/oauth-protected-resource").status_code == 401


@pytest.mark.slow
def test_a_caller_with_readers_gets_no_words_of_damaged_trees(home):
    retriever = HomeRetriever(home.home, is_operator=True)
    id_ = manifest_point_id("vault")
    damage = Upsert((Point(id_, {"state": "manifest", "tree": "vault"}),))

    def apply(operation):
        retriever.call_with_home(
            None, lambda _home, _settings, store: store._engine.apply([operation])
        )

    async def listed(readers, served=retriever):
        from mcp import Client

        CALLER.set(Caller(readers))
        async with Client(make_server(served)) as client:
            return str(await client.call_tool("list_trees", {}))

    apply(damage)
    client = TestClient(make_app(retriever, ServerKeys()), raise_server_exceptions=False)
    try:
        assert "vault" not in asyncio.run(listed(("ana",)))
        assert "vault" not in asyncio.run(listed(None, retriever.for_readers(["ana"])))
        assert "vault" in asyncio.run(listed(None))
        answer = client.get("/trees")
        assert (answer.status_code, "vault" in answer.text) == (500, False)
    finally:
        apply(Delete((id_,)))


@pytest.mark.slow
@pytest.mark.parametrize(("is_keyed", "status"), [(True, 200), (False, 421)])
def test_tools_answer_to_other_names_where_requests_send_a_key(home, is_keyed, status):
    """A page of another site could reach an open server by a name that resolves to this machine."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    headers = {"Authorization": "Bearer a", "Accept": "application/json, text/event-stream"}
    retriever = HomeRetriever(home.home)
    known = KnownCallers(retriever.settings.access, home.home)
    app = make_http_app(retriever, known if is_keyed else ServerKeys())
    with TestClient(app, base_url="http://handbook.example", headers=headers) as client:
        assert client.post("/mcp", json=message).status_code == status


@pytest.mark.slow
def test_servers_with_rights_do_not_start_open_or_with_a_key_that_has_no_readers(home):
    refused = home.call("serve", RAPTOR_API_KEY="k" * 20)
    assert (refused.code, "RAPTOR_API_KEY" in refused.err) == (3, True)
    assert home.call("mcp").code == 7
    assert raptor("mcp", "--home", home.home, "--port", "1", "--as", "ana").code == 2
    home.settings.write_text(home.settings.read_text().replace('keys = "keys.toml"\n', ""))
    assert (refused := home.call("serve")).code == 3
    assert "access.keys" in refused.err
