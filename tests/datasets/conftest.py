"""A server for downloads."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        self.server.requested.append(self.path)


@pytest.fixture
def httpd(tmp_path, monkeypatch):
    """A server on 127.0.0.1: `folder` is what it serves, `url` where, `requested` the paths asked
    for.
    """
    folder = tmp_path / "served"
    folder.mkdir()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder))
    httpd.requested = []
    httpd.folder = folder
    httpd.url = f"http://127.0.0.1:{httpd.server_port}/"
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield httpd
    httpd.shutdown()
    thread.join()
    httpd.server_close()
