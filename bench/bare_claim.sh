#!/bin/sh
# The git commands that a claim, or a release, must run, and nothing else. With a remote: base, the claims, the
# locks and the task's log come over in one fetch, one atomic push moves the refs, and the clone's own follow. A claim
# looks at the task's log once more when it stands: a ref that is absent again looks like one that was never there, so no
# compare-and-swap tells whether somebody had the task in between and finished it.
# `make bench` holds `gatekeeper claim` and `gatekeeper release` against this.
#
# usage, in a repository: bare_claim.sh claim|release TASK REMOTE-OR-EMPTY
set -eu
LC_ALL=C
export LC_ALL
what=$1 task=$2 remote=$3
claim=refs/swarm/task-claims/$task
log=refs/swarm/claim-log/$task/bare$$
base=refs/heads/main
if [ -n "$remote" ]; then
    base=refs/remotes/$remote/main
    git fetch --quiet --no-tags --no-write-fetch-head "$remote" "+refs/heads/main:$base" \
        '+refs/swarm/task-claims/*:refs/swarm/task-claims/*' '+refs/swarm/task-locks/*:refs/swarm/task-locks/*' \
        "+refs/swarm/claim-log/$task/*:refs/swarm/claim-log/$task/*"
fi
git symbolic-ref -q HEAD >/dev/null
held=$(git for-each-ref --format='%(objectname)' refs/swarm/task-claims refs/swarm/task-locks "refs/swarm/claim-log/$task")
{
    for path in .github/gatekeeper.yml .agents/plan.md .agents/manifest.yml ".agents/tasks/queued/$task.md"; do
        printf '%s:%s\n' "$base" "$path"
    done
    printf '%s\n' "$held"
} | git cat-file --batch >/dev/null
blob=$(printf '{"task": "%s", "nonce": "%s", "what": "%s"}' "$task" "$$" "$what" | git hash-object -w --stdin)
case $what in
claim)
    [ -z "$remote" ] || git push --quiet --atomic --porcelain "--force-with-lease=$claim:" "$remote" "$blob:$claim" >/dev/null
    printf 'start\ncreate %s %s\nprepare\ncommit\n' "$claim" "$blob" | git update-ref --stdin >/dev/null
    [ -z "$remote" ] || git fetch --quiet --no-tags --no-write-fetch-head "$remote" \
        "+refs/swarm/claim-log/$task/*:refs/swarm/claim-log/$task/*"
    git for-each-ref "refs/swarm/claim-log/$task" >/dev/null
    ;;
release)
    old=$(git rev-parse "$claim")
    [ -z "$remote" ] || git push --quiet --atomic --porcelain "--force-with-lease=$claim:$old" \
        "--force-with-lease=$log:" "$remote" "$blob:$log" ":$claim" >/dev/null
    printf 'start\ncreate %s %s\ndelete %s %s\nprepare\ncommit\n' "$log" "$blob" "$claim" "$old" |
        git update-ref --stdin >/dev/null
    ;;
esac
