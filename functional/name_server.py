"""A name server that knows no name, and prints each question; it runs on a test machine."""

import socket
import struct

_HEADER = 12  # octets (RFC 1035, 4.1.1)
_NO_SUCH_NAME = 0x8183  # a response that is final, also for who wants recursion


def question(message: bytes) -> tuple[str, int, int]:
    """The name and the type that a message asks for, and where the question ends.

    :raises IndexError: the message is no question
    """
    labels, place = [], _HEADER
    while length := message[place]:
        labels.append(message[place + 1 : place + 1 + length].decode(errors="replace"))
        place += 1 + length
    return ".".join(labels), message[place + 1] << 8 | message[place + 2], place + 5


def answer(message: bytes) -> bytes:
    """Say that there is no such name."""
    *_, end = question(message)
    return message[:2] + struct.pack("!5H", _NO_SUCH_NAME, 1, 0, 0, 0) + message[_HEADER:end]


def serve(port: int) -> None:
    listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listening.bind(("", port))
    while True:
        message, sender = listening.recvfrom(4096)
        try:
            name, kind, _ = question(message)
            listening.sendto(answer(message), sender)
        except IndexError:
            continue
        print(sender[0], kind, name, flush=True)


if __name__ == "__main__":
    serve(53)
