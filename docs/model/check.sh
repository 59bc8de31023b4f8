#!/bin/sh
# The claim protocol's model, checked by spin: every setting has to hold, and every broken variant has to be refuted.
#
#   docs/model/check.sh [--long] [FOLDER]
#
# FOLDER (build/model) is where spin works; what it found stays there. --long adds settings that take minutes.
# JOBS settings (2) run at a time.
# Exit 0: all as it must be. 1: a property fails, or a broken variant passes. 2: a tool is missing, or spin failed.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
one= long=no
case "${1:-}" in
--long) long=yes; shift ;;
--one) one=$2; shift 2 ;;
esac
work=${1:-$here/../../build/model}

# kind | name | what | property | spin's flags | gcc's | pan's, each kind with its own rest
table() {
	cat <<-'END'
	holds|clones-late|two clones, pushes that land late||-DTASKS=1 -DLEASE=1 -DLATE -DCLOCKS_DIFFER
	holds|alone|one clone, no remote, three agents||-DALONE -DAGENTS=3 -DSECOND_CLONE=3 -DTASKS=1 -DLEASE=1 -DBLOBS=11
	holds|alone-torn|one clone, no remote, two tasks, refs read one after the other||-DALONE -DSECOND_CLONE=2 -DTORN
	holds|clones|two clones, two tasks, one lock, answers lost||
	holds|clones-torn|two clones, refs read one after the other||-DTASKS=1 -DLEASE=1 -DTORN
	holds|clones-local|two clones, two tasks, claims made with --local||-DLEASE=1 -DLOCAL
	holds|siblings|two worktrees of one clone, two tasks, one lock||-DLEASE=1 -DSECOND_CLONE=2 -DBLOBS=11
	holds|siblings-local|two worktrees of one clone, claims made with --local||-DTASKS=1 -DLEASE=1 -DSECOND_CLONE=2 -DLOCAL -DBLOBS=11
	long|alone-tasks|one clone, no remote, three agents, two tasks||-DALONE -DAGENTS=3 -DSECOND_CLONE=3 -DBLOBS=11
	long|clones-late-all|two clones, pushes that land late, clocks the same or not||-DTASKS=1 -DLEASE=1 -DLATE
	long|clones-lease|two clones, two tasks, longer leases, --local||-DLOCAL -DLEASE=3
	long|clones-torn-lease|two clones, longer leases, refs read one after the other||-DTASKS=1 -DTORN
	long|siblings-late|two worktrees of one clone, pushes that land late||-DTASKS=1 -DLEASE=1 -DSECOND_CLONE=2 -DLATE -DBLOBS=11
	lives|ends-alone|one clone, no remote|EVERY_LEASE_ENDS|-DALONE -DSECOND_CLONE=2
	lives|ends-clones|two clones, pushes that land late|EVERY_LEASE_ENDS|-DLATE -DBLOBS=9
	lives|ends-local|two worktrees of one clone, claims made with --local|EVERY_LEASE_ENDS|-DLOCAL -DSECOND_CLONE=2 -DBLOBS=9
	broken|no-lease|pushes whose lease names no old value|TWO|-DBROKEN_LEASE
	broken|no-nonce|no nonce, and '=' counted as won|TWO|-DBROKEN_NONCE
	broken|no-answer|no answer taken for a yes|TWO|-DBROKEN_ANSWER
	broken|steal-live|a live claim can be stolen|TAKEN|-DBROKEN_STEAL
	broken|renew-alone|renew moves the claim without its lock|LOCKS|-DBROKEN_RENEW
	broken|torn-read|only locks that looked like the claim's own are named|ORPHAN|-DBROKEN_READ -DTORN
	broken|no-log|nothing is logged|LOGGED|-DBROKEN_LOG
	broken|same-again|after a lost answer the same blob is pushed once more|RETURNS|-DBROKEN_RETRY -DLATE -DBLOBS=9
	broken|mirror-late|the mirror looks at the clone only after the fetch|MIRROR|-DBROKEN_MIRROR -DSECOND_CLONE=2 -DBLOBS=11
	stuck|renew-ends|renew moves the claim without its lock|EVERY_LEASE_ENDS|-DBROKEN_RENEW
	stuck|local-ends|an expired local claim can't be stolen|EVERY_LEASE_ENDS|-DBROKEN_LOCAL -DLOCAL -DSECOND_CLONE=2 -DBLOBS=9
	END
}

properties() {
	cat <<-'END'
	TWO|never two agents sure of the same task or lock
	TAKEN|no claim is taken before its lease is over
	LOCKS|every claim has its lock, with the same blob
	ORPHAN|no lock without its claim, so one holder of a lock
	LOGGED|no claim of anybody's goes without a log entry
	LOSER|who loses leaves nothing anywhere
	RETURNS|what was replaced never comes back
	MIRROR|no clone hides a claim that stands
	SHOWN|who is told that it holds is shown so by its clone
	GUARD|a clone vouches wrongly only for who itself released
	EVERY_LEASE_ENDS|what the dead hold is taken over
	END
}

# The properties have numbers in claims.pml, which spin's message ends in.
numbers() { sed -n '/^\/\* The properties/,/^#define ASK/s/^#define \([A-Z]*\) \([0-9]*\)$/\1 \2/p' "$here/claims.pml"; }
number_of() { numbers | sed -n "s/^$1 //p"; }
name_of() { numbers | sed -n "s/ $1\$//p"; }

run() { # of the table's fields: makes the folder NAME, and leaves in NAME/out what pan says
	gcc='-O1 -DSAFETY' pan=
	case "$kind" in
	lives) flags="-DRELENTLESS -DLEASE=1 -DTASKS=1 $flags" gcc='-O1 -DNFAIR=3' pan='-a -f' ;;
	stuck) flags="-DRELENTLESS -DLEASE=1 -DTASKS=1 -DONLY=99 $flags" gcc='-O1 -DNFAIR=3' pan='-a -f' ;;
	broken) flags="-DLEASE=1 -DTASKS=1 -DONLY=$(number_of "$property") $flags" gcc='-O0 -DSAFETY' ;;
	esac
	rm -rf "$name" && mkdir "$name" && cp "$here/claims.pml" "$name/" && cd "$name" || exit 2
	echo "$flags" >flags
	# shellcheck disable=SC2086 -- flags are words
	if { spin -a $flags claims.pml && gcc -w -DVECTORSZ=2048 $gcc -o pan pan.c; } >made 2>&1; then
		./pan -m1500000 $pan 2>&1 | head -c 100000 >out
	fi
}

missing=
for tool in spin gcc xargs; do
	command -v $tool >/dev/null 2>&1 || missing="$missing $tool"
done
if [ -n "$missing" ]; then
	echo "model: not checked, missing:$missing (Debian: apt install spin gcc findutils)" >&2
	exit 2
fi
mkdir -p "$work" && cd "$work" || exit 2
work=$PWD
ulimit -f 400000 # no file above 200 MB, whatever goes wrong
if [ -n "$one" ]; then
	table | while IFS='|' read -r kind name what property flags; do
		[ "$name" != "$one" ] || run
	done
	exit 0
fi

wanted() { table | { [ "$long" = yes ] && cat || grep -v '^long'; }; }
wanted | cut -d '|' -f 2 | xargs -P "${JOBS:-2}" -I NAME "$here/check.sh" --one NAME "$work"

states_of() { sed -n 's/^ *\([0-9][0-9]*\) states, stored.*/\1/p' "$1/out" | head -n 1; }
finished() { grep -q 'errors: 0$' "$1/out" && ! grep -q 'depth too small' "$1/out"; }
why() { # the property that failed in NAME, or what else became of it
	number=$(sed -n 's/^pan:1: assertion violated.*||(\([0-9]*\)==0)).*/\1/p' "$1/out" 2>/dev/null)
	if [ -n "$number" ]; then name_of "$number"
	elif ! [ -s "$1/out" ]; then echo "spin or gcc failed, see $work/$1/made"
	elif grep -q '^pan:1: acceptance cycle' "$1/out"; then echo EVERY_LEASE_ENDS
	elif grep -q "^pan:1: invalid end state" "$1/out"; then echo "a command gets stuck"
	elif grep -q '^pan:1: assertion violated (fresh<=' "$1/out"; then echo 'nothing proven: BLOBS is too small'
	else echo "nothing proven: spin did not finish, see $work/$1/out"; fi
}

report() { # one line for each of the table's
	wanted | while IFS='|' read -r kind name what property flags; do
		case "$kind" in
		holds | long | lives)
			[ "$kind" != lives ] || what="every lease ends: $what"
			if finished "$name"; then
				printf '  holds    %-64s %8s states\n' "$what" "$(states_of "$name")"
			else
				printf '  FAILS    %-64s %s\n' "$what" "$(why "$name")"
				printf '           the way there: cd %s && spin -t %s claims.pml\n' "$work/$name" "$(cat "$name/flags")"
			fi
			;;
		*)
			found=$(why "$name")
			if [ "$found" = "$property" ]; then
				printf '  refuted  %-64s breaks %s\n' "$what" "$property"
			else
				printf '  PASSES   %-64s must break %s: %s\n' "$what" "$property" "$found"
			fi
			;;
		esac
	done
}
report >report
echo "The protocol:" && grep -v '^  \(refuted\|PASSES\)' report
echo "Broken on purpose:" && grep '^  \(refuted\|PASSES\)' report
if grep -q '^  \(FAILS\|PASSES\)' report; then
	echo "model: not all is as it must be"
	exit 1
fi

echo "Properties:"
properties | while IFS='|' read -r name what; do
	case "$name" in
	EVERY_LEASE_ENDS) of='^lives' but=NONE ;;
	MIRROR | SHOWN | GUARD) of='^\(holds\|long\)' but=-DALONE ;;
	*) of='^\(holds\|long\)' but=NONE ;;
	esac
	total=0 settings=0
	for setting in $(wanted | grep "$of" | grep -v -e "$but" | cut -d '|' -f 2); do
		total=$((total + $(states_of "$setting"))) settings=$((settings + 1))
	done
	printf '  %-17s %-56s %8s states in %s settings\n' "$name" "$what" "$total" "$settings"
done
