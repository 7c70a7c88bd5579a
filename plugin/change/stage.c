// SPDX-License-Identifier: MIT
/*
 * Staging: prepare a generation in this process, and announce it in the segment
 * for the process that commits it.
 */
#include "plugin/change/stage.h"

#include <string.h>

#include "plugin/change/sync.h"
#include "plugin/change/selector.h"
#include "plugin/job/self.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/held.h"
#include "plugin/policies/history.h"
#include "plugin/policies/maps.h"
#include "plugin/profiler/mask.h"
#include "plugin/runtime/lock.h"

enum { LOCK_MS = 3000 };

/*
 * Stage @g, a kept generation. Announce it in the segment first, so that no
 * coordinator can commit the previously staged generation.
 */
static int stage_kept(struct nb_gen *g, uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_seg_proc *self;
	int rc;

	nb_mask_stop_calls(); /* before the coordinator reads which communicators have a clock */
	rc = nb_segment_lock(nb_self.seg, LOCK_MS, err);
	if (rc)
		return rc;
	self = &nb_self.seg->mem->proc[nb_self.seg->proc];
	memcpy(self->digest, g->digest, NB_SHA256_SIZE);
	self->staged = 1;
	nb_lock(NB_LOCK_STATE);
	/*
	 * another process may have committed the previously staged generation
	 * meanwhile, so make it the baseline before the sweep
	 */
	nb_change_sync();
	nb_gens.staged = g;
	memcpy(digest, g->digest, NB_SHA256_SIZE);
	nb_gens_sweep();
	nb_unlock(NB_LOCK_STATE);
	nb_segment_unlock(nb_self.seg);
	return 0;
}

int nb_change_stage_gen(struct nb_gen *g, uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_gen *before, *kept;
	int rc;

	nb_lock(NB_LOCK_STATE);
	before = nb_gens.staged;
	kept = nb_gens_keep(g, err);
	/* a generation that is staged is not freed */
	nb_gens.staged = kept ? kept : before;
	nb_unlock(NB_LOCK_STATE);
	if (!kept)
		return NB_E_LIMIT;
	rc = stage_kept(kept, digest, err);
	if (!rc)
		return 0;
	nb_lock(NB_LOCK_STATE);
	nb_gens.staged = before;
	nb_unlock(NB_LOCK_STATE);
	return rc;
}

static int find_all(const char *const *names, uint32_t n, struct nb_policy **policies,
		    struct nb_err *err)
{
	for (uint32_t i = 0; i < n; i++) {
		struct nb_held *h = nb_held_find(names[i], err);

		if (!h)
			return err->code;
		policies[i] = h->policy;
	}
	return 0;
}

int nb_change_stage_for(const struct nb_selector *reach, const char *const *names, uint32_t n,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_policy *policies[NB_GEN_MAX_POLICIES];
	struct nb_gen *g = NULL;
	int rc;

	if (n > NB_GEN_MAX_POLICIES)
		return nb_fail(err, NB_E_LIMIT, 0, "%u policies at once (allowed: %d)", n,
			       NB_GEN_MAX_POLICIES);
	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	rc = find_all(names, n, policies, err);
	if (!rc)
		rc = nb_selector_check(reach, err);
	if (!rc)
		rc = nb_selector_use(&g, reach, policies, n, err);
	nb_unlock(NB_LOCK_STATE);
	return rc ? rc : nb_change_stage_gen(g, digest, err);
}

int nb_change_stage_edit(const struct nb_edit *edit, const struct nb_selector *reach,
			 uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_gen *g = NULL;
	int rc;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	rc = nb_selector_check(reach, err);
	if (!rc)
		rc = nb_selector_edit(&g, reach, edit, err);
	nb_unlock(NB_LOCK_STATE);
	return rc ? rc : nb_change_stage_gen(g, digest, err);
}

static int fail_not_kept(uint64_t to, struct nb_err *err)
{
	nb_fail(err, NB_E_NOENT, 0, "generation %llu is not kept in this process",
		(unsigned long long)to);
	return nb_hint(err, "policy history shows the kept generations");
}

int nb_change_stage_undo(uint64_t to, uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_gen *g;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	g = to == NB_CHANGE_ANY ? nb_gens.previous : nb_history_find((uint32_t)to);
	if (g)
		g = nb_gen_get(g);
	nb_unlock(NB_LOCK_STATE);
	if (!g && to != NB_CHANGE_ANY)
		return fail_not_kept(to, err);
	if (!g)
		return nb_fail(err, NB_E_NOENT, 0,
			       "there is no generation to return to: "
			       "no change has been committed since this process started");
	return nb_change_stage_gen(g, digest, err);
}

int nb_change_stage_map(const char *map, const struct nb_map_op *ops, uint32_t nops,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	struct nb_map_ref ref;
	struct nb_gen *g = NULL;
	int rc;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	rc = nb_held_map_find(map, &ref, err);
	if (!rc && !ref.coherent)
		rc = nb_fail(err, NB_E_READONLY, 0,
			     "map %s is local: it changes at once, without a generation",
			     ref.spec->name);
	else if (!rc && !ref.in_use)
		rc = nb_fail(err, NB_E_NOENT, 0,
			     "policy %s is not in use, so its coherent map %s has no contents yet: "
			     "policy use first",
			     ref.policy->img->name, ref.spec->name);
	if (!rc)
		rc = nb_gen_changes(&g, nb_gens.baseline,
				    &(struct nb_gen_change){ (uint32_t)nb_gens_position(ref.policy),
							     ref.map, ops, nops },
				    1, err);
	nb_unlock(NB_LOCK_STATE);
	return rc ? rc : nb_change_stage_gen(g, digest, err);
}

int nb_change_abort(const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	int rc = nb_segment_lock(nb_self.seg, LOCK_MS, err);

	if (rc)
		return rc;
	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	if (nb_gens.staged && !memcmp(nb_gens.staged->digest, digest, NB_SHA256_SIZE)) {
		nb_gens.staged = NULL;
		nb_self.seg->mem->proc[nb_self.seg->proc].staged = 0;
		nb_gens_sweep();
	} else {
		rc = nb_fail(err, NB_E_NOENT, 0, "no change of that digest is staged here");
	}
	nb_unlock(NB_LOCK_STATE);
	nb_segment_unlock(nb_self.seg);
	return rc;
}
