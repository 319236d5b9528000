"""Unique names on the cloud, even beside leftovers of a run that was killed."""

import uuid


def unique(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:8]}"
