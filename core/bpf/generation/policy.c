// SPDX-License-Identifier: MIT
/*
 * Make a policy of a verified image: create its local maps and trace ring.
 * A map tagged "shared" joins the shared map of the same name in another
 * policy. Each generation binds the programs to maps later.
 */
#include "core/bpf/generation/policy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/map/host.h"

/* Round up, so that a size over a limit is not shown as the limit. */
static uint64_t to_mib(uint64_t bytes)
{
	return (bytes >> 20) + (bytes % (1 << 20) != 0);
}

/* On every host, a per-CPU map counts as a map for this many CPUs. */
enum { COUNTED_CPUS = 256 };

int nb_policy_memory(uint64_t *bytes, const struct nb_image *img, uint64_t most, struct nb_err *err)
{
	uint64_t size, largest = 0;
	const char *name = "";

	*bytes = 0;
	for (uint32_t i = 0; i < img->nmaps; i++) {
		struct nb_map_def def = nb_map_spec_def(&img->maps[i]);
		int rc;

		rc = nb_map_plan(&size, &def, COUNTED_CPUS, err);
		if (rc)
			return rc;
		if (__builtin_add_overflow(*bytes, size, bytes))
			*bytes = UINT64_MAX;
		if (size >= largest) {
			largest = size;
			name = def.name;
		}
	}
	if (*bytes <= most)
		return 0;
	nb_fail(err, NB_E_LIMIT, 0,
		"policy %s: its maps take %" PRIu64 " MiB, the largest, %s, %" PRIu64
		" MiB; at most %" PRIu64 " MiB",
		img->name, to_mib(*bytes), name, to_mib(largest), most >> 20);
	return nb_hint(
		err,
		"give maps fewer elements, "
		"or set NCCLBPF_MAX_POLICY_MEMORY to more MiB (per-CPU maps count for %d CPUs)",
		COUNTED_CPUS);
}

int nb_policy_map_new(struct nb_map **out, const struct nb_image *img, uint32_t map,
		      struct nb_err *err)
{
	const struct nb_map_spec *spec = &img->maps[map];
	struct nb_map_def def = nb_map_spec_def(spec);
	uint32_t zero = 0;
	int rc;

	*out = NULL;
	if (spec->tags & NB_MAPF_HOST)
		return nb_map_host_new(out, &def, err);
	rc = nb_map_new(out, &def, err);
	if (rc)
		return rc;
	/* All ranks hash a coherent map alike, so that a change finds a full
	 * bucket on all of them or on none. */
	if (!(spec->tags & NB_MAPF_COHERENT))
		nb_map_seed(*out);
	if (spec->tags & NB_MAPF_REPLICATED)
		nb_map_replicate(*out, 0);
	if (spec->init)
		rc = nb_map_write(*out, &zero, spec->init, NB_ANY, err);
	if (spec->origin == NB_ORIGIN_RODATA)
		nb_map_freeze(*out);
	if (rc) {
		nb_map_put(*out);
		*out = NULL;
	}
	return rc;
}

static bool same_shape(const struct nb_map_spec *a, const struct nb_map_spec *b)
{
	return a->type == b->type && a->key_size == b->key_size && a->value_size == b->value_size &&
	       a->max_entries == b->max_entries && a->flags == b->flags;
}

static bool map_is_shared(const struct nb_map_spec *s)
{
	return (s->tags & NB_MAPF_SHARED) && !(s->tags & NB_MAPF_COHERENT) &&
	       s->origin == NB_ORIGIN_DEFINED;
}

/* Return the shared map of another policy that @spec joins, or NULL. */
static struct nb_map *find_shared(const struct nb_map_spec *spec, struct nb_policy *const *peers,
				  uint32_t npeers)
{
	if (!map_is_shared(spec))
		return NULL;
	for (uint32_t i = 0; i < npeers; i++) {
		const struct nb_image *img = peers[i]->img;
		int m = nb_image_map(img, spec->name);

		if (m >= 0 && map_is_shared(&img->maps[m]) && same_shape(spec, &img->maps[m]))
			return nb_map_get(peers[i]->maps[m]);
	}
	return NULL;
}

static int make_maps(struct nb_policy *p, struct nb_policy *const *peers, uint32_t npeers,
		     struct nb_err *err)
{
	for (uint32_t i = 0; i < p->img->nmaps; i++) {
		const struct nb_map_spec *s = &p->img->maps[i];
		int rc;

		if (s->tags & NB_MAPF_COHERENT)
			/*
			 * The first generation that uses the policy makes this
			 * map.
			 */
			continue;
		p->maps[i] = find_shared(s, peers, npeers);
		if (p->maps[i])
			continue;
		rc = nb_policy_map_new(&p->maps[i], p->img, i, err);
		if (rc)
			return rc;
	}
	return 0;
}

static void policy_destroy(struct nb_policy *p)
{
	if (p->maps)
		for (uint32_t i = 0; i < p->img->nmaps; i++)
			nb_map_put(p->maps[i]);
	free(p->maps);
	free(p->effort);
	for (uint32_t i = 0; i < NB_IMAGE_MAX_PROGS; i++)
		free(p->aux[i]);
	nb_trace_free(p->trace);
	nb_image_free(p->img);
	free(p);
}

int nb_policy_make(struct nb_policy **out, struct nb_image *img,
		   const struct nb_policy_effort *effort, struct nb_policy *const *peers,
		   uint32_t npeers, struct nb_err *err)
{
	struct nb_policy *p;
	int rc;

	*out = NULL;
	p = calloc(1, sizeof(*p));
	if (!p) {
		nb_image_free(img);
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for a policy (%zu bytes)",
			       sizeof(*p));
	}
	p->img = img;
	p->refs = 1;
	p->maps = calloc(img->nmaps + 1, sizeof(struct nb_map *));
	p->effort = calloc(img->nprogs, sizeof(*p->effort));
	p->trace = nb_trace_new();
	if (!p->maps || !p->effort || !p->trace) {
		rc = nb_fail(err, NB_E_NOMEM, 0, "no memory for policy %s", img->name);
		goto fail;
	}
	if (effort)
		memcpy(p->effort, effort, img->nprogs * sizeof(*effort));
	/* nothing is known of a policy without a verdict, so it may read times */
	for (uint32_t k = 0; !effort && k < img->nprogs; k++)
		p->effort[k].runs.reads_time = true;
	rc = make_maps(p, peers, npeers, err);
	if (rc)
		goto fail;
	*out = p;
	return 0;
fail:
	policy_destroy(p);
	return rc;
}

struct nb_policy *nb_policy_get(struct nb_policy *p)
{
	__atomic_fetch_add(&p->refs, 1, __ATOMIC_RELAXED);
	return p;
}

void nb_policy_put(struct nb_policy *p)
{
	if (p && __atomic_fetch_sub(&p->refs, 1, __ATOMIC_ACQ_REL) == 1)
		policy_destroy(p);
}

uint64_t nb_runs_path(const struct nb_run_bounds *r, uint64_t iteration)
{
	uint64_t iterations = (uint64_t)r->iter_steps + r->passes + r->loops;

	return iterations ? r->first + iteration * (iterations + 1) : r->first;
}

uint64_t nb_runs_loops(const struct nb_run_bounds *r, uint64_t iteration)
{
	return iteration *
	       (r->iterations > r->constant_iterations ? r->iterations : r->constant_iterations);
}
