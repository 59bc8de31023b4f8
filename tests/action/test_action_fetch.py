"""What comes over the wire for one verdict: over HTTP, from an old repository full of large files."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from action.harness import BRANCH, FINISHED, QUEUED, git
from gatekeeper.edges.git import View
from gatekeeper.edges.remote import Remote

if TYPE_CHECKING:
    from collections.abc import Callable

    from action.harness import Action

BEHIND = 300


def test_a_branch_far_behind_a_large_base(make: Callable[..., Action]) -> None:
    action = make()
    sample, noise = action.sample, random.Random(7)
    first = git(sample.folder, "rev-parse", "main")
    lines = []
    for n in range(BEHIND):  # in one go: half a million objects would not change what is asked for
        start = f"from {first}\n" if n == 0 else ""
        lines.append(
            f"commit refs/heads/main\ncommitter m <m@m> {sample.clock + n} +0000\ndata 0\n{start}".encode()
        )
        big = noise.randbytes(60_000) if n % 60 == 0 else b"%d" % n
        lines.append(b"M 100644 inline assets/%d\ndata %d\n" % (n, len(big)) + big + b"\n")
    git(sample.folder, "fast-import", "--quiet", "--force", stdin=b"".join(lines))
    head = sample.commit(BRANCH, FINISHED, first)
    sample.claim(BRANCH, first)

    action.server.seen.clear()
    result = action.run(action.event("pull_request.opened"))
    assert (result.status, result.codes) == (0, []), result.everything
    assert len(action.server.seen) < 40

    transport = [("remote.origin.url", f"{action.server.url}/{action.name}")]
    with View({"PATH": "/usr/bin:/bin"}, transport=transport, promisor="origin") as view:
        remote = Remote(view, "origin")
        base = remote.tip("main", shallow=True) or ""
        remote.bring(base, head)
        assert view.merge_tree(base, head)[0]
        remote.missing([view.objects.entry(view.objects.commit(base).tree, QUEUED.encode())[1]])
        listed = view.git(
            "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectsize)"
        ).out.split()
        stored = sum(path.stat().st_size for path in view.path.rglob("pack-*.pack"))
    kinds = listed[0::2]
    assert (kinds.count(b"commit"), kinds.count(b"blob")) == (BEHIND + 2, 1)
    assert stored < 1_500_000
