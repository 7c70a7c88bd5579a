// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_GIN_ABI_H
#define NB_PLUGIN_ABI_GIN_ABI_H

#include "plugin/gin/abi.h"

/* Functions that GIN v14 and v15 share with other versions (gin.c). */
int nb_gin_put_properties(enum nb_gin_face face, int dev, void *props, int version);
int nb_gin_connect_v13(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
		       void **coll);
int nb_gin_connect_v15(void *ctx, void *handles[], int nranks, int rank, void *listen_comm,
		       void **coll, const volatile uint32_t *abort_flag);
int nb_gin_reg_v11(void *coll, void *data, size_t size, int type, uint64_t flags, void **mhandle,
		   void **gin_handle);
int nb_gin_reg_dmabuf_v11(void *coll, void *data, size_t size, int type, uint64_t offset, int fd,
			  uint64_t flags, void **mhandle, void **gin_handle);

/* The configuration that begins with the members of v13 at @config, or the default for NULL. */
struct nb_gin_config nb_gin_config_of(const void *config);

/* The functions of a table whose arguments do not name the face that NCCL calls. */
#define NB_GIN_FACE(name, face)                                                        \
	static int name##_init(void **ctx, uint64_t comm_id, nb_net_logger *log)       \
	{                                                                              \
		return nb_gin_init(face, ctx, comm_id, log, nb_net_ready(log));        \
	}                                                                              \
	static int name##_devices(int *n)                                              \
	{                                                                              \
		return nb_gin_devices(face, n);                                        \
	}                                                                              \
	static int name##_listen(void *ctx, int dev, void *handle, void **listen_comm) \
	{                                                                              \
		return nb_gin_listen(face, ctx, dev, handle, listen_comm);             \
	}                                                                              \
	static int name##_properties(int dev, void *props)                             \
	{                                                                              \
		return nb_gin_put_properties(face, dev, props, 12);                    \
	}

extern struct nb_gin_table_v11 ncclGinPlugin_v11, ncclGinPlugin_v12;
extern struct nb_gin_table_v14 ncclGinPlugin_v14, ncclGinPlugin_v15;
extern struct nb_gin_table ncclGinPlugin_v13, ncclRmaPlugin_v14, ncclRmaPlugin_v15;
extern struct nb_rma_table_v16 ncclRmaPlugin_v16, ncclRmaPlugin_v17;

#endif
