// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_CHANGE_H
#define NB_PLUGIN_CHANGE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/generation/generation.h"

/*
 * Changes (design, section 7; docs/protocol.md, "Changes"). Each process
 * stages a generation (stage.h), then one of them commits its digest for all,
 * at a fence of each communicator. All functions are for the control thread
 * and take NB_LOCK_STATE themselves. A commit may take seconds.
 */

#define NB_CHANGE_ANY UINT64_MAX /* any generation */

/* Have all processes of the job staged @digest? 0, NB_E_REFUSED (and which has
 * not), NB_E_BUSY. */
int nb_change_staged(const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

enum nb_change_state {
	NB_CHANGE_STAGED,
	NB_CHANGE_COMMITTED,   /* on all communicators that can change */
	NB_CHANGE_ABORTED,     /* nothing moved */
	NB_CHANGE_UNCHANGEABLE /* a communicator's state: it keeps its
				  generation */
};

/* "staged", "committed", "aborted", "unchangeable" */
const char *nb_change_state_word(enum nb_change_state s);

/* The outcome for one communicator (not rank). */
struct nb_change_comm {
	uint64_t comm_id; /* 0: NCCL gives none */
	uint64_t fence;	  /* decision number at which it changes */
	enum nb_change_state state;
	uint32_t ranks, passed; /* ranks that have reached the fence */
	uint64_t behind;	/* the others: bit i is rank slot i */
	uint32_t tries;		/* fences that the change has armed */
	char why[160];		/* "" when committed */
};

enum { NB_CHANGE_COMMS = 256 };

struct nb_change {
	uint8_t digest[NB_SHA256_SIZE];
	enum nb_change_state state;
	uint64_t generation; /* number it got; 0 while staged or aborted */
	uint64_t time_us;    /* commit, from the call to the last decision */
	uint32_t ncomms;
	struct nb_change_comm comm[NB_CHANGE_COMMS];
};

/*
 * nb_change_commit - commit @digest for the whole job
 * @out: what became of each communicator; filled also on failure as far as it
 *       went. Large: have it in static or heap memory.
 *
 * 0: new communicators begin with the generation, and each communicator has
 * state committed, or unchangeable with a reason, or, where ranks ran past
 * every fence that was tried, aborted. NB_E_REFUSED (not staged here or in
 * another process, ranks on another host), NB_E_BUSY (another process commits,
 * or not all ranks have passed an earlier fence), NB_E_DISAGREE (ranks
 * of a communicator have decided differently), NB_E_STALE (see @expected):
 * nothing has moved.
 *
 * @expected: the generation that the job must have, or NB_CHANGE_ANY. The
 * comparison is under the segment's lock, so of several changes that expect
 * the same generation at most one is made.
 */
int nb_change_commit(const uint8_t digest[NB_SHA256_SIZE], uint64_t expected,
		     struct nb_change *out, struct nb_err *err);
/*
 * nb_change_check - run every check of nb_change_commit without changing
 * anything
 *
 * 0 and in @out each communicator as staged or unchangeable, or the error that
 * a commit would give now.
 */
int nb_change_check(const uint8_t digest[NB_SHA256_SIZE], uint64_t expected,
		    struct nb_change *out, struct nb_err *err);
/* Set the client recorded in the history for the next commits; @pid 0: none. */
void nb_change_by(uint32_t uid, uint32_t pid);
/*
 * The next commits and checks are this site's part of change @number of the
 * fleet (docs/fleet.md): communicators of several sites have moved already,
 * and the generation has the number that the agent registered. 0: none. In a
 * job with NCCLBPF_FLEET every other commit is refused.
 */
void nb_change_of_fleet(uint64_t number);
/* Compare the generation now; a commit compares again. */
int nb_change_expect(uint64_t expected, struct nb_err *err);

/*
 * Commit the empty generation, which every process has: from the next fence
 * NCCL decides alone. Meant for a job whose ranks answer differently. No
 * process stages this generation, and staged changes are dropped.
 * NB_E_DISAGREE if ranks count
 * decisions differently, so no fence is safe; else as nb_change_commit.
 */
int nb_change_baseline(struct nb_change *out, struct nb_err *err);

#endif
