"""HAProxy and keepalived: the apiservers of all control-plane nodes at one virtual IP."""
