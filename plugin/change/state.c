// SPDX-License-Identifier: MIT
/* Hands the baseline to a process that lacks the changes that made it. */
#include "plugin/change/state.h"

#include <string.h>

#include "core/bpf/generation/state.h"
#include "plugin/change/sync.h"
#include "plugin/change/stage.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/held_list.h"
#include "plugin/runtime/lock.h"

int nb_change_export(struct nb_buf *out, struct nb_gen **g, struct nb_err *err)
{
	int rc;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	*g = nb_gen_get(nb_gens.baseline);
	nb_unlock(NB_LOCK_STATE);
	/* a generation and its coherent maps never change */
	rc = nb_gen_state_write(out, *g, err);
	if (!rc)
		return 0;
	nb_gen_put(*g);
	*g = NULL;
	return rc;
}

static struct nb_policy *find_held(const uint8_t *digest)
{
	for (uint32_t i = 0; i < nb_held.n; i++)
		if (!memcmp(nb_held.at[i].policy->img->digest, digest, NB_SHA256_SIZE))
			return nb_held.at[i].policy;
	return NULL;
}

int nb_change_import(const void *bytes, size_t size, uint8_t digest[NB_SHA256_SIZE],
		     struct nb_err *err)
{
	struct nb_gen *g = NULL;
	int rc;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	rc = nb_gen_state_read(&g, bytes, size, find_held, err);
	nb_unlock(NB_LOCK_STATE);
	return rc ? rc : nb_change_stage_gen(g, digest, err);
}
