// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_NET_H
#define NB_PLUGIN_NET_NET_H

#include "plugin/net/calls.h"
#include "plugin/net/extension.h"

/*
 * The net plugin. Its functions (calls.h) record connections and requests, run
 * the programs of the hooks net/..., and call the wrapped net plugin to move
 * the data (wrapped.c).
 *
 * The first init opens the plugin that NCCLBPF_CHAIN_NET names, or
 * libnccl-net-tcp.so. If that fails, NCCL_NET_PLUGIN does not name this
 * library, or init gets usable = false, we report no device and NCCL uses its
 * own network.
 */

/* The optional functions of NCCL's interface (plugin/abi/net_optional.c). */
int nb_net_reg_mr_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
			 void **mhandle);
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
/* Returns the transport's functions, or NULL if there is no transport. */
const struct nb_net_ops *nb_net_ops_used(void);
/* Returns how often an event has happened, or 0 if the transport counts none.
 */
uint64_t nb_net_counted(enum nb_net_count what);

/*
 * wrapped.c defines the two functions below.
 *
 * nb_net_wrap - use a vendor's net plugin as the transport
 * @lib: handle of its library, from dlopen
 * @version: set to the interface version that is used
 *
 * Returns NULL if the library has no complete ncclNetPlugin_v6 to _v12. A
 * process has one such transport, which is never freed.
 */
const struct nb_net_ops *nb_net_wrap(void *lib, int *version, const char **name);
/*
 * Take over the log of a library with our extension, so that NCCLBPF_LOG
 * governs its lines.
 */
void nb_net_take_log(void *lib);

#endif
