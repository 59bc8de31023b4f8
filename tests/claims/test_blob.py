"""The codec: what a claim's blob may be, what it says when it is none, and what is signed."""

from __future__ import annotations

import copy
import json
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.claims import blob, strictjson
from gatekeeper.model import Claim, Malformed

NOW = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
GOOD = {
    "task": "T-20260814-abcdef01",
    "agent": "a",
    "branch": "agent/retry",
    "baseCommit": "0123456789abcdef0123456789abcdef01234567",
    "claimedAt": "2026-08-20T11:40:00.000Z",
    "expiresAt": "2026-08-20T12:10:00.000Z",
    "locks": ["schema"],
    "planRevision": 1,
}


def read(data: bytes, *, standing: bool = True, longest: timedelta = blob.LONGEST) -> Claim | Malformed:
    return blob.parse(
        data, ref="refs/x", oid="1" * 40, standing=standing, task=GOOD["task"], now=NOW, longest=longest
    )


def good(data: bytes, **options: object) -> Claim:
    found = read(data, **options)
    assert isinstance(found, Claim), found
    return found


def why(data: bytes, **options: object) -> str:
    found = read(data, **options)
    assert isinstance(found, Malformed), found
    assert found.why.isprintable()
    assert len(found.why) < 250
    return found.why


def changed(**changes: object) -> bytes:
    return json.dumps(GOOD | changes).encode()


def without(name: str) -> bytes:
    return json.dumps({k: v for k, v in GOOD.items() if k != name}).encode()


def test_eight_fields_are_a_claim():
    claim = good(json.dumps(GOOD, indent=2).encode() + b"\n")
    assert (claim.task, claim.agent, claim.branch) == (GOOD["task"], "a", "agent/retry")
    assert claim.base_commit == GOOD["baseCommit"]
    assert claim.claimed_at == datetime(2026, 8, 20, 11, 40, tzinfo=UTC)
    assert claim.expires_at == datetime(2026, 8, 20, 12, 10, tzinfo=UTC)
    assert (claim.locks, claim.plan_revision) == (("schema",), 1)
    assert (claim.ref, claim.oid, claim.standing) == ("refs/x", "1" * 40, True)
    assert (claim.epoch, claim.nonce, claim.outcome, claim.local, claim.signature) == (None,) * 3 + (
        False,
        None,
    )
    assert claim.fields == GOOD


def test_optional_and_unknown_fields_are_kept():
    extra = {
        "nonce": "7",
        "epoch": 3,
        "outcome": "stolen",
        "local": True,
        "signature": "s",
        "host": {"pid": 7},
    }
    claim = good(changed(**extra))
    assert (claim.nonce, claim.epoch, claim.outcome, claim.local, claim.signature) == (
        "7",
        3,
        "stolen",
        True,
        "s",
    )
    assert claim.fields["host"] == {"pid": 7}


def test_a_plan_revision_may_be_null_and_a_base_commit_sha256():
    claim = good(changed(planRevision=None, baseCommit="AB" * 32))
    assert claim.plan_revision is None
    assert claim.base_commit == "ab" * 32


@pytest.mark.parametrize("name", blob.REQUIRED)
def test_each_of_the_eight_is_needed(name: str):
    assert f"`{name}`" in why(without(name))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"task": "T-20260814-abcdef02"}, "abcdef02"),
        ({"task": 7}, "`task` is a number"),
        ({"agent": ""}, "`agent` is empty"),
        ({"agent": " \t"}, "`agent` is empty"),
        ({"agent": "a\nb"}, "control character"),
        ({"agent": None}, "`agent` is null"),
        ({"branch": "x\x7f"}, "control character"),
        ({"branch": "x\u2028y"}, "control character"),
        ({"branch": ["x"]}, "`branch` is a list"),
        ({"baseCommit": "abc"}, "`baseCommit` is no full object name"),
        ({"baseCommit": "g" * 40}, "`baseCommit`"),
        ({"baseCommit": "a" * 41}, "`baseCommit`"),
        ({"baseCommit": "a" * 40 + "\n"}, "`baseCommit`"),
        ({"locks": "schema"}, "`locks` is a text"),
        ({"locks": [""]}, "`locks` hold"),
        ({"locks": ["a", 1]}, "`locks` hold"),
        ({"locks": None}, "`locks` is null"),
        ({"planRevision": True}, "`planRevision` is true or false"),
        ({"planRevision": "1"}, "`planRevision` is a text"),
        ({"planRevision": 1.0}, "`planRevision` is a number with a fraction"),
        ({"epoch": 0}, "`epoch`"),
        ({"epoch": 2**53}, "`epoch`"),
        ({"epoch": True}, "`epoch`"),
        ({"epoch": None}, "`epoch`"),
        ({"nonce": 7}, "`nonce` is a number"),
        ({"outcome": "won"}, "'won'"),
        ({"outcome": None}, "`outcome` is null"),
        ({"local": 1}, "`local` is a number"),
        ({"local": None}, "`local` is null"),
        ({"signature": {}}, "`signature` is an object"),
        ({"expiresAt": GOOD["claimedAt"]}, "expires before it begins"),
        ({"expiresAt": "2026-08-20T11:39:59.999Z"}, "expires before it begins"),
        ({"claimedAt": "2026-08-20"}, "`claimedAt` is no ISO"),
        ({"claimedAt": "2026-08-20T11:40:00"}, "`claimedAt` is no ISO"),
        ({"claimedAt": "yesterday \x1b[31m"}, r"\x1b"),
        ({"claimedAt": 1786618800}, "`claimedAt` is a number"),
        ({"claimedAt": "2026-02-30T11:40:00Z"}, "`claimedAt` is no ISO"),
        ({"claimedAt": "0001-01-01T00:00:00+14:00"}, "`claimedAt` is no ISO"),
        ({"claimedAt": "\u0662026-08-20T11:40:00Z"}, "`claimedAt` is no ISO"),
        ({"claimedAt": "2026-W34-4T11:40:00Z"}, "`claimedAt` is no ISO"),
        ({"claimedAt": "9" * 5000}, "…"),
    ],
)
def test_a_field_that_is_wrong(changes: dict[str, object], said: str):
    assert said in why(changed(**changes))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not JSON"),
        (b"hello\n", "not JSON (line 1, column 1)"),
        (b"[]", "a list, not a JSON object"),
        (b"null", "null, not"),
        (b"\xff{}", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"\xed\xa0\x80", "not UTF-8"),
        (b"{}", "lacks `task`"),
        (changed().replace(b'"agent"', b'"task": "x", "agent"'), "'task' stands in it twice"),
        (changed(extra={"k": 1}).replace(b'"k"', b'"k": 2, "\\u006b"'), "'k' stands in it twice"),
        (changed(extra=float("nan")), "NaN"),
        (changed(extra=float("-inf")), "-Infinity"),
        (changed(extra="\ud800"), "surrogate"),
        (changed(**{"\udfff": 1}), "surrogate"),
        (changed(extra=[{"deep": "x\udc80"}]), "surrogate"),
        (changed(extra=1).replace(b'"extra": 1', b'"extra": 1e999'), "too large"),
        (changed(extra=1).replace(b'"extra": 1', b'"extra": 1' + b"0" * 5000), "too many digits"),
        (changed(extra="x" * strictjson.LARGEST), "64 KiB"),
        (changed() + b"{}", "not JSON"),
        (b"[" * 60_000, "nests deeper"),
        (b'{"a":' * 10_000, "nests deeper"),
        (changed().replace(b'"agent"', b'"x": ' + b"[" * 32 + b"]" * 32 + b', "agent"'), "nests deeper"),
    ],
)
def test_bytes_that_are_no_claim(data: bytes, said: str):
    assert said in why(data)


def test_brackets_in_texts_are_no_nesting():
    assert good(changed(extra="[{" * 500, more='"[' * 500)).fields["extra"] == "[{" * 500
    assert good(changed().replace(b'"agent"', b'"x": ' + b"[" * 31 + b"]" * 31 + b', "agent"'))


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 40 + b'"' + b'\\"' * 32_000,
        b'{"a": "' + b"[" * 60_000,
        b'{"a": ' + b"9" * 65_000 + b"}",
        b'{"a": 0.' + b"1" * 65_000 + b"}",
        b'{"a": 1e' + b"9" * 65_000 + b"}",
        b"{" + b",".join(b'"%d":%d' % (n, n) for n in range(5000)) + b"}",
        b'{"x":1,' + b",".join(b'"%d":0' % n for n in range(7000)) + b',"x":1}',
    ],
)
def test_hostile_sizes_cost_little(data: bytes):
    started = time.monotonic()
    assert isinstance(read(data), Malformed)
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    "text",
    [
        "2026-08-20T11:40:00.000Z",
        "2026-08-20T11:40:00Z",
        "2026-08-20T11:40Z",
        "2026-08-20T11:40:00.000000000Z",
        "2026-08-20T11:40:00,0Z",
        "2026-08-20T11:40:00+00:00",
        "2026-08-20T13:40:00+02:00",
        "2026-08-20T06:10:00.000-0530",
        "20260820T114000Z",
        "20260820T1140Z",
    ],
)
def test_any_iso_stamp_that_names_its_offset_is_read(text: str):
    assert good(changed(claimedAt=text)).claimed_at == datetime(2026, 8, 20, 11, 40, tzinfo=UTC)


def test_clocks_may_differ_by_five_minutes():
    at_most = {"claimedAt": "2026-08-20T12:05:00.000Z", "expiresAt": "2026-08-20T12:35:00.000Z"}
    beyond = at_most | {"claimedAt": "2026-08-20T12:05:00.001Z"}
    for standing in (True, False):
        good(changed(**at_most), standing=standing)
        assert "later than now" in why(changed(**beyond), standing=standing)


@pytest.mark.parametrize(
    ("changes", "by_clock"),
    [
        ({"claimedAt": "2026-08-20T12:06:00Z"}, True),
        ({"expiresAt": "2026-08-20T15:00:00Z"}, True),
        ({"claimedAt": "2026-08-20T12:06:00Z", "expiresAt": "2026-08-20T12:05:00Z"}, False),
        ({"claimedAt": "2026-08-20T12:06:00Z", "locks": [1]}, False),
        ({"expiresAt": "2026-08-20T15:00:00Z", "epoch": 0}, False),
    ],
)
def test_only_what_another_clock_may_read_is_malformed_by_the_clock(
    changes: dict[str, object], by_clock: bool
):
    found = read(changed(**changes))
    assert isinstance(found, Malformed)
    assert found.by_clock is by_clock


def test_only_a_standing_claim_is_held_to_the_longest_lease():
    good(changed(expiresAt="2026-08-20T14:20:00.000Z"))
    beyond = changed(expiresAt="2026-08-20T14:20:00.001Z")
    assert "more than 140 minutes ahead" in why(beyond)
    good(beyond, standing=False)
    good(beyond, longest=timedelta(minutes=610))


def test_moments_at_the_ends_of_the_calendar_do_no_harm():
    data = changed(claimedAt="0001-01-01T00:00:00Z", expiresAt="9999-12-31T23:59:59Z")
    for now in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        blob.parse(data, ref="r", oid="o", standing=True, task=GOOD["task"], now=now)


# -- anything ------------------------------------------------------------------

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([*blob.REQUIRED, "epoch", "nonce", "outcome", "local", "signature", "x"])


@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_no_bytes_raise(data: bytes):
    why(data)


@settings(max_examples=200)
@given(st.dictionaries(NAMES, VALUES, max_size=4), st.sets(NAMES, max_size=1))
def test_no_near_miss_raises(changes: dict[str, object], left_out: set[str]):
    fields = {k: v for k, v in (GOOD | changes).items() if k not in left_out}
    found = read(json.dumps(fields).encode())
    if isinstance(found, Malformed):
        assert found.why.isprintable()
    else:
        assert found.fields == fields


@settings(max_examples=100)
@given(st.binary(max_size=3), st.integers(0, 400), st.integers(0, 3))
def test_no_damage_raises(noise: bytes, place: int, cut: int):
    data = changed(extra={"nested": [1, 2.5, "x"]})
    read(data[:place] + noise + data[place + cut :])


# -- writing and signing -------------------------------------------------------

CLEAN_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
CLEAN = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CLEAN_TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.dictionaries(CLEAN_TEXT.filter(lambda k: k not in GOOD), CLEAN, max_size=4), st.booleans())
def test_what_is_signed_is_what_the_contract_names(extra: dict[str, object], escaped: bool):
    extra = {k: v for k, v in extra.items() if k not in ("epoch", "nonce", "outcome", "local", "signature")}
    fields = GOOD | extra
    wanted = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    written = json.dumps(fields | {"signature": "s", "outcome": "done"}, indent=2, ensure_ascii=escaped)
    claim = good(written.encode())
    assert blob.signed_bytes(claim.fields) == wanted
    assert blob.signed_bytes(good(blob.encode(claim.fields)).fields) == wanted


@pytest.mark.parametrize(
    "number",
    [
        "1e-7",
        "1E5",
        "1.50",
        "-0",
        "-0.0",
        "1e21",
        "1e+21",
        "100000000000000000000000",
        "5e-324",
        "1" + "0" * 400,
    ],
)
def test_a_number_keeps_the_text_that_was_signed(number: str):
    data = changed(extra="?").replace(b'"?"', number.encode())
    claim = good(data)
    assert f'"extra":{number},' in blob.signed_bytes(claim.fields).decode()
    assert f'"extra": {number}' in blob.encode(claim.fields).decode()
    assert json.loads(json.dumps(claim.fields))["extra"] == json.loads(number)
    again = copy.deepcopy(claim.fields)
    assert blob.signed_bytes(again) == blob.signed_bytes(claim.fields)


def test_a_signature_covers_all_but_itself_and_the_outcome():
    signed = blob.signed_bytes(GOOD | {"агент": "я", "signature": "s", "outcome": "done"})
    assert signed.startswith(b'{"agent":"a","baseCommit":')
    assert signed.endswith('"агент":"я"}'.encode())
    assert b"signature" not in signed
    assert b"outcome" not in signed


def test_a_blob_is_written_a_field_a_line_in_the_order_given():
    assert blob.encode({"b": "я", "a": [1, None, True], "c": {"z": 1, "y": False}}) == (
        '{\n  "b": "я",\n  "a": [1,null,true],\n  "c": {"z":1,"y":false}\n}\n'.encode()
    )
    assert json.loads(blob.encode(GOOD)) == GOOD


@pytest.mark.parametrize(
    "fields",
    [
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": "\ud800"},
        {"x": {1: 2}},
        {1: 2},
        {"x": b""},
        {"x": {1}},
    ],
)
def test_what_json_cannot_hold_is_not_written(fields: dict[str, object]):
    with pytest.raises((ValueError, TypeError)):
        blob.encode(fields)
    with pytest.raises((ValueError, TypeError)):
        blob.signed_bytes(fields)


def test_moments_as_claims_and_log_refs_carry_them():
    moment = datetime(2026, 10, 7, 13, 8, 26, 623999, tzinfo=timezone(timedelta(hours=2)))
    assert blob.iso(moment) == "2026-10-07T11:08:26.623Z"
    assert blob.stamp(moment) == "20261007T110826623Z"
    assert blob.iso(datetime(33, 1, 2, tzinfo=UTC)) == "0033-01-02T00:00:00.000Z"
    assert blob.read_moment(blob.iso(moment)) == moment.replace(microsecond=623000)
    for write in (blob.iso, blob.stamp):
        with pytest.raises(ValueError, match="time zone"):
            write(datetime(2026, 1, 1))  # noqa: DTZ001


def test_messages_quote_hostile_text_safely():
    assert strictjson.quoted("a\n\u202eb") == r"'a\n\u202eb'"
    assert len(strictjson.quoted("x" * 1000)) < 70
