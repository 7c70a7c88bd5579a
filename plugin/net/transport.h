// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_TRANSPORT_H
#define NB_PLUGIN_NET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * NCCL's net interface with our types, in the form of its newest version. A
 * wrapped net plugin of any version is called through it
 * (wrapped.c).
 */

/* The values of ncclResult_t that a net plugin returns. */
enum nb_net_result {
	NB_NET_OK = 0,
	NB_NET_SYSTEM = 2,   /* this machine has failed */
	NB_NET_INTERNAL = 3, /* this plugin has failed */
	NB_NET_ARGUMENT = 4,
	NB_NET_USAGE = 5,  /* the ranks disagree about a transfer */
	NB_NET_REMOTE = 6, /* the peer has failed or ended */
};

enum {
	NB_NET_HANDLE = 128, /* size of a connection handle in bytes */
	NB_NET_HOST_MEMORY = 1,
	NB_NET_CUDA_MEMORY = 2,
	NB_NET_DMABUF = 4,
	NB_NET_MAX_VDEVS = 8,
	NB_NET_MAX_RECVS = 32, /* largest number of buffers in one irecv */
	NB_NET_CLASS_NONE = -1,
};

struct nb_net_extension;

struct nb_net_vprops {
	int ndevs;
	int devs[NB_NET_MAX_VDEVS];
};

/* Properties of a device, in the layout of the newest version. */
struct nb_net_props {
	char *name;	/* unique name, valid as long as the library */
	char *pci_path; /* PCI path in sysfs, or NULL */
	uint64_t guid;
	int ptr_support; /* bits NB_NET_HOST_MEMORY etc. */
	int reg_is_global, force_flush;
	int speed; /* speed of the device in Mbit/s */
	int port;
	float latency; /* latency in microseconds */
	int max_comms, max_recvs;
	int device_type, device_version;
	struct nb_net_vprops v;
	size_t max_p2p_bytes, max_coll_bytes;
	int max_multi_request;
	/* rail and plane of the device; -1 if NCCL does not define it */
	int16_t rail_id, plane_id;
};

typedef void nb_net_logger(int level, unsigned long flags, const char *file, int line,
			   const char *fmt, ...);

/* Arguments of init. Its pointers are only passed on to a wrapped plugin. */
struct nb_net_init {
	uint64_t comm_id; /* identity of the communicator; 0 before v11 */
	int traffic_class;
	nb_net_logger *logger;
	void *profiler_callback;
};

/*
 * Functions of a transport: NCCL's newest interface, with our types. As in
 * NCCL's interface, no function blocks. A connection that is not ready is NULL
 * with NB_NET_OK, and so is a request that cannot be accepted now. Functions
 * that "may be NULL" are optional. NCCL's threads call them; one thread uses a
 * connection's data path.
 */
struct nb_net_ops {
	int (*init)(void **ctx, const struct nb_net_init *init);
	int (*finalize)(void *ctx);
	int (*devices)(int *n);
	int (*get_properties)(int dev, struct nb_net_props *props);
	int (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	/*
	 * Connect to a listener. If @traffic_class is NB_NET_CLASS_NONE, the
	 * class of init applies.
	 */
	int (*connect)(void *ctx, int dev, int traffic_class, void *handle, void **send_comm,
		       void **dev_handle);
	int (*accept)(void *listen_comm, void **recv_comm, void **dev_handle);
	int (*reg_mr)(void *comm, void *data, size_t size, int type, void **mhandle);
	/* Register a DMA-BUF. May be NULL. */
	int (*reg_mr_dmabuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
			     void **mhandle);
	int (*dereg_mr)(void *comm, void *mhandle);
	int (*isend)(void *send_comm, void *data, size_t size, int tag, void *mhandle,
		     void *phandle, void **request);
	int (*irecv)(void *recv_comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
		     void **phandles, void **request);
	/* Flush received data. May be NULL. */
	int (*iflush)(void *recv_comm, int n, void **data, int *sizes, void **mhandles,
		      void **request);
	int (*test)(void *request, int *done, int *sizes);
	int (*close_send)(void *comm);
	int (*close_recv)(void *comm);
	int (*close_listen)(void *comm);
	/* A transport may leave the functions below NULL. */
	int (*get_device_mr)(void *comm, void *mhandle, void **dptr);
	int (*irecv_consumed)(void *recv_comm, int n, void *request);
	int (*make_vdevice)(int *dev, struct nb_net_vprops *props);
	int (*set_net_attr)(void *ctx, void *attr);
	/* The transport's extension (extension.h), or NULL. */
	const struct nb_net_extension *extension;
	/*
	 * the transport's function connect uses the traffic class that the
	 * caller passes
	 */
	bool takes_class;
};

#endif
