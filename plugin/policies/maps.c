// SPDX-License-Identifier: MIT
/*
 * Resolves map names in commands to maps of held policies. All functions need
 * NB_LOCK_STATE.
 */
#include "plugin/policies/maps.h"

#include <stdio.h>
#include <string.h>

#include "core/ncclbpf.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/held.h"

void nb_held_map(struct nb_policy *p, uint32_t map, struct nb_map_ref *out)
{
	int at = nb_gens_position(p);

	*out = (struct nb_map_ref){
		.policy = p,
		.map = map,
		.spec = &p->img->maps[map],
		.object = p->maps[map],
		.coherent = nb_policy_map_coherent(p, map),
		.in_use = at >= 0,
	};
	if (at >= 0)
		out->object = nb_gens.baseline->policy[at].maps[map];
}

/*
 * Count the policies of @g that have a map called @name. *@out gets the first
 * one.
 */
static uint32_t find_in_gen(const struct nb_gen *g, const char *map, struct nb_map_ref *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->npolicies; i++) {
		int m = nb_policy_map(g->policy[i].policy, map);

		if (m >= 0 && !n++)
			nb_held_map(g->policy[i].policy, (uint32_t)m, out);
	}
	return n;
}

static uint32_t find_in_held(const char *map, struct nb_map_ref *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nb_held.n; i++) {
		int m = nb_policy_map(nb_held.at[i].policy, map);

		if (m >= 0 && !n++)
			nb_held_map(nb_held.at[i].policy, (uint32_t)m, out);
	}
	return n;
}

static void hint_maps(const char *map, struct nb_err *err)
{
	const char *names[NB_IMAGE_MAX_MAPS * 2], *near[2];
	size_t n = 0;

	for (uint32_t i = 0; i < nb_held.n; i++) {
		const struct nb_image *img = nb_held.at[i].policy->img;

		if (img->nmaps && !strcmp(img->name, map)) {
			nb_hint(err, "%s is a policy, with the map %s/%s", map, map,
				img->maps[0].name);
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
		nb_hint(err, "map list shows all maps");
}

static int find_bare(const char *map, struct nb_map_ref *out, struct nb_err *err)
{
	uint32_t n = find_in_gen(nb_gens.baseline, map, out);

	if (!n)
		n = find_in_held(map, out);
	if (n == 1)
		return 0;
	if (n)
		return nb_fail(err, NB_E_ARG, 0,
			       "%u policies have a map %.64s: say which, as in %s/%.64s", n, map,
			       out->policy->img->name, map);
	nb_fail(err, NB_E_NOENT, 0, "no held policy has a map %.64s", map);
	hint_maps(map, err);
	return NB_E_NOENT;
}

int nb_held_map_find(const char *name, struct nb_map_ref *out, struct nb_err *err)
{
	const char *slash = strchr(name, '/');
	char policy[NB_IMAGE_NAME + 8];
	struct nb_held *h;
	int m;

	memset(out, 0, sizeof(*out));
	if (!slash)
		return find_bare(name, out, err);
	snprintf(policy, sizeof(policy), "%.*s",
		 (int)(slash - name < NB_IMAGE_NAME ? slash - name : NB_IMAGE_NAME), name);
	h = nb_held_find(policy, err);
	if (!h)
		return err ? err->code : NB_E_NOENT;
	m = nb_policy_map(h->policy, slash + 1);
	if (m < 0) {
		nb_fail(err, NB_E_NOENT, 0, "policy %s has no map %.64s", h->policy->img->name,
			slash + 1);
		hint_maps(slash + 1, err);
		return NB_E_NOENT;
	}
	nb_held_map(h->policy, (uint32_t)m, out);
	return 0;
}
