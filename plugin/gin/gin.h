// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_GIN_H
#define NB_PLUGIN_GIN_GIN_H

#include "plugin/gin/transport.h"

/*
 * Kinds of tables of NCCL's GIN interfaces; each kind has a transport of its
 * own. One kind moves data. The other, GIN v14, sets up device types other than
 * NCCL's proxy. NCCL calls both at the same time. A listener and a collComm
 * keep the transport of the table that made them.
 */
enum nb_gin_face {
	NB_GIN_DATA,  /* the tables GIN v11 to v13, and RMA */
	NB_GIN_DEVICE /* only the table GIN v14 */
};

/*
 * GPU-initiated networking (GIN): kernels post one-sided puts and signals, and
 * a thread of NCCL passes them to a plugin. plugin/abi/gin.c maps all versions
 * of NCCL's GIN and RMA interfaces to the functions nb_gin_* of this header, of
 * context.h and of post.h. These functions own contexts and operations, run the
 * programs of the hooks gin/..., and call a transport to move the data: our own
 * TCP transport (tcp.c) or a wrapped plugin (wrapped_gin.c). They return enum
 * nb_net_result.
 */

/*
 * NCCL calls the functions below in all interface versions. Any argument may be
 * NULL.
 */

/*
 * The first init chooses the transport (choice.h). If there is none,
 * nb_gin_devices reports 0 devices, and NCCL uses another GIN plugin.
 */
int nb_gin_init(enum nb_gin_face face, void **ctx, uint64_t comm_id,
		nb_net_logger *logger, bool usable);
int nb_gin_finalize(void *ctx);
int nb_gin_devices(enum nb_gin_face face, int *n);
int nb_gin_get_properties(enum nb_gin_face face, int dev,
			  struct nb_net_props *props);
/* Get what GIN v14 asks for in addition to the properties. */
int nb_gin_get_signals(struct nb_gin_signals *signals);
int nb_gin_listen(enum nb_gin_face face, void *ctx, int dev, void *handle,
		  void **listen_comm);
/* Connect a collComm. The fields ctx, arrived and arg of @mesh are ignored. */
int nb_gin_connect(const struct nb_gin_mesh *mesh, void **coll);
int nb_gin_reg_mr(void *coll, const struct nb_gin_memory *m, void **mhandle,
		  void **gin_handle);
int nb_gin_dereg_mr(void *coll, void *mhandle);
int nb_gin_close_coll(void *coll);
int nb_gin_close_listen(void *listen_comm);

/* Other parts of the plugin call the functions below. */

/*
 * Returns the name of the transport in use, or NULL if there is none. *@devices
 * is set to the number of devices last reported to NCCL.
 */
const char *nb_gin_used(int *devices);
/* Reset the GIN state in a forked child. */
void nb_gin_forked(void);

#endif
