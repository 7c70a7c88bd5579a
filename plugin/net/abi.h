// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_ABI_H
#define NB_PLUGIN_NET_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/net/calls.h"

/*
 * NCCL's net ABI, versions 6 to 12, in our own declarations. Members of the
 * table keep their offsets, so one structure with unions describes all versions.
 * The table of an old version ends with its last member. We do not provide
 * CollNet.
 */

/* Argument of connect in v10, and of init from v11 on. */
struct nb_net_config {
	/* traffic class of the connection; -1: NCCL does not define it */
	int traffic_class;
};

struct nb_net_props_v6 {
	char *name, *pci_path;
	uint64_t guid;
	int ptr_support, speed, port;
	float latency;
	int max_comms, max_recvs;
};

struct nb_net_props_v7 {
	char *name, *pci_path;
	uint64_t guid;
	int ptr_support, speed, port;
	float latency;
	int max_comms, max_recvs, device_type, device_version;
};

struct nb_net_props_v8 {
	char *name, *pci_path;
	uint64_t guid;
	int ptr_support, reg_is_global, speed, port;
	float latency;
	int max_comms, max_recvs, device_type, device_version;
};

struct nb_net_vprops_v9 {
	int ndevs, devs[4];
};

struct nb_net_props_v9 { /* this structure is also used for v10 */
	char *name, *pci_path;
	uint64_t guid;
	int ptr_support, reg_is_global, force_flush, speed, port;
	float latency;
	int max_comms, max_recvs, device_type, device_version;
	struct nb_net_vprops_v9 v;
	size_t max_p2p_bytes, max_coll_bytes;
};

struct nb_net_props_v11 {
	struct nb_net_props_v9 v9;
	int max_multi_request;
};

struct nb_net_props_v12 {
	char *name, *pci_path;
	uint64_t guid;
	int ptr_support, reg_is_global, force_flush, speed, port;
	float latency;
	int max_comms, max_recvs, device_type, device_version;
	struct nb_net_vprops v;
	size_t max_p2p_bytes, max_coll_bytes;
	int max_multi_request;
	int16_t rail_id, plane_id;
};

static_assert(sizeof(struct nb_net_props_v6) == 48, "net v6");
static_assert(sizeof(struct nb_net_props_v7) == 56, "net v7");
static_assert(sizeof(struct nb_net_props_v8) == 64, "ABI ref., 3.2");
static_assert(sizeof(struct nb_net_props_v9) == 104, "ABI ref., 3.2");
static_assert(sizeof(struct nb_net_props_v11) == 112, "ABI ref., 3.2");
static_assert(sizeof(struct nb_net_props_v12) == 128, "ABI ref., 3.2");
static_assert(offsetof(struct nb_net_props_v8, latency) == 40, "ABI ref., 3.2");
static_assert(offsetof(struct nb_net_props_v9, v) == 64, "ABI ref., 3.2");
static_assert(offsetof(struct nb_net_props_v9, max_p2p_bytes) == 88, "ABI ref., 3.2");
static_assert(offsetof(struct nb_net_props_v12, max_p2p_bytes) == 104, "ABI ref., 3.2");
static_assert(offsetof(struct nb_net_props_v12, rail_id) == 124, "ABI ref., 3.2");
static_assert(sizeof(struct nb_net_vprops_v9) == 20, "ABI ref., 3.2");
static_assert(sizeof(struct nb_net_vprops) == 36, "ABI ref., 3.2");

/*
 * Tables of functions. The suffix of a member is the first version that has its
 * signature.
 */

struct nb_net_table {
	const char *name;
	union {
		int (*v6)(nb_net_logger *log);
		int (*v10)(nb_net_logger *log, void *prof);
		int (*v11)(void **ctx, uint64_t comm_id, struct nb_net_config *config,
			   nb_net_logger *log, void *prof);
	} init;
	int (*devices)(int *n);
	int (*get_properties)(int dev, void *props);
	union {
		int (*v6)(int dev, void *handle, void **comm);
		int (*v11)(void *ctx, int dev, void *handle, void **comm);
	} listen;
	union {
		int (*v6)(int dev, void *handle, void **comm);
		int (*v7)(int dev, void *handle, void **comm, void **devh);
		int (*v10)(int dev, struct nb_net_config *config, void *handle, void **comm,
			   void **devh);
		int (*v11)(void *ctx, int dev, void *handle, void **comm, void **devh);
	} connect;
	union {
		int (*v6)(void *listen_comm, void **comm);
		int (*v7)(void *listen_comm, void **comm, void **devh);
	} accept;
	union {
		int (*v6)(void *comm, void *data, int size, int type, void **mhandle);
		int (*v8)(void *comm, void *data, size_t size, int type, void **mhandle);
	} reg_mr;
	int (*reg_mr_dmabuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
			     void **mhandle);
	int (*dereg_mr)(void *comm, void *mhandle);
	union {
		int (*v6)(void *comm, void *data, int size, int tag, void *mhandle, void **request);
		int (*v9)(void *comm, void *data, size_t size, int tag, void *mhandle,
			  void **request);
		int (*v10)(void *comm, void *data, size_t size, int tag, void *mhandle,
			   void *phandle, void **request);
	} isend;
	union {
		int (*v6)(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles,
			  void **request);
		int (*v9)(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
			  void **request);
		int (*v10)(void *comm, int n, void **data, size_t *sizes, int *tags,
			   void **mhandles, void **phandles, void **request);
	} irecv;
	int (*iflush)(void *comm, int n, void **data, int *sizes, void **mhandles, void **request);
	int (*test)(void *request, int *done, int *sizes);
	int (*close_send)(void *comm);
	int (*close_recv)(void *comm);
	/* the last member of the table in v6 */
	int (*close_listen)(void *comm);
	int (*get_device_mr)(void *comm, void *mhandle, void **dptr);
	/* the last member of the table in v7 and v8 */
	int (*irecv_consumed)(void *comm, int n, void *request);
	/* the last member of the table in v9 and v10 */
	int (*make_vdevice)(int *dev, void *vprops);
	int (*finalize)(void *ctx);
	/* the last member of the table in v11 and v12 */
	int (*set_net_attr)(void *ctx, void *attr);
};
static_assert(offsetof(struct nb_net_table, init) == 8, "ABI ref., 3.1");
static_assert(offsetof(struct nb_net_table, connect) == 40, "ABI ref., 3.1");
static_assert(offsetof(struct nb_net_table, isend) == 80, "ABI ref., 3.1");
static_assert(offsetof(struct nb_net_table, test) == 104, "ABI ref., 3.1");
static_assert(offsetof(struct nb_net_table, get_device_mr) == 136, "ABI ref., 3.1");
static_assert(offsetof(struct nb_net_table, make_vdevice) == 152, "ABI ref., 3.1");
static_assert(sizeof(struct nb_net_table) == 176, "ABI ref., 3.1");

/* Convert device properties to those of @version (6 to 12). */
void nb_net_props_to(void *to, const struct nb_net_props *from, int version);
/*
 * Read the properties of device @dev with @get, a plugin's function of
 * interface
 * @version. Without @dmabuf, the device has no DMA-BUF. Returns the result of
 * @get.
 */
int nb_net_props_read(struct nb_net_props *to, int (*get)(int dev, void *props), int dev,
		      int version, bool dmabuf);

#endif
