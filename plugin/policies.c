// SPDX-License-Identifier: MIT
// The policies that a process holds and how commands name them and their maps.
// All of it under the runtime's lock.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/ncclbpf.h"
#include "plugin/runtime.h"

/* ---- finding ---- */

enum { LEAST_DIGITS = 8 };

static bool is_prefix(const char *name, size_t *digits)
{
	*digits = strspn(name, "0123456789abcdefABCDEF");
	return !name[*digits] && *digits >= LEAST_DIGITS && *digits <= 64;
}

static bool digest_begins(const struct nb_policy *p, const char *hex, size_t n)
{
	char text[65];

	nb_sha256_text(p->img->digest, text);
	return !strncasecmp(text, hex, n);
}

static struct nb_held *by_digest(struct nb_runtime *rt, const char *hex,
				 size_t n, uint32_t *matches)
{
	struct nb_held *found = NULL;

	*matches = 0;
	for (uint32_t i = 0; i < rt->nheld; i++)
		if (digest_begins(rt->held[i].policy, hex, n)) {
			found = &rt->held[i];
			++*matches;
		}
	return found;
}

/* The policy with a program of that name, in place of its own. */
static const char *with_program(const struct nb_runtime *rt, const char *name)
{
	for (uint32_t i = rt->nheld; i-- > 0;) {
		const struct nb_image *img = rt->held[i].policy->img;

		for (uint32_t k = 0; k < img->nprogs; k++)
			if (!strcmp(img->progs[k].name, name))
				return img->name;
	}
	return NULL;
}

static void hint_names(const struct nb_runtime *rt, const char *name,
		       struct nb_err *err)
{
	const char *names[NB_MAX_HELD] = { NULL }, *near[2];
	const char *owner = with_program(rt, name);

	for (uint32_t i = 0; i < rt->nheld; i++)
		names[i] = rt->held[i].policy->img->name;
	nb_spec_nearest(name, names, rt->nheld, near);
	if (owner)
		nb_hint(err, "%.64s is a program of the policy %s", name,
			owner);
	else if (near[0])
		nb_hint(err, "did you mean %s?", near[0]);
	else if (rt->nheld)
		nb_hint(err, "policy list shows what is held");
	else
		nb_hint(err, "no policy is held: policy load first");
}

struct nb_held *nb_runtime_policy_find(struct nb_runtime *rt, const char *name,
				       struct nb_err *err)
{
	struct nb_held *found;
	uint32_t matches;
	size_t digits;

	for (uint32_t i = rt->nheld; i-- > 0;) /* newest first */
		if (!strcmp(rt->held[i].policy->img->name, name))
			return &rt->held[i];
	if (is_prefix(name, &digits)) {
		found = by_digest(rt, name, digits, &matches);
		if (matches == 1)
			return found;
		if (matches > 1) {
			nb_fail(err, NB_E_ARG, 0,
				"%u policies have a digest that begins with "
				"%.64s: give more digits",
				matches, name);
			return NULL;
		}
	}
	nb_fail(err, NB_E_NOENT, 0, "no policy %.64s is held", name);
	hint_names(rt, name, err);
	return NULL;
}

static bool gen_has(const struct nb_gen *g, const struct nb_policy *p)
{
	for (uint32_t i = 0; g && i < g->npolicies; i++)
		if (g->policy[i].policy == p)
			return true;
	return false;
}

int nb_runtime_policy_position(const struct nb_runtime *rt,
			       const struct nb_policy *p)
{
	for (uint32_t i = 0; i < rt->baseline->npolicies; i++)
		if (rt->baseline->policy[i].policy == p)
			return (int)i;
	return -1;
}

/* Is it kept for undo, or as what the process began with, and nothing else? */
static bool kept_only(const struct nb_runtime *rt, const struct nb_gen *g)
{
	return g != rt->baseline && g != rt->staged &&
	       (g == rt->previous || g == rt->first || nb_history_keeps(rt, g));
}

bool nb_runtime_policy_in_use(const struct nb_runtime *rt,
			      const struct nb_policy *p)
{
	for (int i = 0; i < NB_MAX_GENS; i++)
		if (rt->gens[i] && !kept_only(rt, rt->gens[i]) &&
		    gen_has(rt->gens[i], p))
			return true;
	for (const struct nb_comm *c = rt->comms; c; c = c->next) {
		uint32_t number;

		if (gen_has(nb_comm_gen(c, &number), p))
			return true;
	}
	return false;
}

/* ---- adding ---- */

static struct nb_held *held_of_digest(struct nb_runtime *rt,
				      const uint8_t digest[NB_SHA256_SIZE])
{
	for (uint32_t i = 0; i < rt->nheld; i++)
		if (!memcmp(rt->held[i].policy->img->digest, digest,
			    NB_SHA256_SIZE))
			return &rt->held[i];
	return NULL;
}

static void drop(struct nb_runtime *rt, struct nb_held *h)
{
	size_t i = (size_t)(h - rt->held);

	nb_policy_put(h->policy);
	rt->nheld--;
	memmove(h, h + 1, (rt->nheld - i) * sizeof(*h));
}

/* Older policies of that name that nothing needs any more. */
static void drop_older(struct nb_runtime *rt, const char *name)
{
	for (uint32_t i = rt->nheld; i-- > 0;) {
		const struct nb_policy *p = rt->held[i].policy;

		if (!strcmp(p->img->name, name) &&
		    !nb_runtime_policy_in_use(rt, p) &&
		    !gen_has(rt->previous, p) && !gen_has(rt->first, p) &&
		    !nb_history_has(rt, p))
			drop(rt, &rt->held[i]);
	}
}

/* Verify and make, without the lock; peers are kept alive meanwhile. */
static int make_policy(struct nb_runtime *rt, const void *bytes, size_t size,
		       struct nb_buf *finding_text, struct nb_buf *finding_json,
		       struct nb_policy **out, struct nb_err *err)
{
	struct nb_policy *peers[NB_MAX_HELD];
	struct nb_policy_opts opts = {
		.verify.coherence_off = rt->params.num[NB_P_COHERENCE] != 0,
		.peers = peers,
		.npeers = rt->nheld,
		.interpret = rt->params.num[NB_P_JIT] != 0,
		.publish =
			(rt->params.num[NB_P_PERF_MAP] ? NB_PUBLISH_PERF : 0) |
			(rt->params.num[NB_P_GDB] ? NB_PUBLISH_GDB : 0),
		.finding_text = finding_text,
		.finding_json = finding_json,
	};
	int rc;

	for (uint32_t i = 0; i < opts.npeers; i++)
		peers[i] = nb_policy_get(rt->held[i].policy);
	nb_runtime_unlock(rt);
	rc = nb_policy_new(out, bytes, size, &opts, err);
	nb_runtime_lock(rt);
	for (uint32_t i = 0; i < opts.npeers; i++)
		nb_policy_put(peers[i]);
	return rc;
}

static int add(struct nb_runtime *rt, struct nb_policy *p, const char *name,
	       enum nb_policy_source source, struct nb_held **out,
	       struct nb_err *err)
{
	if (name && strcmp(p->img->name, name))
		return nb_fail(err, NB_E_ARG, 1,
			       "the image is of policy %s, not of %.64s",
			       p->img->name, name);
	*out = held_of_digest(rt, p->img->digest);
	if (*out)
		return 0;
	nb_runtime_sweep(rt);
	drop_older(rt, p->img->name);
	if (rt->nheld == NB_MAX_HELD)
		return nb_fail(err, NB_E_FULL, 0,
			       "%d policies are held (allowed: %d): policy "
			       "discard one",
			       NB_MAX_HELD, NB_MAX_HELD);
	*out = &rt->held[rt->nheld++];
	memset(*out, 0, sizeof(**out));
	(*out)->policy = nb_policy_get(p);
	(*out)->source = source;
	return 0;
}

int nb_runtime_policy_add(struct nb_runtime *rt, const void *bytes, size_t size,
			  const char *name, enum nb_policy_source source,
			  struct nb_buf *finding_text,
			  struct nb_buf *finding_json, struct nb_held **out,
			  struct nb_err *err)
{
	struct nb_policy *p;
	int rc;

	*out = NULL;
	rc = make_policy(rt, bytes, size, finding_text, finding_json, &p, err);
	if (rc)
		return rc;
	rc = add(rt, p, name, source, out, err);
	nb_policy_put(p);
	return rc;
}

int nb_runtime_policy_discard(struct nb_runtime *rt, const char *name,
			      struct nb_err *err)
{
	struct nb_held *h = nb_runtime_policy_find(rt, name, err);

	if (!h)
		return err ? err->code : NB_E_NOENT;
	nb_runtime_sync(rt);
	nb_runtime_sweep(rt);
	if (nb_runtime_policy_in_use(rt, h->policy))
		return nb_fail(err, NB_E_BUSY, 0,
			       "policy %s is in use by a generation that "
			       "communicators decide with or that is staged",
			       h->policy->img->name);
	if (gen_has(rt->first, h->policy))
		return nb_fail(err, NB_E_BUSY, 0,
			       "policy %s is of NCCLBPF_POLICY, which "
			       "communicators of several hosts begin with",
			       h->policy->img->name);
	if (gen_has(rt->previous, h->policy))
		rt->previous = NULL;
	nb_history_forget(rt, h->policy);
	nb_runtime_sweep(rt);
	drop(rt, h);
	return 0;
}

/* ---- counters ---- */

/* Index of the program in the generation, or -1. */
static int prog_of(const struct nb_gen *g, const struct nb_policy *p,
		   uint32_t prog)
{
	for (uint32_t i = 0; i < g->nprogs; i++)
		if (g->prog[i].prog == prog &&
		    g->policy[g->prog[i].policy].policy == p)
			return (int)i;
	return -1;
}

/* What was counted of it in one part of a generation. */
static void add_part(const struct nb_gen *g, const struct nb_policy *p,
		     uint32_t prog, struct nb_gen_sum *sum)
{
	int k = prog_of(g, p, prog);

	if (k >= 0)
		nb_gen_sum_add(sum, &g->prog[k].sum);
	for (uint32_t e = 0; e < g->nevents; e++)
		if (g->event[e].prog == prog &&
		    g->policy[g->event[e].policy].policy == p)
			nb_gen_sum_add(sum, &g->event[e].sum);
}

struct nb_gen_sum nb_runtime_policy_counts(const struct nb_runtime *rt,
					   const struct nb_policy *p,
					   uint32_t prog)
{
	struct nb_gen_sum sum = { 0 };

	for (uint32_t h = 0; h < rt->nheld && prog < NB_IMAGE_MAX_PROGS; h++)
		if (rt->held[h].policy == p)
			nb_gen_sum_add(&sum, &rt->held[h].old[prog]);
	for (int i = 0; i < NB_MAX_GENS; i++) {
		const struct nb_gen *g = rt->gens[i], *part;

		for (uint32_t k = 0; g && (part = nb_gen_part(g, k)); k++)
			add_part(part, p, prog, &sum);
	}
	for (const struct nb_comm *c = rt->comms; c; c = c->next) {
		uint32_t number;
		int k = prog_of(nb_comm_gen(c, &number), p, prog);

		if (k >= 0)
			nb_gen_count_of(&c->count, (uint32_t)k, &sum);
	}
	return sum;
}

struct nb_gen_times nb_runtime_policy_times(const struct nb_runtime *rt,
					    const struct nb_policy *p,
					    uint32_t prog)
{
	struct nb_gen_times all = { { 0 } };
	int k;

	for (uint32_t h = 0; h < rt->nheld && prog < NB_IMAGE_MAX_PROGS; h++)
		if (rt->held[h].policy == p)
			nb_gen_times_add(&all, &rt->held[h].old_times[prog]);
	for (int i = 0; i < NB_MAX_GENS; i++) {
		const struct nb_gen *g = rt->gens[i], *part;

		for (uint32_t n = 0; g && (part = nb_gen_part(g, n)); n++)
			if ((k = prog_of(part, p, prog)) >= 0)
				nb_gen_times_add(&all, &part->times[k]);
	}
	for (const struct nb_comm *c = rt->comms; c; c = c->next) {
		uint32_t number;

		k = prog_of(nb_comm_gen(c, &number), p, prog);
		if (k >= 0)
			nb_gen_times_add(&all, &c->count.times[k]);
	}
	return all;
}

void nb_runtime_time(struct nb_runtime *rt, bool on)
{
	rt->timed = on;
	for (struct nb_comm *c = rt->comms; c; c = c->next)
		__atomic_store_n(&c->timed, on, __ATOMIC_RELAXED);
}

/* ---- maps ---- */

void nb_runtime_map_ref(struct nb_runtime *rt, struct nb_policy *p,
			uint32_t map, struct nb_map_ref *out)
{
	int at = nb_runtime_policy_position(rt, p);

	*out = (struct nb_map_ref){
		.policy = p,
		.map = map,
		.spec = &p->img->maps[map],
		.object = p->maps[map],
		.coherent = nb_policy_map_coherent(p, map),
		.in_use = at >= 0,
	};
	if (at >= 0)
		out->object = rt->baseline->policy[at].maps[map];
}

/* Look in the policies of @g; how many have it, the first in *@out. */
static uint32_t find_in_gen(struct nb_runtime *rt, const struct nb_gen *g,
			    const char *map, struct nb_map_ref *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->npolicies; i++) {
		int m = nb_policy_map(g->policy[i].policy, map);

		if (m >= 0 && !n++)
			nb_runtime_map_ref(rt, g->policy[i].policy, (uint32_t)m,
					   out);
	}
	return n;
}

static uint32_t find_in_held(struct nb_runtime *rt, const char *map,
			     struct nb_map_ref *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rt->nheld; i++) {
		int m = nb_policy_map(rt->held[i].policy, map);

		if (m >= 0 && !n++)
			nb_runtime_map_ref(rt, rt->held[i].policy, (uint32_t)m,
					   out);
	}
	return n;
}

static void hint_maps(const struct nb_runtime *rt, const char *map,
		      struct nb_err *err)
{
	const char *names[NB_IMAGE_MAX_MAPS * 2], *near[2];
	size_t n = 0;

	for (uint32_t i = 0; i < rt->nheld; i++) {
		const struct nb_image *img = rt->held[i].policy->img;

		if (img->nmaps && !strcmp(img->name, map)) {
			nb_hint(err, "%s is a policy, with the map %s/%s", map,
				map, img->maps[0].name);
			return;
		}
		for (uint32_t m = 0; m < img->nmaps; m++)
			if (n < sizeof(names) / sizeof(names[0]))
				names[n++] = img->maps[m].name;
	}
	nb_spec_nearest(map, names, n, near);
	if (near[0])
		nb_hint(err, "did you mean %s?", near[0]);
	else
		nb_hint(err, "map list shows the maps there are");
}

static int find_bare(struct nb_runtime *rt, const char *map,
		     struct nb_map_ref *out, struct nb_err *err)
{
	uint32_t n = find_in_gen(rt, rt->baseline, map, out);

	if (!n)
		n = find_in_held(rt, map, out);
	if (n == 1)
		return 0;
	if (n)
		return nb_fail(err, NB_E_ARG, 0,
			       "%u policies have a map %.64s: say which, as "
			       "in %s/%.64s",
			       n, map, out->policy->img->name, map);
	nb_fail(err, NB_E_NOENT, 0, "no policy that is held has a map %.64s",
		map);
	hint_maps(rt, map, err);
	return NB_E_NOENT;
}

int nb_runtime_map_find(struct nb_runtime *rt, const char *name,
			struct nb_map_ref *out, struct nb_err *err)
{
	const char *slash = strchr(name, '/');
	char policy[NB_IMAGE_NAME + 8];
	struct nb_err why = { 0 };
	struct nb_held *h;
	int m;

	memset(out, 0, sizeof(*out));
	nb_runtime_sync(rt);
	if (!slash)
		return find_bare(rt, name, out, err);
	snprintf(policy, sizeof(policy), "%.*s",
		 (int)(slash - name < NB_IMAGE_NAME ? slash - name
						    : NB_IMAGE_NAME),
		 name);
	h = nb_runtime_policy_find(rt, policy, &why);
	if (!h) {
		if (err)
			*err = why;
		return why.code;
	}
	m = nb_policy_map(h->policy, slash + 1);
	if (m < 0) {
		nb_fail(err, NB_E_NOENT, 0, "policy %s has no map %.64s",
			h->policy->img->name, slash + 1);
		hint_maps(rt, slash + 1, err);
		return NB_E_NOENT;
	}
	nb_runtime_map_ref(rt, h->policy, (uint32_t)m, out);
	return 0;
}
