// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_NET_TCP_H
#define NB_PLUGIN_NET_TCP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "plugin/net/transport.h"

/*
 * Our own transport: one TCP connection for each of NCCL's, and a header before
 * each message. It is non-blocking, and NCCL's calls drive it. It uses no
 * other part of the plugin but the clock.
 */
extern const struct nb_net_ops nb_tcp_ops;

/* Events counted for the process. */
enum nb_tcp_count {
	NB_TCP_STRANGERS, /* dropped connections of unidentified peers */
	NB_TCP_LATE,	  /* dropped connections that sent nothing in time */
	NB_TCP_STALLS,	  /* requests that did not move for stall_ns */
	NB_TCP_LOST,	  /* connections that the peer closed too early */
	NB_TCP_GARBAGE,	  /* connections with invalid data */
	NB_TCP_OVERSIZED, /* connections with a message larger than the receive
			     buffer */
	NB_TCP_NCOUNTS
};

/* Set before init; the defaults are fine. */
struct nb_tcp_conf {
	/* Log one line; @warn: as a warning. Any thread; may be NULL. */
	void (*say)(bool warn, const char *line);
	uint64_t stall_ns;   /* time without progress until a stall is logged,
				once a connection */
	uint64_t connect_ns; /* how long to retry a refused connect */
	uint64_t hello_ns;   /* time for a peer to identify itself */
};
extern struct nb_tcp_conf nb_tcp_conf;
uint64_t nb_tcp_counted(enum nb_tcp_count what);
void nb_tcp_count(enum nb_tcp_count what);
void nb_tcp_say(bool warn, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

enum { NB_TCP_MAX_DEVS = 32 };

union nb_tcp_addr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct nb_tcp_dev {
	char name[32]; /* the interface's name */
	char pci[256]; /* "": not a PCI device */
	union nb_tcp_addr addr;
	int speed; /* Mbit/s */
};

/*
 * nb_tcp_find_devs - one device for each interface that NCCL_SOCKET_IFNAME and
 * NCCL_SOCKET_FAMILY allow
 * @ifname: value of NCCL_SOCKET_IFNAME, or NULL: all but loopback and
 *          containers' bridges; those only where nothing else is
 * @family: AF_UNSPEC: IPv4 where an interface has it, else IPv6
 *
 * Returns how many, at most @most.
 */
int nb_tcp_find_devs(const char *ifname, int family, struct nb_tcp_dev *devs,
		     int most);
/* Does @name satisfy a value of NCCL_SOCKET_IFNAME: prefixes separated by
 * commas, "^" excludes, "=" wants the whole name. */
bool nb_tcp_ifname_lets(const char *value, const char *name);
/* "address:port" */
void nb_tcp_addr_text(const union nb_tcp_addr *a, char *text, size_t size);
socklen_t nb_tcp_addr_size(const union nb_tcp_addr *a);
/* An address as handles carry it: @port in network order, IPv4 in the first 4
 * bytes of @bytes, which the caller has zeroed. */
void nb_tcp_addr_pack(const union nb_tcp_addr *a, uint16_t *family,
		      uint16_t *port, uint8_t bytes[16]);
/* False: a family that is neither IPv4 nor IPv6. */
bool nb_tcp_addr_unpack(union nb_tcp_addr *a, uint16_t family, uint16_t port,
			const uint8_t bytes[16]);

/* ---- tcp_link.c and tcp.c share ---- */

struct nb_tcp_comm;
/*
 * nb_tcp_comm_new - make a connection of a connected socket
 * @fd: taken, also on failure
 *
 * NULL: no memory.
 */
struct nb_tcp_comm *nb_tcp_comm_new(int fd, bool send, uint64_t link,
				    const union nb_tcp_addr *peer);
/* The enum nb_net_result for an errno. */
int nb_tcp_result(int error);

int nb_tcp_init(void **ctx, const struct nb_net_init *init);
int nb_tcp_finalize(void *ctx);
int nb_tcp_listen(void *ctx, int dev, void *handle, void **listen_comm);
int nb_tcp_connect(void *ctx, int dev, int traffic_class, void *handle,
		   void **send_comm, void **dev_handle);
int nb_tcp_accept(void *listen_comm, void **recv_comm, void **dev_handle);
int nb_tcp_close_listen(void *listen_comm);
int nb_tcp_devices(int *n);
int nb_tcp_get_properties(int dev, struct nb_net_props *props);
/* The device's address; NULL: no such device. */
const struct nb_tcp_dev *nb_tcp_dev(int dev);

/* The connector's first message. A peer of another byte order has a wrong
 * magic. */
struct nb_tcp_hello {
	uint64_t magic, cookie, link;
	uint32_t version, zero;
};
/* Before each message. */
struct nb_tcp_head {
	uint64_t size;
	uint32_t number; /* message number, from 0 */
	uint32_t magic;
};
/* NCCL's 128 bytes. */
struct nb_tcp_handle {
	uint64_t magic, cookie;
	uint16_t family, port; /* port: network order */
	uint32_t version;
	uint8_t addr[16];
	void *state; /* the connector's state; NULL at first */
};
#define NB_TCP_HELLO_MAGIC UINT64_C(0x6e63636c62706631)
#define NB_TCP_HANDLE_MAGIC UINT64_C(0x6e63636c62706668)
enum { NB_TCP_HEAD_MAGIC = 0x6e62746d, NB_TCP_VERSION = 1 };

#endif
