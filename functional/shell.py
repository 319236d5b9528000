"""Shell commands that the variables of a cloud name."""

import subprocess


def output(command: str) -> str:
    """The standard output of a command; an AssertionError tells what a failed one said."""
    ran = subprocess.run(command, shell=True, check=False, capture_output=True, text=True)  # noqa: S602 - ours
    if ran.returncode:
        raise AssertionError(f"{command}: status {ran.returncode}: {ran.stdout}{ran.stderr}")
    return ran.stdout
