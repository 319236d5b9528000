"""Names that nothing else on the cloud has, not even what a run that was killed has left there."""

import uuid


def unique(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:8]}"
