"""The server behind the review page: HTTP, and who may ask.

Whoever knows the token may review, nobody else. The address that is printed holds it; opening it sets a
cookie that scripts cannot read, and leads to the address without the token. Requests must name this machine
as their host and come from the page itself, so that other pages in the browser cannot reach the server.
"""

import asyncio
import hmac
import ipaddress
import json
import secrets
import socket
import threading
import time
import webbrowser
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from noiselimit.errors import InputError
from noiselimit.review.queue import Filter
from noiselimit.review.session import Session

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Route
except ModuleNotFoundError as error:
    raise InputError(
        f"the review page needs the package {error.name}: pip install starlette uvicorn."
    ) from None

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

LOCAL = "127.0.0.1"
WRONG_TOKENS, WITHIN_SECONDS = 10, 60.0
"""An address that sent so many wrong tokens within this time gets no more answers."""
ADDRESSES_KEPT = 10_000
LARGEST_BODY = 2**20
KEEP = "private, max-age=86400, immutable"
"""How browsers cache pictures: until the server ends, none changes."""
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
PAGE = {
    "index.html": "text/html",
    "review.css": "text/css",
    "review.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}

Handler = Callable[[Request], Awaitable[Response]]
Reader = Callable[[dict[str, Any]], Callable[[], Any]]
"""Makes what is to be done from the parameters or the body of a request."""


class Guard:
    """Lets only requests of this review through, and adds the headers that keep its pages safe."""

    def __init__(self, app: "ASGIApp", token: str, hosts: frozenset[str]) -> None:
        self.app = app
        self.token = token
        self.hosts = hosts
        """Names of this machine that a request may use, besides addresses in numbers."""
        self._wrong: dict[str, deque[float]] = {}

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safe(message: Any) -> None:
            if message["type"] == "http.response.start":
                named = {name for name, _ in message["headers"]}
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *extra]
                if b"cache-control" not in named:
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        request = Request(scope)
        answer = self._refuse(request) or self._enter(request)
        await (answer or self.app)(scope, receive, send_safe)

    def _refuse(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if not self._is_ours(host):
            return PlainTextResponse("This host name is not that of the review.", 421)
        origin = request.headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return PlainTextResponse("Only the review page may send requests.", 403)
        site = request.headers.get("sec-fetch-site", "none")
        if request.method == "POST" and origin is None and site not in ("same-origin", "none"):
            return PlainTextResponse("Only the review page may send requests.", 403)
        return None

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        name = name.strip("[]").lower()
        if name in self.hosts:
            return True
        if self.hosts <= {"localhost", LOCAL, "::1"}:
            return False
        with suppress(ValueError):  # a page elsewhere can rebind a name, but no address in numbers
            return bool(ipaddress.ip_address(name))
        return False

    def _enter(self, request: Request) -> Response | None:
        """None for a request with the right token; otherwise the answer."""
        cookie = f"noiselimit_{request.url.port or 80}"
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        typed = request.query_params.get("token")
        given = typed or (bearer if scheme.lower() == "bearer" else None) or request.cookies.get(cookie)
        client = request.client.host if request.client else ""
        # The right token is always let in: any page can make a browser send wrong ones, and 256 bits cannot
        # be guessed at any rate.
        if given is not None and hmac.compare_digest(given.encode(), self.token.encode()):
            if typed is None:
                return None
            answer = RedirectResponse("/", 303)
            # "strict" would refuse those who click on the address in a notebook, a mail or a chat.
            answer.set_cookie(cookie, self.token, httponly=True, samesite="lax", path="/")
            return answer
        if given is not None and self._too_many(client):
            return PlainTextResponse("Too many wrong tokens: wait a minute.", 429, {"retry-after": "60"})
        return PlainTextResponse("Open the address that noiselimit review printed; it holds the token.", 401)

    def _too_many(self, client: str) -> bool:
        now = time.monotonic()
        if len(self._wrong) > ADDRESSES_KEPT:
            self._wrong.clear()
        times = self._wrong.setdefault(client, deque(maxlen=WRONG_TOKENS + 1))
        times.append(now)
        return len(times) > WRONG_TOKENS and now - times[0] < WITHIN_SECONDS


def make_app(session: Session, token: str, *, host: str, reviewer: str, shared: bool) -> Guard:
    """Return the ASGI application of a review."""
    static = files("noiselimit.review").joinpath("static")

    def page(name: str) -> Handler:
        content = static.joinpath(name).read_bytes()

        async def send(request: Request) -> Response:
            return Response(content, media_type=PAGE[name])

        return send

    def picture(row: int, large: bool) -> Response:
        content, kind = (session.looks.large if large else session.looks.thumbnail)(session.require(row))
        return Response(content, media_type=kind, headers={"cache-control": KEEP})

    def start() -> dict[str, Any]:
        return {**session.start(), "reviewer": reviewer, "shared": shared}

    def post(path: str, read: Reader) -> Route:
        return Route(path, _answer(read, body=True), methods=["POST"])

    def get(path: str, read: Reader) -> Route:
        return Route(path, _answer(read))

    routes = [
        *(Route("/" if name == "index.html" else f"/{name}", page(name)) for name in PAGE),
        get("/picture/{row:int}", lambda query: partial(picture, query["row"], query.get("large") == "1")),
        get("/api/start", lambda query: start),
        get("/api/list", lambda query: partial(session.listed, _filter(query))),
        get("/api/rows", lambda query: partial(session.brief, [int(row) for row in query["ids"].split(",")])),
        get("/api/row/{row:int}", lambda query: partial(session.detail, query["row"])),
        get("/api/near/{row:int}", lambda query: partial(session.near, query["row"], int(query["other"]))),
        get("/api/changes", lambda query: partial(session.changes, int(query["after"]))),
        get("/api/estimate", lambda query: session.estimate),
        post("/api/decide", lambda body: _decide(session, body)),
        post("/api/undo", lambda body: partial(session.undo, _name(body), again=False)),
        post("/api/redo", lambda body: partial(session.undo, _name(body), again=True)),
        get("/api/reaudit", lambda query: session.reaudit.state),
        post("/api/reaudit", lambda body: session.reaudit.start),
    ]
    local = {LOCAL, "localhost", "::1"}
    name = socket.gethostname().lower()
    others = {host.lower(), name, f"{name}.local", socket.getfqdn().lower()} if shared else set()
    return Guard(Starlette(routes=routes), token, frozenset(local | others))


def _answer(read: Reader, *, body: bool = False) -> Handler:
    """Read a request, then do in a thread what it asks for; errors of users become answers for the page."""

    async def handle(request: Request) -> Response:
        try:
            try:
                work = read(await _body(request) if body else {**request.query_params, **request.path_params})
            except (KeyError, TypeError, ValueError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError("the request is malformed: reload the page.") from None
            found = await run_in_threadpool(work)
        except InputError as error:
            return JSONResponse({"error": str(error)}, 400)
        return found if isinstance(found, Response) else JSONResponse(found)

    return handle


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object in a request; a form, which other pages could send, is refused."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise InputError("the request is not JSON: reload the page.")
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > LARGEST_BODY:
            raise InputError("the request is too large: decide fewer rows at once.")
    try:
        return dict(json.loads(content))
    except RecursionError:
        raise InputError("the request is malformed: reload the page.") from None


def _filter(query: Mapping[str, str]) -> Filter:
    texts = {name: query[name] for name in ("order", "scope", "state", "search") if name in query}
    classes = {name: int(query[name]) for name in ("given", "suggested") if query.get(name)}
    ends = {name: float(query[name]) for name in ("low", "high") if query.get(name)}
    return Filter(**texts, **classes, **ends)  # type: ignore[arg-type]


def _decide(session: Session, body: dict[str, Any]) -> Callable[[], Any]:
    rows = [(_whole(item["row"]), bool(item.get("drawn"))) for item in body["rows"]]
    label = None if body.get("label") is None else _whole(body["label"])
    action, note = _text(body["action"]), _text(body.get("note", ""))
    return partial(session.decide, rows, action, label, bool(body.get("suggested")), note, _name(body))


def _name(body: dict[str, Any]) -> str:
    name = _text(body["reviewer"]).strip()
    if not name:
        raise InputError("the reviewer has no name: enter your name first.")
    return name


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(value)
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(value)
    return value


class Review:
    """A review that is served; `noiselimit.review.open` returns one.

    Attributes
    ----------
    url
        The address to open, with the token.
    decisions
        The decisions so far, a `noiselimit.audit.decisions.Decisions`.
    """

    def __init__(self, session: Session, *, host: str, port: int, reviewer: str) -> None:
        self.session = session
        self.decisions = session.decisions
        self.token = secrets.token_urlsafe(32)
        shared = host not in (LOCAL, "localhost", "::1")
        self._socket = _listen(host, port)
        bound = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        if host in ("0.0.0.0", "::"):
            shown = socket.gethostname()
        self.url = f"http://{shown}:{bound}/?token={self.token}"
        app = make_app(session, self.token, host=host, reviewer=reviewer, shared=shared)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=2,
        )
        self._server = _Server(config)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        while not self._server.started and not self._ended.is_set():
            time.sleep(0.005)

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._ended.set()

    def show(self) -> None:
        """Open the page in the browser."""
        webbrowser.open(self.url)

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        while not self._ended.wait(0.5):  # an interrupted join would take the thread for ended
            pass

    def close(self) -> None:
        """Stop serving. All decisions are on the disk already."""
        self._server.should_exit = True
        self._ended.wait()
        self._thread.join()
        self._socket.close()
        self.session.close()

    def __enter__(self) -> "Review":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Server(uvicorn.Server):
    """A server that closes its connections even if an answer takes longer than it waits at the end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens; uvicorn would end the process if it cannot have it."""
    if not 0 <= port < 2**16:  # the system would take another one
        raise InputError(f"port is {port}: give a number from 0 (a free one) to {2**16 - 1}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)  # without the protocol, asyncio leaves answers waiting
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
        except BaseException:
            found.close()
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot serve at {host}, port {port} ({reason}): give another --host or --port."
        ) from None
    return found
