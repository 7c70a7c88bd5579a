// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TCP_TCP_H
#define NB_PLUGIN_TCP_TCP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "plugin/net/transport.h"

/*
 * Our own transport. Each of NCCL's connections uses one TCP connection, with a
 * header before each message. It is non-blocking and runs only within NCCL's
 * calls. It uses no other part of the plugin except the clock.
 */
extern const struct nb_net_ops nb_tcp_ops;

/* Events that are counted for the process. */
enum nb_tcp_count {
	/* connections dropped because the peer did not identify itself */
	NB_TCP_STRANGERS,
	NB_TCP_LATE, /* connections dropped because they sent nothing in time */
	NB_TCP_STALLS,	/* requests that made no progress for stall_ns */
	NB_TCP_LOST,	/* connections that the peer closed too early */
	NB_TCP_GARBAGE, /* connections on which invalid data arrived */
	/* connections with a message larger than the receive buffer */
	NB_TCP_OVERSIZED,
	NB_TCP_NCOUNTS
};

/* Settings of the transport. The caller may change them before init. */
struct nb_tcp_conf {
	/*
	 * Logs one line, as a warning if @warn. Any thread calls it. May be
	 * NULL.
	 */
	void (*say)(bool warn, const char *line);
	/*
	 * time without progress after which a stall is logged, once for each
	 * connection
	 */
	uint64_t stall_ns;
	/* time for which a refused connect is tried again */
	uint64_t connect_ns;
	uint64_t hello_ns; /* time in which a peer must identify itself */
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
	char name[32]; /* name of the network interface */
	char pci[256]; /* PCI path, or "" if it is not a PCI device */
	union nb_tcp_addr addr;
	int speed; /* speed of the interface in Mbit/s */
};

/*
 * nb_tcp_find_devs - list the interfaces that NCCL_SOCKET_IFNAME and
 * NCCL_SOCKET_FAMILY allow
 * @ifname: value of NCCL_SOCKET_IFNAME; NULL: all except loopback and bridges
 *   of containers, which are used only if there are no others
 * @family: address family; AF_UNSPEC: IPv4 if an interface has it, else IPv6
 *
 * Returns the number of devices, @most at most.
 */
int nb_tcp_find_devs(const char *ifname, int family, struct nb_tcp_dev *devs,
		     int most);
/*
 * Returns true if interface @name matches a value of NCCL_SOCKET_IFNAME. The
 * value is a list of prefixes separated by commas; a leading "^" excludes them,
 * and "=" requires the whole name.
 */
bool nb_tcp_ifname_lets(const char *value, const char *name);
/* Write an address as "address:port". */
void nb_tcp_addr_text(const union nb_tcp_addr *a, char *text, size_t size);
socklen_t nb_tcp_addr_size(const union nb_tcp_addr *a);

/* Contents of NCCL's 128-byte connection handle. */
struct nb_tcp_handle {
	uint64_t magic, cookie;
	uint16_t family, port; /* TCP port in network byte order */
	uint32_t version;
	uint8_t addr[16];
	/* state of the net plugin's connecting side; NULL at first */
	void *state;
};

/*
 * nb_tcp_port_open - listen on a free port of address @a
 * @fd: set to the listening socket, which the caller owns
 * @h: set to what a peer needs to connect: @magic, @version, a new secret
 *   cookie and the address
 *
 * Returns 0 or an errno.
 */
int nb_tcp_port_open(union nb_tcp_addr a, uint64_t magic, uint32_t version,
		     int *fd, struct nb_tcp_handle *h);
/*
 * Read the address in a handle. Returns false if the handle has another magic
 * number or version.
 */
bool nb_tcp_port_address(const struct nb_tcp_handle *h, uint64_t magic,
			 uint32_t version, union nb_tcp_addr *a);

/* Set the traffic class of a socket, unless @traffic_class is no class. */
void nb_tcp_set_class(int fd, int family, int traffic_class);
/*
 * Check whether a connect is complete. Returns 0, EAGAIN if it is pending, or
 * the errno of its failure.
 */
int nb_tcp_connected(int fd);
/*
 * Send (@out) or receive the bytes of @at from position *@moved. Returns 1 if
 * all bytes are moved, 0 if the socket would block, -1 on failure with errno
 * set.
 */
int nb_tcp_move(int fd, void *at, size_t size, size_t *moved, bool out);

/* The declarations below are shared by tcp_link.c and tcp.c. */

struct nb_tcp_comm;
/*
 * nb_tcp_comm_new - create a connection from a connected socket
 * @fd: the socket, whose ownership passes to the connection, also on failure
 *
 * Returns NULL if there is no memory.
 */
struct nb_tcp_comm *nb_tcp_comm_new(int fd, bool send, uint64_t link,
				    const union nb_tcp_addr *peer);
/* Returns the enum nb_net_result that corresponds to an errno. */
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
/* Returns a device's address, or NULL if there is no such device. */
const struct nb_tcp_dev *nb_tcp_dev(int dev);

/*
 * First message of the connecting side. A peer of another byte order is
 * recognised by its wrong magic number.
 */
struct nb_tcp_hello {
	uint64_t magic, cookie, link;
	uint32_t version, zero;
};
/* Header that precedes each message. */
struct nb_tcp_head {
	uint64_t size;
	uint32_t number; /* number of the message on its connection, from 0 */
	uint32_t magic;
};
#define NB_TCP_HELLO_MAGIC UINT64_C(0x6e63636c62706631)
#define NB_TCP_HANDLE_MAGIC UINT64_C(0x6e63636c62706668)
enum { NB_TCP_HEAD_MAGIC = 0x6e62746d, NB_TCP_VERSION = 1 };

#endif
