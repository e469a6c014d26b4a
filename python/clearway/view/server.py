"""The server of the live page: the page and the native engine, on the loopback, for the browser that has the address.

Other users of the machine and other web pages must not reach it. So each address begins with a token that is drawn
anew for each server. The header `Host` must name the loopback, which stops a name that was pointed at it (DNS
rebinding), and a WebSocket must come from the page itself by its header `Origin`.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol
from urllib.parse import urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from clearway._clearway import Error

#: The address on which the server listens.
LOOPBACK = "127.0.0.1"
#: Names of the loopback in the header `Host`. A port that a tunnel (`ssh -L`) gives differs from ours, so any will do.
NAMES = {"127.0.0.1", "localhost"}
#: The address of the native engine, relative to that of the page.
ENGINE = "engine"
#: Most bytes of a message to the engine, which may hold a list of flows.
MESSAGE_MAX = 512_000_000
#: Seconds for which a connection may open or close. Browsers open some that they never use.
PATIENCE_S = 2

#: The page may run what is in it and talk to this server, and nothing else.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob: data:; worker-src blob: data:; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


class Stage(Protocol):
    """The engine as the page talks to it (`docs/reference/view-protocol.md`)."""

    def handle(self, request: str, /) -> str | bytes:
        """Answers a request with JSON or a frame."""


class Server:
    """A server of one page, which listens as soon as it is made.

    `stage` makes the engine of a connection; without it there is none, and the page uses its own.
    """

    def __init__(self, page: str, port: int = 0, stage: Callable[[], Stage] | None = None) -> None:
        self._page = page.encode()
        self._stage = stage
        self._token = secrets.token_urlsafe(16)
        self._open: set[ServerConnection] = set()
        self._lock = threading.Lock()
        log = logging.getLogger("clearway.view")
        log.setLevel(logging.CRITICAL)  # Connections that browsers open and leave are no news.
        try:
            self._server = serve(
                self._converse,
                LOOPBACK,
                port,
                process_request=self._answer,
                compression=None,
                open_timeout=PATIENCE_S,
                close_timeout=PATIENCE_S,
                max_size=MESSAGE_MAX,
                server_header=None,
                logger=log,
            )
        except OSError as error:
            raise Error(f"port {port}: can't be used: {error.strerror}; name another, or none") from None

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self._server.socket.getsockname()[1]}/{self._token}/"

    def serve_forever(self) -> None:
        """Serves until `close` is called in another thread, or Ctrl-C is pressed."""
        self._server.serve_forever()

    def close(self) -> None:
        """Stops, and closes all connections; a request under way is answered first."""
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            connection.close()
        self._server.shutdown()

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answers a request for the page; returns None to go on with a WebSocket."""
        host = request.headers.get("Host", "")
        token, _, place = urlsplit(request.path).path.lstrip("/").partition("/")
        if urlsplit(f"//{host}").hostname not in NAMES:
            return connection.respond(HTTPStatus.FORBIDDEN, "This server answers the loopback only.\n")
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return connection.respond(
                HTTPStatus.NOT_FOUND, "No such page; use the address that clearway view printed.\n"
            )
        if place == "":
            return Response(HTTPStatus.OK, "OK", self._headers(), self._page)
        if place != ENGINE or self._stage is None:
            return connection.respond(HTTPStatus.NOT_FOUND, "No such page.\n")
        if request.headers.get("Origin") != f"http://{host}":
            return connection.respond(HTTPStatus.FORBIDDEN, "Only the page itself may talk to the engine.\n")
        return None

    def _headers(self) -> Headers:
        return Headers(
            {
                "Content-Type": "text/html; charset=utf-8",
                "Content-Length": str(len(self._page)),
                "Content-Security-Policy": POLICY,
                "Cache-Control": "no-store",
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
                "Connection": "close",
            }
        )

    def _converse(self, connection: ServerConnection) -> None:
        """Answers the requests of a page, in their order, until it leaves."""
        assert self._stage is not None
        with self._lock:
            self._open.add(connection)
        try:
            stage = self._stage()
            for request in connection:
                connection.send(reply(stage, request))
        except ConnectionClosed:
            pass
        finally:
            with self._lock:
                self._open.discard(connection)


def reply(stage: Stage, request: str | bytes) -> str | bytes:
    """The answer to a request; what went wrong is an answer too, which the page shows."""
    if isinstance(request, bytes):
        return json.dumps({"error": "a request is text, not bytes"})
    try:
        return stage.handle(request)
    except Error as error:
        return json.dumps({"error": str(error)})
