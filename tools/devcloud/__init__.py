"""The embedded cloud: a real Keystone, Heat and Tacker on one machine.

Heat's compute, network and storage resources become containers that behave
like virtual machines, or QEMU machines where the image asks for one.
"""
