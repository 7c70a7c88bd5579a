// SPDX-License-Identifier: MIT
// Simulated sites: the functions that the agent calls in plugin/agent/site/site.h
// and procs.h, over ranks that are numbers. A rank follows the rules of
// plugin/job/fence.h: it announces a decision, reads the copy, waits if the
// copy is armed and the decision lies past the fence.
#include "test/bench/fleet_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sha256.h"
#include "plugin/agent/keys/view.h"
#include "plugin/job/segment.h"

#define COMM UINT64_C(0xf1ee7)

struct sim_job sim_job;

struct nb_procs {
	struct sim *sim;
	struct nb_procs_result result;
	bool busy;
};

static struct sim *sim_of(const struct nb_site *site)
{
	uintptr_t at = (uintptr_t)site - offsetof(struct nb_agent, site);

	return (struct sim *)(at - offsetof(struct sim, agent));
}

bool sim_open(struct sim *s)
{
	s->seg = calloc(1, sizeof(*s->seg));
	if (s->seg)
		s->seg->mem = calloc(1, sizeof(*s->seg->mem));
	s->agent.procs = calloc(1, sizeof(*s->agent.procs));
	if (!s->seg || !s->seg->mem || !s->agent.procs)
		return false;
	s->agent.procs->sim = s;
	s->agent.site.seg = s->seg;
	s->agent.site.comm[0].comm_id = COMM;
	s->seg->mem->comm[0].comm_id = COMM;
	snprintf(s->baseline, sizeof(s->baseline), "%064d", 0);
	return true;
}

/* ---- ranks ---- */

static struct sim_word word_of(const json_t *record)
{
	const char *state = nb_view_str(record, "state");

	return (struct sim_word){ .armed = !strcmp(state, "armed"),
				  .commit = !strcmp(state, "commit"),
				  .n = nb_view_int(record, "n"),
				  .fence = (uint64_t)nb_view_int(record, "fence") };
}

/*
 * Take the generation of a committed word, if decision @n is past its fence.
 */
static void follow(struct sim *s, const struct sim_word *word, uint64_t n)
{
	if (word->commit && n > word->fence)
		s->generation = word->n;
}

bool sim_decide(struct sim *s, uint64_t n)
{
	bool was = s->waits;

	s->announced = n;
	s->waits = s->word.armed && n > s->word.fence;
	sim_job.waits += s->waits && !was;
	if (s->waits)
		return false;
	if (s->word.armed)
		follow(s, &s->back, n);
	follow(s, &s->word, n);
	return true;
}

static const char *stand_of(const struct sim *s)
{
	if (!s->word.armed || s->announced <= s->word.fence)
		return "below";
	if (s->announced > s->word.fence + 1)
		return "beyond";
	return s->waits ? "below" : "at";
}

static bool has_taken(const struct sim *s)
{
	return !s->word.commit || s->generation == s->word.n;
}

/* ---- plugin/agent/site/site.h ---- */

bool nb_site_shared(const struct nb_site *s, uint32_t i)
{
	(void)s;
	return i == 0;
}

void nb_site_registered(struct nb_site *s, uint32_t i, int64_t revision)
{
	s->seg->mem->comm[i].fleet_since = (uint64_t)revision;
}

void nb_site_forget(struct nb_site *s, int64_t revision)
{
	if (s->seg->mem->comm[0].fleet_since > (uint64_t)revision)
		nb_site_registered(s, 0, 0);
}

void nb_site_measure(struct nb_site *s)
{
	s->comm[0].per_s = sim_job.per_s;
}

bool nb_site_copy(struct nb_site *s, uint64_t comm_id, const json_t *record, int64_t made,
		  int64_t mod)
{
	struct sim *m = sim_of(s);

	if (comm_id != COMM || (uint64_t)made < s->seg->mem->comm[0].fleet_since)
		return true;
	m->word = word_of(record);
	m->back = word_of(json_object_get(record, "back"));
	s->comm[0].copied = mod;
	s->comm[0].id = nb_record_id(record);
	return true;
}

/* The store of a bench loses nothing. */
bool nb_site_lost(const struct nb_site *s, uint32_t i)
{
	(void)s;
	(void)i;
	return false;
}

bool nb_site_outcome_lost(const struct nb_site *s, uint32_t i)
{
	(void)s;
	(void)i;
	return false;
}

void nb_site_missing(struct nb_site *s, uint32_t i)
{
	(void)s;
	(void)i;
}

void nb_site_suspect(struct nb_site *s)
{
	(void)s;
}

json_t *nb_site_again(const struct nb_site *s, uint32_t i, int64_t over)
{
	(void)s;
	(void)i;
	(void)over;
	return NULL;
}

bool nb_site_barrier(struct nb_site *s)
{
	s->comm[0].mod = s->comm[0].copied;
	s->comm[0].seen_id = s->comm[0].id;
	return true;
}

bool nb_site_armed(const struct nb_site *s)
{
	return sim_of(s)->word.armed;
}

bool nb_site_pending(const struct nb_site *s)
{
	return !has_taken(sim_of(s));
}

uint32_t nb_site_waiting(const struct nb_site *s, uint32_t from)
{
	return !from && sim_of(s)->waits ? 0 : NB_SEG_COMMS;
}

json_t *nb_site_seen(const struct nb_site *s)
{
	const struct sim *m = sim_of(s);
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)COMM);
	return json_pack("{s:{s:{s:I,s:I,s:I,s:I,s:s,s:b,s:i}}}", "comms", id, "rev",
			 (json_int_t)s->comm[0].mod, "id", (json_int_t)s->comm[0].seen_id,
			 "announced", (json_int_t)m->announced, "per_s", (json_int_t)sim_job.per_s,
			 "stand", stand_of(m), "taken", has_taken(m), "waiting",
			 m->waits ? (int)sim_job.ranks : 0);
}

json_t *nb_site_describe(const struct nb_site *s, uint32_t i)
{
	return json_pack("{s:I,s:I,s:I,s:s,s:[iiiiiiii],s:s}", "since",
			 (json_int_t)s->seg->mem->comm[i].fleet_since, "nranks",
			 (json_int_t)sim_job.nranks, "ranks", (json_int_t)sim_job.ranks, "clock",
			 "decisions", "settings", 1, 4, 0, 0, 0, 0, 0, 0, "differs", "");
}

json_t *nb_site_self(const struct nb_site *s)
{
	return json_pack("{s:I,s:i,s:i,s:i,s:s,s:s,s:s}", "change",
			 (json_int_t)s->seg->mem->agent.change, "processes", (int)sim_job.ranks,
			 "ranks", (int)sim_job.ranks, "communicators", 1, "baseline",
			 sim_of(s)->baseline, "differs", "", "version", NCCLBPF_VERSION);
}

void nb_site_baseline(const struct nb_site *s, char digest[65], char *why, size_t size)
{
	snprintf(why, size, "%s", "");
	snprintf(digest, 65, "%s", sim_of(s)->baseline);
}

/* Returns 0: no process joins a simulated site after its start. */
unsigned nb_site_late(const struct nb_site *s)
{
	(void)s;
	return 0;
}

void nb_site_tell(struct nb_site *s, uint64_t comm_id, const char *why)
{
	(void)comm_id;
	snprintf(s->seg->mem->comm[0].fleet_why, sizeof(s->seg->mem->comm[0].fleet_why), "%s", why);
}

/* ---- plugin/agent/site/procs.h: processes answer at once ---- */

bool nb_procs_busy(const struct nb_procs *p)
{
	return p->busy;
}

bool nb_procs_give(struct nb_procs *p, struct nb_procs_order *order)
{
	uint8_t sum[NB_SHA256_SIZE];

	if (p->busy)
		return false;
	p->busy = true;
	p->result = (struct nb_procs_result){ .kind = order->kind, .n = order->n };
	snprintf(p->result.digest, sizeof(p->result.digest), "%s", order->digest);
	if (order->kind == NB_PROCS_STAGE) {
		nb_sha256(order->line, strlen(order->line), sum);
		nb_sha256_text(sum, p->result.digest);
	} else if (order->kind == NB_PROCS_COMMIT) {
		snprintf(p->sim->baseline, sizeof(p->sim->baseline), "%s", order->digest);
	}
	nb_procs_order_free(order);
	return true;
}

bool nb_procs_take(struct nb_procs *p, struct nb_procs_result *result)
{
	*result = p->result;
	if (!p->busy)
		return false;
	p->busy = false;
	return true;
}

struct nb_procs_order *nb_procs_order_new(void)
{
	return calloc(1, sizeof(struct nb_procs_order));
}

void nb_procs_order_free(struct nb_procs_order *o)
{
	for (size_t i = 0; o && i < NB_PROCS_IMAGES; i++)
		free(o->image[i].bytes);
	free(o);
}

void nb_procs_result_free(struct nb_procs_result *r)
{
	(void)r; /* the ranks of the simulation export nothing */
}

void nb_procs_order_maker(struct nb_procs_order *o, const char *text)
{
	snprintf(o->maker, sizeof(o->maker), "%s", text);
}

int nb_procs_order_line(struct nb_procs_order *o, const char *line, struct nb_err *err)
{
	(void)err;
	snprintf(o->line, sizeof(o->line), "%s", line);
	return 0;
}

int nb_procs_blob_name(struct nb_procs_blob *b, const char *name, struct nb_err *err)
{
	(void)err;
	snprintf(b->name, sizeof(b->name), "%s", name);
	return 0;
}
