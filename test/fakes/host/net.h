// SPDX-License-Identifier: MIT
#ifndef NB_TEST_HOST_NET_H
#define NB_TEST_HOST_NET_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the stand-in host knows of NCCL's net interface: declarations of our
 * own of versions 6 to 12, each as it stands in that version, made apart from
 * the plugin's table of unions on purpose, so that a mistake there is not
 * repeated here.
 */
typedef void host_net_logger(int level, unsigned long flags, const char *file, int line,
			     const char *fmt, ...);

enum { HOST_NET_OLDEST = 6, HOST_NET_NEWEST = 12, HOST_HANDLE = 128 };

/* clang-format off */
#define HEAD char *name; char *pciPath; uint64_t guid; int ptrSupport;
#define TAIL int speed; int port; float latency; int maxComms; int maxRecvs;
#define TYPE int netDeviceType; int netDeviceVersion;

struct host_props_v6 { HEAD TAIL };
struct host_props_v7 { HEAD TAIL TYPE };
struct host_props_v8 { HEAD int regIsGlobal; TAIL TYPE };
struct host_vprops_v9 { int ndevs; int devs[4]; };
struct host_props_v9 { HEAD int regIsGlobal; int forceFlush; TAIL TYPE
	struct host_vprops_v9 vProps; size_t maxP2pBytes; size_t maxCollBytes; };
struct host_props_v10 { HEAD int regIsGlobal; int forceFlush; TAIL TYPE
	struct host_vprops_v9 vProps; size_t maxP2pBytes; size_t maxCollBytes; };
struct host_props_v11 { HEAD int regIsGlobal; int forceFlush; TAIL TYPE
	struct host_vprops_v9 vProps; size_t maxP2pBytes; size_t maxCollBytes;
	int maxMultiRequestSize; };
struct host_vprops_v12 { int ndevs; int devs[8]; };
struct host_props_v12 { HEAD int regIsGlobal; int forceFlush; TAIL TYPE
	struct host_vprops_v12 vProps; size_t maxP2pBytes; size_t maxCollBytes;
	int maxMultiRequestSize; int16_t railId; int16_t planeId; };
struct host_net_config { int trafficClass; };
struct host_net_attr { int32_t send[4], recv[4]; uint32_t op, algo, proto; };

#define HOST_PROPS(v) struct host_props_v##v
#define NAME const char *name;
#define INIT_OLD int (*init)(host_net_logger *log);
#define INIT_10 int (*init)(host_net_logger *log, void *prof);
#define INIT_11 int (*init)(void **ctx, uint64_t id, \
	struct host_net_config *config, host_net_logger *log, void *prof);
#define DEVICES(v) int (*devices)(int *n); \
	int (*getProperties)(int dev, HOST_PROPS(v) *props);
#define LISTEN_OLD int (*listen)(int dev, void *handle, void **comm);
#define LISTEN_11 int (*listen)(void *ctx, int dev, void *handle, void **comm);
#define CONNECT_OLD int (*connect)(int dev, void *handle, void **comm); \
	int (*accept)(void *listen, void **comm);
#define CONNECT_7 int (*connect)(int dev, void *handle, void **comm, void **d);
#define CONNECT_10 int (*connect)(int dev, struct host_net_config *config, \
	void *handle, void **comm, void **d);
#define CONNECT_11 int (*connect)(void *ctx, int dev, void *handle, \
	void **comm, void **d);
#define ACCEPT_7 int (*accept)(void *listen, void **comm, void **d);
#define REG(size_type) int (*regMr)(void *comm, void *data, size_type size, \
	int type, void **mh);
#define DMABUF int (*regMrDmaBuf)(void *comm, void *data, size_t size, \
	int type, uint64_t offset, int fd, void **mh);
#define DEREG int (*deregMr)(void *comm, void *mh);
#define DATA_OLD int (*isend)(void *comm, void *data, int size, int tag, \
	void *mh, void **req); \
	int (*irecv)(void *comm, int n, void **data, int *sizes, int *tags, \
	void **mh, void **req);
#define DATA_9 int (*isend)(void *comm, void *data, size_t size, int tag, \
	void *mh, void **req); \
	int (*irecv)(void *comm, int n, void **data, size_t *sizes, int *tags, \
	void **mh, void **req);
#define DATA_10 int (*isend)(void *comm, void *data, size_t size, int tag, \
	void *mh, void *ph, void **req); \
	int (*irecv)(void *comm, int n, void **data, size_t *sizes, int *tags, \
	void **mh, void **ph, void **req);
#define REST int (*iflush)(void *comm, int n, void **data, int *sizes, \
	void **mh, void **req); \
	int (*test)(void *req, int *done, int *sizes); \
	int (*closeSend)(void *comm); int (*closeRecv)(void *comm); \
	int (*closeListen)(void *comm);
#define REST_7 int (*getDeviceMr)(void *comm, void *mh, void **ptr); \
	int (*irecvConsumed)(void *comm, int n, void *req);
#define REST_9(v) int (*makeVDevice)(int *dev, struct host_vprops_v##v *p);
#define REST_11 int (*finalize)(void *ctx); \
	int (*setNetAttr)(void *ctx, struct host_net_attr *attr);

struct host_net_v6 { NAME INIT_OLD DEVICES(6) LISTEN_OLD CONNECT_OLD REG(int)
	DMABUF DEREG DATA_OLD REST };
struct host_net_v7 { NAME INIT_OLD DEVICES(7) LISTEN_OLD CONNECT_7 ACCEPT_7
	REG(int) DMABUF DEREG DATA_OLD REST REST_7 };
struct host_net_v8 { NAME INIT_OLD DEVICES(8) LISTEN_OLD CONNECT_7 ACCEPT_7
	REG(size_t) DMABUF DEREG DATA_OLD REST REST_7 };
struct host_net_v9 { NAME INIT_OLD DEVICES(9) LISTEN_OLD CONNECT_7 ACCEPT_7
	REG(size_t) DMABUF DEREG DATA_9 REST REST_7 REST_9(9) };
struct host_net_v10 { NAME INIT_10 DEVICES(10) LISTEN_OLD CONNECT_10 ACCEPT_7
	REG(size_t) DMABUF DEREG DATA_10 REST REST_7 REST_9(9) };
struct host_net_v11 { NAME INIT_11 DEVICES(11) LISTEN_11 CONNECT_11 ACCEPT_7
	REG(size_t) DMABUF DEREG DATA_10 REST REST_7 REST_9(9) REST_11 };
struct host_net_v12 { NAME INIT_11 DEVICES(12) LISTEN_11 CONNECT_11 ACCEPT_7
	REG(size_t) DMABUF DEREG DATA_10 REST REST_7 REST_9(12) REST_11 };
/* clang-format on */

/* Calls that a plugin of test/fakes/host/net_plugin.c has seen: its symbol
 * net_plugin_calls. */
struct host_net_calls {
	int init, finalize, devices, properties, listen, connect, accept, reg, dmabuf, dereg, isend,
		irecv, flush, test, close, device_mr, consumed, vdevice, attr;
	int traffic_class; /* the last that was told */
	int hinted;	   /* irecv with a hint */
};

#endif
