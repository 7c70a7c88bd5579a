// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_SITE_FOLLOW_H
#define NB_PLUGIN_AGENT_SITE_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "plugin/agent/site/state.h"

/*
 * Read the keys again and watch them. @whole: read all keys of the job, as
 * the coordinator needs, and not only those below order/.
 */
void nb_agent_follow(struct nb_agent *a, bool whole);
/*
 * Receives an image. The callee owns @bytes, whose digest has been checked.
 * @bytes is NULL on failure, and @err says why.
 */
typedef void nb_image_done_fn(void *arg, void *bytes, size_t size, const struct nb_err *err);
/* Read an image from the store. If it returns 0, it calls @done later, once. */
int nb_image_fetch(struct nb_agent *a, const char *digest, nb_image_done_fn *done, void *arg,
		   struct nb_err *err);

#endif
