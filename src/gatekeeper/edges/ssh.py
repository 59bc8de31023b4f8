"""Signatures of claims, made and checked by OpenSSH's own `ssh-keygen -Y`. CONTRACT 3.

Base's `.github/allowed_signers` says whose key is whose, in ssh's own format, and ssh reads it
here as it does everywhere: principals may be patterns (`*` lets a key sign for every agent;
that is for base's owners to write or not), several lines may name one key, `cert-authority`,
`namespaces=`, `valid-after=` and `valid-before=` hold. The agent's name is only ever matched
against those patterns, never read as one. Validity is asked at the moment the claim was made,
which the signer chose: to revoke a key, take its line out. Times without a zone are UTC, so
that every machine answers alike.

A check is one process. ssh-keygen that is missing, too old or silent is an error, never a pass.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.claims.strictjson import quoted
from gatekeeper.edges.git.run import absolute_path
from gatekeeper.errors import GatekeeperError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

NAMESPACE = "gatekeeper-claim"
"""What a signature must have been made for; one made for git or a file is none here."""

LARGEST_SIGNATURE = 32 * 1024
"""Characters of armour that are looked at; the largest RSA key with a certificate needs a third of it."""

VERIFY_SECONDS = 20.0
SIGN_SECONDS = 120.0  # a passphrase may have to be typed, a security key to be touched

_HEADER, _FOOTER = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_GOOD = f'Good "{NAMESPACE}" signature for '.encode()
_JUDGED = b"Could not verify signature."
_MISUSED = re.compile(rb'unknown option|nvalid (?:"verify-time" )?option')
_INSTALL = "Install OpenSSH 8.7 or later, so that ssh-keygen is on the PATH."
_SET_KEY = "git config user.signingKey ~/.ssh/id_ed25519"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

# What ssh-keygen says on standard error of a signature that it judged and refused, and our words for it.
_REASONS = (
    (b"incorrect signature", "the claim was changed after it was signed"),
    (b"namespace does not match", f"the signature was made for something else than {NAMESPACE}"),
    (
        b"key is not permitted for use in signature namespace",
        f"base's line for that key leaves {NAMESPACE} out",
    ),
    (b"key has expired", "the key was no longer valid when the claim was made"),
    (b"key is not yet valid", "the key was not yet valid when the claim was made"),
    (b"certificate not authorized", "the key's certificate does not hold for this agent"),
    (b"Couldn't parse signature", "it is no SSH signature"),
    (b"Couldn't verify signature", "it is no SSH signature that can be read"),
    (b"sshsig_armor", "it is no SSH signature"),
)

# What signing needs of the user's environment: the agent's socket, and ways to ask for a passphrase.
_SIGNERS = (
    "HOME",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "SSH_SK_PROVIDER",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_RUNTIME_DIR",
    "TERM",
)


@dataclass(frozen=True, slots=True)
class _Done:
    """A process that ended by itself: its exit status and what it wrote."""

    status: int
    out: bytes
    err: bytes


def verify(signed: bytes, signature: str, allowed_signers: bytes, agent: str, *, at: datetime) -> str | None:
    """Why `signature` over `signed` is not `agent`'s, in one plain line; None where it is.

    `allowed_signers` are the bytes of base's file, empty where there is none; `at` is when the claim
    was made (aware). Raises GatekeeperError where ssh-keygen could not judge.
    """
    why = _unfit(signature, agent, at)
    if why is not None:
        return why
    when = ["-O", f"verify-time={at.astimezone(UTC):%Y%m%d%H%M%S}"]
    with _folder({"signers": allowed_signers, "signature": signature.encode()}) as folder:
        done = _keygen(
            # `agent` is `-I`'s own word, so it is no option whatever it begins with.
            ["-Y", "verify", "-n", NAMESPACE, "-f", "signers", "-s", "signature", *when, "-I", agent],
            stdin=signed,
            folder=folder,
            seconds=VERIFY_SECONDS,
        )
    if done.status == 0 and done.out.startswith(_GOOD):
        return None
    if done.status > 0 and _JUDGED in done.out and not _MISUSED.search(done.err):
        return next((ours for theirs, ours in _REASONS if theirs in done.err), _unknown(agent))
    raise GatekeeperError(f"ssh-keygen could not judge a claim's signature: {_complaint(done)}", _INSTALL)


def sign(data: bytes, key: str) -> str:
    """The armoured signature over `data` by `key`, which is what git's `user.signingKey` may hold.

    That is the path of a key (private, or public with the private half in ssh-agent), or a public
    key spelt out, `key::…` or `ssh-…`, which ssh-agent has to hold. Raises GatekeeperError where it can't be had.
    """
    if not key.strip():
        raise GatekeeperError("no key to sign with is set", f"Run: {_SET_KEY}")
    files, where = _key_place(key)
    with _folder(files) as folder:
        done = _keygen(
            ["-q", "-Y", "sign", "-n", NAMESPACE, *where],
            stdin=data,
            folder=folder,
            seconds=SIGN_SECONDS,
            keep=_SIGNERS,
        )
    armour = done.out.decode("ascii", "replace")
    if done.status != 0 or not armour.startswith(_HEADER) or _FOOTER not in armour:
        raise GatekeeperError(
            f"ssh-keygen could not sign with {quoted(key)}: {_complaint(done)}",
            f"Set a key's path, or `key::` and a public key that ssh-agent has: {_SET_KEY}",
        )
    return armour


def _key_place(key: str) -> tuple[dict[str, bytes], list[str]]:
    """The files to write and the options to give for a key, told apart as git tells them apart."""
    if key.startswith(("key::", "ssh-")):
        line = key.removeprefix("key::") + "\n"
        return {"key.pub": line.encode("utf-8", "surrogateescape")}, ["-U", "-f", "key.pub"]
    try:
        path = Path(key).expanduser()
    except RuntimeError:  # `~name` of a user who is not known here
        path = Path(key)
    return {}, ["-f", str(path.absolute())]


def _unfit(signature: str, agent: str, at: datetime) -> str | None:
    """What can be said without ssh-keygen, and what must never reach its command line."""
    if len(signature) > LARGEST_SIGNATURE:
        return f"the signature is larger than {LARGEST_SIGNATURE // 1024} KiB"
    if not signature.isascii() or not signature.startswith(_HEADER):
        return "it is no SSH signature"
    if not agent or _CONTROL.search(agent) or not _encodable(agent):
        return f"no key can be listed for an agent called {quoted(agent)}"
    if at.timestamp() < 1:  # ssh-keygen takes no such moment, and reads zero as the present
        return "the claim says that it was made before 1970"
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unknown(agent: str) -> str:
    """What is left when the signature itself is sound: nobody gave the key this name."""
    return f"base's .github/allowed_signers gives {quoted(agent)} no such key"


@contextmanager
def _folder(files: Mapping[str, bytes]) -> Iterator[Path]:
    """A folder that only we can read, with these files in it; gone afterwards, whatever happens."""
    try:
        path = Path(tempfile.mkdtemp(prefix="gatekeeper-"))
    except OSError as why:
        raise GatekeeperError(f"no temporary folder can be made: {why.strerror}", "Look at TMPDIR.") from why
    try:
        for name, data in files.items():
            _write(path / name, data)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _write(path: Path, data: bytes) -> None:
    """A new file with mode 0600: ssh-keygen refuses what others could have written, and so would we."""
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
            out.write(data)
    except OSError as why:
        raise GatekeeperError(
            f"a temporary file can't be written: {why.strerror}", "Look at TMPDIR."
        ) from why


def _keygen(
    words: Sequence[str],
    *,
    stdin: bytes,
    folder: Path,
    seconds: float,
    keep: Sequence[str] = (),
) -> _Done:
    """Run ssh-keygen in `folder`, with next to no environment and never through a shell."""
    env = {name: os.environ[name] for name in keep if name in os.environ} | absolute_path(os.environ)
    program = shutil.which("ssh-keygen", path=env.get("PATH"))
    if program is None:
        raise GatekeeperError("the ssh-keygen program is not on the PATH", _INSTALL)
    try:
        done = subprocess.run(
            [word.encode("utf-8", "surrogateescape") for word in (program, *words)],
            input=stdin,
            cwd=folder,
            env=env | {"LC_ALL": "C", "TZ": "UTC0"},
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GatekeeperError(
            f"ssh-keygen gave no answer in {seconds:.0f} seconds", "Try it again."
        ) from None
    except (OSError, ValueError) as why:
        raise GatekeeperError(f"ssh-keygen could not be run: {why}", _INSTALL) from why
    return _Done(done.returncode, done.stdout, done.stderr)


def _complaint(done: _Done) -> str:
    """What ssh-keygen had to say, as a quoted line; it may hold names that we did not choose."""
    lines = [line.strip() for line in done.err.decode("utf-8", "replace").splitlines() if line.strip()]
    return quoted(lines[0] if lines else f"exit status {done.status}")
