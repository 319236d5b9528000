"""How commands of the embedded cloud end: an expected error is one line, and a status."""

import subprocess
from collections.abc import Callable

from docker.errors import DockerException
from requests import RequestException

from tools.devcloud.errors import CloudError
from tools.progress import print_error


def report_errors(run: Callable[[], int]) -> int:
    """Run a command and print its expected errors.

    Returns the command's exit status, 1 after an error, or 130 after Ctrl-C.
    """
    try:
        return run()
    except CloudError as error:
        print_error(str(error))
    except (DockerException, RequestException) as error:
        print_error(f"the Docker engine refuses: {error}; repeat the command to continue")
    except subprocess.CalledProcessError as error:
        print_error(f"{error}; remove the cause, then repeat the command to continue")
    except PermissionError as error:
        print_error(f"{error}: the cloud needs root, run `sudo --preserve-env=HOME,PATH -s` first")
    except BrokenPipeError:
        pass  # the reader of the output has gone
    except KeyboardInterrupt:
        print_error("interrupted; repeat the command to continue")
        return 130
    return 1
