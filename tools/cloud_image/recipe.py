"""What is changed in an image, as the commands of virt-customize(1)."""

from dataclasses import dataclass
from pathlib import Path

import yaml

_SSHD = "/etc/ssh/sshd_config.d/10-login.conf"
_CLOUD_INIT = "/etc/cloud/cloud.cfg.d/90-login.cfg"
_SUDOERS = "/etc/sudoers.d/90-login"


@dataclass(frozen=True)
class Login:
    """The user whom the drivers log in as: by a password, or by the key of which this is the half.

    Both are files: what is on a command line everyone on the machine can read.
    """

    user: str
    password_file: Path | None = None
    public_key_file: Path | None = None


def commands(login: Login, packages: tuple[str, ...]) -> str:
    """One command per line; files are read by virt-customize, so no secret is here."""
    user = login.user
    lines = [
        # Nothing of the image's first machine may be the same on all of them.
        "truncate /etc/machine-id",
        f"run-command id {user} >/dev/null 2>&1 || useradd --create-home --shell /bin/bash {user}",
        f"write {_SUDOERS}:{user} ALL=(ALL) NOPASSWD:ALL",
        f"chmod 0440:{_SUDOERS}",
        f"write {_CLOUD_INIT}:{_cloud_init(login)}",
    ]
    if login.password_file:
        lines += [
            f"password {user}:file:{login.password_file}",
            "mkdir /etc/ssh/sshd_config.d",
            f"write {_SSHD}:PasswordAuthentication yes",
        ]
    if login.public_key_file:
        lines.append(f"ssh-inject {user}:file:{login.public_key_file}")
    if packages:
        lines.append(f"install {','.join(packages)}")
    return "".join(f"{line}\n" for line in lines)


def _cloud_init(login: Login) -> str:
    """Keep cloud-init from locking at first boot the password that was set."""
    by_password = login.password_file is not None
    default = {"name": login.user, "lock_passwd": not by_password}
    config = {"ssh_pwauth": by_password, "system_info": {"default_user": default}}
    # In YAML's flow style it is one line, as virt-customize wants it.
    return yaml.safe_dump(config, default_flow_style=True, width=1000).strip()
