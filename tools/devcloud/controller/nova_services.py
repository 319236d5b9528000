"""Nova's conductor, scheduler and all its compute hosts: forked from one process.

So Nova is imported once, and what was imported is shared by all of them.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable

from tools.devcloud.controller import config_files

_CONFIG, _COMPUTE_CONFIG = "/etc/nova/nova.conf", "/etc/nova/compute.conf"
_PAUSE = 0.5  # seconds


def main() -> None:
    """Run them, and start again what ends. To stop, systemd sends SIGTERM to all of them."""
    _prepare()
    services = _services()
    children = {_fork(run): name for name, run in services.items()}
    while True:
        pid, status = os.wait()
        name = children.pop(pid)
        # Some end as they start: oslo.config's dictionaries change under their threads.
        print(f"{name} ended with {status}: starting it again", flush=True)
        time.sleep(_PAUSE)
        children[_fork(services[name])] = name


def _prepare() -> None:
    """Import what the services need, and adapt Nova to where it is."""
    from nova import monkey_patch

    monkey_patch.patch(backend="threading")
    import nova.privsep
    import nova.virt
    import os_brick.privileged
    import vif_plug_ovs.privsep

    from tools.devcloud import drivers

    # Nova loads drivers from this package only.
    nova.virt.__path__.append(drivers.__path__[0])
    # These processes are root's: what is privileged needs no daemon beside them.
    for context in (
        nova.privsep.sys_admin_pctxt,
        os_brick.privileged.default,
        vif_plug_ovs.privsep.vif_plug,
    ):
        context.set_client_mode(False)
    # Not the scheduler's manager: it reads its intervals as it is imported.
    import nova.compute.manager
    import nova.conductor.manager
    import nova.virt.containers  # noqa: F401
    import oslo_messaging._drivers.impl_rabbit  # noqa: F401


def _services() -> dict[str, Callable[[], None]]:
    from nova.cmd import compute, conductor, scheduler

    def program(run: Callable[[], None], *files: str) -> Callable[[], None]:
        def start() -> None:
            sys.argv = ["nova", *(f"--config-file={file}" for file in files)]
            run()

        return start

    hosts = (*config_files.CONTAINER_HOSTS, config_files.QEMU_HOST)
    return {
        "nova-conductor": program(conductor.main, _CONFIG),
        "nova-scheduler": program(scheduler.main, _CONFIG),
        **{
            host: program(compute.main, _COMPUTE_CONFIG, f"/etc/nova/{host}.conf")
            for host in hosts
        },
    }


def _fork(run: Callable[[], None]) -> int:
    """Run a program in a child; returns the child's PID."""
    pid = os.fork()
    if pid:
        return pid
    try:
        run()
    except SystemExit as leaving:
        print(leaving, flush=True)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    main()
