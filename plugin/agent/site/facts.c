// SPDX-License-Identifier: MIT
/* What the site says in its two keys of the store. */
#include "plugin/agent/site/facts.h"

#include <stdio.h>

#include "plugin/job/segment.h"

/*
 * Returns the communicators of this site that may have ranks on others, with
 * their facts.
 */
static json_t *describe_comms(const struct nb_agent *a)
{
	json_t *comms = json_object();

	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		char id[17];

		if (!nb_site_shared(&a->site, i))
			continue;
		snprintf(id, sizeof(id), "%016llx",
			 (unsigned long long)a->site.seg->mem->comm[i].comm_id);
		json_object_set_new(comms, id, nb_site_describe(&a->site, i));
	}
	return comms;
}

/*
 * Set the wanted value of our key site/SITE. Returns the number of this value
 * (nb_own_set).
 */
static uint64_t set_facts(struct nb_agent *a)
{
	json_t *o = nb_site_self(&a->site);

	json_object_set_new(o, "host", json_string(a->host));
	json_object_set_new(o, "address", json_string(a->address));
	json_object_set_new(o, "comms", describe_comms(a));
	return nb_own_set(&a->own, NB_OWN_SITE, o);
}

/*
 * Note at which revision the store had this communicator without a revision of
 * its registration. A value written earlier may be about an older communicator
 * with the same identity. Returns true if the store has confirmed it just now.
 */
static bool note_registered(struct nb_agent *a, uint32_t i, uint64_t number)
{
	int64_t at;

	if (!nb_site_shared(&a->site, i) || a->site.seg->mem->comm[i].fleet_since) {
		a->described[i] = 0;
		return false;
	}
	if (!a->described[i])
		a->described[i] = number;
	at = nb_own_written(&a->own, NB_OWN_SITE, a->described[i]);
	if (at)
		nb_site_registered(&a->site, i, at);
	nb_agent_revision(a, at);
	return at != 0;
}

/* Note when this run of the job was registered. */
static bool note_run(struct nb_agent *a, uint64_t number)
{
	struct nb_seg_agent *self = &a->site.seg->mem->agent;

	if (self->since) {
		a->run_described = 0;
		return false;
	}
	if (!a->run_described)
		a->run_described = number;
	self->since = (uint64_t)nb_own_written(&a->own, NB_OWN_SITE, a->run_described);
	nb_agent_revision(a, (int64_t)self->since);
	return self->since != 0;
}

void nb_agent_describe(struct nb_agent *a)
{
	struct nb_seg_agent *self = &a->site.seg->mem->agent;
	uint64_t number;
	bool noted, comms = false;

	if (self->runs != self->since_run) {
		self->since = 0;
		a->run_described = 0;
	}
	self->since_run = self->runs;
	number = set_facts(a);
	noted = note_run(a, number);
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		comms |= note_registered(a, i, number);
	a->copies_due |= comms;
	if (noted || comms)
		(void)set_facts(a);
}

void nb_agent_answer(struct nb_agent *a)
{
	json_t *o;

	/*
	 * Note first which ranks have yet to switch. If a rank switches now,
	 * the agent must later write this to its key. While a copy is not
	 * complete, the answer to it is still due.
	 */
	if (!a->barrier_due && !a->copies_due) {
		a->seen_ms = 0;
		a->pending = nb_site_pending(&a->site);
	}
	o = nb_site_seen(&a->site);
	if (a->result)
		json_object_update(o, a->result);
	nb_own_set(&a->own, NB_OWN_ANSWER, o);
}
