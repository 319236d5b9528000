"""HTTP requests, whose errors name the request."""

from typing import Any

import requests

from tools.client.errors import ClientError

_PATIENCE = 300.0  # seconds without a byte
_SHOWN = 300  # characters of an answer


def ask(session: requests.Session, method: str, url: str, **options: Any) -> requests.Response:
    """Send a request; returns the answer if its status is a success.

    :param options: options of ``requests.Session.request``
    :raises ClientError: if there is no answer, or the server refuses the request
    """
    try:
        answer = session.request(method, url, timeout=_PATIENCE, **options)
    except requests.RequestException as error:
        raise ClientError(f"{method} {url}: {error}") from error
    if not answer.ok:
        text = answer.text.strip()[:_SHOWN]
        raise ClientError(f"{method} {url}: {answer.status_code} {text}")
    return answer
