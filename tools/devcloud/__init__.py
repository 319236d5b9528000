"""The embedded cloud: a small real OpenStack, with Tacker, on one machine.

Its servers are containers that a compute driver of this project makes for Nova, or QEMU machines
where the image is one of a machine with a kernel.
"""
