"""Compute, network and storage of the embedded cloud, made of containers.

Used by the Heat resources in heat_plugin, inside the controller. What a server
is (host, zone, group, ports) is kept in the labels of its container; the
addresses of ports, which exist before their server does, in one small file.
"""
