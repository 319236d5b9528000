"""The configuration files of the control plane's services."""

import base64
import configparser
from pathlib import Path

from tools.devcloud.settings import Settings

Sections = dict[str, dict[str, str]]

DATABASES = ("keystone", "barbican", "glance", "heat", "tacker")
REGION = "RegionOne"
# Names of the drivers that Tacker loads, besides its own that does nothing.
MGMT_DRIVERS = ("mgmt-drivers-private-registry", "mgmt-drivers-kubernetes")


def keystone_url(settings: Settings) -> str:
    return f"http://{settings.address}:5000/v3"


def write_all(settings: Settings) -> None:
    """Write each service's configuration, readable by root only."""
    _write(Path("/etc/keystone/keystone.conf"), _keystone(settings))
    _write(Path("/etc/barbican/barbican.conf"), _barbican(settings))
    _write(Path("/etc/glance/glance-api.conf"), _glance(settings))
    _write(Path("/etc/heat/heat.conf"), _heat(settings))
    _write(Path("/etc/tacker/tacker.conf"), _tacker(settings))


def _write(path: Path, sections: Sections) -> None:
    parser = configparser.RawConfigParser()
    parser.read_dict(sections)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    with path.open("w") as file:
        parser.write(file)


def _database(name: str, settings: Settings) -> dict[str, str]:
    password = settings.service_password
    return {"connection": f"mysql+pymysql://{name}:{password}@localhost/{name}?charset=utf8"}


def _auth(user: str, settings: Settings) -> dict[str, str]:
    return {
        "auth_type": "password",
        "auth_url": keystone_url(settings),
        "www_authenticate_uri": keystone_url(settings),
        "username": user,
        "password": settings.service_password,
        "user_domain_name": "Default",
        "project_name": "service",
        "project_domain_name": "Default",
        "region_name": REGION,
    }


def _logging() -> dict[str, str]:
    return {"use_stderr": "true", "transport_url": "rabbit://guest:guest@localhost"}


def _keystone(settings: Settings) -> Sections:
    return {
        "DEFAULT": {"use_stderr": "true"},
        "database": _database("keystone", settings),
        "token": {"provider": "fernet"},
        # Passwords here are random and live as long as the cloud: strong
        # hashing would only cost 0.4 s of CPU for every token.
        "identity": {"password_hash_rounds": "4"},
    }


def _barbican(settings: Settings) -> Sections:
    key = base64.urlsafe_b64encode(settings.service_password.encode()[:32]).decode()
    return {
        "DEFAULT": {
            "use_stderr": "true",
            "host_href": f"http://{settings.address}:9311",
            "db_auto_create": "true",
        },
        "database": _database("barbican", settings),
        "keystone_authtoken": _auth("barbican", settings),
        "secretstore": {"enabled_secretstore_plugins": "store_crypto"},
        "crypto": {"enabled_crypto_plugins": "simple_crypto"},
        "simple_crypto_plugin": {"kek": key},
        # Its old rules: whoever has the role creator in a project.
        "oslo_policy": {"enforce_new_defaults": "false", "enforce_scope": "false"},
    }


def _glance(settings: Settings) -> Sections:
    folder = "/var/lib/glance"
    stores = {"files": "images", "os_glance_staging_store": "staging",
              "os_glance_tasks_store": "tasks"}
    return {
        "DEFAULT": {"use_stderr": "true", "enabled_backends": "files:file"},
        "database": _database("glance", settings),
        "keystone_authtoken": _auth("glance", settings),
        "paste_deploy": {"flavor": "keystone"},
        "glance_store": {"default_backend": "files"},
        **{
            name: {"filesystem_store_datadir": f"{folder}/{place}"}
            for name, place in stores.items()
        },
        "oslo_policy": {"enforce_scope": "false"},
    }


def _heat(settings: Settings) -> Sections:
    url = f"http://{settings.address}:8004"
    return {
        "DEFAULT": {
            **_logging(),
            "auth_encryption_key": settings.service_password[:32].ljust(32, "0"),
            "heat_metadata_server_url": url,
            "heat_waitcondition_server_url": f"{url}/v1/waitcondition",
            "stack_user_domain_name": "heat",
            "stack_domain_admin": "heat_domain_admin",
            "stack_domain_admin_password": settings.service_password,
            "num_engine_workers": "1",
            "plugin_dirs": "/opt/devcloud/tools/devcloud/heat_plugin",
            "environment_dir": "/etc/heat/environment.d",
            "region_name_for_services": REGION,
        },
        "database": _database("heat", settings),
        "keystone_authtoken": _auth("heat", settings),
        # A trust's own project is what Heat acts in for a user: none may stand here.
        "trustee": {k: v for k, v in _auth("heat", settings).items() if "project" not in k},
        "clients_keystone": {"auth_uri": keystone_url(settings)},
        "heat_api": {"bind_port": "8004"},
        "oslo_policy": {"enforce_scope": "false"},
        "paste_deploy": {"api_paste_config": "/opt/openstack/etc/heat/api-paste.ini"},
    }


def _tacker(settings: Settings) -> Sections:
    return {
        "DEFAULT": {
            **_logging(),
            "auth_strategy": "keystone",
            "service_plugins": "nfvo,vnfm",
            "state_path": "/var/lib/tacker",
            "api_paste_config": "/opt/openstack/etc/tacker/api-paste.ini",
            "use_syslog": "false",
        },
        "database": _database("tacker", settings),
        "keystone_authtoken": _auth("tacker", settings),
        "nfvo_vim": {"vim_drivers": "openstack,kubernetes"},
        # Heat must have begun to scale before Tacker looks: a busy one takes 2.6 s.
        "openstack_vim": {"stack_retries": "300", "stack_retry_wait": "3"},
        "tacker": {"vnflcm_mgmt_driver": ",".join(["vnflcm_noop", *MGMT_DRIVERS])},
        "key_manager": {"api_class": "tacker.keymgr.barbican_key_manager.BarbicanKeyManager"},
        # Both shorter than by default, for scenarios wait for them; but several emulated
        # machines that boot at once take nearly as long as the first.
        "mgmt_drivers": {"ssh_timeout": "180"},
        "vnf_lcm": {"operation_timeout": "5"},
        "vim_keys": {"use_barbican": "false", "openstack": "/etc/tacker/vim/fernet_keys"},
        "vnf_package": {"vnf_package_csar_path": "/var/lib/tacker/vnfpackages"},
        "glance_store": {
            "default_backend": "file",
            "filesystem_store_datadir": "/var/lib/tacker/csar_files",
        },
        "coordination": {"backend_url": "file:///var/lib/tacker/coordination"},
    }
