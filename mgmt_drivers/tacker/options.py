"""The drivers' section of Tacker's configuration, which is the same for both APIs."""

from typing import Any

from oslo_config import cfg

SECTION = "mgmt_drivers"
_OPTIONS = [
    cfg.StrOpt(
        "trace_dir",
        default="/var/log/tacker/mgmt_drivers",
        help="Folder for the JSON-lines traces of operations; empty for none.",
    ),
    cfg.IntOpt(
        "ssh_timeout",
        default=600,
        min=1,
        help="Seconds for a machine, which may still be booting, to answer on its SSH port.",
    ),
]


def register(conf: Any) -> Any:
    conf.register_opts(_OPTIONS, SECTION)
    return conf[SECTION]


def read() -> Any:
    """Read Tacker's configuration in a process of its own; returns the values of the section."""
    conf = cfg.ConfigOpts()
    conf(args=[], project="tacker")
    return register(conf)
