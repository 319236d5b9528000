"""Asks registries whether they can be used, on the machine that is to use them.

A program of its own for Python 3.8 and later, without any other package. It reads
a JSON list of registries and prints one of what is wrong with each, in their
order, null if all is well. A registry is an object with ``url``, and perhaps
``username``, ``password``, ``ca`` (PEM, trusted besides the machine's own),
``proxy`` (URL) and ``shows``, which is ``basic`` if its client shows the login unasked
and gets no token for it.

It runs as root and talks to whoever answers: it opens http and https only, and no answer
holds it up or fills its memory.
"""

from __future__ import annotations

import base64
import concurrent.futures
import http.client
import json
import os
import re
import signal
import socket
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from email.message import Message

Opener = urllib.request.OpenerDirector

_LIMIT = 10  # seconds for one answer, and to wait for any of its bytes
_WHOLE_LIMIT = 110  # seconds for all registries; a server may send a byte now and then
_MOST = 1 << 20  # bytes of an answer; a token has a few thousand
_CHALLENGE = 4096  # characters of a challenge that are looked at
_OK, _UNAUTHORIZED, _FORBIDDEN = 200, 401, 403
_MANY = 16  # asked at once
_STRICT, _PARTIAL_CHAIN = 0x20, 0x80000  # of OpenSSL; Python 3.8 has no names for them


class Unusable(Exception):
    """The fault of a registry."""


def main() -> None:
    signal.alarm(_WHOLE_LIMIT + _LIMIT)
    registries = json.load(sys.stdin)
    pool = concurrent.futures.ThreadPoolExecutor(_MANY)
    asked = [pool.submit(error_of, registry) for registry in registries]
    concurrent.futures.wait(asked, timeout=_WHOLE_LIMIT)
    late = f"it has not answered within {_WHOLE_LIMIT} s"
    json.dump([found.result() if found.done() else late for found in asked], sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # whoever still waits for an answer waits no more


def error_of(registry: dict[str, str]) -> str | None:
    """Ask a registry; returns its fault, or None."""
    try:
        _check(registry)
    except Unusable as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - must not hide what is wrong with the others
        return f"it cannot be asked: {type(error).__name__}: {error}"
    return None


def _check(registry: dict[str, str]) -> None:
    """Log in as clients of registries do (Docker Registry HTTP API V2, "API Version Check")."""
    opener = _opener(registry)
    url = registry["url"] + "/v2/"
    shown = _basic(registry) if registry.get("shows") == "basic" else None
    status, headers, _ = _get(opener, url, shown)
    if status == _UNAUTHORIZED:
        challenge = headers.get("WWW-Authenticate", "")
        if shown and challenge[:6].lower() == "bearer":
            raise Unusable(
                "it gives out tokens: the registry of image_repository must take user name and "
                "password with each request (HTTP Basic)"
            )
        authorization = _authorization(opener, registry, challenge)
        status, _, _ = _get(opener, url, authorization)
        if status in (_UNAUTHORIZED, _FORBIDDEN):
            raise Unusable(f"it refuses the login of user {registry.get('username')}")
    if status != _OK:
        raise Unusable(f"it is not a registry: {url} answers with status {status}")


def _authorization(opener: Opener, registry: dict[str, str], challenge: str) -> str:
    """The answer to the registry's challenge (RFC 7235, and Docker's token authentication)."""
    scheme, _, rest = challenge[:_CHALLENGE].partition(" ")
    basic = _basic(registry)
    if scheme.lower() != "bearer":
        if basic is None:
            raise Unusable("it wants a login: give username and password")
        return basic
    fields = dict(re.findall(r'(\w+)="([^"]*)"', rest))
    query = urllib.parse.urlencode({"service": fields.get("service", "")})
    realm = fields.get("realm", "")
    if not realm.lower().startswith(("http://", "https://")):
        raise Unusable(f"it wants a token from {realm!r}, which is not an http or https URL")
    status, _, answer = _get(opener, f"{realm}?{query}", basic)
    if status != _OK:
        who = f"the login of user {registry['username']}" if basic else "those who give no login"
        raise Unusable(f"{realm} refuses {who}")
    try:
        token = json.loads(answer)
        return f"Bearer {token.get('token') or token['access_token']}"
    except (ValueError, AttributeError, KeyError, RecursionError):
        raise Unusable(f"{realm} gives no token") from None


def _basic(registry: dict[str, str]) -> str | None:
    if not registry.get("username"):
        return None
    pair = f"{registry['username']}:{registry['password']}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _opener(registry: dict[str, str]) -> Opener:
    context = ssl.create_default_context()
    # Container runtimes look at subjectAltName alone.
    context.hostname_checks_common_name = False
    # And take any certificate they are given for an anchor, also one that is not as RFC 5280
    # wants it, which Python 3.13 refuses.
    context.verify_flags = (context.verify_flags & ~_STRICT) | _PARTIAL_CHAIN
    if registry.get("ca"):
        try:
            context.load_verify_locations(cadata=registry["ca"])
        except ssl.SSLError as error:  # not all that other programs read, OpenSSL does
            raise Unusable(f"the machine cannot read its certificate_path: {error}") from None
    proxy = registry.get("proxy")
    proxies = {"http": proxy, "https": proxy} if proxy else {}
    # No more than these: urllib's own choice would also open files, and whatever it learns.
    opener = Opener()
    for handler in (
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Does not read the body of a redirection, which urllib would read whatever its length."""

    def redirect_request(  # type: ignore[no-untyped-def] # names and types are urllib's
        self, req, fp, code, msg, headers, newurl
    ) -> urllib.request.Request | None:
        fp.close()
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _get(opener: Opener, url: str, authorization: str | None = None) -> tuple[int, Message, bytes]:
    """Status, headers and body."""
    try:
        request = urllib.request.Request(url)  # noqa: S310 - the opener knows http and https only
        if authorization:
            request.add_unredirected_header("Authorization", authorization)
        with opener.open(request, timeout=_LIMIT) as answer:
            return answer.status, answer.headers, _body(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, b""
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unusable(_told(error)) from error


def _body(answer: http.client.HTTPResponse) -> bytes:
    body, deadline = b"", time.monotonic() + _LIMIT
    while piece := answer.read1(_MOST):
        body += piece
        if len(body) > _MOST or time.monotonic() > deadline:
            raise Unusable(f"its answer is longer than {_MOST} bytes or {_LIMIT} seconds")
    return body


def _told(error: Exception) -> str:
    cause = getattr(error, "reason", error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return f"it does not speak HTTPS: {cause}"
    if isinstance(cause, socket.gaierror):
        return f"its name is not known: {cause}"
    return f"it cannot be reached: {cause or type(cause).__name__}"


if __name__ == "__main__":
    main()
