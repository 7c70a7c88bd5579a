// SPDX-License-Identifier: MIT
/*
 * The policies that this process holds, and how commands name them. All
 * functions need NB_LOCK_STATE.
 */
#include "plugin/policies/held.h"

#include <stdio.h>
#include <string.h>

#include "core/base/ascii.h"
#include "core/ncclbpf.h"
#include "plugin/comm/comm.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/history.h"
#include "plugin/policies/host.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

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
	return nb_same_words(text, hex, n);
}

static struct nb_held *by_digest(const char *hex, size_t n, uint32_t *matches)
{
	struct nb_held *found = NULL;

	*matches = 0;
	for (uint32_t i = 0; i < nb_held.n; i++)
		if (digest_begins(nb_held.at[i].policy, hex, n)) {
			found = &nb_held.at[i];
			++*matches;
		}
	return found;
}

/*
 * Returns the name of the held policy that has a program called @name, or NULL.
 */
static const char *with_program(const char *name)
{
	for (uint32_t i = nb_held.n; i-- > 0;) {
		const struct nb_image *img = nb_held.at[i].policy->img;

		for (uint32_t k = 0; k < img->nprogs; k++)
			if (!strcmp(img->progs[k].name, name))
				return img->name;
	}
	return NULL;
}

static void hint_names(const char *name, struct nb_err *err)
{
	const char *names[NB_MAX_HELD] = { NULL }, *near[2];
	const char *owner = with_program(name);

	for (uint32_t i = 0; i < nb_held.n; i++)
		names[i] = nb_held.at[i].policy->img->name;
	nb_spec_nearest(name, names, nb_held.n, near);
	if (owner)
		nb_hint(err, "%.64s is a program of the policy %s", name, owner);
	else if (near[0])
		nb_hint(err, "did you mean %s?", near[0]);
	else if (nb_held.n)
		nb_hint(err, "policy list shows what is held, "
			     "policy load FILE brings another");
	else
		nb_hint(err, "no policy is held: give the name of its file");
}

struct nb_held *nb_held_find(const char *name, struct nb_err *err)
{
	struct nb_held *found;
	uint32_t matches;
	size_t digits;

	/* search the newest policy first */
	for (uint32_t i = nb_held.n; i-- > 0;)
		if (!strcmp(nb_held.at[i].policy->img->name, name))
			return &nb_held.at[i];
	if (is_prefix(name, &digits)) {
		found = by_digest(name, digits, &matches);
		if (matches == 1)
			return found;
		if (matches > 1) {
			nb_fail(err, NB_E_ARG, 0,
				"%u policies have a digest that begins with %.64s: "
				"give more digits",
				matches, name);
			return NULL;
		}
	}
	nb_fail(err, NB_E_NOENT, 0, "no policy %.64s is held", name);
	hint_names(name, err);
	return NULL;
}

/*
 * Returns true if a generation is kept only for undo or as the initial
 * generation.
 */
static bool kept_only(const struct nb_gen *g)
{
	return g != nb_gens.baseline && g != nb_gens.staged &&
	       (g == nb_gens.previous || g == nb_gens.first || nb_history_keeps(g));
}

bool nb_held_in_use(const struct nb_policy *p)
{
	for (int i = 0; i < NB_MAX_GENS; i++)
		if (nb_gens.kept[i] && !kept_only(nb_gens.kept[i]) &&
		    nb_gen_has(nb_gens.kept[i], p))
			return true;
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		uint32_t number;

		if (nb_gen_has(nb_comm_gen(c, &number), p))
			return true;
	}
	return false;
}

static struct nb_held *held_of_digest(const uint8_t digest[NB_SHA256_SIZE])
{
	for (uint32_t i = 0; i < nb_held.n; i++)
		if (!memcmp(nb_held.at[i].policy->img->digest, digest, NB_SHA256_SIZE))
			return &nb_held.at[i];
	return NULL;
}

static void drop_held(struct nb_held *h)
{
	size_t i = (size_t)(h - nb_held.at);

	nb_policy_put(h->policy);
	nb_held.n--;
	memmove(h, h + 1, (nb_held.n - i) * sizeof(*h));
}

/* Drop the policies before the index @end that have this name and that no generation uses. */
static void drop_older(const char *name, uint32_t end)
{
	for (uint32_t i = end; i-- > 0;) {
		const struct nb_policy *p = nb_held.at[i].policy;

		if (!strcmp(p->img->name, name) && !nb_held_in_use(p) &&
		    !nb_gen_has(nb_gens.previous, p) && !nb_gen_has(nb_gens.first, p) &&
		    !nb_history_has(p))
			drop_held(&nb_held.at[i]);
	}
}

static void warn_of_env_program(const struct nb_policy *p, uint32_t i,
				struct nb_verify_opts *limits)
{
	const struct nb_prog *prog = &p->img->progs[i];
	struct nb_err err = { .code = 0 };
	struct nb_verdict *v;

	if (prog->hook != NB_HOOK_ENV)
		return;
	if (nb_verify_env(&v, p->img, i, limits, &err) ||
	    (v && !nb_finding_about_ranks(&v->finding)))
		nb_log(NB_LOG_WARN,
		       "policy %s: it is not known whether program %s of SEC(\"env\") "
		       "lets ranks find different variables: %s",
		       p->img->name, prog->name, v ? v->finding.known : err.text);
	else if (v)
		nb_log(NB_LOG_WARN,
		       "policy %s: program %s of SEC(\"env\") "
		       "may let ranks find different variables: %s",
		       p->img->name, prog->name, v->finding.known);
	nb_verdict_free(v);
}

/*
 * Warn about programs of SEC("env"): their results may differ between ranks,
 * since some variables differ on purpose. This shares the policy's limit of
 * work with the verification of its programs. The caller does not hold the
 * lock.
 */
static void warn_of_env(const struct nb_policy *p)
{
	struct nb_verify_opts limits = { .policy_insns = (uint32_t)nb_params.num[NB_P_MAX_VERIFY] };

	for (uint32_t i = 0; i < p->img->nprogs; i++)
		limits.policy_spent += p->effort[i].stats.work;
	for (uint32_t i = 0; i < p->img->nprogs; i++)
		warn_of_env_program(p, i, &limits);
}

/*
 * Verify a policy without the lock. The caller holds references to
 * @peers.
 */
static int make_policy(const void *bytes, size_t size, struct nb_buf *finding_text,
		       struct nb_buf *finding_json, struct nb_policy **out, struct nb_err *err)
{
	struct nb_policy *peers[NB_MAX_HELD];
	struct nb_policy_opts opts = {
		.verify.coherence_off = nb_params.num[NB_P_COHERENCE] != 0,
		.max_insns = (uint32_t)nb_params.num[NB_P_MAX_VERIFY],
		.max_memory = (uint64_t)nb_params.num[NB_P_MAX_POLICY_MEMORY] << 20,
		.peers = peers,
		.npeers = nb_held.n,
		.interpret = nb_params.num[NB_P_JIT] != 0,
		.max_run = (uint32_t)nb_params.num[NB_P_MAX_RUN],
		.perf_map = nb_params.num[NB_P_PERF_MAP] != 0,
		.finding_text = finding_text,
		.finding_json = finding_json,
	};
	int rc;

	for (uint32_t i = 0; i < opts.npeers; i++)
		peers[i] = nb_policy_get(nb_held.at[i].policy);
	nb_unlock(NB_LOCK_STATE);
	rc = nb_policy_new(out, bytes, size, &opts, err);
	if (!rc)
		warn_of_env(*out);
	nb_lock(NB_LOCK_STATE);
	for (uint32_t i = 0; i < opts.npeers; i++)
		nb_policy_put(peers[i]);
	return rc;
}

void nb_held_renew(const struct nb_gen *g, const struct nb_gen *before)
{
	/* backwards: of two policies of one name, the one in the common order becomes the newest */
	for (uint32_t i = g->npolicies; i-- > 0;) {
		struct nb_policy *p = g->policy[i].policy;
		struct nb_held *h = nb_gen_has(before, p) ? NULL : held_of_digest(p->img->digest);
		struct nb_held *last = nb_held.at + nb_held.n - 1;
		struct nb_held keep;

		if (!h || nb_held_find(p->img->name, NULL) == h)
			continue;
		keep = *h;
		memmove(h, h + 1, (size_t)(last - h) * sizeof(*h));
		*last = keep;
	}
}

static int hold_policy(struct nb_policy *p, const char *name, enum nb_policy_source source,
		       struct nb_held **out, struct nb_err *err)
{
	if (name && strcmp(p->img->name, name))
		return nb_fail(err, NB_E_ARG, 1, "the image is of policy %s, not of %.64s",
			       p->img->name, name);
	nb_gens_sweep();
	*out = held_of_digest(p->img->digest);
	drop_older(p->img->name, *out ? (uint32_t)(*out - nb_held.at) : nb_held.n);
	*out = held_of_digest(p->img->digest);
	if (*out)
		return 0;
	if (nb_held.n == NB_MAX_HELD)
		return nb_fail(err, NB_E_FULL, 0,
			       "%d policies are held (allowed: %d): unload one with policy unload",
			       NB_MAX_HELD, NB_MAX_HELD);
	*out = &nb_held.at[nb_held.n++];
	memset(*out, 0, sizeof(**out));
	(*out)->policy = nb_policy_get(p);
	(*out)->source = source;
	nb_host_join(p);
	return 0;
}

int nb_held_add(const void *bytes, size_t size, const char *name, enum nb_policy_source source,
		struct nb_buf *finding_text, struct nb_buf *finding_json, struct nb_held **out,
		struct nb_err *err)
{
	struct nb_policy *p;
	int rc;

	*out = NULL;
	rc = make_policy(bytes, size, finding_text, finding_json, &p, err);
	if (rc)
		return rc;
	rc = hold_policy(p, name, source, out, err);
	nb_policy_put(p);
	return rc;
}

static int check_unused(const struct nb_held *h, struct nb_err *err)
{
	nb_gens_sweep();
	if (nb_held_in_use(h->policy)) {
		nb_fail(err, NB_E_BUSY, 0,
			"policy %s is in use by a generation "
			"that communicators decide with or that is staged",
			h->policy->img->name);
		nb_hint(err, "policy remove %.64s or policy use others first",
			h->policy->img->name);
		return NB_E_BUSY;
	}
	if (nb_gen_has(nb_gens.first, h->policy))
		return nb_fail(err, NB_E_BUSY, 0,
			       "policy %s is named by NCCLBPF_POLICY, "
			       "with which communicators of several hosts start",
			       h->policy->img->name);
	return 0;
}

int nb_held_discard(const char *name, bool dry, struct nb_err *err)
{
	struct nb_held *h = nb_held_find(name, err);
	int rc;

	if (!h)
		return err ? err->code : NB_E_NOENT;
	rc = check_unused(h, err);
	if (rc || dry)
		return rc;
	if (nb_gen_has(nb_gens.previous, h->policy))
		nb_gens.previous = NULL;
	nb_history_forget(h->policy);
	nb_gens_sweep();
	drop_held(h);
	return 0;
}

/* Returns the index of policy @p's program in the generation, or -1. */
static int prog_of(const struct nb_gen *g, const struct nb_policy *p, uint32_t prog)
{
	for (uint32_t i = 0; i < g->nprogs; i++)
		if (g->prog[i].prog == prog && g->policy[g->prog[i].policy].policy == p)
			return (int)i;
	return -1;
}

/* Add a program's counters in one part of a generation to @sum. */
static void add_part(const struct nb_gen *g, const struct nb_policy *p, uint32_t prog,
		     struct nb_gen_sum *sum)
{
	int k = prog_of(g, p, prog);

	if (k >= 0)
		nb_gen_sum_add(sum, &g->prog[k].sum);
	for (uint32_t e = 0; e < g->nevents; e++)
		if (g->event[e].prog == prog && g->policy[g->event[e].policy].policy == p)
			nb_gen_sum_add(sum, &g->event[e].sum);
}

struct nb_gen_sum nb_held_counts(const struct nb_policy *p, uint32_t prog)
{
	struct nb_gen_sum sum = { 0 };

	for (uint32_t h = 0; h < nb_held.n && prog < NB_IMAGE_MAX_PROGS; h++)
		if (nb_held.at[h].policy == p)
			nb_gen_sum_add(&sum, &nb_held.at[h].old[prog]);
	for (int i = 0; i < NB_MAX_GENS; i++) {
		const struct nb_gen *g = nb_gens.kept[i], *part;

		for (uint32_t k = 0; g && (part = nb_gen_part(g, k)); k++)
			add_part(part, p, prog, &sum);
	}
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		uint32_t number;
		int k = prog_of(nb_comm_gen(c, &number), p, prog);

		if (k >= 0)
			nb_gen_count_of(&c->count, (uint32_t)k, &sum);
	}
	return sum;
}

struct nb_gen_times nb_held_times(const struct nb_policy *p, uint32_t prog)
{
	struct nb_gen_times all = { { 0 } };
	int k;

	for (uint32_t h = 0; h < nb_held.n && prog < NB_IMAGE_MAX_PROGS; h++)
		if (nb_held.at[h].policy == p)
			nb_gen_times_add(&all, &nb_held.at[h].old_times[prog]);
	for (int i = 0; i < NB_MAX_GENS; i++) {
		const struct nb_gen *g = nb_gens.kept[i], *part;

		for (uint32_t n = 0; g && (part = nb_gen_part(g, n)); n++)
			if ((k = prog_of(part, p, prog)) >= 0)
				nb_gen_times_add(&all, &part->times[k]);
	}
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		uint32_t number;

		k = prog_of(nb_comm_gen(c, &number), p, prog);
		if (k >= 0)
			nb_gen_times_add(&all, &c->count.times[k]);
	}
	return all;
}

void nb_held_free(void)
{
	for (uint32_t i = 0; i < nb_held.n; i++)
		nb_policy_put(nb_held.at[i].policy);
	nb_held.n = 0;
}
