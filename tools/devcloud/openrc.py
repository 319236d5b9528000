"""How a client reaches the cloud: OS_* variables, as shell lines or a dictionary."""

import shlex

from tools.devcloud import networks, recipes
from tools.devcloud.controller.config_files import PROVIDER_NETWORK
from tools.devcloud.controller.services import PROMETHEUS_PORT
from tools.devcloud.settings import Settings


def variables(settings: Settings) -> dict[str, str]:
    """Environment of an OpenStack client; also names what the scenarios need."""
    return {
        "OS_AUTH_URL": f"http://{settings.address}:5000/v3",
        "OS_USERNAME": "nfv_user",
        "OS_PASSWORD": settings.admin_password,
        "OS_PROJECT_NAME": "nfv",
        "OS_USER_DOMAIN_NAME": "Default",
        "OS_PROJECT_DOMAIN_NAME": "Default",
        "OS_REGION_NAME": "RegionOne",
        "OS_IDENTITY_API_VERSION": "3",
        "FUNCTIONAL_NETWORK": PROVIDER_NETWORK,
        "FUNCTIONAL_EXTERNAL_NETWORK": PROVIDER_NETWORK,
        "FUNCTIONAL_HELM_ON_TACKER": "1",
        "FUNCTIONAL_PREPARED_IMAGE": recipes.NODE_KUBERNETES.name,
        "FUNCTIONAL_ROUGH_IMAGE": recipes.NODE_ROUGH.name,
        "FUNCTIONAL_KUBERNETES_MIRROR": f"http://{networks.mirror_address(settings.network)}",
        **(_monitoring(settings) if settings.monitoring else {}),
    }


def prometheus(settings: Settings) -> str:
    """URL of the Prometheus of a cloud with monitoring."""
    return f"http://{settings.address}:{PROMETHEUS_PORT}"


def _monitoring(settings: Settings) -> dict[str, str]:
    return {
        "FUNCTIONAL_MONITORING": settings.monitoring,
        "FUNCTIONAL_PROMETHEUS": prometheus(settings),
    }


def shell(settings: Settings) -> str:
    """Lines for a POSIX shell's ``eval``."""
    lines = [f"export {key}={shlex.quote(value)}" for key, value in variables(settings).items()]
    return "\n".join(lines)
