// SPDX-License-Identifier: MIT
/*
 * A change of controllers as bytes: proposed to the fleet, and staged in each
 * process. The process and the agent of its site exchange the number of the
 * proposal through the segment, and its bytes over the control socket.
 */
#include "plugin/controller/proposal.h"

#include <string.h>

#include "core/bpf/generation/controller.h"
#include "plugin/change/sync.h"
#include "plugin/change/stage.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/policies/generations.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/lock.h"

enum {
	/*
	 * longest time without an answer of the site's agent; its loop takes
	 * less, unless it hangs
	 */
	SILENT_MS = 5000,
	/*
	 * time limit for the fleet to carry out a change, which normally takes
	 * less
	 */
	LONGEST_MS = 60000
};

static struct {
	uint64_t number; /* 0: no change is proposed */
	uint64_t since_ms;
	uint8_t from[NB_SHA256_SIZE];
	struct nb_buf bytes;
} proposal;

static uint64_t proposal_clock_ms(void)
{
	return nb_clock_system() / 1000000;
}

bool nb_proposal_coordinates(void)
{
	uint64_t at;

	if (!nb_self.seg)
		return false;
	at = __atomic_load_n(&nb_self.seg->mem->agent.coordinates_ms, __ATOMIC_ACQUIRE);
	return at && proposal_clock_ms() < at + SILENT_MS;
}

void nb_proposal_drop(void)
{
	if (proposal.number)
		nb_buf_fini(&proposal.bytes);
	proposal.number = 0;
}

void nb_proposal_forked(void)
{
	proposal.number = 0;
}

int nb_proposal_make(const uint8_t from[NB_SHA256_SIZE], const void *bytes, size_t size,
		     struct nb_err *err)
{
	nb_proposal_drop();
	nb_buf_init(&proposal.bytes, 0);
	nb_buf_bytes(&proposal.bytes, bytes, size);
	if (!nb_buf_ok(&proposal.bytes)) {
		nb_buf_fini(&proposal.bytes);
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for a change of %zu bytes", size);
	}
	memcpy(proposal.from, from, NB_SHA256_SIZE);
	proposal.since_ms = proposal_clock_ms();
	proposal.number = __atomic_add_fetch(&nb_self.seg->mem->proposal, 1, __ATOMIC_ACQ_REL);
	return 0;
}

bool nb_proposal_ended(struct nb_err *why)
{
	const struct nb_seg_agent *agent = &nb_self.seg->mem->agent;
	char text[sizeof(agent->refused)];

	why->code = 0;
	if (__atomic_load_n(&agent->finished, __ATOMIC_ACQUIRE) == proposal.number) {
		memcpy(text, agent->refused, sizeof(text));
		text[sizeof(text) - 1] = '\0';
		if (*text)
			nb_fail(why, NB_E_REFUSED, 0, "%s", text);
	} else if (proposal_clock_ms() >= proposal.since_ms + LONGEST_MS) {
		nb_fail(why, NB_E_TIMEOUT, 0,
			"the agent of this site has not carried the change out in %d s",
			LONGEST_MS / 1000);
	} else {
		return false;
	}
	nb_proposal_drop();
	return true;
}

int nb_proposal_export(struct nb_buf *out, uint8_t from[NB_SHA256_SIZE], struct nb_err *err)
{
	if (!proposal.number)
		return nb_fail(err, NB_E_NOENT, 0, "this process proposes no change");
	memcpy(from, proposal.from, NB_SHA256_SIZE);
	nb_buf_bytes(out, proposal.bytes.data, proposal.bytes.size);
	return nb_buf_ok(out) ? 0
			      : nb_fail(err, NB_E_NOMEM, 0, "no memory for a change of %zu bytes",
					proposal.bytes.size);
}

int nb_proposal_stage(const uint8_t from[NB_SHA256_SIZE], const void *bytes, size_t size,
		      uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_gen *g = NULL;
	int rc;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	rc = memcmp(nb_gens.baseline->digest, from, NB_SHA256_SIZE) != 0
		     ? nb_fail(err, NB_E_BUSY, 0,
			       "a concurrent change came first: the next run sees it")
		     : nb_controllers_apply(&g, nb_gens.baseline, bytes, size, err);
	nb_unlock(NB_LOCK_STATE);
	return rc ? rc : nb_change_stage_gen(g, digest, err);
}
