// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_POST_H
#define NB_PLUGIN_GIN_POST_H

#include "plugin/gin/hooks.h"

/*
 * nb_gin_post - start an operation
 * @ctx: a context from create_context
 * @op: the operation's arguments, which are copied
 * @request: set to the request that NCCL tests; NULL only for a flush that is
 *   complete
 */
int nb_gin_post(void *ctx, const struct nb_gin_op *op, void **request);
/* Start an operation in the context that connect made (versions before 13). */
int nb_gin_post_coll(void *coll, const struct nb_gin_op *op, void **request);
int nb_gin_test(void *coll, void *request, int *done);
int nb_gin_progress(void *ctx);
int nb_gin_progress_coll(void *coll);
/*
 * End the operations that programs delay, because the context or the collComm
 * is about to be closed. Our transport sends them, as far as their memory is
 * still registered. A wrapped plugin does not get them: NCCL deregisters memory
 * first, and the plugin's handles may be freed.
 */
void nb_gin_end_held(struct nb_gin_context *x);

#endif
