"""Signatures, made and checked with OpenSSH's own keys and program."""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.edges import ssh
from gatekeeper.errors import GatekeeperError

if TYPE_CHECKING:
    from collections.abc import Iterator

AT = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
DATA = b'{"agent":"a"}'


@dataclass(frozen=True)
class Key:
    path: Path

    @property
    def line(self) -> str:
        """The public key's type and digits, as allowed_signers wants them."""
        return " ".join(self.path.with_suffix(".pub").read_text().split()[:2])


def keygen(*args: str | Path) -> None:
    subprocess.run(["ssh-keygen", "-q", *map(str, args)], check=True, stdin=subprocess.DEVNULL)


def make_key(folder: Path, name: str, *, passphrase: str = "") -> Key:
    keygen("-t", "ed25519", "-N", passphrase, "-C", "a comment", "-f", folder / name)
    return Key(folder / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
def one(folder: Path) -> Key:
    return make_key(folder, "one")


@pytest.fixture(scope="module")
def two(folder: Path) -> Key:
    return make_key(folder, "two")


@pytest.fixture(scope="module")
def good(one: Key) -> str:
    return ssh.sign(DATA, str(one.path))


def verify(
    signature: str, signers: str, agent: str = "a", data: bytes = DATA, at: datetime = AT
) -> str | None:
    why = ssh.verify(data, signature, signers.encode(), agent, at=at)
    assert why is None or why.isprintable()
    return why


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A PATH whose ssh-keygen a test writes itself."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "ssh-keygen"


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_good_signature_by_the_agents_key(one: Key, good: str):
    assert good.startswith("-----BEGIN SSH SIGNATURE-----\n")
    assert verify(good, f"a {one.line}\n") is None


def test_data_changed_after_signing(one: Key, good: str):
    assert "changed after it was signed" in verify(good, f"a {one.line}\n", data=DATA + b" ")


def test_a_key_that_nobody_listed(two: Key, good: str):
    assert "gives 'a' no such key" in verify(good, f"a {two.line}\n")
    assert "no such key" in verify(good, "")


def test_one_agents_key_does_not_sign_for_another(one: Key, two: Key, good: str):
    assert "gives 'b' no such key" in verify(good, f"a {one.line}\nb {two.line}\n", agent="b")


@pytest.mark.parametrize(
    ("principal", "agent"),
    [
        ("агент", "агент"),
        ('"Ann Lee"', "Ann Lee"),
        ("-x", "-x"),
        ("-Overify-time=1", "-Overify-time=1"),
        ("x,a,y", "a"),
        ("a$(id)`id`;'", "a$(id)`id`;'"),
        ("*", "anyone at all"),
        ("bot-*,!bot-x", "bot-7"),
    ],
)
def test_names_that_a_line_gives(one: Key, good: str, principal: str, agent: str):
    assert verify(good, f"{principal} {one.line}\n", agent=agent) is None


@pytest.mark.parametrize(
    ("principal", "agent"),
    [
        ("a", "A"),
        ("a", "*"),
        ("a", "?"),
        ("a,b", "a,b"),
        ("a", "a "),
        ("a", "a b"),
        ("a", "!b"),
        ("bot-*,!bot-x", "bot-x"),
        ("!b", "a"),
        ("#a", "#a"),
        ('"a"', '"a"'),
        ("aa", "a"),
        ("a", ""),
        ("a", "a\nb"),
        ("a", "a\0b"),
        ("a", "a\ud800"),
    ],
)
def test_names_that_no_line_gives(one: Key, good: str, principal: str, agent: str):
    assert verify(good, f"{principal} {one.line}\n", agent=agent) is not None


def test_a_key_may_stand_on_several_lines(one: Key, two: Key, good: str):
    signers = f"# ours\n\nnonsense\nb {two.line}\nx,y {one.line} someone\na {one.line} someone\n"
    assert verify(good, signers) is None
    assert verify(good, signers.replace("\n", "\r\n")) is None


def test_a_signature_made_for_something_else(one: Key, tmp_path: Path):
    (tmp_path / "m").write_bytes(DATA)
    keygen("-Y", "sign", "-n", "git", "-f", one.path, tmp_path / "m")
    assert "gatekeeper-claim" in verify((tmp_path / "m.sig").read_text(), f"a {one.line}\n")


def test_a_line_that_names_namespaces(one: Key, good: str):
    assert "leaves gatekeeper-claim out" in verify(good, f'a namespaces="git,file" {one.line}\n')
    assert verify(good, f'a namespaces="git,gatekeeper-claim" {one.line}\n') is None
    assert verify(good, f"a unknown-option {one.line}\n") is not None


def test_a_key_holds_at_the_moment_of_the_claim(one: Key, good: str):
    until, since = f'a valid-before="20260820Z" {one.line}\n', f'a valid-after="202608201200" {one.line}\n'
    assert verify(good, until, at=AT - timedelta(days=1)) is None
    assert "no longer valid" in verify(good, until, at=AT)
    assert "not yet valid" in verify(good, since, at=AT - timedelta(minutes=1))
    assert verify(good, since, at=AT) is None


def test_times_without_a_zone_are_utc_everywhere(one: Key, good: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        since = f'a valid-after="202608201200" {one.line}\n'
        assert verify(good, since, at=AT) is None
        assert verify(good, since, at=AT - timedelta(minutes=1)) is not None
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("year", [1, 1969])
def test_a_moment_that_ssh_does_not_know(one: Key, good: str, year: int):
    assert "1970" in verify(good, f"a {one.line}\n", at=datetime(year, 1, 1, tzinfo=UTC))


def test_certificates_hold_for_the_names_in_them(folder: Path):
    authority, bearer = make_key(folder, "ca"), make_key(folder, "bearer")
    keygen(
        "-s",
        authority.path,
        "-I",
        "id",
        "-n",
        "a,b",
        "-V",
        "20260101:20270101",
        bearer.path.with_suffix(".pub"),
    )
    signed = ssh.sign(DATA, str(folder / "bearer-cert.pub"))
    anyone = f"* cert-authority {authority.line}\n"
    assert verify(signed, anyone) is None
    assert "certificate" in verify(signed, anyone, agent="c")
    assert "certificate" in verify(signed, anyone, at=AT + timedelta(days=365))
    assert verify(signed, f"b cert-authority {authority.line}\n") is not None
    assert verify(ssh.sign(DATA, str(bearer.path)), anyone) is not None
    assert verify(ssh.sign(DATA, str(authority.path)), f"a cert-authority {authority.line}\n") is not None


@pytest.mark.parametrize(
    "armour",
    [
        "",
        "hello",
        "-----BEGIN SSH SIGNATURE-----",
        "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN SSH SIGNATURE-----\n" + "A" * 30_000 + "\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN SSH SIGNATURE-----\n" + "A" * 100_000,
        "-----BEGIN SSH SIGNATURE-----\n\0\x1b[31m\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN SSH SIGNATURE-----\nя\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN SSH SIGNATURE-----\n\ud800\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN PGP SIGNATURE-----\nAAAA\n-----END PGP SIGNATURE-----\n",
    ],
)
def test_armour_that_is_none(one: Key, armour: str):
    assert "signature" in verify(armour, f"a {one.line}\n")


@settings(max_examples=60, deadline=None)
@given(place=st.integers(0, 290), noise=st.text("AZaz09+/=\n-x", max_size=2))
def test_damaged_armour_never_passes_for_other_bytes(one: Key, good: str, place: int, noise: str):
    damaged = good[:place] + noise + good[place + len(noise) :]
    why = verify(damaged, f"a {one.line}\n", data=b"other bytes")
    assert why is not None


def test_nothing_is_left_behind_and_nothing_can_be_read_meanwhile(
    one: Key, good: str, fake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spool))
    monkeypatch.setenv("SECRET_TOKEN", "x")
    script(
        fake,
        f"stat -c '%a' . signers signature > {tmp_path}/modes; env > {tmp_path}/env\n"
        'exec /usr/bin/ssh-keygen "$@"',
    )
    assert verify(good, f"a {one.line}\n") is None
    assert (tmp_path / "modes").read_text().split() == ["700", "600", "600"]
    assert "SECRET_TOKEN" not in (tmp_path / "env").read_text()
    script(fake, "exit 3")
    with pytest.raises(GatekeeperError, match="exit status 3"):
        verify(good, f"a {one.line}\n")
    assert list(spool.iterdir()) == []


def test_no_ssh_keygen_is_an_error(good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GatekeeperError, match="not on the PATH"):
        verify(good, "a x y\n")
    script(tmp_path / "ssh-keygen", "exit 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(GatekeeperError, match="not on the PATH"):
        verify(good, "a x y\n")


@pytest.mark.parametrize(
    "text",
    [
        "exit 0",
        "echo 'unknown option -- Y' >&2; exit 1",
        "echo 'Could not verify signature.'; echo 'unknown option -- Y' >&2; exit 1",
        "echo 'No user exists for uid 7' >&2; exit 255",
        "echo 'Could not verify signature.'; kill -9 $$",
        "printf 'bad \\033[31m\\377 words' >&2; exit 255",
    ],
)
def test_an_ssh_keygen_that_did_not_judge_is_an_error(good: str, fake: Path, text: str):
    script(fake, text)
    with pytest.raises(GatekeeperError) as caught:
        verify(good, "a x y\n")
    assert caught.value.message.isprintable()
    assert caught.value.hint


def test_an_ssh_keygen_that_does_not_answer_is_an_error(
    good: str, fake: Path, monkeypatch: pytest.MonkeyPatch
):
    script(fake, "exec sleep 30")
    monkeypatch.setattr(ssh, "VERIFY_SECONDS", 0.2)
    with pytest.raises(GatekeeperError, match="no answer"):
        verify(good, "a x y\n")


def test_an_ssh_keygen_that_cannot_be_run_is_an_error(good: str, fake: Path):
    fake.write_bytes(b"\0\1\2")
    fake.chmod(0o755)
    with pytest.raises(GatekeeperError, match="could not be run"):
        verify(good, "a x y\n")


def test_temporary_files_that_cannot_be_made_are_an_error(good: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent/folder")
    with pytest.raises(GatekeeperError, match="temporary folder"):
        verify(good, "a x y\n")


def test_a_temporary_file_that_cannot_be_written_is_an_error(tmp_path: Path):
    (tmp_path / "taken").touch()
    with pytest.raises(GatekeeperError, match="can't be written"):
        ssh._write(tmp_path / "taken", b"")


def test_keys_as_git_may_name_them(one: Key, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(one.path.parent))
    monkeypatch.chdir(one.path.parent)
    for key in (str(one.path), "~/one", "one", str(one.path.with_suffix(".pub"))):
        assert verify(ssh.sign(DATA, key), f"a {one.line}\n") is None


@pytest.fixture
def agent_with(two: Key, monkeypatch: pytest.MonkeyPatch) -> Iterator[Key]:
    """An ssh-agent of our own that holds the second key, on a socket with a short path."""
    with tempfile.TemporaryDirectory() as short:
        socket = f"{short}/s"
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 10
            while not Path(socket).exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            monkeypatch.setenv("SSH_AUTH_SOCK", socket)
            subprocess.run(["ssh-add", "-q", str(two.path)], check=True)
            yield two
        finally:
            agent.terminate()
            agent.wait()


def test_keys_that_only_the_agent_holds(agent_with: Key, tmp_path: Path):
    public = tmp_path / "away.pub"
    public.write_text(agent_with.line + "\n")
    for key in (f"key::{agent_with.line}", agent_with.line, str(public)):
        assert verify(ssh.sign(DATA, key), f"a {agent_with.line}\n") is None


@pytest.mark.parametrize(
    "key", ["", "  ", "/nonexistent/key", "~nosuchuser/key", "key::nonsense", "a\0b", "-h", "a\ud800b"]
)
def test_keys_that_cannot_sign(key: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(GatekeeperError) as caught:
        ssh.sign(DATA, key)
    assert caught.value.message.isprintable()
    assert "user.signingKey" in caught.value.hint or "OpenSSH" in caught.value.hint


def test_a_locked_key_without_a_terminal_is_an_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    locked = make_key(folder, "locked", passphrase="secret")
    script(tmp_path / "ask", "echo wrong")
    monkeypatch.setenv("SSH_ASKPASS", str(tmp_path / "ask"))
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    with pytest.raises(GatekeeperError, match="could not sign"):
        ssh.sign(DATA, str(locked.path))
    script(tmp_path / "ask", "echo secret")
    assert verify(ssh.sign(DATA, str(locked.path)), f"a {locked.line}\n") is None
