// SPDX-License-Identifier: MIT
/* The control thread's detection of decisions that take too long. */
#include "plugin/comm/overdue.h"

#include "core/job/segment/agree.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"

/*
 * Returns true if the rank is inside a decision and is not waiting at a fence.
 */
static bool is_inside(const struct nb_comm *c, uint64_t *seq)
{
	const struct nb_seg_slot *slot = c->fence.slot;

	return !__atomic_load_n(&slot->waiting, __ATOMIC_ACQUIRE) && nb_job_undecided(slot, seq);
}

uint64_t nb_overdue_s(const struct nb_comm *c, uint64_t *seq)
{
	if (!c->overdue.since_ns || !is_inside(c, seq) || *seq != c->overdue.seq)
		return 0;
	return (nb_clock_system() - c->overdue.since_ns) / 1000000000;
}

void nb_overdue_look(struct nb_comm *c)
{
	struct nb_overdue *o = &c->overdue;
	uint64_t seq, seconds;

	if (!is_inside(c, &seq)) {
		*o = (struct nb_overdue){ 0 };
		return;
	}
	if (!o->since_ns || o->seq != seq) {
		*o = (struct nb_overdue){ .seq = seq, .since_ns = nb_clock_system() };
		return;
	}
	seconds = nb_overdue_s(c, &seq);
	if (!seconds || o->told)
		return;
	o->told = true;
	nb_log(NB_LOG_WARN,
	       "communicator %016llx rank slot %u: decision %llu has taken over %llu s; "
	       "ncclbpf-shell doctor shows whether it continues",
	       (unsigned long long)c->init.comm_id, c->slot_index, (unsigned long long)seq,
	       (unsigned long long)seconds);
}
