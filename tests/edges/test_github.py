"""The forge's answers, from a real HTTP server on loopback: right ones, refusals, and every way of none."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from gatekeeper.edges import github
from gatekeeper.edges.github import GitHubForge, Pushed
from gatekeeper.errors import RemoteUnreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REPO = "octo/app"
Answer = tuple[int, object] | tuple[int, object, dict[str, str]]


class Handler(BaseHTTPRequestHandler):
    server: Api

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.server.seen.append((address.path, query, self.headers.get("Authorization", "")))
        answer = self.server.answers.get(address.path, (404, {"message": "Not Found"}))
        found: Answer = answer(query) if callable(answer) else answer
        body = found[1] if isinstance(found[1], bytes) else json.dumps(found[1]).encode()
        self.send_response(found[0])
        for name, value in (found[2] if len(found) == 3 else {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Api(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Answer | Callable[[dict[str, str]], Answer]] = {}
        self.seen: list[tuple[str, dict[str, str], str]] = []

    def handle_error(self, *_: object) -> None:
        pass  # who asked has given up waiting

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/api/v3"

    def forge(self, **options: Any) -> GitHubForge:
        return GitHubForge(self.url, options.pop("token", "secret"), REPO, **options)

    def says(self, path: str, answer: Answer | Callable[[dict[str, str]], Answer]) -> None:
        self.answers[f"/api/v3{path}"] = answer


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setattr(github, "PATIENCE", 1)
    server = Api()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


PERMISSION = f"/repos/{REPO}/collaborators/ann/permission"


@pytest.mark.parametrize(
    ("permission", "admin"),
    [("admin", True), ("write", False), ("maintain", False), ("read", False), ("none", False)],
)
def test_who_administers(api: Api, permission: str, admin: bool) -> None:
    api.says(PERMISSION, (200, {"permission": permission, "role_name": "admin"}))
    assert api.forge().is_admin("ann") is admin
    assert [(path, token) for path, _, token in api.seen] == [(f"/api/v3{PERMISSION}", "token secret")]


def test_an_app_administers_nothing(api: Api) -> None:
    path = f"/repos/{REPO}/collaborators/dependabot%5Bbot%5D/permission"
    api.says(path, (404, {"message": "dependabot[bot] is not a user"}))
    assert api.forge().is_admin("dependabot[bot]") is False


def test_a_login_cannot_lead_elsewhere(api: Api) -> None:
    with pytest.raises(RemoteUnreachable):
        api.forge().is_admin("../../user?x=")
    assert api.seen[0][0] == f"/api/v3/repos/{REPO}/collaborators/..%2F..%2Fuser%3Fx%3D/permission"


MEMBER = "/orgs/octo/teams/wardens/memberships/ann"


@pytest.mark.parametrize(("state", "member"), [("active", True), ("pending", False)])
def test_who_is_in_a_team(api: Api, state: str, member: bool) -> None:
    api.says(MEMBER, (200, {"state": state, "role": "member"}))
    assert api.forge(operators_token="other").in_team("ann", "@octo/wardens") is member
    assert api.seen[0][2] == "token other"


def test_no_member_of_a_team_that_can_be_seen(api: Api) -> None:
    api.says("/orgs/octo/teams/wardens", (200, {"slug": "wardens"}))
    assert api.forge().in_team("ann", "@octo/wardens") is False


def test_a_team_that_cannot_be_seen_is_no_answer(api: Api) -> None:
    with pytest.raises(RemoteUnreachable) as caught:
        api.forge().in_team("ann", "@octo/wardens")
    assert "operators-token" in caught.value.hint


@pytest.mark.parametrize("team", ["wardens", "@octo", "@octo/a/b", "@octo/../x", "@/x", "@octo/x?y"])
def test_what_is_no_team_is_not_asked(api: Api, team: str) -> None:
    with pytest.raises(RemoteUnreachable):
        api.forge().in_team("ann", team)
    assert all("/orgs/octo/teams/.." in path for path, _, _ in api.seen)


def test_a_pull_request(api: Api) -> None:
    api.says(f"/repos/{REPO}/pulls/7", (200, {"number": 7, "user": {"login": "ann"}}))
    assert api.forge().pull_request(7)["user"] == {"login": "ann"}


def push(after: str, login: str | None, kind: str = "push") -> dict[str, object]:
    return {"after": after, "activity_type": kind, "actor": login and {"login": login}}


HEAD, OLD = "a" * 40, "b" * 40


def test_who_pushed_last(api: Api) -> None:
    log = [push(OLD, "eve"), push(HEAD, "ann", "force_push"), push(HEAD, "bob")]
    api.says(f"/repos/{REPO}/activity", (200, log))
    assert api.forge().pusher("agent/x y&z", HEAD) == "ann"
    assert api.seen[0][1]["ref"] == "refs/heads/agent/x y&z"


def test_a_deletion_is_no_push(api: Api) -> None:
    api.says(
        f"/repos/{REPO}/activity",
        (200, [push(HEAD, "eve", "branch_deletion"), push(HEAD, "ann", "branch_creation")]),
    )
    assert api.forge().pusher("x", HEAD) == "ann"


def test_a_head_elsewhere_is_asked_about_there(api: Api) -> None:
    api.says("/repos/eve/fork/activity", (200, [push(OLD, "eve")]))
    assert api.forge(head=Pushed("eve/fork", "theirs", OLD)).pusher("mine", HEAD) == "eve"
    assert api.seen[0][1]["ref"] == "refs/heads/theirs"


def paged(count: int) -> Callable[[dict[str, str]], Answer]:
    """A log of one entry a page, `HEAD` on the last."""

    def answer(query: dict[str, str]) -> Answer:
        page = int(query.get("after", "0"))
        entries = [push(HEAD if page == count - 1 else OLD, "ann")]
        link = f'<https://elsewhere.example/x?after={page + 1}&per_page=100>; rel="next", <https://e/x?before=0>; rel="prev"'
        return 200, entries, {"Link": link} if page < count - 1 else {}

    return answer


def test_pages_beyond_the_first_are_read_from_the_same_place(api: Api) -> None:
    api.says(f"/repos/{REPO}/activity", paged(4))
    assert api.forge().pusher("x", HEAD) == "ann"
    assert [query.get("after") for _, query, _ in api.seen] == [None, "1", "2", "3"]


def test_reading_on_ends(api: Api) -> None:
    api.says(f"/repos/{REPO}/activity", paged(1000))
    with pytest.raises(RemoteUnreachable, match="activity log"):
        api.forge().pusher("x", HEAD)
    assert len(api.seen) == github.PAGES


@pytest.mark.parametrize(
    "log", [[], [push(OLD, "eve")], [push(HEAD, None)], ["x"], {}, [{"after": HEAD, "activity_type": "push"}]]
)
def test_a_push_that_the_log_does_not_tell_of(api: Api, log: object) -> None:
    api.says(f"/repos/{REPO}/activity", (200, log))
    with pytest.raises(RemoteUnreachable):
        api.forge().pusher("x", HEAD)


QUESTIONS: list[tuple[str, Callable[[GitHubForge], object]]] = [
    (PERMISSION, lambda forge: forge.is_admin("ann")),
    (MEMBER, lambda forge: forge.in_team("ann", "@octo/wardens")),
    (f"/repos/{REPO}/pulls/7", lambda forge: forge.pull_request(7)),
    (f"/repos/{REPO}/activity", lambda forge: forge.pusher("x", HEAD)),
]


@pytest.mark.parametrize(("path", "ask"), QUESTIONS)
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((401, {"message": "Bad credentials"}), "not valid"),
        ((403, {"message": "Resource not accessible by integration"}), "token"),
        ((404, {"message": "Not Found"}), "token"),
        (
            (
                403,
                {"message": "API rate limit exceeded for installation"},
                {"X-RateLimit-Reset": "9999999999"},
            ),
            "later",
        ),
        ((403, {"message": "You have exceeded a secondary rate limit"}, {"Retry-After": "600"}), "later"),
        ((429, {"message": "Too Many Requests"}, {"Retry-After": "600"}), "later"),
        ((502, b"<html>Bad gateway</html>"), "status"),
        ((500, b""), "status"),
        ((200, b"{not json"), ""),
        ((200, b"["), ""),
        ((200, b""), ""),
        ((200, b"not json at all"), ""),
        ((200, [1]), ""),
        ((200, None), ""),
        ((200, b"\xff\xfe"), ""),
        ((301, {"message": "Moved"}, {"Location": "http://elsewhere.invalid/x"}), ""),
    ],
)
def test_no_answer_is_never_a_guess(
    api: Api, path: str, ask: Callable[[GitHubForge], object], answer: Answer, hint: str
) -> None:
    api.says(path, answer)
    began = time.monotonic()
    with pytest.raises(RemoteUnreachable) as caught:
        ask(api.forge())
    assert time.monotonic() - began < 5
    assert hint in caught.value.hint
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"


def test_a_server_that_recovers_is_asked_again(api: Api) -> None:
    answers = iter([(502, b""), (200, {"permission": "admin"})])
    api.says(PERMISSION, lambda _: next(answers))
    assert api.forge().is_admin("ann") is True


def test_a_server_that_does_not_answer_is_given_up(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github, "RETRIES", 0)

    def slow(_: dict[str, str]) -> Answer:
        time.sleep(2)
        return 200, {"permission": "admin"}

    api.says(PERMISSION, slow)
    with pytest.raises(RemoteUnreachable, match="no answer within"):
        api.forge().is_admin("ann")


def test_nobody_listens() -> None:
    with pytest.raises(RemoteUnreachable, match=r"127\.0\.0\.1:9"):
        GitHubForge("http://127.0.0.1:9", "secret", REPO).is_admin("ann")


@pytest.mark.parametrize(
    "forge",
    [
        GitHubForge("https://api.invalid", "", REPO),
        GitHubForge("", "secret", REPO),
        GitHubForge("file:///etc", "secret", REPO),
        GitHubForge("https://api.invalid", "secret", "octo/../app"),
        GitHubForge("https://api.invalid", "secret", "octo/app?x"),
        GitHubForge("https://api.invalid", "secret", "octo/.."),
        GitHubForge("https://api.invalid", "secret", ""),
    ],
)
def test_what_can_not_be_asked_is_not_sent(forge: GitHubForge) -> None:
    with pytest.raises(RemoteUnreachable):
        forge.is_admin("ann")


def test_a_head_whose_repository_is_gone_cannot_be_asked_about(api: Api) -> None:
    with pytest.raises(RemoteUnreachable, match="gone"):
        api.forge(head=Pushed("", "x", HEAD)).pusher("x", HEAD)
    assert api.seen == []


def test_the_library_is_loaded_only_by_a_question() -> None:
    code = (
        "import sys; from gatekeeper.edges.github import GitHubForge; GitHubForge('https://x', 'y', 'z/z');"
        "sys.exit(any(m in sys.modules for m in ('github', 'requests', 'urllib3')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
