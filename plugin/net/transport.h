// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_TRANSPORT_H
#define NB_PLUGIN_NET_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * What a transport is: our own TCP (tcp.c), or a wrapped net plugin
 * (plugin/abi/wrapped_net.c).
 */

/* The values of ncclResult_t that a net plugin returns. */
enum nb_net_result {
	NB_NET_OK = 0,
	NB_NET_SYSTEM = 2,   /* this machine failed */
	NB_NET_INTERNAL = 3, /* ...or this plugin */
	NB_NET_ARGUMENT = 4,
	NB_NET_USAGE = 5,  /* ranks disagree about a transfer */
	NB_NET_REMOTE = 6, /* the peer failed or went away */
};

enum {
	NB_NET_HANDLE = 128, /* bytes of a connection handle */
	NB_NET_HOST_MEMORY = 1,
	NB_NET_CUDA_MEMORY = 2,
	NB_NET_DMABUF = 4,
	NB_NET_MAX_VDEVS = 8,
	NB_NET_MAX_RECVS = 32, /* buffers that one irecv may pass */
	NB_NET_CLASS_NONE = -1,
};

struct nb_net_vprops {
	int ndevs;
	int devs[NB_NET_MAX_VDEVS];
};

/* Properties of a device, in the newest version's shape. */
struct nb_net_props {
	char *name;	/* unique; lives as long as the library */
	char *pci_path; /* or NULL */
	uint64_t guid;
	int ptr_support; /* NB_NET_HOST_MEMORY | ... */
	int reg_is_global, force_flush;
	int speed; /* Mbit/s */
	int port;
	float latency; /* microseconds */
	int max_comms, max_recvs;
	int device_type, device_version;
	struct nb_net_vprops v;
	size_t max_p2p_bytes, max_coll_bytes;
	int max_multi_request;
	int16_t rail_id, plane_id; /* -1: undefined */
};

typedef void nb_net_logger(int level, unsigned long flags, const char *file,
			   int line, const char *fmt, ...);

/* The arguments of init; pointers are only passed to a wrapped plugin. */
struct nb_net_init {
	uint64_t comm_id; /* 0 before v11 */
	int traffic_class;
	nb_net_logger *logger;
	void *profiler_callback;
};

/* A transport's description of the peer. */
struct nb_net_peer {
	uint64_t address; /* hash of its address; 0: not known */
	uint64_t link;	  /* number equal at both ends; 0: not known */
	char text[64];	  /* "address:port"; "": not known */
};

/*
 * A transport, with NCCL's newest interface in our types. As in NCCL's
 * interface, nothing blocks: a connection that is not ready is NULL with
 * NB_NET_OK, and so is a request that cannot be taken now. Functions marked "or
 * NULL" may be missing. NCCL's threads call them; a connection's data path has
 * one thread.
 */
struct nb_net_ops {
	int (*init)(void **ctx, const struct nb_net_init *init);
	int (*finalize)(void *ctx);
	int (*devices)(int *n);
	int (*get_properties)(int dev, struct nb_net_props *props);
	int (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	/* @traffic_class: NB_NET_CLASS_NONE: the class of init */
	int (*connect)(void *ctx, int dev, int traffic_class, void *handle,
		       void **send_comm, void **dev_handle);
	int (*accept)(void *listen_comm, void **recv_comm, void **dev_handle);
	int (*reg_mr)(void *comm, void *data, size_t size, int type,
		      void **mhandle);
	/* or NULL */
	int (*reg_mr_dmabuf)(void *comm, void *data, size_t size, int type,
			     uint64_t offset, int fd, void **mhandle);
	int (*dereg_mr)(void *comm, void *mhandle);
	int (*isend)(void *send_comm, void *data, size_t size, int tag,
		     void *mhandle, void *phandle, void **request);
	int (*irecv)(void *recv_comm, int n, void **data, size_t *sizes,
		     int *tags, void **mhandles, void **phandles,
		     void **request);
	/* or NULL */
	int (*iflush)(void *recv_comm, int n, void **data, int *sizes,
		      void **mhandles, void **request);
	int (*test)(void *request, int *done, int *sizes);
	int (*close_send)(void *comm);
	int (*close_recv)(void *comm);
	int (*close_listen)(void *comm);
	/* these may all be NULL */
	int (*get_device_mr)(void *comm, void *mhandle, void **dptr);
	int (*irecv_consumed)(void *recv_comm, int n, void *request);
	int (*make_vdevice)(int *dev, struct nb_net_vprops *props);
	int (*set_net_attr)(void *ctx, void *attr);
	void (*peer)(void *comm, struct nb_net_peer *peer);
	/* does connect use its traffic class? */
	bool takes_class;
};

/* FNV-1a, for addresses. */
static inline uint64_t nb_net_hash(const void *p, size_t n)
{
	const unsigned char *b = (const unsigned char *)p;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h ? h : 1;
}

#endif
