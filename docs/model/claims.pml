/* The claim protocol (docs/claims.md) as a model for spin. README.md beside this file maps it to the code.
 *
 * One authority, whose refs move by compare-and-swap over several refs at once; clones that mirror it; agents
 * whose commands may die at every step; pushes whose answer is lost, or which arrive late; clocks that disagree.
 * check.sh runs it in several settings, and with one part broken at a time (BROKEN_*), which spin has to refute.
 */

#ifndef AGENTS
#define AGENTS 2
#endif
#ifndef SECOND_CLONE
#define SECOND_CLONE 1          /* agents from this one on live in the second clone; AGENTS: all in the first */
#endif
#ifndef TASKS
#define TASKS 2                 /* all of them need the one lock */
#endif
#ifndef LEASE
#define LEASE 2                 /* ticks */
#endif
#ifndef SKEW
#define SKEW 1                  /* ticks by which two clocks may differ */
#endif
#ifndef BLOBS
#define BLOBS 7                 /* names; one comes into use again once nothing holds it, so it is never told twice */
#endif
#ifndef ONLY
#define ONLY 0                  /* one property alone is asked; 0: all are */
#endif
/* The properties, by number: what spin says of a failed one ends in (number == 0). */
#define TWO 1
#define TAKEN 2
#define LOCKS 3
#define ORPHAN 4
#define LOGGED 5
#define LOSER 6
#define RETURNS 7
#define MIRROR 8
#define SHOWN 9
#define GUARD 10
#define ASK(number, holds)  assert((ONLY != 0 && ONLY != number) || (holds) || number == 0)

#define NONE 0                  /* the value of a ref that is not there */
#define NOBODY 15

#if !defined(ALONE) && (AGENTS > 2 || SECOND_CLONE != 1)
#define SIBLINGS
#endif

#define HOME(i)     (i >= SECOND_CLONE)
#define LIVE(i, b)  (left[b] > off[HOME(i)])           /* by the clock of agent i: now <= expiresAt */
#define SURE(i, b)  (left[b] > off[HOME(i)] + SKEW)    /* and will be for longer than clocks may differ */
#define MINE(i, b)  (b != NONE && owner[b] == i)
#define THEIRS(i, b)  (b != NONE && owner[b] != i)

/* Every place that holds a blob's name is in one array, so that names can be given anew (rename). */
#define WIDE (TASKS + 1)        /* the refs of a store: a claim for each task, and the lock */
#define LOCK TASKS
#define AGENT (3 * WIDE + 1)
byte at[3 * WIDE + 2 + AGENTS * (5 + 2 * WIDE)];
#define auth(ref)      at[ref]                                          /* the remote's refs; where ALONE, the only clone's */
#define clone(i, ref)  at[WIDE + HOME(i) * WIDE + ref]                   /* the mirror in the clone of agent i */
#define late_new       at[3 * WIDE]                                     /* a push that the network holds back */
#define believes(i)    at[AGENT + i]                                    /* the claim that i was told it holds */
#define new(i)         at[AGENT + AGENTS + i]                           /* what its command pushes */
#define known(i, ref)  at[AGENT + 2 * AGENTS + i * WIDE + ref]          /* what it learnt of the authority */
#define OLD            (AGENT + AGENTS * (2 + WIDE))
#define late_old       at[OLD]
#define old(i)         at[OLD + 1 + i]                                  /* what has to stand at the authority */
#define had(i)         at[OLD + 1 + AGENTS + i]                         /* what has to stand in its clone */
#define seen(i, ref)   at[OLD + 1 + 2 * AGENTS + i * WIDE + ref]        /* its clone, before it asked the remote */
#define PLACES         (OLD + 1 + AGENTS * (2 + WIDE))
#ifdef ALONE
#define TAIL           (AGENT + 2 * AGENTS)     /* what stands only from here on is compared, and its lease never asked for */
#else
#define TAIL           OLD
#endif

typedef Move { byte task; bit logs; bit locks };        /* of which task; with a log entry; with its lock */
Move move[AGENTS];
Move late;
bit held_back;
byte sender;                    /* of the late push; it may have given up or be dead */

byte left[BLOBS + 1];           /* expiresAt, as true ticks from now, and one: 0 is expired by every clock */
byte owner[BLOBS + 1];
bit unpushed[BLOBS + 1];        /* made with --local, and not pushed since */
bit gone[BLOBS + 1];            /* it stood at the authority, and does not any more */
bit given[BLOBS + 1];           /* its own holder released it, or a later one of the same claim */
byte off[2];                    /* by how much a clone's clock is ahead of the slowest */
bit dead[AGENTS];
bit won;
hidden byte n, m, fresh;        /* scratch within one step */
hidden byte used, cas;
hidden byte name[BLOBS + 1], left_[BLOBS + 1], owner_[BLOBS + 1], bits_[BLOBS + 1];

/* -- names of blobs ------------------------------------------------------------------------- */

inline forget_late() { late_new = NONE; late_old = NONE; late.task = 0; late.logs = 0; late.locks = 0; held_back = 0; sender = 0 }

inline rename() {               /* by first place: states that differ in names alone become one, what is nowhere is forgotten */
	for (n : 0 .. BLOBS) {
		name[n] = 0; left_[n] = left[n]; owner_[n] = owner[n]; bits_[n] = unpushed[n] + 2 * given[n] + 4 * gone[n];
		left[n] = 0; owner[n] = NOBODY; unpushed[n] = 0; given[n] = 0; gone[n] = 0
	}
	if                          /* a late push that names a value which is gone can't succeed any more */
	:: late_old != NONE && auth(late.task) != late_old -> forget_late()
	:: else
	fi;
	m = 0;
	for (n : 0 .. PLACES - 1) {
		fresh = at[n];
		if
		:: fresh != NONE ->
			if
			:: name[fresh] == 0 ->
				m++; name[fresh] = m; owner[m] = owner_[fresh];
				unpushed[m] = bits_[fresh] & 1; given[m] = (bits_[fresh] >> 1) & 1; gone[m] = bits_[fresh] >> 2;
				if :: n < TAIL -> left[m] = left_[fresh] :: else fi
			:: else
			fi;
			at[n] = name[fresh]
		:: else
		fi
	}
	n = 0
}

inline write_blob(i, earliest) { /* a new nonce, a lease by the agent's own clock; a renewed one is never earlier */
	fresh = 1;
	do
	:: fresh <= BLOBS && owner[fresh] != NOBODY -> fresh++
	:: else -> break
	od;
	assert(fresh <= BLOBS);     /* else BLOBS is too small, and the run proves nothing */
	owner[fresh] = i;
	left[fresh] = LEASE + off[HOME(i)] + 1;
	if :: left[fresh] < earliest -> left[fresh] = earliest :: else fi
}

inline forget_seen(i) { for (n : 0 .. LOCK) { seen(i, n) = NONE }; n = 0 }
inline forget_known(i) { for (n : 0 .. LOCK) { known(i, n) = NONE }; n = 0 }
inline hold_back(i) {
	late_new = new(i); late_old = old(i); late.task = move[i].task; late.logs = move[i].logs; late.locks = move[i].locks;
	held_back = 1; sender = i
}

/* -- the properties, asked wherever what they speak of can change ------------------------------- */

inline locks_follow_claims(base) { /* one holder of the lock, no lock without its claim, no claim without its lock */
	used = at[base + LOCK] == NONE;
	for (n : 0 .. TASKS - 1) {
		ASK(LOCKS, at[base + n] == NONE || at[base + n] == at[base + LOCK]);
		used = used || at[base + n] == at[base + LOCK]
	}
	ASK(ORPHAN, used)
}

inline told(i) {                /* an agent is told that it holds a claim: nobody else may be sure of the same */
	believes(i) = new(i);
	printf("agent %d is told that it holds blob %d\n", i, new(i));
	for (n : 0 .. AGENTS - 1) {
		if
		:: n != i && SURE(i, new(i)) ->
			ASK(TWO, !(believes(n) != NONE && !unpushed[believes(n)] && SURE(n, believes(n))));
#ifndef ALONE
			for (m : 0 .. TASKS - 1) {
				fresh = clone(n, m);
				if
				:: MINE(n, fresh) && !unpushed[fresh] && SURE(n, fresh) -> ASK(GUARD, given[fresh])
				:: else
				fi
			}
#endif
		:: else
		fi
	}
	n = 0
}

/* -- the authority: all refs of a move, or none --------------------------------------------------- */

inline serve(v, old_, new_, i) {
	cas = auth(v.task) == old_ && (!v.locks || auth(LOCK) == old_);
#ifdef BROKEN_LEASE
	cas = 1;                    /* pushed by force: the lease names nothing */
#endif
	won = cas;
#ifdef BROKEN_NONCE
	if :: new_ != NONE && auth(v.task) == new_ -> cas = 0; won = 1 :: else fi;   /* "=": counted as won */
#endif
	if
	:: cas ->
		fresh = auth(v.task);
		if
		:: THEIRS(i, fresh) -> ASK(TAKEN, left[fresh] <= SKEW)
		:: MINE(i, fresh) && new_ == NONE ->
			for (n : 1 .. BLOBS) { given[n] = given[n] || owner[n] == i }
		:: else
		fi;
		ASK(LOGGED, fresh == NONE || v.logs || (new_ != NONE && owner[new_] == owner[fresh]));
		ASK(RETURNS, new_ == NONE || !gone[new_]);
		gone[fresh] = fresh != NONE;
		printf("authority: task %d, blob %d -> %d, agent %d\n", v.task, fresh, new_, i);
		auth(v.task) = new_;
		if :: v.locks -> auth(LOCK) = new_ :: else fi;
		locks_follow_claims(0)
	:: else
	fi
}

/* -- a clone: its transactions name the old value of every ref that they move --------------------- */

inline drops_nothing(i, ref, value) {  /* a clone never stops to show a claim that stands at the authority */
	ASK(MIRROR, clone(i, ref) == value || clone(i, ref) == NONE || auth(ref) != clone(i, ref))
}

inline mirror(i) {              /* the whole of what was learnt, against what was seen before it was asked for */
	for (n : 0 .. LOCK) {
#ifdef BROKEN_MIRROR
		seen(i, n) = clone(i, n)        /* looks only now, and so takes back what a sibling did meanwhile */
#else
		skip
#endif
	}
	for (n : 0 .. TASKS - 1) {  /* a local claim stays whole, or, where the remote holds one of its refs, goes whole */
		fresh = seen(i, n);
		if
		:: fresh != NONE && unpushed[fresh] && known(i, n) == NONE && known(i, LOCK) == NONE ->
			known(i, n) = fresh; known(i, LOCK) = fresh
		:: else
		fi
	}
	cas = 1;
	for (n : 0 .. LOCK) { cas = cas && (seen(i, n) == known(i, n) || clone(i, n) == seen(i, n)) }
	if
	:: cas ->
		for (n : 0 .. LOCK) {
			if
			:: seen(i, n) != known(i, n) -> drops_nothing(i, n, known(i, n)); clone(i, n) = known(i, n)
			:: else
			fi
		}
		locks_follow_claims(WIDE + HOME(i) * WIDE)
	:: else -> forget_known(i)
	fi;
	won = cas;
	printf("agent %d learns: task 0 blob %d, lock blob %d\n", i, known(i, 0), known(i, LOCK));
	forget_seen(i);
	rename()
}

inline follow(i) {              /* the refs of the move alone, after the push */
	won = clone(i, move[i].task) == had(i) && clone(i, LOCK) == had(i);
	if
	:: won ->
		drops_nothing(i, move[i].task, new(i));
		clone(i, move[i].task) = new(i);
		clone(i, LOCK) = new(i);
		locks_follow_claims(WIDE + HOME(i) * WIDE)
	:: else
	fi
}

/* -- what a command makes of what it learnt ------------------------------------------------------- */

inline prepare(i, t, keeps, logs_it) {
	fresh = NONE;
	move[i].task = t;
	had(i) = known(i, t);
	if :: unpushed[had(i)] -> old(i) = NONE :: else -> old(i) = had(i) fi;       /* the remote never knew it */
	move[i].logs = logs_it;
	move[i].locks = 1;
#ifdef BROKEN_READ
	move[i].locks = (known(i, LOCK) == had(i));            /* names only the locks that looked like its own */
#endif
#ifdef BROKEN_RENEW
	if :: keeps && had(i) != NONE && !logs_it -> move[i].locks = 0 :: else fi;
#endif
#ifdef BROKEN_LOG
	move[i].logs = 0;
#endif
	m = 0;
	if :: MINE(i, had(i)) -> m = left[had(i)] :: else fi;
	if
#ifdef BROKEN_NONCE
	:: keeps ->                    /* two first claims that are made at once are the same bytes */
		write_blob(i, m);
		for (n : 0 .. AGENTS - 1) {
			if
			:: n != i && had(i) == NONE && new(n) != NONE && old(n) == NONE && move[n].task == t ->
				owner[fresh] = NOBODY; fresh = new(n)
			:: else
			fi
		}
#else
	:: keeps -> write_blob(i, m)
#endif
	:: !keeps -> believes(i) = NONE            /* who asks to release holds no longer, whatever comes of it */
	fi;
	new(i) = fresh;
	forget_known(i);
	rename()
}

inline local_claim(i, t) {      /* claim --local: the clone alone is asked and told */
	write_blob(i, 0);
	unpushed[fresh] = 1;
	clone(i, t) = fresh; clone(i, LOCK) = fresh;
	believes(i) = fresh;
	locks_follow_claims(WIDE + HOME(i) * WIDE);
	rename()
}

inline finished(i) {
	forget_seen(i); forget_known(i);
	old(i) = NONE; new(i) = NONE; had(i) = NONE;
	move[i].task = 0; move[i].logs = 0; move[i].locks = 0;
	won = 0;
	rename()
}

#define ANY_TASK(t)  if :: t = 0 :: TASKS > 1 -> t = TASKS - 1 fi
#define GOES(c, l)   (c == NONE || c == l)
#define ONE_MOMENT(i)  (GOES(known(i, 0), known(i, LOCK)) && GOES(known(i, TASKS - 1), known(i, LOCK)) && \
	(GOES(known(i, LOCK), known(i, 0)) || known(i, LOCK) == known(i, TASKS - 1)))
#define READ_CLAIMS(i)  for (n : 0 .. TASKS - 1) { known(i, n) = auth(n) }; n = 0

#if defined(BROKEN_STEAL)
#define MAY_STEAL(i, b)  true                          /* live ones as well */
#elif defined(BROKEN_LOCAL)
#define MAY_STEAL(i, b)  (!LIVE(i, b) && !unpushed[b])  /* the remote refuses to replace what it never held */
#else
#define MAY_STEAL(i, b)  (!LIVE(i, b))
#endif

#ifdef RELENTLESS               /* for EVERY_LEASE_ENDS: agent 0 may die for good, the last one steals what it can */
#define MAY_CRASH(i)  (i != AGENTS - 1)
#define MAY_DIE(i)    (i != AGENTS - 1)
#define STEALS_ONLY(i) (i == AGENTS - 1)
#else
#define MAY_CRASH(i)  true
#define MAY_DIE(i)    false
#define STEALS_ONLY(i) false
#endif

proctype agent(byte i) {
	byte t;
	bit answered;               /* the move is through, and all that is left is to look once more */

	atomic {
		goto idle;
done:
		skip;
		d_step { finished(i); t = 0; answered = 0 };
		goto idle
	};
end_idle:
idle:
	atomic {
		if
		:: MAY_DIE(i) -> d_step { dead[i] = 1; believes(i) = NONE; rename() }; goto stopped
#ifdef LOCAL
		:: believes(i) == NONE && clone(i, LOCK) == NONE ->
			ANY_TASK(t);
			d_step { local_claim(i, t); t = 0 };
			goto idle
#endif
		:: true
		fi;
learn:
		skip;
#ifndef ALONE
		d_step { for (n : 0 .. LOCK) { seen(i, n) = clone(i, n) }; n = 0 };
#endif
#ifdef TORN
		if                      /* not one moment: refs are read one after the other, while others move them */
		:: d_step { READ_CLAIMS(i) }
		:: d_step { known(i, LOCK) = auth(LOCK) }; goto claims_last
		fi
	};
	atomic { d_step { known(i, LOCK) = auth(LOCK) }; goto fetched };
claims_last:
	atomic {
		d_step { READ_CLAIMS(i) };
fetched:
		skip;
#else
		d_step { READ_CLAIMS(i); known(i, LOCK) = auth(LOCK) };
#endif
#if defined(TORN) && !defined(BROKEN_READ)
		if                      /* looks as no moment can have looked: read again */
		:: ONE_MOMENT(i) -> skip
		:: else -> d_step { forget_known(i); forget_seen(i) }; goto learn
		fi;
#endif
		d_step { rename() };
#ifdef SIBLINGS
		goto learnt             /* others of this clone may come in between */
	};
learnt:
	atomic {
#endif
#ifndef ALONE
		d_step { mirror(i) };
		if
		:: !won -> goto learn   /* a sibling was quicker: learn anew */
		:: won && answered -> d_step { won = 0; forget_known(i); rename() }; goto success
		:: won && !answered -> won = 0
		:: MAY_CRASH(i) -> goto done
		fi;
#endif
		if                      /* what was believed is not there any more, and the agent hears of it */
		:: believes(i) != NONE && !MINE(i, known(i, 0)) && !MINE(i, known(i, TASKS - 1)) -> believes(i) = NONE
		:: else
		fi;
		ANY_TASK(t);
		if
		:: !STEALS_ONLY(i) && believes(i) == NONE && known(i, t) == NONE && known(i, LOCK) == NONE ->
			d_step { prepare(i, t, true, 0) }                    /* claim: take */
		:: !STEALS_ONLY(i) && MINE(i, known(i, t)) ->
			d_step { prepare(i, t, true, 0) }                    /* renew, claim again: rewrite */
		:: MINE(i, known(i, t)) && !unpushed[known(i, t)] ->
			d_step { prepare(i, t, false, 1) }                   /* release: end */
#ifdef LOCAL
		:: MINE(i, known(i, t)) && unpushed[known(i, t)] ->   /* release of what the remote never knew */
			d_step { move[i].task = t; had(i) = known(i, t); believes(i) = NONE; forget_known(i); follow(i); won = 0 };
			goto done
#endif
		:: THEIRS(i, known(i, t)) && MAY_STEAL(i, known(i, t)) ->
			d_step { prepare(i, t, true, 1) }                    /* steal: take_over; of a local claim: take, and log it */
		:: !STEALS_ONLY(i) || known(i, t) == NONE || !MAY_STEAL(i, known(i, t)) -> goto done
		fi
	};
push:
	atomic {
		if
		:: d_step { serve(move[i], old(i), new(i), i) };
			if
			:: won -> won = 0; goto through
			:: else ->          /* refused */
				ASK(LOSER, new(i) == NONE || (auth(move[i].task) != new(i) &&
					at[WIDE + move[i].task] != new(i) && at[2 * WIDE + move[i].task] != new(i)));
				goto refused
			fi
#ifndef ALONE
		:: !STEALS_ONLY(i) -> d_step { serve(move[i], old(i), new(i), i); won = 0 }        /* done, and the answer is lost */
		:: !STEALS_ONLY(i)                                                 /* never arrived */
#ifdef LATE
		:: !STEALS_ONLY(i) && !held_back -> d_step { hold_back(i) }        /* under way, slowly */
		:: MAY_CRASH(i) && !held_back -> d_step { hold_back(i) }; goto done
#endif
#endif
		:: MAY_CRASH(i) -> d_step { serve(move[i], old(i), new(i), i); won = 0 }; goto done
		:: MAY_CRASH(i) -> goto done
		fi
	};
	atomic {                    /* no answer: what is there now? */
		skip;
refused:
		skip;
		if
#ifdef BROKEN_ANSWER
		:: new(i) != NONE -> goto through             /* no answer: taken for a yes */
#endif
#ifdef BROKEN_RETRY
		:: goto push                                       /* the same push once more, with the same nonce */
#endif
#ifndef ALONE
		:: new(i) == NONE -> answered = 1; goto learn  /* a release: whatever is there now, the clone follows */
#endif
		:: new(i) != NONE && auth(move[i].task) == new(i) -> goto through   /* a conflict with oneself */
		:: else ->
			if
			:: believes(i) != NONE && auth(move[i].task) != old(i) -> believes(i) = NONE
			:: else
			fi;
			goto done
		fi
	};
through:
#ifndef ALONE
	atomic {
		if
		:: d_step { follow(i) };
			if :: won -> won = 0; goto success :: else -> answered = 1; goto learn fi
		:: MAY_CRASH(i) -> goto done
		fi
	};
#endif
	atomic {
		skip;
success:
		skip;
		if
		:: new(i) != NONE ->
#ifndef ALONE
			ASK(SHOWN, clone(i, move[i].task) == new(i) || auth(move[i].task) != new(i));
#endif
			d_step { told(i) }
		:: else
		fi;
		goto done
	};
stopped:
	skip
}

proctype network() {            /* brings a push that was held back, or loses it */
end_network:
	do
	:: held_back -> d_step { serve(late, late_old, late_new, sender); won = 0; forget_late(); rename() }
	:: held_back -> d_step { forget_late(); rename() }
	od
}

proctype time() {
end_time:
	do
	:: d_step { for (n : 1 .. BLOBS) { if :: left[n] > 0 -> left[n]-- :: else fi };
		for (n : 0 .. AGENTS - 1) {    /* an agent knows when its lease is over */
			if :: left[believes(n)] == 0 -> believes(n) = NONE :: else fi
		}
		rename()
	}
	od
}

init {
	atomic {
		for (n : 0 .. BLOBS) { owner[n] = NOBODY };
		n = 0;
#if SECOND_CLONE < AGENTS
		if
#ifndef CLOCKS_DIFFER
		:: true
#endif
		:: off[1] = SKEW
#if AGENTS != 2 || defined(RELENTLESS)
		:: off[0] = SKEW        /* with one agent in each clone, which of them is ahead makes no difference */
#endif
		fi;
#endif
		for (n : 0 .. AGENTS - 1) { run agent(n) };
		n = 0;
#ifdef LATE
		run network();
#endif
		run time()
	}
}

#ifdef RELENTLESS
/* at the authority, or as the clone of those who live on sees it */
#define HELD_BY_THE_DEAD (dead[0] && (MINE(0, auth(0)) || MINE(0, clone(AGENTS - 1, 0))))
ltl every_lease_ends { [] (HELD_BY_THE_DEAD -> <> !HELD_BY_THE_DEAD) }
#endif
