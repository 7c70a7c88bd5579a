// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_H
#define NB_PLUGIN_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/hook/gen.h"

struct nb_reach;
struct nb_runtime;

/*
 * Changes (design, section 7; docs/protocol.md, "Changes"). Each process
 * stages a generation, then one of them commits its digest for all: at a
 * fence of each communicator. All functions take the runtime's lock
 * themselves (do not hold it) and are for the control thread; commit may take
 * seconds.
 *
 * Staging replaces what was staged before, answers the digest and moves
 * nothing. Communicators that decide with another generation later keep it.
 */

/*
 * Stage policies @names[0..n), each a name or a digest of 8 digits or more, in
 * this order; @n 0: NCCL's own choice everywhere.
 * 0, NB_E_NOENT, NB_E_EXISTS (twice), NB_E_LIMIT, NB_E_NOMEM.
 */
int nb_change_stage_use(struct nb_runtime *rt, const char *const *names,
			uint32_t n, uint8_t digest[NB_SHA256_SIZE],
			struct nb_err *err);
/* The same for the communicators of @reach; the others keep what they have.
 * Also the errors of nb_reach_check and nb_reach_use. */
int nb_change_stage_for(struct nb_runtime *rt, const struct nb_reach *reach,
			const char *const *names, uint32_t n,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);
/* Stage that those have no policies of their own any more. The errors of
 * nb_reach_check and nb_reach_common. */
int nb_change_stage_common(struct nb_runtime *rt, const struct nb_reach *reach,
			   uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/*
 * Stage the baseline's policies with one added, removed or moved, for the
 * communicators of @reach. The errors of nb_reach_check and nb_reach_edit.
 */
struct nb_edit;
int nb_change_stage_edit(struct nb_runtime *rt, const struct nb_edit *edit,
			 const struct nb_reach *reach,
			 uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/*
 * nb_change_stage_gen - stage a generation that the caller made; takes the
 * reference
 *
 * NB_E_LIMIT, and the errors of nb_segment_lock.
 */
int nb_change_stage_gen(struct nb_runtime *rt, struct nb_gen *g,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/* Have all processes of the job staged @digest? 0, NB_E_REFUSED (which has
 * not), NB_E_BUSY. */
int nb_change_staged(struct nb_runtime *rt,
		     const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/* Stage the generation before the last committed change, or generation @to of
 * the history (NB_CHANGE_ANY: the one before). NB_E_NOENT: there is none. */
#define NB_CHANGE_ANY UINT64_MAX
int nb_change_stage_undo(struct nb_runtime *rt, uint64_t to,
			 uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/*
 * Stage a change of a coherent map of the baseline generation.
 * @map: "map" or "policy/map" as nb_runtime_map_find takes it
 *
 * 0, NB_E_NOENT, NB_E_READONLY (a local map: write it directly), the errors of
 * nb_gen_map_change.
 */
int nb_change_stage_map(struct nb_runtime *rt, const char *map,
			const struct nb_map_op *ops, uint32_t nops,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

enum nb_change_state {
	NB_CHANGE_STAGED,
	NB_CHANGE_COMMITTED,   /* everywhere it can be */
	NB_CHANGE_ABORTED,     /* nothing moved */
	NB_CHANGE_UNCHANGEABLE /* of a communicator: it keeps what it has */
};

/* "staged", "committed", "aborted", "unchangeable" */
const char *nb_change_state_word(enum nb_change_state s);

/* What became of one communicator (not rank). */
struct nb_change_comm {
	uint64_t comm_id; /* 0: NCCL gives none */
	uint64_t fence;	  /* decision number it moves at */
	enum nb_change_state state;
	uint32_t ranks, passed; /* ranks that have reached the fence */
	uint32_t tries;		/* fences armed until one was decided */
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
 * another process, ranks on another host), NB_E_BUSY (somebody else commits,
 * or an earlier fence has not been passed by all ranks), NB_E_DISAGREE (ranks
 * of a communicator have decided differently), NB_E_STALE (see @expected):
 * nothing has moved.
 *
 * @expected: the generation that the job must have, or NB_CHANGE_ANY. It is
 * compared when nobody else can commit any more, so that of several changes
 * that expect the same generation at most one is made.
 */
int nb_change_commit(struct nb_runtime *rt,
		     const uint8_t digest[NB_SHA256_SIZE], uint64_t expected,
		     struct nb_change *out, struct nb_err *err);
/* The same comparison now, as a forecast: a commit compares again. */
int nb_change_expect(struct nb_runtime *rt, uint64_t expected,
		     struct nb_err *err);

/*
 * Commit the empty generation, which every process has: NCCL's own choice for
 * all, at the next fence. Nobody stages; what others staged is dropped. For a
 * job whose ranks give different answers. NB_E_DISAGREE where they do not even
 * count alike, so that no fence is safe; else as nb_change_commit.
 */
int nb_change_baseline(struct nb_runtime *rt, struct nb_change *out,
		       struct nb_err *err);

/* Drop what is staged if it is @digest; NB_E_NOENT if it is not. */
int nb_change_abort(struct nb_runtime *rt, const uint8_t digest[NB_SHA256_SIZE],
		    struct nb_err *err);

/*
 * What stands: is something staged (its digest in @staged), and the last
 * change that this process committed or saw committed (*@out, passed ranks
 * counted anew). @has_last false: none yet. @staged, @out may not be NULL.
 */
void nb_change_status(struct nb_runtime *rt, bool *has_staged,
		      uint8_t staged[NB_SHA256_SIZE], bool *has_last,
		      struct nb_change *out);

/* "sha256 hexadecimal" of 64 digits to bytes; NB_E_ARG. */
int nb_change_digest(uint8_t digest[NB_SHA256_SIZE], const char *text,
		     struct nb_err *err);

#endif
