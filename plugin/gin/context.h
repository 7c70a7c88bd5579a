// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_CONTEXT_H
#define NB_PLUGIN_GIN_CONTEXT_H

#include "plugin/gin/hooks.h"

/*
 * nb_gin_context_add - create a context of a collComm
 * @depth: operations that may be open for each peer; 0: our default
 *
 * A closed context of the same size is reused. The collComm owns the context.
 */
int nb_gin_context_add(struct nb_gin_coll *c, int ncontexts, int depth,
		       struct nb_gin_context **to);
/* Free a context. @x may be NULL. */
void nb_gin_context_free(struct nb_gin_context *x);

/*
 * NCCL calls the functions below in all interface versions. Any argument may be
 * NULL.
 */

/* Create a context for NCCL. @dev_handle may be NULL. */
int nb_gin_create_context(void *coll, const struct nb_gin_config *config,
			  void **ctx, void **dev_handle);
int nb_gin_destroy_context(void *ctx);
int nb_gin_query_error(void *ctx, bool *failed);

#endif
