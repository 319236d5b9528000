"""What this cloud invents: how Nova makes a server of a container, and Cinder a volume of a file.

Nova, which loads compute drivers from its own package only, finds these modules there: see
controller/nova_services.py.
"""

# Folder of the controller for the consoles of containers that were deleted.
CONSOLES = "/var/log/devcloud/consoles"
