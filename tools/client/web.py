"""Requests by HTTP, whose failures are errors that say what was asked."""

from typing import Any

import requests

from tools.client.errors import ClientError

_PATIENCE = 300.0  # seconds without a byte
_SHOWN = 300  # characters of an answer


def ask(session: requests.Session, method: str, url: str, **options: Any) -> requests.Response:
    """An answer of success.

    :param options: those of ``requests.Session.request``
    :raises ClientError: without an answer, or with the answer of a server that refuses
    """
    try:
        answer = session.request(method, url, timeout=_PATIENCE, **options)
    except requests.RequestException as error:
        raise ClientError(f"{method} {url}: {error}") from error
    if not answer.ok:
        text = answer.text.strip()[:_SHOWN]
        raise ClientError(f"{method} {url}: {answer.status_code} {text}")
    return answer
