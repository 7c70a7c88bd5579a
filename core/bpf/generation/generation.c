// SPDX-License-Identifier: MIT
/*
 * Create generations: policies in order, bound to their maps and compiled.
 * A generation never changes. Changing a coherent map clones it into a new
 * generation. The digest depends on requests only, so processes that
 * received the same requests compute the same digest.
 */
#include "core/bpf/generation/generation.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/exec/jit/jit.h"
#include "core/bpf/generation/run_limit.h"
#include "core/defs/ctx.h"

/* Return bound program @i: first those of the hook tuner, then all others. */
static const struct nb_gen_prog *prog_at(const struct nb_gen *g, uint32_t i)
{
	return i < g->nprogs ? &g->prog[i] : &g->event[i - g->nprogs];
}

static void gen_destroy(struct nb_gen *g)
{
	for (uint32_t i = 0; i < g->nviews; i++)
		gen_destroy(g->view[i]);
	for (uint32_t i = 0; i < g->nprogs + g->nevents; i++)
		nb_exec_free(prog_at(g, i)->exec);
	for (uint32_t i = 0; i < g->npolicies; i++) {
		struct nb_gen_policy *gp = &g->policy[i];

		if (g->whole)
			continue; /* Other maps are borrowed from the policy. */
		if (gp->maps)
			for (uint32_t m = 0; m < gp->policy->img->nmaps; m++)
				nb_map_put(gp->maps[m]);
		free(gp->maps);
		nb_policy_put(gp->policy);
	}
	free(g);
}

struct nb_gen *nb_gen_get(struct nb_gen *g)
{
	__atomic_fetch_add(&g->refs, 1, __ATOMIC_RELAXED);
	return g;
}

void nb_gen_put(struct nb_gen *g)
{
	if (g && __atomic_fetch_sub(&g->refs, 1, __ATOMIC_ACQ_REL) == 1)
		gen_destroy(g);
}

/* Finish the creation of @g: on failure destroy it. */
static int gen_result(struct nb_gen **out, struct nb_gen *g, int rc)
{
	if (rc && g)
		gen_destroy(g);
	*out = rc ? NULL : g;
	return rc;
}

/* Prefetch the first @n cache lines of an object of unknown size. */
static void prefetch_lines(const void *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch((const char *)p + (size_t)64 * i);
}

void nb_gen_prefetch(const struct nb_gen *g, unsigned step)
{
	const void *code;

	if (!g->nprogs)
		return;
	if (step == 0) {
		prefetch_lines(g->prog[0].exec, 1);
		return;
	}
	/* struct nb_exec begins with a pointer to the function that runs it. */
	memcpy(&code, g->prog[0].exec, sizeof(code));
	prefetch_lines(code, 4);
}

static void gen_set_digest(struct nb_gen *g)
{
	static const char domain[2][sizeof("ncclbpf generation 1")] = { "ncclbpf generation 1",
									"ncclbpf generation 2" };
	struct nb_sha256 s;

	if (!g->npolicies && !g->scopes.n)
		return; /* The digest stays all zeroes. */
	nb_sha256_init(&s);
	nb_sha256_add(&s, domain[g->scopes.n > 0], sizeof(domain[0]));
	nb_scopes_digest(&s, &g->order, &g->scopes);
	for (uint32_t i = 0; i < g->npolicies; i++) {
		nb_sha256_add(&s, g->policy[i].policy->img->digest, NB_SHA256_SIZE);
		nb_sha256_add(&s, g->policy[i].history, NB_SHA256_SIZE);
	}
	nb_sha256_end(&s, g->digest);
	for (uint32_t i = 0; i < g->nviews; i++)
		memcpy(g->view[i]->digest, g->digest, NB_SHA256_SIZE);
}

const struct nb_gen_policy *nb_gen_policy_of(const struct nb_gen *g, const uint8_t *digest)
{
	for (uint32_t i = 0; g && i < g->npolicies; i++)
		if (!memcmp(g->policy[i].policy->img->digest, digest, NB_SHA256_SIZE))
			return &g->policy[i];
	return NULL;
}

/*
 * Make a replicated map and give it its place in a communicator's memory. The map's own
 * contents, which programs use without such memory, are those of @from (NULL: zeroes).
 */
static int add_replicated(struct nb_gen *g, struct nb_map **slot, const struct nb_image *img,
			  uint32_t map, const struct nb_map *from, struct nb_err *err)
{
	int rc = from ? nb_map_clone(slot, from, err) : nb_policy_map_new(slot, img, map, err);

	if (rc)
		return rc;
	g->state_room += (uint32_t)nb_map_replicate(*slot, g->state_room);
	if (g->state_room <= NB_MAP_MAX_STATE)
		return 0;
	return nb_fail(err, NB_E_LIMIT, 0,
		       "policy %s: with map %s the replicated maps of all policies together have "
		       "%" PRIu32 " bytes; at most %d",
		       img->name, img->maps[map].name, g->state_room, NB_MAP_MAX_STATE);
}

/*
 * Digest what decides the contents of a communicator's replicated maps: the
 * policies that have some, their order, and which of them run in @g.
 */
static void digest_state(struct nb_gen *g)
{
	struct nb_sha256 s;

	nb_sha256_init(&s);
	for (uint32_t i = 0; i < g->npolicies; i++) {
		const struct nb_image *img = g->policy[i].policy->img;
		uint32_t n = 0;

		for (uint32_t m = 0; m < img->nmaps; m++)
			n += (img->maps[m].tags & NB_MAPF_REPLICATED) != 0;
		if (!n)
			continue;
		if (nb_order_has(&g->order, i))
			g->state_size = g->state_room;
		nb_sha256_add(&s, img->digest, NB_SHA256_SIZE);
		nb_sha256_u64(&s, nb_order_has(&g->order, i));
	}
	nb_sha256_end(&s, g->state_digest);
}

/*
 * Add @p with its local maps. Coherent maps are those of @from, and replicated maps
 * copies of them; if @from is NULL, both are new. Each part enters @g at once, so that
 * gen_destroy frees it.
 */
static int add_policy(struct nb_gen *g, struct nb_policy *p, const struct nb_gen_policy *from,
		      struct nb_err *err)
{
	struct nb_gen_policy *gp = &g->policy[g->npolicies];
	const struct nb_image *img = p->img;

	gp->policy = nb_policy_get(p);
	g->npolicies++;
	gp->maps = calloc(img->nmaps + 1, sizeof(struct nb_map *));
	if (!gp->maps)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for policy %s", img->name);
	if (from)
		memcpy(gp->history, from->history, NB_SHA256_SIZE);
	for (uint32_t i = 0; i < img->nmaps; i++) {
		int rc = 0;

		if (img->maps[i].tags & NB_MAPF_REPLICATED)
			rc = add_replicated(g, &gp->maps[i], img, i, from ? from->maps[i] : NULL,
					    err);
		else if (p->maps[i])
			gp->maps[i] = nb_map_get(p->maps[i]);
		else if (from)
			gp->maps[i] = nb_map_get(from->maps[i]);
		else
			rc = nb_policy_map_new(&gp->maps[i], img, i, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Bind a program, and limit its runs to the bounds of its verdict. */
static int bind_one(struct nb_gen *g, uint32_t i, uint32_t k, bool traced, struct nb_err *err)
{
	struct nb_gen_policy *gp = &g->policy[i];
	const struct nb_run_bounds *runs = &gp->policy->effort[k].runs;
	const struct nb_image *img = gp->policy->img;
	bool tuner = img->progs[k].hook == NB_HOOK_TUNER;
	uint32_t *n = tuner ? &g->nprogs : &g->nevents;
	struct nb_gen_prog *gr = tuner ? &g->prog[*n] : &g->event[*n];
	struct nb_exec *x;
	int rc;

	if (*n == NB_GEN_MAX_PROGS)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "policy %s: more than %d %s programs in one generation", img->name,
			       NB_GEN_MAX_PROGS, tuner ? "tuner" : "other");
	rc = nb_exec_new(&x, img, k, gp->maps, traced ? gp->policy->trace : NULL, err);
	if (rc)
		return rc;
	nb_exec_bound(x, runs->iteration, runs->iter_steps);
	if (runs->reads_time)
		g->timed |= 1u << img->progs[k].hook;
	*gr = (struct nb_gen_prog){ .exec = x,
				    .policy = (uint16_t)i,
				    .prog = (uint16_t)k,
				    .hook = (uint16_t)img->progs[k].hook };
	if (!tuner)
		g->hooks |= 1u << gr->hook;
	(*n)++;
	return 0;
}

/* Bind the programs of policy @i for one hook. */
static int bind_hook(struct nb_gen *g, uint32_t i, enum nb_hook hook, bool traced,
		     struct nb_err *err)
{
	const struct nb_policy *p = g->policy[i].policy;
	int rc = 0;

	for (uint32_t k = 0; !rc && k < p->img->nprogs; k++)
		if (p->img->progs[k].hook == hook)
			rc = bind_one(g, i, k, traced, err);
	return rc;
}

/* Does the context of @hook name a communicator? */
static bool knows_comm(enum nb_hook hook)
{
	return hook != NB_HOOK_CONTROLLER && hook != NB_HOOK_ENV;
}

/* Bind the programs of policy @i. @traced: they print to its trace ring. */
static int bind_policy(struct nb_gen *g, uint32_t i, bool traced, struct nb_err *err)
{
	bool here = nb_order_has(&g->order, i);
	int rc = 0;

	for (unsigned h = 0; !rc && h < NB_NHOOKS; h++)
		if (knows_comm((enum nb_hook)h) ? here : !g->whole)
			rc = bind_hook(g, i, (enum nb_hook)h, traced, err);
	return rc;
}

struct nb_exec *nb_gen_exec(const struct nb_gen *g, const struct nb_policy *p, uint32_t prog)
{
	struct nb_exec *x = NULL;

	for (uint32_t i = 0; i < g->nprogs + g->nevents; i++)
		if (g->policy[prog_at(g, i)->policy].policy == p && prog_at(g, i)->prog == prog)
			return prog_at(g, i)->exec;
	for (uint32_t i = 0; !x && i < g->nviews; i++)
		x = nb_gen_exec(g->view[i], p, prog);
	return x;
}

/* List the bound programs to compile, tuner programs first; returns their
 * number. */
static uint32_t list_programs(const struct nb_gen *g, struct nb_exec_item *item)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->nprogs + g->nevents; i++) {
		const struct nb_gen_prog *gr = prog_at(g, i);
		const struct nb_policy *p = g->policy[gr->policy].policy;

		if (!p->interpret)
			item[n++] = (struct nb_exec_item){ gr->exec, p->aux[gr->prog] };
	}
	return n;
}

/* Name the machine code for perf; errors are ignored. */
static void gen_publish(struct nb_gen *g)
{
	for (uint32_t i = 0; i < g->npolicies; i++) {
		const struct nb_policy *p = g->policy[i].policy;

		for (uint32_t k = 0; p->perf_map && k < p->img->nprogs; k++) {
			struct nb_exec *x = nb_gen_exec(g, p, k);

			if (x)
				nb_exec_publish(x, p->img, k, NULL);
		}
	}
}

/* Compile all programs. If that fails, the interpreter runs them. */
static int gen_compile(struct nb_gen *g, struct nb_err *err)
{
	struct nb_exec_item *item = calloc(g->nprogs + g->nevents + 1, sizeof(*item));
	uint32_t n;

	if (!item)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory to compile %" PRIu32 " policies",
			       g->npolicies);
	n = list_programs(g, item);
	if (n && !nb_exec_compile(item, n, &g->uncompiled))
		gen_publish(g);
	free(item);
	return 0;
}

const char *nb_gen_uncompiled(const struct nb_gen *g)
{
	return g->uncompiled.code ? g->uncompiled.text : NULL;
}

static int gen_alloc(struct nb_gen **out, const struct nb_order *order,
		     const struct nb_scopes *scopes, struct nb_err *err)
{
	struct nb_gen *g = calloc(1, sizeof(*g));

	*out = g;
	if (!g)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for a generation (%zu bytes)",
			       sizeof(*g));
	g->refs = 1;
	g->order = *order;
	if (scopes)
		g->scopes = *scopes;
	return 0;
}

static int check_policies(struct nb_policy *const *policies, uint32_t n, struct nb_err *err)
{
	if (n > NB_GEN_MAX_POLICIES)
		return nb_fail(err, NB_E_LIMIT, 0, "%u policies at once, at most %d are allowed", n,
			       NB_GEN_MAX_POLICIES);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (!memcmp(policies[i]->img->digest, policies[j]->img->digest,
				    NB_SHA256_SIZE))
				return nb_fail(err, NB_E_EXISTS, i,
					       "policy %s is named twice (positions %u and %u)",
					       policies[i]->img->name, j + 1, i + 1);
	return 0;
}

static int bind_part(struct nb_gen *g, bool traced, struct nb_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < g->order.n; i++)
		if (g->order.at[i] < g->npolicies)
			rc = bind_policy(g, g->order.at[i], traced, err);
	for (uint32_t i = 0; !rc && i < g->npolicies; i++)
		if (!nb_order_has(&g->order, i))
			rc = bind_policy(g, i, traced, err);
	digest_state(g);
	if (!rc)
		rc = nb_run_limit(g, err);
	return rc ? rc : gen_compile(g, err);
}

/* Make the view of scope @i of @g. */
static int add_view(struct nb_gen *g, uint32_t i, struct nb_err *err)
{
	struct nb_gen *v;
	int rc = gen_alloc(&v, &g->scopes.scope[i].order, NULL, err);

	if (rc)
		return rc;
	v->whole = g;
	g->view[g->nviews++] = v;
	for (uint32_t k = 0; k < g->npolicies; k++) {
		v->policy[k] = g->policy[k];
		v->npolicies++;
	}
	v->state_room = g->state_room;
	rc = bind_part(v, true, err);
	g->hooks |= v->hooks;
	g->timed |= v->timed;
	return rc;
}

/* Bind all programs of a generation that has its policies and maps. */
static int bind_all(struct nb_gen *g, struct nb_err *err)
{
	int rc = bind_part(g, true, err);

	for (uint32_t i = 0; !rc && i < g->scopes.n; i++)
		rc = add_view(g, i, err);
	if (!rc)
		gen_set_digest(g);
	return rc;
}

/* Allocate a generation of @n checked policies, which are still to be added. */
static int gen_begin(struct nb_gen **out, struct nb_policy *const *policies, uint32_t n,
		     const struct nb_order *common, const struct nb_scopes *scopes,
		     struct nb_err *err)
{
	int rc = check_policies(policies, n, err);

	*out = NULL;
	if (!rc)
		rc = nb_scopes_check(common, scopes, n, err);
	return rc ? rc : gen_alloc(out, common, scopes, err);
}

/* Return the policy of the parent whose coherent maps @p takes over, or NULL. */
static const struct nb_gen_policy *predecessor(const struct nb_gen_parent *parent,
					       const struct nb_policy *p)
{
	const struct nb_gen_policy *same;

	if (!parent)
		return NULL;
	same = nb_gen_policy_of(parent->gen, p->img->digest);
	if (same || p != parent->heir ||
	    memcmp(p->img->base, parent->of->img->base, NB_SHA256_SIZE) != 0)
		return same;
	return nb_gen_policy_of(parent->gen, parent->of->img->digest);
}

int nb_gen_scoped(struct nb_gen **out, struct nb_policy *const *policies, uint32_t n,
		  const struct nb_order *common, const struct nb_scopes *scopes,
		  const struct nb_gen_parent *parent, struct nb_err *err)
{
	static const struct nb_scopes none;
	struct nb_gen *g;
	int rc = gen_begin(&g, policies, n, common, scopes ? scopes : &none, err);

	for (uint32_t i = 0; !rc && i < n; i++)
		rc = add_policy(g, policies[i], predecessor(parent, policies[i]), err);
	if (!rc)
		rc = bind_all(g, err);
	return gen_result(out, g, rc);
}

int nb_gen_filled(struct nb_gen **out, const struct nb_gen_list *list, nb_gen_fill_fn *fill,
		  void *arg, struct nb_err *err)
{
	struct nb_gen *g;
	int rc = gen_begin(&g, list->policy, list->n, &list->common, &list->scopes, err);

	for (uint32_t i = 0; !rc && i < list->n; i++) {
		rc = add_policy(g, list->policy[i], NULL, err);
		if (!rc)
			rc = fill(arg, i, &g->policy[i], err);
	}
	if (!rc)
		rc = bind_all(g, err);
	return gen_result(out, g, rc);
}

int nb_gen_new(struct nb_gen **out, struct nb_policy *const *policies, uint32_t n,
	       const struct nb_gen *parent, struct nb_err *err)
{
	struct nb_order all = nb_order_all(n < NB_GEN_MAX_POLICIES ? n : NB_GEN_MAX_POLICIES);

	return nb_gen_scoped(out, policies, n, &all, NULL, &(struct nb_gen_parent){ .gen = parent },
			     err);
}

/* Copy the policies and maps of @from; bind no program. */
static int copy_unbound(struct nb_gen **out, const struct nb_gen *from, struct nb_err *err)
{
	struct nb_gen *g;
	int rc = gen_alloc(&g, &from->order, &from->scopes, err);

	for (uint32_t i = 0; !rc && i < from->npolicies; i++)
		rc = add_policy(g, from->policy[i].policy, &from->policy[i], err);
	return gen_result(out, g, rc);
}

static int replace_by_clone(struct nb_map **slot, struct nb_err *err)
{
	struct nb_map *clone;
	/* the caller's policy has maps. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	int rc = nb_map_clone(&clone, *slot, err);

	if (rc)
		return rc;
	nb_map_put(*slot);
	*slot = clone;
	return 0;
}

static int apply_ops(struct nb_map *m, const struct nb_map_op *ops, uint32_t nops,
		     struct nb_err *err)
{
	for (uint32_t i = 0; i < nops; i++) {
		int rc = ops[i].erase
				 ? nb_map_erase(m, ops[i].key, err)
				 : nb_map_write(m, ops[i].key, ops[i].value, ops[i].flags, err);

		if (rc) {
			if (err)
				err->at = i + 1;
			return rc;
		}
	}
	return 0;
}

/* history = SHA-256(history, the change in canonical bytes) */
static void extend_history(struct nb_gen_policy *gp, uint32_t map, const struct nb_map_op *ops,
			   uint32_t nops)
{
	const struct nb_map *m = gp->maps[map];
	const struct nb_map_def *def = nb_map_definition(m);
	struct nb_sha256 s;

	nb_sha256_init(&s);
	nb_sha256_add(&s, gp->history, NB_SHA256_SIZE);
	nb_sha256_u64(&s, map);
	nb_sha256_u64(&s, nops);
	for (uint32_t i = 0; i < nops; i++) {
		nb_sha256_u64(&s, ops[i].erase);
		nb_sha256_u64(&s, ops[i].erase ? 0 : ops[i].flags);
		nb_sha256_add(&s, ops[i].key, def->key_size);
		if (!ops[i].erase)
			nb_sha256_add(&s, ops[i].value, nb_map_user_value_size(m));
	}
	nb_sha256_end(&s, gp->history);
}

static int check_generation_change(const struct nb_gen *g, uint32_t policy, uint32_t map,
				   uint32_t nops, struct nb_err *err)
{
	const struct nb_image *img;

	if (policy >= g->npolicies)
		return nb_fail(err, NB_E_ARG, policy,
			       "policy index %u; the generation has %u policies", policy,
			       g->npolicies);
	img = g->policy[policy].policy->img;
	if (map >= img->nmaps)
		return nb_fail(err, NB_E_ARG, map, "map index %u; policy %s has %u maps", map,
			       img->name, img->nmaps);
	if (!(img->maps[map].tags & NB_MAPF_COHERENT))
		return nb_fail(err, NB_E_READONLY, map,
			       "map %s of policy %s is not coherent: "
			       "only coherent maps change with a generation",
			       img->maps[map].name, img->name);
	if (!nops)
		return nb_fail(err, NB_E_ARG, 0, "map %s: nothing to change", img->maps[map].name);
	return 0;
}

static int change_one(struct nb_gen *g, const struct nb_gen_change *c, struct nb_err *err)
{
	struct nb_gen_policy *gp = &g->policy[c->policy];
	int rc = replace_by_clone(&gp->maps[c->map], err);

	if (!rc)
		rc = apply_ops(gp->maps[c->map], c->ops, c->nops, err);
	if (!rc)
		extend_history(gp, c->map, c->ops, c->nops);
	return rc;
}

int nb_gen_changes(struct nb_gen **out, const struct nb_gen *parent,
		   const struct nb_gen_change *changes, uint32_t n, struct nb_err *err)
{
	struct nb_gen *g = NULL;
	int rc = 0;

	*out = NULL;
	if (!n || n > NB_GEN_MAX_CHANGES)
		return nb_fail(err, NB_E_LIMIT, 0, "%u changes of maps at once (allowed: 1 to %d)",
			       n, NB_GEN_MAX_CHANGES);
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = check_generation_change(parent, changes[i].policy, changes[i].map,
					     changes[i].nops, err);
	if (!rc)
		rc = copy_unbound(&g, parent, err);
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = change_one(g, &changes[i], err);
	if (!rc)
		rc = bind_all(g, err);
	return gen_result(out, g, rc);
}

/* Replace coherent maps by copies, and merged maps by new ones. */
static int own_maps(struct nb_gen_policy *gp, struct nb_err *err)
{
	const struct nb_image *img = gp->policy->img;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < img->nmaps; i++) {
		if (img->maps[i].tags & NB_MAPF_COHERENT)
			rc = replace_by_clone(&gp->maps[i], err);
		if (!(img->maps[i].tags & NB_MAPF_MERGED))
			continue;
		nb_map_put(gp->maps[i]);
		rc = nb_policy_map_new(&gp->maps[i], img, i, err);
	}
	return rc;
}

int nb_gen_for_controllers(struct nb_gen **out, const struct nb_gen *g, struct nb_err *err)
{
	struct nb_gen *own;
	int rc = copy_unbound(&own, g, err);

	for (uint32_t i = 0; !rc && i < own->npolicies; i++) {
		rc = own_maps(&own->policy[i], err);
		if (!rc)
			rc = bind_hook(own, i, NB_HOOK_CONTROLLER, true, err);
	}
	if (!rc)
		rc = gen_compile(own, err);
	return gen_result(out, own, rc);
}

int nb_gen_rehearsal(struct nb_gen **out, const struct nb_gen *gen, struct nb_err *err)
{
	struct nb_gen *g;
	int rc = copy_unbound(&g, gen, err);

	for (uint32_t i = 0; !rc && i < g->npolicies; i++) {
		uint32_t n = g->policy[i].policy->img->nmaps;

		for (uint32_t m = 0; !rc && m < n; m++)
			rc = replace_by_clone(&g->policy[i].maps[m], err);
	}
	if (!rc) /* Run only the requested part: @gen may be a view. */
		rc = bind_part(g, false, err);
	if (!rc)
		memcpy(g->digest, gen->digest, NB_SHA256_SIZE);
	return gen_result(out, g, rc);
}

bool nb_gen_has(const struct nb_gen *g, const struct nb_policy *p)
{
	for (uint32_t i = 0; g && i < g->npolicies; i++)
		if (g->policy[i].policy == p)
			return true;
	return false;
}
