"""Let the container runtime ask an image repository that speaks plain HTTP."""

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase


class UseImageRepository(Phase[Cluster]):
    """One that speaks HTTPS, signed by a CA the machine knows, needs nothing."""

    title = "use the image repository"

    def needed(self, host: Host, context: Cluster) -> bool:
        repository = context.params.image_repository
        if repository is None or not repository.plain_http:
            return False
        return not context.runtime.allows_plain_http(host, repository.server)

    def apply(self, host: Host, context: Cluster) -> None:
        repository = context.params.image_repository
        assert repository
        context.runtime.allow_plain_http(host, repository.server)
