// SPDX-License-Identifier: MIT
/*
 * Registers processes, communicators and the slots of their ranks in the
 * segment, and removes those of dead processes.
 */
#include "plugin/job/registry.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "plugin/job/gen_numbers.h"
#include "plugin/job/startup.h"

static uint32_t registry_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store32(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Returns a free slot of a communicator that still lacks ranks, or -1. */
static int free_slot(const struct nb_seg_comm *c)
{
	if (nb_seg_registered(c) >= c->nranks)
		return -1;
	for (int i = 0; i < NB_SEG_SLOTS; i++)
		if (registry_load32(&c->slot[i].state) == NB_SLOT_FREE)
			return i;
	return -1;
}

/*
 * Returns the entry of a communicator that still lacks ranks. Two communicators
 * may have the same ID, so a complete entry belongs to another communicator.
 */
static struct nb_seg_comm *find_comm(struct nb_seg *mem, const struct nb_joining *j)
{
	for (uint32_t i = 0, n = nb_seg_ncomms(mem); i < n; i++) {
		struct nb_seg_comm *c = &mem->comm[i];

		if (registry_load32(&c->in_use) && c->comm_id == j->comm_id &&
		    c->has_id == j->has_id && c->nranks == j->nranks && free_slot(c) >= 0)
			return c;
	}
	return NULL;
}

/* Create the entry of a communicator in which no rank has taken a slot yet. */
static struct nb_seg_comm *new_comm(struct nb_seg *mem, const struct nb_joining *j)
{
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		struct nb_seg_comm *c = &mem->comm[i];

		if (registry_load32(&c->in_use))
			continue;
		memset(c, 0, sizeof(*c));
		c->comm_id = j->comm_id;
		c->has_id = j->has_id;
		c->nranks = j->nranks;
		c->nnodes = j->nnodes;
		c->first = j->first;
		if (i >= nb_seg_ncomms(mem))
			store32(&mem->ncomms, i + 1);
		store32(&c->in_use, 1);
		return c;
	}
	return NULL;
}

static bool same_gen(const struct nb_segment *s, uint32_t a, uint32_t b)
{
	uint8_t da[NB_SHA256_SIZE], db[NB_SHA256_SIZE];

	return a == b || (nb_segment_digest(s, a, da) && nb_segment_digest(s, b, db) &&
			  !memcmp(da, db, sizeof(da)));
}

int nb_segment_join(struct nb_segment *s, const struct nb_joining *j, struct nb_seg_comm **comm,
		    uint32_t *slot, struct nb_err *err)
{
	struct nb_seg_comm *c = find_comm(s->mem, j);
	bool same;
	int i;

	*comm = NULL;
	if (!c && j->nranks)
		c = new_comm(s->mem, j);
	i = c ? free_slot(c) : -1;
	if (i < 0)
		return nb_fail(
			err, NB_E_LIMIT, 0,
			"the job segment has no room for communicator %016llx (%d communicators, "
			"%d ranks of one)",
			(unsigned long long)j->comm_id, NB_SEG_COMMS, NB_SEG_SLOTS);
	same = same_gen(s, c->first, j->first);
	memset(&c->slot[i], 0, sizeof(c->slot[i]));
	c->slot[i].proc = s->proc;
	c->slot[i].pid = (uint32_t)getpid();
	c->slot[i].rank = s->mem->proc[s->proc % NB_SEG_PROCS].rank;
	c->slot[i].generation = same ? c->first : j->first;
	c->slot[i].calls = j->calls;
	nb_startup_compare(s, c, (uint32_t)i, same, j->first);
	nb_startup_add_facts(c, s->fact);
	store32(&c->slot[i].state, NB_SLOT_LIVE);
	*comm = c;
	*slot = (uint32_t)i;
	return 0;
}

/* Free the entry if no living rank uses it. */
static void free_if_left(struct nb_seg_comm *comm)
{
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		if (registry_load32(&comm->slot[i].state) == NB_SLOT_LIVE)
			return;
	store32(&comm->in_use, 0);
}

void nb_segment_leave(struct nb_segment *s, struct nb_seg_comm *comm, uint32_t slot)
{
	(void)s;
	store32(&comm->slot[slot % NB_SEG_SLOTS].state, NB_SLOT_GONE);
	free_if_left(comm);
}

static void free_slots_of(struct nb_segment *s, uint32_t proc)
{
	for (uint32_t i = 0, n = nb_seg_ncomms(s->mem); i < n; i++) {
		struct nb_seg_comm *c = &s->mem->comm[i];

		if (!registry_load32(&c->in_use))
			continue;
		for (uint32_t k = 0; k < NB_SEG_SLOTS; k++)
			if (registry_load32(&c->slot[k].state) == NB_SLOT_LIVE &&
			    c->slot[k].proc == proc)
				nb_segment_leave(s, c, k);
	}
}

/* Remove dead processes. NB_QUICK may leave some of them to the next commit. */
static void reap_dead(struct nb_segment *s, enum nb_care care)
{
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++) {
		struct nb_seg_proc *p = &s->mem->proc[i];

		if (!p->pid || i == s->proc || nb_segment_entry_alive(s, i, care))
			continue;
		free_slots_of(s, i);
		memset(p, 0, sizeof(*p));
	}
	for (uint32_t i = 0, n = nb_seg_ncomms(s->mem); i < n; i++)
		if (registry_load32(&s->mem->comm[i].in_use))
			free_if_left(&s->mem->comm[i]);
}

void nb_segment_reap(struct nb_segment *s)
{
	reap_dead(s, NB_THOROUGH);
}

uint32_t nb_segment_procs(const struct nb_segment *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < NB_SEG_PROCS; i++)
		n += !(s->mem->proc[i].flags & NB_SEG_PROC_AGENT) &&
		     (i == s->proc || nb_segment_entry_alive(s, i, NB_THOROUGH));
	return n;
}

bool nb_segment_leads(const struct nb_segment *s, const struct nb_seg_comm *c)
{
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		uint32_t at;

		if (registry_load32(&c->slot[i].state) != NB_SLOT_LIVE)
			continue;
		/* the state says that it has been written */
		at = c->slot[i].proc % NB_SEG_PROCS;
		if (at == s->proc)
			return true;
		if (s->mem->proc[at].flags & NB_SEG_PROC_CONTROL &&
		    nb_segment_entry_alive(s, at, NB_QUICK))
			return false;
	}
	return false;
}

bool nb_segment_agent(const struct nb_segment *s, uint64_t *pid, uint64_t *start)
{
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++) {
		const struct nb_seg_proc *p = &s->mem->proc[i];

		if (!(p->flags & NB_SEG_PROC_AGENT) || i == s->proc ||
		    !nb_segment_entry_alive(s, i, NB_THOROUGH))
			continue;
		*pid = p->ns && p->ns != s->ns ? 0 : p->pid;
		*start = p->start;
		return true;
	}
	return false;
}

/* Register this process in a free entry, else in an entry of a dead process. */
static bool register_first(struct nb_segment *s, uint32_t flags)
{
	reap_dead(s, NB_QUICK);
	if (nb_segment_enter(s, flags))
		return true;
	reap_dead(s, NB_THOROUGH);
	return nb_segment_enter(s, flags);
}

/* Returns true if no other process of the job is alive. */
static bool is_alone(const struct nb_segment *s)
{
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++)
		if (i != s->proc && !(s->mem->proc[i].flags & NB_SEG_PROC_AGENT) &&
		    nb_segment_entry_alive(s, i, NB_THOROUGH))
			return false;
	return true;
}

/*
 * The agent of the job's last run may be alive, so the file is not a new one:
 * forget the generation that the last run had.
 */
static void begin_run(struct nb_segment *s)
{
	nb_segment_reap(s);
	__atomic_store_n(&s->mem->baseline, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&s->mem->agent.change, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&s->mem->agent.back_from, 0, __ATOMIC_RELEASE);
	s->mem->agent.runs++;
}

int nb_segment_attach(struct nb_segment **out, int dirfd, const char *job, uint32_t flags,
		      bool membarrier, struct nb_err *err)
{
	return nb_segment_attach_from(out, dirfd, job, 0, flags, membarrier, err);
}

int nb_segment_attach_from(struct nb_segment **out, int dirfd, const char *job, uint64_t place,
			   uint32_t flags, bool membarrier, struct nb_err *err)
{
	struct nb_segment *s;
	int rc = nb_segment_open(&s, dirfd, job, place, membarrier, err);

	*out = NULL;
	if (rc)
		return rc;
	if (s->membarrier)
		flags |= NB_SEG_PROC_MEMBARRIER;
	if (!register_first(s, flags)) {
		rc = nb_segment_full(s, err);
		if (rc) {
			nb_segment_abandon(s);
			return rc;
		}
		nb_segment_enter(s, flags);
	}
	if (!(flags & NB_SEG_PROC_AGENT) && is_alone(s))
		begin_run(s);
	nb_segment_opened(s);
	*out = s;
	return 0;
}

static bool has_ranks(const struct nb_segment *s, uint32_t proc)
{
	for (uint32_t i = 0, n = nb_seg_ncomms(s->mem); i < n; i++) {
		const struct nb_seg_comm *c = &s->mem->comm[i];

		if (!registry_load32(&c->in_use))
			continue;
		for (uint32_t k = 0; k < NB_SEG_SLOTS; k++)
			if (registry_load32(&c->slot[k].state) == NB_SLOT_LIVE &&
			    c->slot[k].proc == proc)
				return true;
	}
	return false;
}

/*
 * Release our entry's lock: this process may live on, and the next owner of the
 * entry must lock it.
 */
static void unregister(struct nb_segment *s)
{
	struct flock lock = nb_seg_entry_lock(s->proc);

	memset(&s->mem->proc[s->proc], 0, sizeof(s->mem->proc[0]));
	lock.l_type = F_UNLCK;
	if (s->fd >= 0)
		(void)fcntl(s->fd, F_OFD_SETLK, &lock);
	nb_segment_remove_if_last(s);
}

void nb_segment_leave_job(struct nb_segment *s)
{
	if (nb_segment_lock(s, 1000, NULL))
		return;
	/* others find by our PID that ranks have died with the process */
	s->left = s->left || !has_ranks(s, s->proc);
	if (s->left)
		unregister(s);
	nb_segment_unlock(s);
}

void nb_segment_detach(struct nb_segment *s)
{
	if (!s)
		return;
	if (!nb_segment_lock(s, 1000, NULL)) {
		free_slots_of(s, s->proc);
		unregister(s);
		nb_segment_unlock(s);
	}
	/*
	 * without the lock, leave the entry: the next process that attaches or
	 * commits finds us dead
	 */
	pthread_mutex_destroy(&s->mutex);
	nb_segment_abandon(s);
}
