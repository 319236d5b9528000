"""The requests that the scenarios send; the user guide shows these very files."""

from pathlib import Path

REQUESTS = Path(__file__).parent
