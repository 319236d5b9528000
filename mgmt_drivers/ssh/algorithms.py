"""Algorithms that may secure a connection: the defaults of OpenSSH 9.

paramiko, older versions above all, would also accept weaker algorithms, even CBC ciphers and MD5.
"""

import paramiko

# ssh_config(5) of OpenSSH 9.0 to 9.9, by the names of paramiko's SecurityOptions.
_OFFERED = {
    "kex": {
        "mlkem768x25519-sha256",
        "sntrup761x25519-sha512", "sntrup761x25519-sha512@openssh.com",
        "curve25519-sha256", "curve25519-sha256@libssh.org",
        "ecdh-sha2-nistp256", "ecdh-sha2-nistp384", "ecdh-sha2-nistp521",
        "diffie-hellman-group-exchange-sha256", "diffie-hellman-group14-sha256",
        "diffie-hellman-group16-sha512", "diffie-hellman-group18-sha512",
    },
    "ciphers": {
        "chacha20-poly1305@openssh.com", "aes128-gcm@openssh.com", "aes256-gcm@openssh.com",
        "aes128-ctr", "aes192-ctr", "aes256-ctr",
    },
    "digests": {
        "umac-64-etm@openssh.com", "umac-128-etm@openssh.com", "umac-64@openssh.com",
        "umac-128@openssh.com", "hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com",
        "hmac-sha2-256", "hmac-sha2-512", "hmac-sha1-etm@openssh.com", "hmac-sha1",
    },
    "key_types": {
        "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
        "rsa-sha2-512", "rsa-sha2-256",
    },
}
# Signatures that a login with an RSA key must not use; paramiko before 2.9 has no others.
WEAK_SIGNATURES = ("ssh-rsa", "ssh-dss")


def restrict(transport: paramiko.Transport) -> None:
    """Offer these algorithms only, in paramiko's order; call before the handshake."""
    options = transport.get_security_options()
    for kind, offered in _OFFERED.items():
        setattr(options, kind, tuple(name for name in getattr(options, kind) if name in offered))
