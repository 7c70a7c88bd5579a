// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_CHANGE_H
#define NB_PLUGIN_CHANGE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/bpf/generation/generation.h"
#include "plugin/change/outcome.h"

/*
 * Changes of generations (docs/coherence.md; docs/protocol.md, "Changes"). Each
 * process stages a generation (stage.h). One process then commits the
 * generation's digest for all, at a fence of each communicator. The control
 * thread calls these functions, which take NB_LOCK_STATE themselves. A commit
 * may take seconds.
 */

#define NB_CHANGE_ANY UINT64_MAX /* accept any generation */

/*
 * Check that all processes of the job have staged @digest. Returns 0,
 * NB_E_REFUSED (a process has not staged it; the error names it), or NB_E_BUSY.
 */
int nb_change_staged(const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/* Returns "staged", "committed", "aborted" or "unchangeable". */
const char *nb_change_state_word(enum nb_change_state s);

/*
 * nb_change_commit - commit @digest for the whole job
 * @expected: the generation that the job must have, or NB_CHANGE_ANY; it is
 *   compared under the segment's lock, so at most one of several changes that
 *   expect the same generation succeeds
 * @out: outcome for each communicator, also on failure as far as the commit
 *   came; large, so use static or heap memory
 *
 * On 0, new communicators start with the generation. Each communicator is
 * committed, unchangeable for a reason, or aborted because its ranks passed
 * every fence that was tried. On an error, no communicator changed:
 * NB_E_REFUSED (a process has not staged it, or ranks are on another host),
 * NB_E_BUSY (another commit runs, or ranks have yet to pass an earlier fence),
 * NB_E_DISAGREE (ranks have decided differently) or NB_E_STALE (@expected).
 */
int nb_change_commit(const uint8_t digest[NB_SHA256_SIZE], uint64_t expected, struct nb_change *out,
		     struct nb_err *err);
/*
 * nb_change_check - run all checks of nb_change_commit without changing
 * anything
 *
 * On 0, @out has each communicator as staged or unchangeable. Otherwise it
 * returns the error that a commit would return now.
 */
int nb_change_check(const uint8_t digest[NB_SHA256_SIZE], uint64_t expected, struct nb_change *out,
		    struct nb_err *err);
/*
 * Set the client that the history records for the next commits. @pid 0: the
 * client's PID namespace is not ours or below ours. @text: what the client says
 * about itself, or NULL
 */
void nb_change_by(uint32_t uid, uint32_t pid, const char *text);
/* The next commits are made for no client. */
void nb_change_by_nobody(void);
/*
 * Make the next commits and checks this site's part of change @number of the
 * fleet (docs/coherence.md). Communicators of several sites have moved already, and
 * the agent has registered the generation's number. 0: not part of a fleet's
 * change. In a job with NCCLBPF_FLEET, every other commit is refused.
 */
void nb_change_of_fleet(uint64_t number);
/* Compare the expected generation now. A commit compares it again. */
int nb_change_expect(uint64_t expected, struct nb_err *err);

/*
 * Commit the empty generation, so that NCCL decides alone from the next fence
 * on. It is meant for a job whose ranks answer differently. Every process has
 * this generation, so nothing needs to be staged, and staged changes are
 * dropped. Returns NB_E_DISAGREE if ranks count decisions differently, because no
 * fence is then safe; other errors are those of nb_change_commit.
 */
int nb_change_baseline(struct nb_change *out, struct nb_err *err);

/*
 * Move communicators that the profiler names from NCCLBPF_POLICY, with which they start, to the
 * job's last change, at a fence, once all of their ranks have registered. The control thread calls
 * it at intervals. One process moves a communicator, and tries again after ever longer pauses.
 */
void nb_change_catch_up(void);

#endif
