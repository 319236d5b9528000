"""``additionalParams``, parsed once at the edge into typed values."""
