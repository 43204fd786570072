"""A registry of images on the loopback, which Docker speaks to without TLS. It has none."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def registry(status: int, code: str) -> Iterator[str]:
    """Yield the address of a registry that answers every question for an image with an error."""

    class Answers(BaseHTTPRequestHandler):
        """Says that it is a registry, and nothing else."""

        def do_HEAD(self) -> None:
            """Answer."""
            known = self.path == "/v2/"
            body = json.dumps({"errors": [] if known else [{"code": code, "message": code}]})
            self.send_response(200 if known else status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body.encode())

        def do_GET(self) -> None:
            """Answer."""
            self.do_HEAD()

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
