# SPDX-License-Identifier: BSD-2-Clause
"""A small FTP server for passive transfers (RFC 959, RFC 2428 EPSV): python3 ftpserver.py ADDRESS FOLDER."""

import os
import socket
import sys
import threading
from typing import BinaryIO


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _passive(address: str) -> socket.socket:
    data = socket.create_server((address, 0), family=_family(address), backlog=1)
    data.settimeout(30)
    return data


def _serve(control: socket.socket, address: str, folder: str) -> None:
    """One client: user, passive mode, and files in both directions."""
    lines: BinaryIO = control.makefile("rb")
    data: socket.socket | None = None

    def say(text: str) -> None:
        control.sendall(text.encode() + b"\r\n")

    def transfer(word: str, name: str) -> None:
        assert data is not None
        path = os.path.join(folder, os.path.basename(name))
        say("150 here it comes")
        with data.accept()[0] as connection:
            if word == "RETR":
                with open(path, "rb") as file:
                    connection.sendfile(file)
            else:
                with open(path, "wb") as file:
                    while block := connection.recv(1 << 16):
                        file.write(block)
        data.close()
        say("226 done")

    say("220 ready")
    for line in lines:
        word, _, rest = line.decode().strip().partition(" ")
        match word.upper():
            case "USER":
                say("331 and the password?")
            case "PASS":
                say("230 welcome")
            case "PWD":
                say('257 "/"')
            case "TYPE" | "CWD":
                say("200 so be it")
            case "SIZE":
                say(f"213 {os.path.getsize(os.path.join(folder, os.path.basename(rest)))}")
            case "EPSV":
                data = _passive(address)
                say(f"229 passive (|||{data.getsockname()[1]}|)")
            case "RETR" | "STOR":
                transfer(word.upper(), rest)
            case "QUIT":
                say("221 bye")
                return
            case _:
                say("502 unknown")


def main(address: str, folder: str) -> None:
    """Serves clients on port 21, each in a thread."""
    listener = socket.create_server((address, 21), family=_family(address), backlog=8)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve, args=(connection, address, folder), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
