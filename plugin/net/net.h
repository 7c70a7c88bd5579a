// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_NET_H
#define NB_PLUGIN_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/net/transport.h"

/*
 * The net plugin. plugin/abi/net.c maps all versions of NCCL's interface to the
 * calls nb_net_*. These track connections and requests, run the programs of the
 * hooks net/..., and leave the data to a transport: our own TCP (tcp.c) or a
 * wrapped plugin (wrapped_net.c).
 */

/* ---- what NCCL calls, all versions; anything may be NULL ---- */

/*
 * The first init chooses the transport: the plugin that NCCLBPF_CHAIN_NET
 * names, or our own. If neither works, or NCCL_NET_PLUGIN does not name this
 * library, or @usable is false, we report no device and NCCL uses its own
 * network.
 * nb_net_ops_used gives the transport's functions, NULL: none.
 */
int nb_net_init(void **ctx, const struct nb_net_init *init, bool usable);
const struct nb_net_ops *nb_net_ops_used(void);
int nb_net_finalize(void *ctx);
int nb_net_devices(int *n);
int nb_net_get_properties(int dev, struct nb_net_props *props);
int nb_net_listen(void *ctx, int dev, void *handle, void **listen_comm);
int nb_net_connect(void *ctx, int dev, int traffic_class, void *handle,
		   void **send_comm, void **dev_handle);
int nb_net_accept(void *listen_comm, void **recv_comm, void **dev_handle);
int nb_net_reg_mr(void *comm, void *data, size_t size, int type,
		  void **mhandle);
int nb_net_reg_mr_dmabuf(void *comm, void *data, size_t size, int type,
			 uint64_t offset, int fd, void **mhandle);
int nb_net_dereg_mr(void *comm, void *mhandle);
int nb_net_isend(void *send_comm, void *data, size_t size, int tag,
		 void *mhandle, void *phandle, void **request);
int nb_net_irecv(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
		 void **mhandles, void **phandles, void **request);
int nb_net_iflush(void *recv_comm, int n, void **data, int *sizes,
		  void **mhandles, void **request);
int nb_net_test(void *request, int *done, int *sizes);
int nb_net_close_send(void *comm);
int nb_net_close_recv(void *comm);
int nb_net_close_listen(void *comm);
int nb_net_get_device_mr(void *comm, void *mhandle, void **dptr);
int nb_net_irecv_consumed(void *recv_comm, int n, void *request);
int nb_net_make_vdevice(int *dev, struct nb_net_vprops *props);
int nb_net_set_net_attr(void *ctx, void *attr);

/* ---- the rest of the plugin ---- */

/* The name of the transport in use, NULL: none. *@devices: the number last
 * given to NCCL. */
const char *nb_net_used(int *devices);
/* After a fork, in the child. */
void nb_net_forked(void);

/*
 * nb_net_wrap - a wrapped net plugin as a transport
 * @lib:     its library, from dlopen
 * @version: set to the version of its interface that is used
 *
 * NULL: it has no complete ncclNetPlugin_v5 to _v12. One in a process, never
 * freed.
 */
const struct nb_net_ops *nb_net_wrap(void *lib, int *version,
				     const char **name);

#endif
