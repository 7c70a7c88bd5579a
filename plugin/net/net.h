// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_NET_H
#define NB_PLUGIN_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/net/transport.h"

/*
 * The net plugin. plugin/abi/net.c maps all versions of NCCL's interface to the
 * functions nb_net_*. These record connections and requests, run the programs
 * of the hooks net/..., and call a transport to move the data: our own TCP
 * transport (tcp.c) or a wrapped plugin (wrapped_net.c).
 */

/*
 * NCCL calls the functions below in all interface versions. Any argument may be
 * NULL.
 */

/*
 * The first init chooses the transport: the plugin that NCCLBPF_CHAIN_NET
 * names, or our own. If that fails, NCCL_NET_PLUGIN does not name this library,
 * or @usable is false, we report no device and NCCL uses its own network.
 * nb_net_ops_used returns the transport's functions, or NULL if there is no
 * transport.
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

/* Other parts of the plugin call the functions below. */

/*
 * Returns the name of the transport in use, or NULL. *@devices is set to the
 * number of devices last reported to NCCL.
 */
const char *nb_net_used(int *devices);
/* Reset the net plugin's state in a forked child. */
void nb_net_forked(void);
/* Let our TCP transports, also that of GIN, write to the log. */
void nb_net_log_tcp(void);

/*
 * nb_net_wrap - use a vendor's net plugin as the transport
 * @lib: handle of its library, from dlopen
 * @version: set to the interface version that is used
 *
 * Returns NULL if the library has no complete ncclNetPlugin_v5 to _v12. A
 * process has one such transport, which is never freed.
 */
const struct nb_net_ops *nb_net_wrap(void *lib, int *version,
				     const char **name);

#endif
