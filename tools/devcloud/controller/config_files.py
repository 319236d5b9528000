"""The configuration files of the control plane's services."""

import base64
import configparser
import shutil
from pathlib import Path

from tools.devcloud.settings import Settings

Sections = dict[str, dict[str, str]]

REGION = "RegionOne"
SERVICE_USER = "services"  # the user as whom all services ask each other
SERVICE_PROJECT = "service"
VOLUME_BACKEND = "files"
PROVIDER_NETWORK = "public"  # as Neutron calls the network behind br-ex
# Names of the drivers that Tacker loads, besides its own that does nothing.
MGMT_DRIVERS = ("mgmt-drivers-private-registry", "mgmt-drivers-kubernetes")

CONTAINER_HOSTS = tuple(f"compute-{number}" for number in range(1, 6))
QEMU_HOST = "qemu-1"

OVSDB = "unix:/run/openvswitch/db.sock"
_SHIPPED = Path("/opt/openstack/etc")
# Seconds. A machine under load takes longer than the minute that is the default.
_PATIENCE = "300"
# Of a Geneve packet that carries 9,000 bytes: networks may have jumbo frames.
_TUNNEL_MTU = "9058"
# Copied to where their services look for them, whatever their configuration says.
_PASTE_FILES = {
    "barbican/barbican-api-paste.ini": "barbican",
    "glance/glance-api-paste.ini": "glance",
    "nova/api-paste.ini": "nova",
    "neutron/api-paste.ini": "neutron",
    "cinder/api-paste.ini": "cinder",
    "cinder/resource_filters.json": "cinder",
}


def keystone_url(settings: Settings) -> str:
    return f"http://{settings.address}:5000/v3"


def write_all(settings: Settings, virt_type: str) -> None:
    """Write each service's configuration, readable by root only.

    :param virt_type: how QEMU runs machines: kvm or qemu
    """
    for path, sections in {
        "keystone/keystone.conf": _keystone(),
        "barbican/barbican.conf": _barbican(settings),
        "placement/placement.conf": _placement(settings),
        "glance/glance-api.conf": _glance(settings),
        "neutron/neutron.conf": _neutron(settings),
        "neutron/plugins/ml2/ml2_conf.ini": _ml2(),
        "nova/nova.conf": _nova(settings),
        "nova/compute.conf": _nova_compute(settings),
        **{f"nova/{host}.conf": _container_host(host) for host in CONTAINER_HOSTS},
        f"nova/{QEMU_HOST}.conf": _qemu_host(virt_type),
        "cinder/cinder.conf": _cinder(settings),
        "heat/heat.conf": _heat(settings),
        "tacker/tacker.conf": _tacker(settings),
    }.items():
        _write(Path("/etc", path), sections)
    for host in (*CONTAINER_HOSTS, QEMU_HOST):
        (_state(host) / "instances").mkdir(parents=True, exist_ok=True)
    for path, service in _PASTE_FILES.items():
        shutil.copy(_SHIPPED / path, Path("/etc", service))


def _write(path: Path, sections: Sections) -> None:
    parser = configparser.RawConfigParser()
    parser.read_dict(sections)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    with path.open("w") as file:
        parser.write(file)


def _database(name: str) -> dict[str, str]:
    """Without a password: databases.sh says why."""
    socket = "unix_socket=/run/mysqld/mysqld.sock"
    return {"connection": f"mysql+pymysql://root@localhost/{name}?{socket}&charset=utf8mb4"}


def _user(settings: Settings) -> dict[str, str]:
    """How a service logs in to Keystone."""
    return {
        "auth_type": "password",
        "auth_url": keystone_url(settings),
        "username": SERVICE_USER,
        "password": settings.service_password,
        "user_domain_name": "Default",
        "project_name": SERVICE_PROJECT,
        "project_domain_name": "Default",
        "region_name": REGION,
    }


def _token_check(settings: Settings) -> dict[str, str]:
    """How a service checks the tokens of its clients."""
    return {
        **_user(settings),
        "www_authenticate_uri": keystone_url(settings),
        "service_token_roles": "service",
        "service_token_roles_required": "true",
        # Otherwise Keystone is asked at every request.
        "memcached_servers": "localhost:11211",
    }


def _on_behalf(settings: Settings) -> dict[str, str]:
    """How a service says that it, not the user, sends the user's token on."""
    return {**_user(settings), "send_service_user_token": "true"}


def _rpc() -> dict[str, str]:
    return {
        "use_stderr": "true",
        "transport_url": "rabbit://guest:guest@localhost",
        "rpc_response_timeout": _PATIENCE,
    }


# Everybody with the right role may, whatever project or system the token is for.
_POLICY = {"enforce_scope": "false", "enforce_new_defaults": "false"}
_NO_NOTIFICATIONS = {"driver": "noop"}


def _locks(service: str) -> dict[str, str]:
    return {"lock_path": f"/var/lib/{service}/lock"}


def _keystone() -> Sections:
    return {
        "DEFAULT": {"use_stderr": "true"},
        "database": _database("keystone"),
        "token": {"provider": "fernet"},
        "cache": {"backend": "dogpile.cache.memory"},
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
            "db_auto_create": "false",
        },
        "database": _database("barbican"),
        "keystone_authtoken": _token_check(settings),
        "secretstore": {"enabled_secretstore_plugins": "store_crypto"},
        "crypto": {"enabled_crypto_plugins": "simple_crypto"},
        "simple_crypto_plugin": {"kek": key},
        # Its old rules: whoever has the role creator in a project.
        "oslo_policy": _POLICY,
    }


def _placement(settings: Settings) -> Sections:
    return {
        "DEFAULT": {"use_stderr": "true"},
        "api": {"auth_strategy": "keystone"},
        "placement_database": _database("placement"),
        "keystone_authtoken": _token_check(settings),
        "oslo_policy": _POLICY,
    }


def _glance(settings: Settings) -> Sections:
    stores = {
        "files": "images",
        "os_glance_staging_store": "staging",
        "os_glance_tasks_store": "tasks",
    }
    return {
        "DEFAULT": {"use_stderr": "true", "enabled_backends": "files:file"},
        "database": _database("glance"),
        "keystone_authtoken": _token_check(settings),
        "paste_deploy": {"flavor": "keystone"},
        "glance_store": {"default_backend": "files"},
        **{
            name: {"filesystem_store_datadir": f"/var/lib/glance/{place}"}
            for name, place in stores.items()
        },
        "oslo_policy": _POLICY,
    }


def _neutron(settings: Settings) -> Sections:
    return {
        "DEFAULT": {
            **_rpc(),
            "core_plugin": "ml2",
            "service_plugins": "ovn-router",
            "host": "controller",
            "state_path": "/var/lib/neutron",
            "notify_nova_on_port_status_changes": "true",
            "notify_nova_on_port_data_changes": "true",
            "send_events_interval": "1",
            "global_physnet_mtu": _TUNNEL_MTU,
            "api_workers": "1",  # for 2026.1 what ASGI_WORKERS is for 2026.2
            "rpc_workers": "0",
        },
        "database": _database("neutron"),
        "keystone_authtoken": _token_check(settings),
        "nova": _user(settings),
        "placement": _user(settings),
        "oslo_concurrency": _locks("neutron"),
        "oslo_messaging_notifications": _NO_NOTIFICATIONS,
        "oslo_policy": _POLICY,
    }


def _ml2() -> Sections:
    return {
        "ml2": {
            "mechanism_drivers": "ovn",
            "type_drivers": "flat,geneve",
            "tenant_network_types": "geneve",
            "extension_drivers": "port_security",
            "path_mtu": _TUNNEL_MTU,
            "physical_network_mtus": f"{PROVIDER_NETWORK}:1500",
            "overlay_ip_version": "4",
        },
        "ml2_type_flat": {"flat_networks": PROVIDER_NETWORK},
        "ml2_type_geneve": {"vni_ranges": "1:65536", "max_header_size": "38"},
        "securitygroup": {"enable_security_group": "true"},
        "ovn": {
            "ovn_nb_connection": OVSDB,
            "ovn_sb_connection": OVSDB,
            # Servers read their config drives.
            "ovn_metadata_enabled": "false",
            "enable_distributed_floating_ip": "false",
        },
    }


def _nova(settings: Settings) -> Sections:
    databases = {"api_database": _database("nova_api"), "database": _database("nova")}
    return {**_nova_compute(settings), **databases}


def _nova_compute(settings: Settings) -> Sections:
    """For compute hosts, which must not know the databases: they ask the conductor."""
    return {
        "DEFAULT": {
            **_rpc(),
            "state_path": "/var/lib/nova",
            "my_ip": "127.0.0.1",
            "vif_plugging_timeout": _PATIENCE,
            # A server whose host was killed meanwhile does not stay in BUILD for ever.
            "instance_build_timeout": "120",
            "resume_guests_state_on_host_boot": "true",
        },
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": _token_check(settings),
        "service_user": _on_behalf(settings),
        "placement": _user(settings),
        "neutron": _user(settings),
        "cinder": {**_user(settings), "os_region_name": REGION},
        "glance": {"valid_interfaces": "public"},
        "conductor": {"workers": "1"},
        "scheduler": {"workers": "1", "discover_hosts_in_cells_interval": "3"},
        "filter_scheduler": {
            "enabled_filters": "ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,"
            "ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter",
            # By default memory, CPUs and disk that are free on one host outvote the policy.
            "soft_anti_affinity_weight_multiplier": "100",
        },
        "vnc": {"enabled": "false"},
        "spice": {"enabled": "false"},
        "oslo_concurrency": _locks("nova"),
        "oslo_messaging_notifications": _NO_NOTIFICATIONS,
        "oslo_policy": _POLICY,
    }


def _compute_host(host: str) -> dict[str, str]:
    return {"host": host, "state_path": str(_state(host))}


def _state(host: str) -> Path:
    return Path(f"/var/lib/nova-{host}")


def _container_host(host: str) -> Sections:
    return {
        "DEFAULT": {**_compute_host(host), "compute_driver": "containers.ContainerDriver"},
        "oslo_concurrency": _locks(f"nova-{host}"),
    }


def _qemu_host(virt_type: str) -> Sections:
    return {
        "DEFAULT": {
            **_compute_host(QEMU_HOST),
            "compute_driver": "qemu.QemuDriver",
            "force_config_drive": "true",
            "force_raw_images": "false",
            # The containers' hosts count the machine's CPUs and memory too.
            "cpu_allocation_ratio": "16",
            "ram_allocation_ratio": "1.5",
            "disk_allocation_ratio": "10",
        },
        "libvirt": {
            "virt_type": virt_type,
            "cpu_mode": "host-passthrough" if virt_type == "kvm" else "none",
            "hw_machine_type": "x86_64=q35",
            "images_type": "qcow2",
            "inject_partition": "-2",
            # For volumes that are attached while the server runs.
            "num_pcie_ports": "12",
        },
        "os_vif_ovs": {"ovsdb_connection": OVSDB},
        "oslo_concurrency": _locks(f"nova-{QEMU_HOST}"),
    }


def _cinder(settings: Settings) -> Sections:
    return {
        "DEFAULT": {
            **_rpc(),
            "auth_strategy": "keystone",
            "state_path": "/var/lib/cinder",
            "my_ip": "127.0.0.1",
            "host": "controller",
            "enabled_backends": VOLUME_BACKEND,
            "resource_query_filters_file": "/etc/cinder/resource_filters.json",
            "glance_api_servers": f"http://{settings.address}:9292",
            # Of a backend that reported too early the scheduler learns by the next report.
            "backend_stats_polling_interval": "10",
        },
        VOLUME_BACKEND: {
            "volume_driver": "tools.devcloud.drivers.volumes.FileDriver",
            "volume_backend_name": VOLUME_BACKEND,
        },
        "database": _database("cinder"),
        "keystone_authtoken": _token_check(settings),
        "nova": _user(settings),
        "service_user": _on_behalf(settings),
        "oslo_concurrency": _locks("cinder"),
        "oslo_messaging_notifications": _NO_NOTIFICATIONS,
        "oslo_policy": _POLICY,
    }


def _heat(settings: Settings) -> Sections:
    url = f"http://{settings.address}:8004"
    return {
        "DEFAULT": {
            **_rpc(),
            "auth_encryption_key": settings.service_password[:32].ljust(32, "0"),
            "heat_metadata_server_url": url,
            "heat_waitcondition_server_url": f"{url}/v1/waitcondition",
            "stack_user_domain_name": "heat",
            "stack_domain_admin": "heat_domain_admin",
            "stack_domain_admin_password": settings.service_password,
            "num_engine_workers": "1",
            # What Nova cannot build at its second try, it cannot build at the sixth.
            "action_retry_limit": "1",
            "region_name_for_services": REGION,
        },
        "database": _database("heat"),
        "keystone_authtoken": _token_check(settings),
        # A trust's own project is what Heat acts in for a user: none may stand here.
        "trustee": {k: v for k, v in _user(settings).items() if "project" not in k},
        "clients_keystone": {"auth_uri": keystone_url(settings)},
        "heat_api": {"bind_port": "8004"},
        "oslo_policy": _POLICY,
        "paste_deploy": {"api_paste_config": str(_SHIPPED / "heat/api-paste.ini")},
    }


_GATHERING = "6"  # s; default 20: a heal begins so much later than its alert or notification


def _automatic_operations(settings: Settings) -> Sections:
    """Let Tacker take the alerts of `tools.monitoring`, and a Server Notifier's notifications.

    The plugin's fault management knows pods only; its performance management logs in to
    Prometheus' host.
    """
    return {
        "prometheus_plugin": {
            "auto_healing": "true",
            "auto_scaling": "true",
            "timer_interval": _GATHERING,
        },
        "server_notification": {"server_notification": "true", "timer_interval": _GATHERING},
        # Where a notifier reaches Tacker.
        "v2_vnfm": {"endpoint": f"http://{settings.address}:9890"},
    }


def _tacker(settings: Settings) -> Sections:
    return {
        "DEFAULT": {
            **_rpc(),
            "auth_strategy": "keystone",
            "service_plugins": "nfvo,vnfm",
            "state_path": "/var/lib/tacker",
            "api_paste_config": str(_SHIPPED / "tacker/api-paste.ini"),
            "use_syslog": "false",
        },
        # Its server gives many connections back only when Python collects its garbage.
        "database": {**_database("tacker"), "max_overflow": "200"},
        "keystone_authtoken": _token_check(settings),
        "nfvo_vim": {"vim_drivers": "openstack,kubernetes"},
        # Heat must have begun to scale before Tacker looks: a busy one takes 2.6 s.
        "openstack_vim": {"stack_retries": "300", "stack_retry_wait": "3"},
        "tacker": {"vnflcm_mgmt_driver": ",".join(["vnflcm_noop", *MGMT_DRIVERS])},
        "key_manager": {"api_class": "tacker.keymgr.barbican_key_manager.BarbicanKeyManager"},
        # Both shorter than by default, for scenarios wait for them; but three emulated
        # machines that boot at once take minutes.
        "mgmt_drivers": {"ssh_timeout": "240"},
        "vnf_lcm": {"operation_timeout": "5"},
        "vim_keys": {"use_barbican": "false", "openstack": "/etc/tacker/vim/fernet_keys"},
        "vnf_package": {"vnf_package_csar_path": "/var/lib/tacker/vnfpackages"},
        "glance_store": {
            "default_backend": "file",
            "filesystem_store_datadir": "/var/lib/tacker/csar_files",
        },
        "coordination": {"backend_url": "file:///var/lib/tacker/coordination"},
        **(_automatic_operations(settings) if settings.monitoring else {}),
    }
