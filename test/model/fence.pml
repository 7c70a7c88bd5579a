/* SPDX-License-Identifier: MIT */
/*
 * The fence protocol as plugin/job/fence.c, change.c and segment.c have it, for
 * one communicator: RANKS ranks take DECISIONS decisions each while
 * COORDINATORS processes make CHANGES changes each. Steps carry the names of
 * the functions that take them.
 *
 * What may happen at any step: another process runs; a rank or a coordinator
 * dies (DEATHS in all; its lock is released, its slot is reaped by the next
 * coordinator); a rank's patience ends; a rank's stores are still in its
 * processor's buffer, in their order, while it reads the record, until the
 * coordinator's membarrier or an ordered operation of its own drains them; a
 * generation that the record does not name any more is freed, and a rank that
 * looks for it decides by none.
 *
 * Ranks join one after the other, and none decides before all have told their
 * tuner of the communicator. A rank may give up on the lock, or have no ncclbpf
 * (LOST in all): it decides without policies, and the others miss it before
 * their first decision. Without LOST nobody is missing, and that step is left
 * out.
 *
 * What is claimed: no two ranks make the same decision with different
 * generations, or with one that they have from different decisions on (replicated
 * maps hold what came since), and nobody waits for ever (no invalid end state: every wait
 * can be left, whoever is dead). Nor does anybody go round for ever: with
 * LOOKS_END and pan's -l there is no cycle without progress, where the one
 * step called progress is none_past's look again. The model, which has no
 * clock, may take it without end, the plugin not: its deadline is set once,
 * before the first look. A loop that does not need that step is still found.
 *
 * With CALLS the numbers are calls of NCCL's API (NB_CLOCK_CALLS): a rank
 * decides again with the same number (once, and not with ONCE), or skips some, at
 * which it does not look at the record. It may then have a generation from a later
 * decision on than others, unless replicated maps make it look (no CALLS); with
 * REPLICATED that is an error.
 *
 * With SOME, NCCL does not ask a rank at each collective, and the numbers are
 * decisions. No number is then the same collective on all ranks, and the
 * coordinator leaves the communicator as it is (nb_startup_fixed). With
 * COUNTS_ANYWAY it arms fences nevertheless.
 *
 * With NAMED (NCCL 2.27) the profiler's init names the communicator to the
 * tuner's, in the same thread, and a rank may decide before another's tuner is
 * initialised. All start with generation 0, NCCLBPF_POLICY, and a change passes
 * over them until all have registered; a later one, or none (nb_change_catch_up),
 * moves them. Some ranks (LOST in all) have no name. There are inits of another
 * communicator: of the tuner, in the threads of the ranks, and of both, in a
 * thread of its own.
 *
 * The protocol needs each of its parts. Left out one by one, by -DNO_BARRIER,
 * -DNO_LOOK_AGAIN, -DNO_FALLBACK, -DANNOUNCED_IS_PASSED, -DNO_CAS,
 * -DMARK_LAST, -DLATE_IS_BELOW, -DDEAD_DO_NOT_COUNT, -DADOPT_FIRST or -DNO_COUNT, by -DREPLICATED
 * with CALLS, and with NAMED
 * by -DONE_FOR_ALL, -DNAME_STAYS, -DSTARTS_CHANGED or -DSOME_REGISTERED, spin finds two ranks that
 * disagree (test/model/model.t).
 *
 * @NAME marks where the plugin has NB_STEP(NAME) or NB_DONE(NAME): the steps of
 * plugin/job/step.h (test/model/model_steps.t holds the two lists together).
 */
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
#define CHANGES 2
#endif
#ifndef TRIES
#define TRIES 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef MARGIN
#define MARGIN 0
#endif
#ifndef LOST
#define LOST 0
#endif
#if LOST && !defined(NAMED)
#define COUNTED /* the ranks are, before one decides */
#endif

/* The generation with which a rank starts. */
#if defined(NAMED) && !defined(STARTS_CHANGED)
#define FIRST 0
#else
#define FIRST baseline
#endif

/* What a rank announces, and compares with a fence. */
#ifdef SOME
#define CLOCK asked
#else
#define CLOCK k
#endif

#define NONE 0
#define ARMED 1
#define COMMIT 2

/* A word: state, generation, fence. */
#define WORD(state, gen, fence) ((state) + 4 * (gen) + 64 * (fence))
#define STATE(w) ((w) % 4)
#define GEN(w) (((w) / 4) % 16)
#define FENCE(w) ((w) / 64)

/* ---- the segment ---- */

short word = 0, fallback = 0; /* the record */
byte announced[RANKS];	      /* slots, as others see them */
byte generation[RANKS];
short waiting[RANKS];
bool live[RANKS];
byte baseline = 0, next_gen = 1;
bool locked = false;
byte joined = 0;
byte lost = 0; /* gave up on the lock */
bool mismatch = false; /* for people, and no change any more */

/* gen_in_use, without the history: a generation that no record names may be
 * freed at any time, and a number is never used again */
#define KEPT(g) ((g) == 0 || GEN(word) == (g) || GEN(fallback) == (g))

/* ---- what a rank has stored and others do not see yet ---- */

#define NOTHING 255
byte ahead_announced[RANKS], ahead_generation[RANKS];

/* ---- what is checked ---- */

/* generation of a decision + 1, and the decision from which on its rank has it; 0: not made yet */
byte used[DECISIONS];
#if defined(CALLS) && !defined(REPLICATED)
#define USED(number, since) ((number) + 1)
#else
#define USED(number, since) ((number) + 1 + 16 * (since))
#endif
byte deaths = 0;
bool dead[RANKS];

#ifdef NAMED
#define THIS 1
#define OTHER 2
byte named[RANKS + 1]; /* by a thread's last init of the profiler; 0: nothing */
#ifdef ONE_FOR_ALL
#define NAMED_IN(thread) named[0]
#else
#define NAMED_IN(thread) named[thread]
#endif

/* nb_events_name: the tuner's init takes the name, and none takes it again */
inline take_name(thread, name)
{
	d_step {
		name = NAMED_IN(thread);
#ifndef NAME_STAYS
		NAMED_IN(thread) = 0
#endif
	}
}

/* A rank of another communicator registers where its name says. */
inline other_registers(thread, name)
{
	take_name(thread, name);
	atomic {
		!locked ->
		if
		:: name == THIS && joined < RANKS -> joined++
		:: else
		fi;
		name = 0
	}
}

proctype other()
{
	byte name = 0;

	NAMED_IN(RANKS) = OTHER;
	other_registers(RANKS, name)
}
#endif

#define MAY_DIE(label)                                        \
	if                                                    \
	:: true                                               \
	:: atomic { deaths < DEATHS -> deaths++; goto label } \
	fi

inline drain(r)
{
	d_step {
		if
		:: ahead_announced[r] != NOTHING ->
			announced[r] = ahead_announced[r];
			ahead_announced[r] = NOTHING
		:: else
		fi;
		if
		:: ahead_generation[r] != NOTHING ->
			generation[r] = ahead_generation[r];
			ahead_generation[r] = NOTHING
		:: else
		fi
	}
}

/* The processor of rank @r writes back when it likes. */
active [RANKS] proctype buffer()
{
end:	do
	:: d_step {
		ahead_announced[_pid] != NOTHING ->
			announced[_pid] = ahead_announced[_pid];
			ahead_announced[_pid] = NOTHING
	   }
	:: d_step {
		ahead_announced[_pid] == NOTHING &&
		ahead_generation[_pid] != NOTHING ->
			generation[_pid] = ahead_generation[_pid];
			ahead_generation[_pid] = NOTHING
	   }
	od
}

/* Put back what stood before the arming @old; @back is scratch. */
inline abort_word(old, back)
{
	back = fallback;
	d_step {
		if
		:: STATE(back) == ARMED -> back = 0
		:: else
		fi
	}
	d_step {
#ifdef NO_FALLBACK
		back = 0;
#endif
		if
		:: word == old -> word = back /* @SWAP */
		:: else
		fi;
		back = 0
	}
}

/* ---- a rank ---- */

proctype rank(byte i)
{
	byte k = 0, number, since = 0;
	short w = 0, b = 0;
#ifdef CALLS
	byte before = 0; /* announced before this decision */
	bool again = false;
#endif
#ifdef SOME
	byte asked = 0; /* decisions made */
#endif
#ifdef NAMED
	byte name = 0;

	/* nb_events_init, or the rank has no profiler */
	if
	:: NAMED_IN(i) = THIS
	:: atomic { lost < LOST -> lost++ }
	fi;
	take_name(i, name);
	if
	:: name != THIS -> goto alone
	:: else
	fi;
#endif

	/* nb_comm_new: under the segment's lock... */
	if
	:: atomic {
#ifdef NAMED
		!locked && joined < RANKS ->
#else
		!locked ->
#endif
		number = FIRST;
		generation[i] = FIRST;
		live[i] = true;
		joined++
	   }
#ifdef NAMED
	:: atomic { /* ...or in another entry, which no change reaches */
		!locked && joined == RANKS -> goto alone
	   }
#endif
#if LOST
	:: atomic { /* ...or without, in the end: mark_lost */
		locked && lost < LOST ->
		lost++;
		goto alone
	   }
#endif
	fi;
#ifdef NAMED
	other_registers(i, name);
#endif
#ifdef COUNTED
	/* NCCL: all have told their tuner */
	joined + lost == RANKS;
#endif
	do
	:: k < DECISIONS ->
		MAY_DIE(died);
		/* nb_fence_enter: announce... */
		d_step {
			if
			:: ahead_generation[i] != NOTHING ->
				if
				:: ahead_announced[i] != NOTHING ->
					announced[i] = ahead_announced[i]
				:: else
				fi;
				generation[i] = ahead_generation[i];
				ahead_generation[i] = NOTHING
			:: else
			fi;
			ahead_announced[i] = CLOCK + 1
		}
#if defined(COUNTED) && !defined(NO_COUNT)
		/* nb_startup_count: use_no_policy if a rank is missing */
		d_step {
			if
			:: k == 0 && joined < RANKS ->
				mismatch = true;
				if
				:: word == 0 -> word = WORD(COMMIT, 0, 0)
				:: else
				fi
			:: else
			fi
		}
#endif
		/* ...and read the record */
		w = word;
look:		/* nb_fence_look @ANNOUNCED */
		if
		:: STATE(w) == COMMIT && CLOCK >= FENCE(w) ->
			/* adopt_gen: find it while it is kept, then say so */
#ifdef ADOPT_FIRST
			ahead_generation[i] = GEN(w);
#endif
			d_step { /* @ADOPT */
				if
				:: number == GEN(w)
				:: number != GEN(w) && KEPT(GEN(w)) ->
					number = GEN(w);
					since = k
				:: else ->
					number = 0;
					since = k
				fi
			};
			ahead_generation[i] = GEN(w) /* @ADOPTED */
		:: STATE(w) == ARMED && CLOCK >= FENCE(w) ->
			/* wait_decided: the slot tells that we wait, by a
			 * store in order with all before it */
			drain(i);
#if defined(CALLS) && !defined(SAYS_ANYWAY)
			/* first_past: no decision past it was made before */
			if
			:: before <= FENCE(w) -> waiting[i] = w
			:: else
			fi;
#else
			waiting[i] = w; /* @WAITING */
#endif
			MAY_DIE(died);
			if
			:: word != w
			:: abort_word(w, b) /* @PATIENCE */
			fi; /* @RELEASED */
			waiting[i] = 0;
			w = word;
			goto look
		:: else
		fi;
		/* the decision is made */
		d_step {
			assert(used[k] == 0 || used[k] == USED(number, since));
			used[k] = USED(number, since);
#ifdef CALLS
			before = k + 1;
#elif defined(SOME)
			asked++;
#else
			k++;
#endif
			w = 0
		}
#ifdef CALLS
		if
		:: k++
		:: k = k + 2
#ifndef ONCE
		:: !again -> again = true
#endif
		fi
#endif
#ifdef SOME
		/* the next collective, or the one behind it */
		if
		:: k++
		:: k = k + 2
		fi
#endif
	:: else -> break
	od;
	goto over;
#if LOST || defined(NAMED)
alone:	/* with a record of its own, and without policies, or with the first ones */
#ifdef COUNTED
	joined + lost == RANKS;
#endif
	do
	:: k < DECISIONS ->
		d_step {
			assert(used[k] == 0 || used[k] == 1);
			used[k] = 1;
			k++
		}
	:: else -> break
	od;
	goto over;
#endif
died:	dead[i] = true;
over:	skip
}

/* ---- a coordinator ---- */

/* nb_fence_announced: one slot after the other */
inline furthest_announced(to, one, at)
{
	to = 0;
	at = 0;
	do
	:: at < RANKS ->
		one = announced[at];
		d_step {
			if
			#ifdef DEAD_DO_NOT_COUNT
			:: one > to && live[at] -> to = one
#else
			:: one > to -> to = one
#endif
			:: else
			fi;
			at++;
			one = 0
		}
	:: else -> break
	od;
	at = 0
}

/* nb_fence_ready; @is: true if every rank has adopted the generation of @at_word,
 * or none has reached its fence */
inline ready(at_word, is, far, slot, idx)
{
	is = true;
	if
	:: STATE(at_word) == COMMIT ->
		furthest_announced(far, slot, idx);
		if
		:: far > FENCE(at_word) ->
#ifndef ANNOUNCED_IS_PASSED
			do
			:: idx < RANKS ->
				d_step {
					if
					:: live[idx] && generation[idx] != GEN(at_word) ->
						is = false
					:: else
					fi;
					idx++
				}
			:: else -> break
			od;
			idx = 0
#else
			do
			:: idx < RANKS ->
				d_step {
					if
					:: live[idx] &&
					   announced[idx] <= FENCE(at_word) ->
						is = false
					:: else
					fi;
					idx++
				}
			:: else -> break
			od;
			idx = 0
#endif
		:: else
		fi
	:: else
	fi
}

/* none_past: is every rank below the fence of @at_word, or waiting at it? */
inline none_past(at_word, is, slot, idx, mark)
{
	is = true;
	idx = 0;
	do
	:: idx < RANKS && is ->
		/* The mark first: a rank that is seen to wait has announced
		 * what it waits with. */
#ifndef MARK_LAST
		mark = waiting[idx];
#endif
		slot = announced[idx];
		if
		:: slot <= FENCE(at_word)
#ifdef DEAD_DO_NOT_COUNT
		:: !live[idx]
#endif
		:: else ->
			if
#ifdef CALLS
			:: slot > FENCE(at_word) + 1 && mark != at_word ->
#else
			:: slot > FENCE(at_word) + 1 ->
#endif
				is = false
			:: else ->
#ifdef MARK_LAST
				mark = waiting[idx];
#endif
#ifndef LATE_IS_BELOW
				if
				:: mark == at_word
				:: else ->
					/* it may show within a while that it
					 * waits: look at all again, or not */
					if
					:: is = false
					::
#ifdef LOOKS_END
progress:
#endif
					   idx = 255
					fi
				fi
#endif
			fi
		fi;
		idx++
	:: else -> break
	od;
	idx = 0;
	slot = 0;
	mark = 0
}

proctype coordinator()
{
	byte change = 0, try, number, most = 0, n = 0, j = 0, fence = 0;
	short before = 0, w = 0, b = 0;
	bool yes;

	do
	:: change < CHANGES ->
		change++;
		atomic { !locked -> locked = true }; /* @LOCKED */
		/* check_once: nb_segment_reap... */
		d_step {
			do
			:: j < RANKS ->
				if
				:: dead[j] -> live[j] = false
				:: else
				fi;
				j++
			:: else -> break
			od;
			j = 0
		} /* @REAPED */
		/* ...nb_fence_recover... */
		w = word; /* @RECOVER */
		if
		:: STATE(w) == ARMED -> abort_word(w, b)
		:: else
		fi;
		/* ...check_complete */
		if
#ifdef COUNTED
		:: mismatch || joined == 0 || joined == RANKS
		:: else -> goto unlock
#elif defined(NAMED)
		:: true
#else
		:: joined < RANKS -> goto unlock
		:: else
#endif
		fi;
		if
#ifdef NAMED
		:: d_step { /* nb_change_catch_up */
			baseline && joined == RANKS && STATE(word) != COMMIT ->
			number = baseline;
			try = 0
		   }
#endif
		:: d_step { number = next_gen; next_gen++; try = 0 } /* @NUMBERED */
		fi;
#if defined(NAMED) && !defined(SOME_REGISTERED)
		/* report_fixed */
		if
		:: joined < RANKS -> goto committed
		:: else
		fi;
#endif
#ifdef COUNTED
		/* commit_comms: report_fixed, or there is none yet */
		if
		:: mismatch || joined < RANKS -> goto committed
		:: else
		fi;
#endif
#if defined(SOME) && !defined(COUNTS_ANYWAY)
		/* nb_startup_fixed: the ranks share no clock */
		goto committed;
#endif
		/* nb_fence_commit */
		do
		:: try < TRIES ->
			try++;
			/* nb_fence_arm */
			before = word;
			furthest_announced(most, n, j);
			fence = most + MARGIN;
			w = word;
			ready(w, yes, n, b, j);
			d_step {
				n = 0;
				b = 0;
				if
				:: STATE(before) == COMMIT &&
				   most <= FENCE(before) ->
					fence = FENCE(before)
				:: else
				fi
			}
			if
			:: !yes -> break
			:: else
			fi;
			w = WORD(ARMED, number, fence); /* @READY */
			fallback = before;
			MAY_DIE(died); /* @FALLBACK */
			atomic {
				if
				:: word == before -> word = w
				:: else -> goto next
				fi
			}
			MAY_DIE(died);
			/* nb_fence_decide @ARMED */
#ifndef NO_BARRIER
			d_step {
				do
				:: j < RANKS ->
					if
					:: ahead_announced[j] != NOTHING ->
						announced[j] =
							ahead_announced[j];
						ahead_announced[j] = NOTHING
					:: else
					fi;
					if
					:: ahead_generation[j] != NOTHING ->
						generation[j] =
							ahead_generation[j];
						ahead_generation[j] = NOTHING
					:: else
					fi;
					j++
				:: else -> break
				od;
				j = 0
			}
#endif
			/* @BARRIER */
#ifdef NO_LOOK_AGAIN
			yes = true;
#else
			none_past(w, yes, n, j, b);
#endif
			if
			:: yes -> /* @NONE_PAST */
				atomic {
					if
#ifdef NO_CAS
					:: true ->
#else
					:: word == w ->
#endif
						word = WORD(COMMIT, number,
							    fence);
						goto committed
					:: else
					fi
				}
			:: else -> abort_word(w, b) /* @OVERRUN */
			fi;
next:			skip
		:: else -> break
		od;
		goto unlock;
committed:	MAY_DIE(died); /* @COMMITTED */
		baseline = number; /* @BASELINE */
unlock:		atomic {
			most = 0; fence = 0; before = 0; w = 0; number = 0;
			locked = false
		}
	:: else -> break
	od;
	goto over;
died:	locked = false; /* the kernel gives the lock back */
over:	skip
}

init
{
	atomic {
		byte i = 0;

		do
		:: i < RANKS ->
			ahead_announced[i] = NOTHING;
			ahead_generation[i] = NOTHING;
			run rank(i);
			i++
		:: else -> break
		od;
#ifdef NAMED
		run other();
#endif
		i = 0;
		do
		:: i < COORDINATORS ->
			run coordinator();
			i++
		:: else -> break
		od
	}
}
