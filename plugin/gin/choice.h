// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_CHOICE_H
#define NB_PLUGIN_GIN_CHOICE_H

#include "plugin/gin/transport.h"

/*
 * The transport: the plugin that NCCLBPF_CHAIN_GIN names, our TCP if
 * NCCLBPF_GIN is on, else none. The first call chooses; @usable false: none.
 */
void nb_gin_choose(bool usable);
/* Has NCCL called init? */
bool nb_gin_called(void);
/* The transport's functions; NULL: none. */
const struct nb_gin_ops *nb_gin_ops_used(void);
/* The transport's name; NULL: none. */
const char *nb_gin_ops_name(void);
/* The transport's init returned @rc: go on without one. */
void nb_gin_leave_out(int rc);
/* After a fork, in the child. */
void nb_gin_choice_forked(void);

/* Count the error of a wrapped plugin's function before NCCL gets it. */
int nb_gin_count_result(const char *what, int rc);
/* The same for a call without a collComm. */
int nb_gin_count_lone_result(const char *what, int rc);

/* ---- a vendor's plugin that ours wraps: plugin/abi/wrapped_gin.c ---- */

/*
 * nb_gin_wrap - a wrapped GIN or RMA plugin as a transport
 * @lib:     its library, from dlopen
 * @version: set to the version of its interface that is used
 *
 * NULL: it has no complete ncclGinPlugin_v11 to _v13 or ncclRmaPlugin_v13 to
 * _v15. One in a process, never freed.
 */
const struct nb_gin_ops *nb_gin_wrap(void *lib, int *version,
				     const char **name);

#endif
