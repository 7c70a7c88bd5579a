// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_POST_H
#define NB_PLUGIN_GIN_POST_H

#include "plugin/gin/hooks.h"

/*
 * nb_gin_post - take an operation
 * @ctx:     what create_context gave
 * @op:      its arguments; copied
 * @request: never NULL on success, except for a flush that is done
 */
int nb_gin_post(void *ctx, const struct nb_gin_op *op, void **request);
/* The same with the context that connect made; versions before v13. */
int nb_gin_post_coll(void *coll, const struct nb_gin_op *op, void **request);
int nb_gin_test(void *coll, void *request, int *done);
int nb_gin_progress(void *ctx);
int nb_gin_progress_coll(void *coll);

#endif
