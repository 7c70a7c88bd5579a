// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_NET_ABI_H
#define NB_PLUGIN_ABI_NET_ABI_H

#include "plugin/net/abi.h"

/*
 * The tables that this library exports: NCCL 2.21 looks for v8 first. NCCL reads
 * them after init. Optional functions that the transport does not have are NULL.
 */
extern struct nb_net_table ncclNetPlugin_v8, ncclNetPlugin_v9, ncclNetPlugin_v10, ncclNetPlugin_v11,
	ncclNetPlugin_v12;

#endif
