"""An FTP server of the tests on loopback: files in memory, folders that refuse a listing."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import contextmanager


class FtpHandler(socketserver.StreamRequestHandler):
    """One session: login, passive mode, listings and downloads."""

    def handle(self) -> None:
        self.answer("220 ready")
        self.data = socket.socket()
        for line in self.rfile:
            verb, _, argument = line.decode().strip().partition(" ")
            reply = getattr(self, f"do_{verb.lower()}", None)
            self.answer("502 not known" if reply is None else reply(argument))
            if verb == "QUIT":
                break
        self.data.close()

    def answer(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def do_user(self, _name: str) -> str:
        return "230 logged in"

    def do_type(self, _kind: str) -> str:
        return "200 ok"

    def do_rest(self, _start: str) -> str:
        return "350 ok"

    def do_abor(self, _: str) -> str:
        return "226 nothing is under way"

    def do_quit(self, _: str) -> str:
        return "221 bye"

    def do_pasv(self, _: str) -> str:
        self.data.close()
        self.data = socket.create_server(("127.0.0.1", 0))
        high, low = divmod(self.data.getsockname()[1], 256)
        return f"227 entering (127,0,0,1,{high},{low})"

    def do_mlsd(self, path: str) -> str:
        folder = f"/{path.strip('/')}".rstrip("/")
        if folder in self.server.refused:
            return self.server.refused[folder]
        inside = [name[len(folder) + 1 :] for name in self.server.files if name.startswith(folder)]
        entries = {name.partition("/")[0]: "/" in name for name in inside if name}
        lines = [
            f"type={'dir' if is_folder else 'file'};size=9; {name}\r\n"
            for name, is_folder in entries.items()
        ]
        return self.send("".join(lines).encode())

    def do_list(self, path: str) -> str:
        return self.do_mlsd(path)

    def do_retr(self, path: str) -> str:
        return self.send(self.server.files[path])

    def send(self, data: bytes) -> str:
        self.answer("150 here it comes")
        connection, _ = self.data.accept()
        with connection:
            connection.sendall(data)
        return "226 done"


class FtpServer(socketserver.ThreadingTCPServer):
    """Files by absolute path; ``refused`` are the replies to listings of folders."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), FtpHandler)
        self.files = files
        self.refused: dict[str, str] = {}

    @property
    def url(self) -> str:
        return f"ftp://127.0.0.1:{self.server_address[1]}"


@contextmanager
def ftp_server(files: dict[str, bytes]):
    """A server for as long as the context lasts."""
    with FtpServer(files) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
