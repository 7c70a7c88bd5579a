// SPDX-License-Identifier: MIT
/*
 * Entry points of a net plugin for all versions. They convert arguments to
 * those of the newest version (plugin/net/calls.h). Both our libraries with a
 * net plugin have this file.
 */
#include <limits.h>
#include <string.h>

#include "plugin/abi/net_abi.h"
#include "plugin/abi/tuner_abi.h"

static int net_init_v10(nb_net_logger *log, void *prof)
{
	struct nb_net_init init = { 0, NB_NET_CLASS_NONE, log, prof };
	int rc = nb_net_init(NULL, &init, nb_net_ready(log));

	nb_net_shape();
	return rc;
}

static int net_init_v6(nb_net_logger *log)
{
	return net_init_v10(log, NULL);
}

static int net_init_v11(void **ctx, uint64_t comm_id, struct nb_net_config *config,
			nb_net_logger *log, void *prof)
{
	struct nb_net_init init = { comm_id, config ? config->traffic_class : NB_NET_CLASS_NONE,
				    log, prof };
	int rc;

	if (!ctx)
		return NB_NET_ARGUMENT;
	rc = nb_net_init(ctx, &init, nb_net_ready(log));
	nb_net_shape();
	return rc;
}

static int listen_v6(int dev, void *handle, void **comm)
{
	return nb_net_listen(NULL, dev, handle, comm);
}

static int connect_v7(int dev, void *handle, void **comm, void **devh)
{
	return nb_net_connect(NULL, dev, NB_NET_CLASS_NONE, handle, comm, devh);
}

static int connect_v10(int dev, struct nb_net_config *config, void *handle, void **comm,
		       void **devh)
{
	return nb_net_connect(NULL, dev, config ? config->traffic_class : NB_NET_CLASS_NONE, handle,
			      comm, devh);
}

static int connect_v11(void *ctx, int dev, void *handle, void **comm, void **devh)
{
	return nb_net_connect(ctx, dev, NB_NET_CLASS_NONE, handle, comm, devh);
}

static int put_properties(int dev, void *props, int version)
{
	struct nb_net_props p;
	int rc;

	if (!props)
		return NB_NET_ARGUMENT;
	rc = nb_net_get_properties(dev, &p);
	if (!rc)
		nb_net_props_to(props, &p, version);
	return rc;
}

#define PROPERTIES(v)                                    \
	static int properties_v##v(int dev, void *props) \
	{                                                \
		return put_properties(dev, props, v);    \
	}
PROPERTIES(8)
PROPERTIES(9)
PROPERTIES(11)
PROPERTIES(12)

static int isend_v6(void *comm, void *data, int size, int tag, void *mhandle, void **request)
{
	return size < 0 ? NB_NET_ARGUMENT
			: nb_net_isend(comm, data, (size_t)size, tag, mhandle, NULL, request);
}

static int isend_v9(void *comm, void *data, size_t size, int tag, void *mhandle, void **request)
{
	return nb_net_isend(comm, data, size, tag, mhandle, NULL, request);
}

static int irecv_v9(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
		    void **request)
{
	return nb_net_irecv(comm, n, data, sizes, tags, mhandles, NULL, request);
}

static int irecv_v6(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles,
		    void **request)
{
	size_t wide[NB_NET_MAX_RECVS];

	if (n < 1 || n > NB_NET_MAX_RECVS || !sizes || !request)
		return NB_NET_ARGUMENT;
	for (int i = 0; i < n; i++) {
		if (sizes[i] < 0)
			return NB_NET_ARGUMENT;
		wide[i] = (size_t)sizes[i];
	}
	*request = NULL; /* NCCL passes no hint in *request in these versions */
	return irecv_v9(comm, n, data, wide, tags, mhandles, request);
}

#define TABLE(v, props, at_init, at_listen, at_connect, at_accept, at_reg, at_isend, at_irecv, \
	      ...)                                                                             \
	NB_EXPORT struct nb_net_table ncclNetPlugin_v##v = {                                   \
		.name = nb_net_name,                                                           \
		.init = { .at_init = net_init_##at_init },                                     \
		.devices = nb_net_devices,                                                     \
		.get_properties = properties_##props,                                          \
		.listen = { .at_listen = listen_##at_listen },                                 \
		.connect = { .at_connect = connect_##at_connect },                             \
		.accept = { .at_accept = accept_##at_accept },                                 \
		.reg_mr = { .at_reg = reg_mr_##at_reg },                                       \
		.dereg_mr = nb_net_dereg_mr,                                                   \
		.isend = { .at_isend = isend_##at_isend },                                     \
		.irecv = { .at_irecv = irecv_##at_irecv },                                     \
		.iflush = nb_net_iflush,                                                       \
		.test = nb_net_test,                                                           \
		.close_send = nb_net_close_send,                                               \
		.close_recv = nb_net_close_recv,                                               \
		.close_listen = nb_net_close_listen,                                           \
		__VA_ARGS__                                                                    \
	}

/* These functions have the same arguments in all versions. */
#define listen_v11 nb_net_listen
#define accept_v7 nb_net_accept
#define reg_mr_v8 nb_net_reg_mr
#define isend_v10 nb_net_isend
#define irecv_v10 nb_net_irecv

TABLE(8, v8, v6, v6, v7, v7, v8, v6, v6, );
TABLE(9, v9, v6, v6, v7, v7, v8, v9, v9, );
TABLE(10, v9, v10, v6, v10, v7, v8, v10, v10, );
TABLE(11, v11, v11, v11, v11, v7, v8, v10, v10, .finalize = nb_net_finalize);
TABLE(12, v12, v11, v11, v11, v7, v8, v10, v10, .finalize = nb_net_finalize);
