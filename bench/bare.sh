#!/bin/sh
# The git commands that any gate must run to decide on one pull request, and nothing else:
# resolve both tips, merge them, compare the merge with base, find one task's claims, and
# read the files and claims that decide. `make bench` holds `gatekeeper check` against this.
#
# usage, in a repository: bare.sh BASE HEAD TASK QUEUED-PATH DONE-PATH
set -eu
LC_ALL=C
export LC_ALL
base=$1 head=$2 task=$3 queued=$4 done=$5

git rev-parse "$base^{commit}" "$head^{commit}" "$base^{tree}" >/dev/null
merged=$(git merge-tree --write-tree "$base" "$head")
git diff-tree -r -z --raw --no-renames "$base^{tree}" "$merged" >/dev/null
claims=$(git for-each-ref --format='%(objectname)' "refs/swarm/task-claims/$task" "refs/swarm/claim-log/$task/")
{
    printf '%s\n' "$claims"
    for path in .github/gatekeeper.yml .agents/plan.md .agents/manifest.yml "$queued"; do
        printf '%s:%s\n' "$base" "$path"
    done
    printf '%s:%s\n' "$merged" "$done"
} | git cat-file --batch >/dev/null
