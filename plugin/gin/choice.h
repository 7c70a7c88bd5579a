// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_CHOICE_H
#define NB_PLUGIN_GIN_CHOICE_H

#include "plugin/gin/transport.h"

/* Returns true if the user asked for GIN by one of our variables. */
bool nb_gin_wanted(void);
/*
 * Open the wrapped plugin: the one that NCCLBPF_CHAIN_GIN names, else
 * libnccl-net-tcp.so if NCCLBPF_GIN is on, else none. Only the first call
 * chooses. If @usable is false, the process gets no transport.
 */
void nb_gin_choose(bool usable);
/* Returns true if NCCL has called the plugin's init function. */
bool nb_gin_called(void);
/* Returns the transport's functions, or NULL if there is no transport. */
const struct nb_gin_ops *nb_gin_ops_used(void);
/*
 * Returns the functions of the wrapped plugin's GIN v15 or v14, or NULL if it
 * has neither.
 */
const struct nb_gin_ops *nb_gin_device_ops_used(void);
/* Returns the transport's name, or NULL if there is no transport. */
const char *nb_gin_ops_name(void);
/*
 * Record that the transport's init failed with @rc. The process continues
 * without a GIN transport.
 */
void nb_gin_leave_out(const struct nb_gin_ops *ops, int rc);
/*
 * Record that the wrapped plugin's GIN v15 or v14 has no device for NCCL, so
 * that it is not called again.
 */
void nb_gin_leave_out_device(void);
/* Returns how many offences of peers the transport has counted. */
uint64_t nb_gin_offences(enum nb_gin_offence what);
/* Reset the choice of the transport in a forked child. */
void nb_gin_choice_forked(void);

/*
 * Count an error that a wrapped plugin's function @what returned. Returns @rc.
 */
int nb_gin_count_result(const char *what, int rc);
/*
 * Count the error of a wrapped plugin's call that belongs to no collComm.
 * Returns @rc.
 */
int nb_gin_count_lone_result(const char *what, int rc);

/* wrapped.c defines nb_gin_wrap. */

/*
 * nb_gin_wrap - use a vendor's GIN or RMA plugin as the transport
 * @lib: handle of its library, from dlopen
 * @version: set to the interface version that is used
 *
 * Returns NULL if the library has no complete ncclGinPlugin_v11 to _v13 or
 * ncclRmaPlugin_v13 to _v17. A process has one such transport, which is never
 * freed.
 */
const struct nb_gin_ops *nb_gin_wrap(void *lib, int *version, const char **name);

/*
 * nb_gin_wrap_device - use a wrapped plugin's GIN v15, v14 or v13 for device
 * types other than NCCL's proxy
 * @lib: handle of its library, from dlopen
 * @version: set to the interface version that is used
 * @name: set to the plugin's name
 *
 * Returns NULL if the library has no complete table. A process has one such
 * transport, which is never freed (wrapped_device.c).
 */
const struct nb_gin_ops *nb_gin_wrap_device(void *lib, int *version, const char **name);

#endif
