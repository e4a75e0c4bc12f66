"""A throw-away nginx in front of web processes."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from tests.orphans import free_port
from tests.processes import ROOT, Process, Web

BINARY = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

# As Debian's nginx.conf.
_MAIN = """
daemon off;
# One process, so that none outlives the test run.
master_process off;
{user}
pid {home}/nginx.pid;
error_log stderr;
events {{ worker_connections 4096; }}
http {{
    gzip on;
    {compression}
    access_log off;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    {site}
}}
"""
# What somebody writes who has read nothing.
_BARE = """
    upstream octostore { server 127.0.0.1:8001; server 127.0.0.1:8002; }
    server { listen 80; location / { proxy_pass http://octostore; } }
"""


class Nginx(Process):
    """Runs deploy/nginx.conf, or the barest proxy there is, on a port of its own."""

    def __init__(self, home: Path, webs: Sequence[Web], *, bare: bool = False) -> None:
        assert BINARY
        self.port = free_port()
        site = _BARE if bare else (ROOT / "deploy" / "nginx.conf").read_text()
        site, listens = re.subn(r"listen 80;", f"listen 127.0.0.1:{self.port};", site)
        site, others = re.subn(r"listen \[::\]:80;", "", site)
        assert (listens, others) == (1, 0 if bare else 1)
        for number, web in enumerate(webs, start=8001):
            assert site.count(f"127.0.0.1:{number};") == 1
            site = site.replace(f"127.0.0.1:{number};", f"127.0.0.1:{web.port};")
        configuration = home / "nginx.conf"
        user = "user root;" if os.geteuid() == 0 else ""
        # More than Debian has, which would spoil streams that nothing protects.
        compression = "" if bare else "gzip_types *; gzip_min_length 1;"
        configuration.write_text(_MAIN.format(home=home, site=site, user=user, compression=compression))
        super().__init__([BINARY, "-p", home, "-c", configuration], {}, home / "nginx.log")

    def is_ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True
