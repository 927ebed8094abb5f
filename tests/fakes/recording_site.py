"""A web site that records who knocks. It stands for every address that a conversation must not reach."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class RecordingSite:
    """Records the first line of every request. With `elsewhere` it redirects all of them to that address."""

    def __init__(self, elsewhere: str = "") -> None:
        request_lines = self.request_lines = list[str]()

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                request_lines.append(self.raw_requestline.decode(errors="replace").strip())
                if self.parse_request():
                    self.send_response(307 if elsewhere else 204)
                    self.send_header("Location", elsewhere + self.path)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def paths(self) -> list[str]:
        """The path of every request."""
        return [line.split()[1] for line in self.request_lines if line]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
