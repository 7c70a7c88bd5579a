// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_CALLS_H
#define NB_PLUGIN_GIN_CALLS_H

#include "plugin/gin/transport.h"
#include "plugin/net/calls.h"

/*
 * The functions behind the tables of plugin/abi/gin.c, which maps all versions
 * of NCCL's GIN and RMA interfaces to them. libncclbpf.so has them in
 * plugin/gin, libnccl-net-tcp.so in plugin/tcp. They return enum nb_net_result.
 * Any argument may be NULL.
 */

/*
 * Kinds of tables of NCCL's GIN interfaces; each kind has a transport of its
 * own. One kind moves data. The other, GIN v14 and v15, sets up device types
 * other than NCCL's proxy. NCCL calls both at the same time. A listener and a
 * collComm keep the transport of the table that made them.
 */
enum nb_gin_face {
	NB_GIN_DATA,  /* the tables GIN v11 to v13, and RMA */
	NB_GIN_DEVICE /* the tables GIN v14 and v15 */
};

int nb_gin_init(enum nb_gin_face face, void **ctx, uint64_t comm_id, nb_net_logger *logger,
		bool usable);
int nb_gin_finalize(void *ctx);
int nb_gin_devices(enum nb_gin_face face, int *n);
int nb_gin_get_properties(enum nb_gin_face face, int dev, struct nb_net_props *props);
int nb_gin_listen(enum nb_gin_face face, void *ctx, int dev, void *handle, void **listen_comm);
int nb_gin_connect(const struct nb_gin_mesh *mesh, void **coll);
int nb_gin_reg_mr(void *coll, const struct nb_gin_memory *m, void **mhandle, void **gin_handle);
int nb_gin_dereg_mr(void *coll, void *mhandle);
int nb_gin_close_coll(void *coll);
int nb_gin_close_listen(void *listen_comm);
int nb_gin_get_rma_properties(void *coll, struct nb_rma_properties *p);

int nb_gin_create_context(void *coll, const struct nb_gin_config *config, void **ctx,
			  void **dev_handle);
int nb_gin_destroy_context(void *ctx);
int nb_gin_query_error(void *ctx, bool *failed);

/*
 * nb_gin_post - start an operation
 * @ctx: a context from nb_gin_create_context
 * @words: the operation's arguments, which are copied
 * @request: set to the request that NCCL tests; NULL only for a flush that is
 *   complete
 */
int nb_gin_post(void *ctx, const struct nb_gin_words *words, void **request);
/* Start an operation in the context that connect made (versions before 13). */
int nb_gin_post_coll(void *coll, const struct nb_gin_words *words, void **request);
int nb_gin_test(void *coll, void *request, int *done);
int nb_gin_progress(void *ctx);
int nb_gin_progress_coll(void *coll);

#endif
