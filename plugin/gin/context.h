// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_CONTEXT_H
#define NB_PLUGIN_GIN_CONTEXT_H

#include "plugin/gin/calls.h"
#include "plugin/gin/hooks.h"

/*
 * nb_gin_context_add - create a context of a collComm
 * @depth: operations that may be open for each peer; 0: our default
 *
 * A closed context of the same size is reused. The collComm owns the context.
 */
int nb_gin_context_add(struct nb_gin_coll *c, int ncontexts, int depth, struct nb_gin_context **to);
/* Free a context. @x may be NULL. */
void nb_gin_context_free(struct nb_gin_context *x);

#endif
