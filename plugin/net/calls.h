// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_CALLS_H
#define NB_PLUGIN_NET_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/net/transport.h"

/*
 * The functions behind the tables of plugin/abi/net.c, which maps all versions
 * of NCCL's net interface to them. libncclbpf.so has them in plugin/net/net.c,
 * libnccl-net-tcp.so in plugin/tcp. Any argument may be NULL.
 */

/* The name that the library gives itself in its tables. */
extern const char nb_net_name[];

/*
 * The tables call nb_net_ready before an init, which returns false if the
 * library must offer no device, and nb_net_shape after it, which adds the
 * optional functions that the library has to the tables of the net plugin.
 */
bool nb_net_ready(nb_net_logger *logger);
void nb_net_shape(void);
int nb_net_init(void **ctx, const struct nb_net_init *init, bool usable);
int nb_net_finalize(void *ctx);
int nb_net_devices(int *n);
int nb_net_get_properties(int dev, struct nb_net_props *props);
int nb_net_listen(void *ctx, int dev, void *handle, void **listen_comm);
int nb_net_connect(void *ctx, int dev, int traffic_class, void *handle, void **send_comm,
		   void **dev_handle);
int nb_net_accept(void *listen_comm, void **recv_comm, void **dev_handle);
int nb_net_reg_mr(void *comm, void *data, size_t size, int type, void **mhandle);
int nb_net_dereg_mr(void *comm, void *mhandle);
int nb_net_isend(void *send_comm, void *data, size_t size, int tag, void *mhandle, void *phandle,
		 void **request);
int nb_net_irecv(void *recv_comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
		 void **phandles, void **request);
int nb_net_iflush(void *recv_comm, int n, void **data, int *sizes, void **mhandles, void **request);
int nb_net_test(void *request, int *done, int *sizes);
int nb_net_close_send(void *comm);
int nb_net_close_recv(void *comm);
int nb_net_close_listen(void *comm);

#endif
