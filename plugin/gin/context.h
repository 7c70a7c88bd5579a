// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_CONTEXT_H
#define NB_PLUGIN_GIN_CONTEXT_H

#include "plugin/gin/hooks.h"

/*
 * nb_gin_context_add - a context of a collComm
 * @depth: operations to each peer; 0: ours
 *
 * A closed context of the same shape is taken again. Freed with the collComm.
 */
int nb_gin_context_add(struct nb_gin_coll *c, int ncontexts, int depth,
		       struct nb_gin_context **to);
/* NULL is allowed */
void nb_gin_context_free(struct nb_gin_context *x);

/* ---- what NCCL calls, all versions; anything may be NULL ---- */

/* @dev_handle: NULL is allowed */
int nb_gin_create_context(void *coll, const struct nb_gin_config *config,
			  void **ctx, void **dev_handle);
int nb_gin_destroy_context(void *ctx);
int nb_gin_query_error(void *ctx, bool *failed);

#endif
