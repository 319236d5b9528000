"""How a command of the cloud's ends: what stopped it, for people, and its exit status."""

import subprocess
from collections.abc import Callable

from docker.errors import DockerException
from requests import RequestException

from tools.devcloud.errors import CloudError
from tools.devcloud.progress import complain


def told(run: Callable[[], int]) -> int:
    """Run a command; returns its exit status, 1 for an error that was told, 130 for Ctrl-C."""
    try:
        return run()
    except CloudError as error:
        complain(str(error))
    except (DockerException, RequestException) as error:
        complain(f"the Docker engine refuses: {error}; the same command again continues")
    except subprocess.CalledProcessError as error:
        complain(f"{error}; mend that, then the same command again continues")
    except PermissionError as error:
        complain(f"{error}: the cloud is root's, first `sudo --preserve-env=HOME,PATH -s`")
    except BrokenPipeError:
        pass  # whoever read along has seen enough
    except KeyboardInterrupt:
        complain("interrupted; the same command again continues where this one stopped")
        return 130
    return 1
