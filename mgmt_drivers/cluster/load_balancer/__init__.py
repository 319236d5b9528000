"""HAProxy and keepalived: the API of all control-plane nodes at one virtual IP."""
