// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TCP_TCP_H
#define NB_PLUGIN_TCP_TCP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "plugin/net/calls.h"
#include "plugin/net/extension.h"

/*
 * libnccl-net-tcp.so: NCCL's net, GIN and RMA interfaces over TCP, for memory
 * that the CPU can read. It has the functions of plugin/net/calls.h (link.c,
 * net.c) and of plugin/gin/calls.h (gin*.c) behind the tables of plugin/abi,
 * and needs libc alone. It runs only within NCCL's calls: no threads, no
 * blocking, except that GIN's connect waits for all ranks.
 */

/* Settings. The caller may change them before init. */
struct nb_tcp_conf {
	/*
	 * Logs one line, as a warning if @warn. Any thread calls it. NULL:
	 * NCCL's logger. Accessed atomically.
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
	/*
	 * time after which a peer that has not identified itself is dropped if
	 * others wait
	 */
	uint64_t patience_ns;
	/* size of sockets' buffers in bytes; 0: the system's default */
	int buffer;
};
extern struct nb_tcp_conf nb_tcp_conf;

/* Each event is logged by nb_tcp_say; its kind is counted for the process. */
uint64_t nb_tcp_counted(enum nb_net_count what);
void nb_tcp_count(enum nb_net_count what);
void nb_tcp_log_to(void (*say)(bool warn, const char *line));
void nb_tcp_say(bool warn, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Returns the enum nb_net_result that corresponds to an errno. */
int nb_tcp_result(int error);
/*
 * Returns the number of an environment variable, or -1 if it is not set or not
 * within the limits of its row in core/defs/params.h.
 */
int64_t nb_tcp_setting(const char *name);
/*
 * Return true if the CPU can read, or write, the first and the last byte of
 * this memory, which a GPU's may not allow. Otherwise the log says why it
 * cannot be registered for @what.
 */
bool nb_tcp_readable(const char *what, const void *data, size_t size);
bool nb_tcp_writable(const char *what, const void *data, size_t size);

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
int nb_tcp_find_devs(const char *ifname, int family, struct nb_tcp_dev *devs, int most);
/*
 * Returns true if interface @name matches a value of NCCL_SOCKET_IFNAME. The
 * value is a list of prefixes separated by commas; a leading "^" excludes them,
 * and "=" requires the whole name.
 */
bool nb_tcp_ifname_lets(const char *value, const char *name);
/* Returns a device, or NULL if there is no such device. */
const struct nb_tcp_dev *nb_tcp_dev(int dev);
/* Write an address as "address:port". */
void nb_tcp_addr_text(const union nb_tcp_addr *a, char *text, size_t size);
socklen_t nb_tcp_addr_size(const union nb_tcp_addr *a);

/* The data path of a connection (net.c). */
struct nb_tcp_comm;
/*
 * nb_tcp_comm_new - create a connection from a connected socket
 * @fd: the socket, whose ownership passes to the connection, also on failure
 *
 * Returns NULL if there is no memory.
 */
struct nb_tcp_comm *nb_tcp_comm_new(int fd, bool send, uint64_t link,
				    const union nb_tcp_addr *peer);

/* Header that precedes each message of a connection. */
struct nb_tcp_head {
	uint64_t size;
	uint32_t number; /* number of the message on its connection, from 0 */
	uint32_t magic;
};
enum { NB_TCP_HEAD_MAGIC = 0x6e62746d };

#endif
