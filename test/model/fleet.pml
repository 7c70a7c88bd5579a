/* SPDX-License-Identifier: MIT */
/*
 * The fence protocol over several sites (docs/coherence.md), for one communicator:
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
 * restored from it later. Each record then names the one that it replaces, and
 * a site copies only a record that follows its copy. A site that has copied an
 * outcome which the store has lost writes it again. A site with an armed copy
 * writes that again, with a new id. When all sites have answered for the new id,
 * none of them has copied an outcome, and the record is rolled back. Assumed:
 * each site has had a reply of the store since the backup, and reads the restored
 * store before the revision passes that of the reply, so it knows that the store
 * has gone back.
 * Transactions compare the record's id here (NOW). The plugin compares the
 * revision of its last change, which a restored store may give to another
 * record, so the model does not cover a transaction that the sender decided by
 * what it had read before the restoration.
 *
 * A coordinator reads all keys at one moment of the store. The plugin's
 * transactions also require that no site has written since (its keys site/ and
 * answer/). The model leaves this out: it has one communicator, whose record
 * decides. The plugin needs it for a second communicator with the identity of
 * the first, and for a site that joins (test/unit/test_fleet_commit.c).
 *
 * Sites with equally many ranks are alike, so where there is one death or one cut,
 * it is site 0 (or the coordinator) that it meets.
 *
 * What is claimed: no two ranks make the same decision with different
 * generations, or with one that they have from different decisions on (replicated
 * maps hold what came since), and nobody waits for ever (no invalid end state)
 * while the store answers at last.
 *
 * Left out one by one, spin finds ranks that disagree: -DNO_BARRIER,
 * -DSEEN_EARLY, -DNO_COMPARE, -DOLD_ANSWER, -DONE_SITE, -DRANK_GUESSES,
 * -DLATE_IS_BELOW, -DMARK_LAST, -DBLIND_START, -DKEYS_ALONE,
 * -DCOPY_BACK, -DNO_SUSPECT, -DOWN_ANSWER, -DUNSEEN_FIRST (some of them also with -DORDERED, where a rank's
 * stores reach the others at once); with -DTWO_AGENTS, -DNO_AGAIN and -DNO_ARMED_AGAIN a rank
 * waits for ever. -DNOT_READY and -DNO_FALLBACK need two changes, whose state space
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

/* May site @s lose its agent, or be cut off? */
#if DEATHS + CUTS <= 1 && RANKS % SITES == 0
#define MAY_FAIL(s) ((s) == 0)
#else
#define MAY_FAIL(s) true
#endif

#define NONE 0
#define ARMED 1
#define COMMIT 2

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
byte id = 0, was = 0, drawn = 0;
/* a site has written the record again, over an armed one */
bool rewritten = false;
byte replaced = 0;
byte saved_word, saved_back, saved_id, saved_was;
/* ids take the place of revisions, which the restored store uses again */
#define BUMP skip
#define NOW id
#define REWRITTEN rewritten
/* a record that replaces the one that the store has now */
#define CHAIN \
	was = id; drawn++; id = drawn; rewritten = false; replaced = 0
#else
#define BUMP revision++
#define NOW revision
#define REWRITTEN false
#define CHAIN skip
#endif

/* ---- a site's segment ---- */

byte copy[SITES];
#if RESTORE
byte have[SITES], have_was[SITES], have_back[SITES];
bool lost[SITES];
/* the agent reads the store, and knows that it has gone back */
bool fell[SITES];
#define STAMP (id + 64 * rewritten)
#define SAME(s) (STAMP == known && !fell[s])
/* all sites have copied the record that one of them has written again */
#ifdef OWN_ANSWER
#define ANSWERED(s) (seen_revision[s] == id)
/* sites that contradict each other would write without end */
#define MAY_DRAW (drawn < 4)
#else
#define ANSWERED(s) (seen_revision[0] == id && seen_revision[SITES - 1] == id)
#define MAY_DRAW true
#endif
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

/* generation of a decision + 1, and the decision from which on its rank has it; 0: not made yet */
byte used[DECISIONS];
#define USED(number, since) ((number) + 1 + 16 * (since))
byte deaths = 0;
byte ended = 0; /* ranks and coordinators that are done */
bool cut[SITES];

#define OVER (ended == RANKS + COORDINATORS)

#if RESTORE || defined(ORDERED)
/* the other rows have the buffers; without them this one can be searched whole, and soon */
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
			CHAIN;
			BUMP
		:: else
		fi
	}
}

/* ---- a rank: as on one site, but it never decides the outcome ---- */

proctype rank(byte i)
{
	byte k = 0, number = 0, since = 0, w = 0;

#ifdef UNSEEN_FIRST
	/* rank 0 makes its first call and does not announce it */
	if
	:: i == 0 -> k = 1
	:: else
	fi;
#endif
	do
	:: k < DECISIONS ->
		/* nb_fence_enter: announce, then read the copy */
		d_step { DRAIN(i); ANNOUNCE(i, k + 1) }
		w = copy[SITE(i)];
look:		if
		:: STATE(w) == COMMIT && k >= FENCE(w) ->
			d_step {
				if
				:: number != GEN(w) -> since = k
				:: else
				fi;
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
			assert(used[k] == 0 || used[k] == USED(number, since));
			used[k] = USED(number, since);
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

#define MAY_DIE_IF(may, label)                                         \
	if                                                             \
	:: true                                                        \
	:: atomic { deaths < DEATHS && may -> deaths++; goto label } \
	fi
#define MAY_DIE(label) MAY_DIE_IF(true, label)

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
			:: fell[s] && have[s] -> lost[s] = true
			:: else
			fi;
#endif
			fell[s] = false;
#ifndef COPY_BACK
			if
			:: (rewritten || !lost[s]) &&
			   ((word == copy[s] && (STATE(word) != ARMED || rewritten)) || id == have[s] ||
			    was == have[s] || (replaced && replaced == have[s])) ->
				lost[s] = false
			:: else -> lost[s] = true
			fi;
#endif
			if
			:: !lost[s] ->
				copy[s] = word;
				have[s] = id; have_was[s] = was; have_back[s] = back
			:: else
			fi;
			known = STAMP;
			seen_revision[s] = (lost[s] -> 0 : id);
			seen_waiting[s] = waiting[s];
			TELL(s)
	   }
	:: d_step {
		MAY_ASK(s) && UNSEEN(s) ->
			seen_waiting[s] = waiting[s];
			TELL(s)
	   }
#ifndef NO_AGAIN
	:: d_step {
		/* the store has lost the outcome that this site has copied */
		lost[s] && SAME(s) && STATE(copy[s]) != ARMED ->
			replaced = (STATE(word) == ARMED -> id : 0);
			word = copy[s]; back = 0;
			id = have[s]; was = have_was[s];
			rewritten = true
	   }
#endif
#ifndef NO_ARMED_AGAIN
	:: d_step {
		/* or has lost an armed record or its outcome */
		lost[s] && SAME(s) && STATE(copy[s]) == ARMED && MAY_DRAW &&
		(STATE(word) != ARMED || id == have[s]) ->
			replaced = have[s];
			word = copy[s]; back = have_back[s];
			drawn++; id = drawn; was = have_was[s];
			rewritten = true
	   }
#endif
	:: d_step {
		/* as the coordinator: no site knows its outcome */
		SAME(s) && rewritten && STATE(word) == ARMED && ANSWERED(s) ->
			word = back; back = 0; CHAIN
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
		:: atomic { deaths < DEATHS && MAY_FAIL(s) -> deaths++; run late(s, w) }
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
		MAY_DIE_IF(MAY_FAIL(s), again);
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
		MAY_DIE_IF(MAY_FAIL(s), again);
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
		!cut[s] && MAY_ASK(s) && STATE(word) == ARMED && !REWRITTEN && WAITS(s, word) ->
			word = back; back = 0; CHAIN; BUMP
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
		saved_id = id; saved_was = was
	}
	d_step {
		word = saved_word; back = saved_back;
		id = saved_id; was = saved_was; rewritten = false; replaced = 0;
		saved_word = 0; saved_back = 0;
		saved_id = 0; saved_was = 0;
		fell[0] = true; fell[1] = true
	}
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
		:: MAY_FAIL(1) -> cut[1] = true
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
			yes = true;
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
				if
				:: REWRITTEN
				:: else ->
					word = back;
					back = 0;
					CHAIN;
					BUMP
				fi
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
				CHAIN;
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
#endif
#if CUTS
		run cutter();
#endif
	}
}
