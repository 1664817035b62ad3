"""Who may ask the server, and what it answers."""

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

import noiselimit.review
from noiselimit.audit.folder import open_audit
from noiselimit.errors import InputError
from noiselimit.review.server import LARGEST_BODY, WRONG_TOKENS, make_app
from noiselimit.review.session import Session

TOKEN = "right"
PATHS = ("/", "/review.js", "/api/start", "/api/list", "/api/row/0", "/picture/0", "/no/such/path")


def client(session: Session, host: str = "127.0.0.1:8123", **settings: Any) -> TestClient:
    bound = {"host": "127.0.0.1", "reviewer": "ann", "shared": False, **settings}
    return TestClient(make_app(session, TOKEN, **bound), base_url=f"http://{host}", follow_redirects=False)


def entered(session: Session) -> TestClient:
    """A browser that has opened the address with the token."""
    opened = client(session)
    answer = opened.get(f"/?token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=lax" in answer.headers["set-cookie"]
    opened.headers["origin"] = "http://127.0.0.1:8123"
    return opened


@pytest.fixture
def page(session: Session) -> TestClient:
    return entered(session)


def decide(page: TestClient, row: int, action: str = "keep", **more: Any) -> Any:
    return page.post(
        "/api/decide", json={"rows": [{"row": row}], "action": action, "reviewer": "ann", **more}
    )


@pytest.mark.parametrize("path", PATHS)
def test_nothing_without_the_token(session: Session, path: str) -> None:
    for wrong in ({}, {"authorization": "Bearer wrong"}, {"cookie": "noiselimit_8123=wrong"}):
        answer = client(session).get(path, headers=wrong)
        assert answer.status_code == 401
        assert TOKEN not in answer.text


def test_wrong_tokens_are_limited_and_the_right_one_is_not(session: Session) -> None:
    opened = client(session)
    codes = [opened.get("/?token=wrong").status_code for _ in range(WRONG_TOKENS + 3)]
    assert codes == [401] * WRONG_TOKENS + [429] * 3
    assert opened.get("/api/start", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:8123", "localhost.evil.example", "", "8.8.8.8"]
)
def test_names_of_other_machines(session: Session, host: str) -> None:
    answer = client(session).get("/api/start", headers={"host": host, "authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 421


def test_shared_reviews_take_addresses_but_no_foreign_names(session: Session) -> None:
    bearer = {"authorization": f"Bearer {TOKEN}"}
    shared = client(session, host="192.168.0.7:8123", shared=True)
    assert shared.get("/api/start", headers=bearer).json()["shared"]
    assert shared.get("/api/start", headers={**bearer, "host": "evil.example:8123"}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9", "https://localhost:8123"]
)
def test_other_pages(page: TestClient, origin: str) -> None:
    answer = page.post("/api/undo", json={"reviewer": "ann"}, headers={"origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_posts_of_other_pages_without_an_origin(page: TestClient) -> None:
    del page.headers["origin"]
    answer = page.post("/api/undo", json={"reviewer": "ann"}, headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403
    form = page.post("/api/undo", data={"reviewer": "ann"}, headers={"origin": "http://127.0.0.1:8123"})
    assert form.status_code == 400


def test_every_answer_is_safe_to_show(page: TestClient) -> None:
    for path in PATHS:
        answer = page.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert page.get("/api/start").headers["cache-control"] == "no-store"


ELSEWHERE = ("/../audit.json", "/static/../server.py", "/%2e%2e/audit.json", "/decisions.sqlite", "/docs")


@pytest.mark.parametrize("path", [*ELSEWHERE, "/picture/../0x", "/picture/..%2faudit.json", "/picture/-1"])
def test_only_rows_of_the_audit_are_served(page: TestClient, path: str) -> None:
    assert page.get(path).status_code == 404
    assert page.get("/picture/99999999").status_code == 400


def test_pictures_are_encoded_anew(page: TestClient) -> None:
    answer = page.get("/picture/3?large=1")
    assert answer.headers["content-type"] == "image/png"
    assert Image.open(io.BytesIO(answer.content)).size == (8, 8)
    assert "immutable" in answer.headers["cache-control"]


ONE: dict[str, Any] = {"rows": [{"row": 0}], "action": "keep", "reviewer": "a"}
BAD_BODIES = (
    None,
    [],
    {},
    {key: value for key, value in ONE.items() if key != "reviewer"},
    *(
        {**ONE, "rows": rows}
        for rows in ([], {"row": 0}, [0], [{"row": "0"}], [{"row": 10**30}], [{"row": True}])
    ),
    *({**ONE, "reviewer": name} for name in ("  ", "a" * 99, 7)),
    {**ONE, "action": "burn"},
    {**ONE, "action": "relabel"},
    {**ONE, "action": "relabel", "label": 99},
    {**ONE, "note": 7},
)


@pytest.mark.parametrize("body", BAD_BODIES)
def test_bad_requests_store_nothing(page: TestClient, session: Session, body: Any) -> None:
    answer = page.post("/api/decide", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert not session.decisions.entries()


def test_bodies_that_are_too_large_or_no_json(page: TestClient) -> None:
    for content in (b"x" * (LARGEST_BODY + 1), b"{", b"\xff", b"[" * 100_000):
        answer = page.post("/api/decide", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 400


@pytest.mark.parametrize(
    "query", ["order=up", "given=99", "given=x", "low=2", "low=nan", "state=?", "scope=1"]
)
def test_bad_filters(page: TestClient, query: str) -> None:
    assert page.get(f"/api/list?{query}").status_code == 400


def test_a_review_through_the_interface(own_session: Session) -> None:
    page, session = entered(own_session), own_session
    listed = page.get("/api/list?order=probability").json()
    rows = [row for place, row in enumerate(listed["rows"]) if place not in listed["checks"]]
    first, second = rows[:2]
    brief = page.get(f"/api/rows?ids={first},{second}").json()[str(first)]
    assert brief["flagged"]
    both = {**ONE, "rows": [{"row": first}, {"row": second}], "reviewer": "ann", "note": "é"}
    done = page.post("/api/decide", json={**both, "action": "relabel", "suggested": True}).json()
    assert done["rows"] == [first, second]
    assert done["states"][str(first)]["votes"][0]["label"] == brief["suggested"]
    assert page.get("/api/list").json()["rows"].count(first) == 0
    detail = page.get(f"/api/row/{first}").json()
    assert [entry["action"] for entry in detail["history"]] == ["relabel"]
    near = page.get(f"/api/near/{first}?other={detail['other']}").json()
    assert len(near["neighbours"]) == 12
    assert "models prefer" in near["why"]
    assert "of its 12 nearest neighbours" in near["why"]
    assert all(near["rows"][str(row)]["given"] == brief["given"] for row in near["examples"]["given"])
    decide(page, first, "keep", reviewer="bo")
    assert page.get("/api/list?state=conflict").json()["rows"] == [first]
    assert page.get("/api/estimate").json()["conflicts"] == 1
    assert page.post("/api/undo", json={"reviewer": "ann"}).json()["rows"] == [first, second]
    assert page.post("/api/redo", json={"reviewer": "ann"}).json()["rows"] == [first, second]
    assert page.get("/api/changes?after=0").json()["last"] == len(session.decisions.entries())
    current = session.decisions.current("majority")
    assert current["action"].tolist().count("relabel") == 1


def test_relabelling_with_the_given_class_keeps_it(own_session: Session) -> None:
    page, session = entered(own_session), own_session
    given = int(session.queue.given[5])
    decide(page, 5, "relabel", label=given)
    assert session.decisions.current()["action"].tolist() == ["keep"]


def test_a_full_disk_is_said_to_the_page(own_session: Session) -> None:
    page, session = entered(own_session), own_session
    assert decide(page, 1).status_code == 200
    file = session.decisions._file
    [pages] = file.execute("PRAGMA page_count").fetchone()
    file.execute(f"PRAGMA max_page_count = {pages}")
    answers = [decide(page, row, note="x" * 5000) for row in range(2, 40)]
    refused = [answer for answer in answers if answer.status_code != 200]
    assert refused
    assert "free some space" in refused[0].json()["error"]
    assert len(session.decisions.current()) == 1 + len(answers) - len(refused)


def test_open_serves_until_it_is_closed(digits_audit: Path) -> None:
    import httpx2

    with noiselimit.review.open(digits_audit, reviewer="ann") as served:
        address = served.url.partition("?")[0]
        bearer = {"authorization": f"Bearer {served.token}"}
        assert httpx2.get(f"{address}api/start", headers=bearer).json()["reviewer"] == "ann"
        with pytest.raises(InputError, match="--port"):
            noiselimit.review.open(open_audit(digits_audit), port=int(address.rstrip("/").rpartition(":")[2]))
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(address)
