/* SPDX-License-Identifier: MIT */
/*
 * The fence protocol over several sites (docs/fleet.md), for one communicator:
 * RANKS ranks, rank r on site r % SITES, take DECISIONS decisions each, while
 * COORDINATORS agents make CHANGES changes each. fence.pml is the protocol of
 * one site.
 *
 * The store has the record: a word, the word before it, and a revision that
 * each write raises. A transaction compares the revision. A site has a copy
 * of the word, which its agent alone writes, and each rank reads its site's
 * copy. The agent writes to the store what it has seen: the revision that the
 * copy has, and what its ranks announced after the copy was written.
 *
 * What may happen at any step: another process runs; an agent dies and is
 * started again, which forgets all that it knew (DEATHS in all); a
 * coordinator dies; a site is cut off from the store, until the cut heals
 * (CUTS); with -DLEASES a site's keys end with the lease of the agent that
 * died, until the next one answers; a rank's stores are still in its processor's buffer. Coordinators
 * do not exclude each other: a lease may end while its holder still acts.
 *
 * With -DRESTORE a backup of the store is made at any step, and the store is
 * restored from it later. Each record then names the one that it replaces, a
 * site copies only a record that follows its copy, and the coordinator makes a
 * lost record anew of the copies of all sites. Assumed: each site has had a
 * reply of the store since the backup, so it knows that the store has gone back.
 *
 * A coordinator reads all keys at one moment of the store. The plugin's
 * transactions also require that no site has written since (its keys site/ and
 * answer/). The model leaves this out: it has one communicator, whose record
 * decides. The plugin needs it for a second communicator with the identity of
 * the first, and for a site that joins (test/unit/test_fleet_commit.c).
 *
 * What is claimed: no two ranks make the same decision with different
 * generations, and nobody waits for ever (no invalid end state) while the
 * store answers at last.
 *
 * Left out one by one, spin finds ranks that disagree: -DNO_BARRIER,
 * -DSEEN_EARLY, -DNO_COMPARE, -DOLD_ANSWER, -DONE_SITE, -DRANK_GUESSES,
 * -DLATE_IS_BELOW, -DMARK_LAST, -DBLIND_START, -DKEYS_ALONE,
 * -DCOPY_BACK, -DNO_SUSPECT; with -DTWO_AGENTS and -DNO_MEND a rank waits
 * for ever. -DNOT_READY and -DNO_FALLBACK need two changes, whose state space
 * is too large to search whole: they have not been shown to break anything.
 */
#ifndef SITES
#define SITES 2
#endif
#ifndef RANKS
#define RANKS 2
#endif
#ifndef DECISIONS
#define DECISIONS 3
#endif
#ifndef COORDINATORS
#define COORDINATORS 1
#endif
#ifndef CHANGES
#define CHANGES 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef LEASES
#define LEASES 0
#endif
#ifndef RESTORE
#define RESTORE 0
#endif
#ifndef MARGIN
#define MARGIN 0
#endif

#define NONE 0
#define ARMED 1
#define COMMIT 2
#define LOST 3

/* A word: state, generation, fence. */
#define WORD(state, gen, fence) ((state) + 4 * (gen) + 32 * (fence))
#define STATE(w) ((w) % 4)
#define GEN(w) (((w) / 4) % 8)
#define FENCE(w) ((w) / 32)
#define SITE(r) ((r) % SITES)

/* ---- the store ---- */

byte word = 0, back = 0, revision = 1;
byte seen_revision[SITES], seen_announced[RANKS], seen_waiting[RANKS];
byte seen_generation[RANKS];
bool gone[SITES]; /* the site's keys */
byte next_gen = 1;
#if RESTORE
/* the record's place in the chain; ids are drawn, so no two records have one */
byte id = 0, was = 0, base = 0, drawn = 0;
byte from[SITES]; /* the copies of which the record was made, + 1 */
byte saved_word, saved_back, saved_id, saved_was, saved_base;
/* ids take the place of revisions, which the restored store uses again */
#define BUMP skip
#define NOW id
#define CHAIN(new_was, new_base) \
	was = new_was; base = new_base; drawn++; id = drawn; \
	from[0] = 0; from[1] = 0
/* the outcome of the arming that the record has now */
#define OUTCOME \
	base = was; was = id; drawn++; id = drawn; from[0] = 0; from[1] = 0
#else
#define BUMP revision++
#define NOW revision
#define CHAIN(new_was, new_base) skip
#define OUTCOME skip
#endif

/* ---- a site's segment ---- */

byte copy[SITES];
#if RESTORE
byte copy_back[SITES], have[SITES], have_was[SITES], have_base[SITES];
bool lost[SITES];
/* the agent reads the store, and knows that it has gone back */
bool fell[SITES];
#define SAME(s) (id == known && !fell[s])
#define MAY_ASK(s) (SAME(s) && !lost[s])
#else
#define SAME(s) (revision == known)
#define MAY_ASK(s) SAME(s)
#endif
byte announced[RANKS], generation[RANKS], waiting[RANKS];

/* ---- what a rank has stored and others do not see yet ---- */

#define NOTHING 255
byte ahead_announced[RANKS];

/* ---- what is checked ---- */

byte used[DECISIONS]; /* generation of a decision + 1; 0: not made yet */
byte deaths = 0;
byte ended = 0; /* ranks and coordinators that are done */
bool cut[SITES];

#define OVER (ended == RANKS + COORDINATORS)

#if RESTORE
/* the other rows have the buffers; without them this one can be searched whole */
#define DRAIN(r) skip
#define ANNOUNCE(r, n) announced[r] = n
#else
#define ANNOUNCE(r, n) ahead_announced[r] = n
#define DRAIN(r)                                         \
	if                                               \
	:: ahead_announced[r] != NOTHING ->              \
		announced[r] = ahead_announced[r];       \
		ahead_announced[r] = NOTHING             \
	:: else                                          \
	fi

/* The processor of rank @r writes back when it likes. (A generation that
 * others see late is one that the agent has read early, so it needs no buffer.) */
active [RANKS] proctype buffer()
{
end:	do
	:: d_step {
		ahead_announced[_pid] != NOTHING ->
			announced[_pid] = ahead_announced[_pid];
			ahead_announced[_pid] = NOTHING
	   }
	od
}
#endif

/* A transaction on the record's revision, or id; @r: what it compares. */
inline put_record(r, new_word, new_back)
{
	d_step {
		if
#ifdef NO_COMPARE
		:: true ->
#else
		:: NOW == r ->
#endif
			word = new_word;
			back = new_back;
			OUTCOME;
			BUMP
		:: else
		fi
	}
}

/* ---- a rank: as on one site, but it never decides the outcome ---- */

proctype rank(byte i)
{
	byte k = 0, number = 0, w = 0;

	do
	:: k < DECISIONS ->
		/* nb_fence_enter: announce, then read the copy */
		d_step { DRAIN(i); ANNOUNCE(i, k + 1) }
		w = copy[SITE(i)];
look:		if
		:: STATE(w) == COMMIT && k >= FENCE(w) ->
			d_step {
				number = GEN(w);
				generation[i] = number
			}
		:: STATE(w) == ARMED && k >= FENCE(w) ->
			d_step { DRAIN(i); waiting[i] = w }
			if
			:: copy[SITE(i)] != w
#ifdef RANK_GUESSES
			:: goto decide
#endif
			fi;
			waiting[i] = 0;
			w = copy[SITE(i)];
			goto look
		:: else
		fi;
decide:		skip;
		d_step {
			assert(used[k] == 0 || used[k] == number + 1);
			used[k] = number + 1;
			k++;
			w = 0
		}
	:: else -> break
	od;
	ended++
}

/* ---- an agent ---- */

/* A rank of site @s waits at the fence of @w; one has news that the store lacks
 * and a coordinator may need: it waits, or has taken a generation. */
#define OTHER(s) (((s) + SITES) % RANKS)
#define HAS_OTHER(s) ((s) + SITES < RANKS)
#define WAITS(s, w) (waiting[s] == (w) || (HAS_OTHER(s) && waiting[OTHER(s)] == (w)))
#define NEWS(r)                                                             \
	((STATE(word) == ARMED && waiting[r] == word && seen_waiting[r] != word) || \
	 (CHANGES > 1 && STATE(word) == COMMIT &&                            \
	  generation[r] == GEN(word) && seen_generation[r] != GEN(word)))
#define UNSEEN(s) (NEWS(s) || (HAS_OTHER(s) && NEWS(OTHER(s))))

#define MAY_DIE(label)                                        \
	if                                                    \
	:: true                                               \
	:: atomic { deaths < DEATHS -> deaths++; goto label } \
	fi

#define MINE ((RANKS + SITES - 1) / SITES)

/*
 * What rank @r of site @s has announced, told to the store. A slow way there
 * needs no step of its own: a coordinator that read it long ago sees as little.
 */
#define TELL(r)                             \
	seen_announced[r] = announced[r];   \
	seen_generation[r] = generation[r]

proctype agent(byte s)
{
	byte r = 0, w = 0, known = 0, had = 0;
	byte mark[MINE]; /* read before the announcements */

	do
#if RESTORE
	:: d_step {
		/* the other rows take these steps one by one */
		!SAME(s) ->
#if !defined(NO_SUSPECT) && !defined(COPY_BACK)
			if
			:: fell[s] && STATE(copy[s]) == ARMED -> lost[s] = true
			:: else
			fi;
#endif
			fell[s] = false;
#ifndef COPY_BACK
			if
			:: from[s] == have[s] + 1 -> lost[s] = false
			:: from[s] != have[s] + 1 && !lost[s] && STATE(word) != LOST &&
			   (id == have[s] || was == have[s] ||
			    (base == have[s] && word == copy[s]))
			:: else -> lost[s] = true
			fi;
#endif
			if
			:: !lost[s] && STATE(word) != LOST ->
				copy[s] = word;
				copy_back[s] = back;
				have[s] = id; have_was[s] = was; have_base[s] = base
			:: else
			fi;
			known = id;
			seen_revision[s] = (lost[s] -> 0 : id);
			seen_waiting[s] = waiting[s];
			TELL(s)
	   }
	:: d_step {
		MAY_ASK(s) && UNSEEN(s) ->
			seen_waiting[s] = waiting[s];
			TELL(s)
	   }
#else
	:: d_step {
		/* an event of the watch, or the first read of a new agent */
		!cut[s] && revision != known ->
			had = revision; w = word
	   };
#ifdef TWO_AGENTS
		/* a stopped agent goes on later, beside the one that
		 * replaced it */
		if
		:: true
		:: atomic { deaths < DEATHS -> deaths++; run late(s, w) }
		fi;
#endif
#ifdef SEEN_EARLY
		d_step {
			r = s;
			do
			:: r < RANKS -> DRAIN(r); TELL(r); r = r + SITES
			:: else -> break
			od;
			r = 0
		}
#endif
		MAY_DIE(again);
		copy[s] = w;
		w = 0;
answer:		skip;
		d_step {
			r = s;
			do
			:: r < RANKS ->
#ifndef NO_BARRIER
				DRAIN(r);
#endif
#ifndef MARK_LAST
				mark[r / SITES] = waiting[r];
#endif
				r = r + SITES
			:: else -> break
			od;
			r = s
		}
#ifdef MARK_LAST
		d_step {
			do
			:: r < RANKS -> TELL(r); r = r + SITES
			:: else -> break
			od;
			r = s
		}
#endif
		MAY_DIE(again);
		/* one key of the site: written at once */
		d_step {
			!cut[s] ->
			do
			:: r < RANKS ->
#ifdef MARK_LAST
				seen_waiting[r] = waiting[r];
#else
				seen_waiting[r] = mark[r / SITES];
#endif
#if !defined(MARK_LAST) && !defined(SEEN_EARLY)
				TELL(r);
#endif
				mark[r / SITES] = 0;
				r = r + SITES
			:: else -> break
			od;
			r = 0;
			seen_revision[s] = had;
			gone[s] = false;
			known = had;
			had = 0
		}
	:: atomic {
		/* say what has changed since */
		!cut[s] && MAY_ASK(s) && UNSEEN(s) ->
			had = known;
			goto answer
	   }
#endif
	:: d_step {
		/* a rank has waited long: ask for the fallback */
		!cut[s] && MAY_ASK(s) && STATE(word) == ARMED && WAITS(s, word) ->
			word = back; back = 0; OUTCOME; BUMP
	   }
	:: OVER && SAME(s) -> break
again:		skip;
#if LEASES
		if
		:: true
		:: d_step {
			gone[s] = true;
			seen_revision[s] = 0;
			r = s;
			do
			:: r < RANKS ->
				seen_announced[r] = 0;
				seen_generation[r] = 0;
				seen_waiting[r] = 0;
				r = r + SITES
			:: else -> break
			od
		   }
		fi;
#endif
		d_step {
			/* a new agent knows nothing */
			r = 0; known = 0; had = 0; w = 0;
			do
			:: r < MINE -> mark[r] = 0; r++
			:: else -> break
			od;
			r = 0
		}
#ifdef BLIND_START
		/* it begins the copy anew before it has read the store */
		copy[s] = 0
#endif
	od
}

#ifdef TWO_AGENTS
proctype late(byte s; byte w)
{
	copy[s] = w
}
#endif

#if RESTORE
proctype restorer()
{
	d_step {
		saved_word = word; saved_back = back;
		saved_id = id; saved_was = was; saved_base = base
	}
	d_step {
		word = saved_word; back = saved_back;
		id = saved_id; was = saved_was; base = saved_base;
		from[0] = 0; from[1] = 0;
		saved_word = 0; saved_back = 0;
		saved_id = 0; saved_was = 0; saved_base = 0;
		fell[0] = true; fell[1] = true
	}
}

/* Copy @a of a site is that of @b or comes before it. */
#define PRECEDES(a, b)                                           \
	(have[a] == have[b] || have[a] == have_was[b] ||         \
	 (copy[a] == copy[b] && STATE(copy[a]) != ARMED))
#define IS_LAST(s, t, state) \
	(((STATE(copy[s]) == ARMED) == (state)) && PRECEDES(t, s))

inline make_anew(w)
{
	word = w; back = 0;
	CHAIN(0, 0);
	from[0] = have[0] + 1; from[1] = have[1] + 1
}

/* What a coordinator does between changes. */
proctype mender()
{
end:	do
#ifndef NO_MEND
	:: d_step {
		(lost[0] || lost[1]) && !(lost[0] && lost[1]) && STATE(word) != LOST &&
		!(lost[0] && from[0] == have[0] + 1) && !(lost[1] && from[1] == have[1] + 1) ->
			word = LOST; back = 0;
			CHAIN(0, 0)
	   }
	:: d_step {
		lost[0] && lost[1] &&
		!(from[0] == have[0] + 1 && from[1] == have[1] + 1) &&
		/* copies of two chains stay lost */
		(IS_LAST(0, 1, false) || IS_LAST(1, 0, false) || IS_LAST(0, 1, true) ||
		 IS_LAST(1, 0, true)) ->
			if
			:: IS_LAST(0, 1, false) -> make_anew(copy[0])
			:: !IS_LAST(0, 1, false) && IS_LAST(1, 0, false) -> make_anew(copy[1])
			:: else ->
				if
				:: IS_LAST(0, 1, true) -> make_anew(copy_back[0])
				:: else -> make_anew(copy_back[1])
				fi
			fi
	   }
#endif
	:: OVER && !lost[0] && !lost[1] -> break
	od
}
#endif

#if CUTS
proctype cutter()
{
	byte n = 0;

	do
	:: n < CUTS ->
		if
		:: cut[0] = true
		:: cut[1] = true
		fi;
		n++;
		d_step { cut[0] = false; cut[1] = false }
	:: break
	od
}
#endif

/* ---- a coordinator: any agent ---- */

proctype coordinator()
{
	byte change = 0, had = 0, before = 0, w = 0, i = 0, most = 0;
	byte fence = 0, number = 0;
	bool yes;

	do
	:: change < CHANGES ->
		change++;
		/* a range of all keys is one moment of the store */
		d_step {
			had = NOW; before = word; i = 0; most = 0;
			yes = STATE(word) != LOST;
			do
			:: i < RANKS ->
				if
				:: seen_announced[i] > most ->
					most = seen_announced[i]
				:: else
				fi;
				if
				:: seen_revision[SITE(i)] != had || gone[SITE(i)] ->
					yes = false
				:: else
				fi;
				i++
			:: else -> break
			od;
			i = 0;
			fence = most + MARGIN;
			if
			:: STATE(before) == COMMIT && most <= FENCE(before) ->
				fence = FENCE(before)
			:: STATE(before) == COMMIT && most > FENCE(before) ->
#ifndef NOT_READY
				do
				:: i < RANKS ->
					if
					:: seen_generation[i] != GEN(before) -> yes = false
					:: else
					fi;
					i++
				:: else -> break
				od;
				i = 0
#endif
			:: STATE(before) == ARMED ->
				/* its coordinator died */
				yes = false;
#if RESTORE
				if
				:: !lost[0] && !lost[1] ->
#endif
				word = back;
				back = 0;
				OUTCOME;
				BUMP
#if RESTORE
				:: else
				fi
#endif
			:: else
			fi;
			most = 0;
			number = next_gen;
			next_gen++
		}
		if
		:: !yes -> goto next
		:: else
		fi;
		MAY_DIE(over);
		w = WORD(ARMED, number, fence);
		atomic {
			if
			:: NOW == had ->
				word = w;
#ifdef NO_FALLBACK
				back = 0;
#else
				back = before;
#endif
				CHAIN(id, 0);
				BUMP;
				had = NOW
			:: else -> goto next
			fi
		}
		/* wait until every site has answered for this revision, or until
		 * the patience ends */
		if
#ifdef OLD_ANSWER
		:: true
#else
#if defined(ONE_SITE)
		:: seen_revision[0] == had
#elif defined(KEYS_ALONE)
		/* sites that have gone are not waited for */
		:: (gone[0] || seen_revision[0] == had) &&
		   (gone[SITES - 1] || seen_revision[SITES - 1] == had)
#else
		:: seen_revision[0] == had && seen_revision[SITES - 1] == had
#endif
#endif
		:: put_record(had, before, 0); goto next
		:: atomic { deaths < DEATHS -> deaths++; goto over }
		fi;
		d_step {
			yes = true; i = 0;
			do
			:: i < RANKS ->
				if
				:: seen_announced[i] <= fence
				:: seen_announced[i] == fence + 1 && seen_waiting[i] == w
#ifdef LATE_IS_BELOW
				:: seen_announced[i] == fence + 1 && seen_waiting[i] != w
#endif
				:: else -> yes = false
				fi;
				i++
			:: else -> break
			od;
			i = 0
		}
		MAY_DIE(over);
		if
		:: yes -> put_record(had, WORD(COMMIT, number, fence), 0)
		:: else -> put_record(had, before, 0)
		fi;
next:		skip;
		d_step { had = 0; before = 0; w = 0; fence = 0; number = 0; yes = false }
	:: else -> break
	od;
over:	ended++
}

init
{
	atomic {
		byte i = 0;

		do
		:: i < RANKS ->
			ahead_announced[i] = NOTHING;
			run rank(i);
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < SITES -> run agent(i); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < COORDINATORS -> run coordinator(); i++
		:: else -> break
		od;
#if RESTORE
		run restorer();
		run mender();
#endif
#if CUTS
		run cutter();
#endif
	}
}
