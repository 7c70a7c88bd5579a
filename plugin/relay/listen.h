// SPDX-License-Identifier: MIT
#ifndef NB_RELAY_LISTEN_H
#define NB_RELAY_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * Where the agent's HTTP server listens.
 *
 * @listen: address to listen on, such as "127.0.0.1" or "::"
 * @port: port, or 0 for any free port
 * @advertise: host name or address that clients use, without the port
 * @cacert, @cert, @key: PEM files; all empty or NULL: no TLS
 */
struct nb_listen_config {
	const char *listen;
	unsigned port;
	const char *advertise;
	const char *cacert, *cert, *key;
};

/* Contents of the PEM files as text. Without TLS all are NULL. */
struct nb_listen_pem {
	char *cacert, *cert, *key;
	bool tls;
};

/* Returns 0, or NB_E_SETTING: a file is missing or cannot be read. */
int nb_listen_read(struct nb_listen_pem *p, const struct nb_listen_config *c, struct nb_err *err);
void nb_listen_free(struct nb_listen_pem *p);
/*
 * Open the listening socket. Returns the descriptor, NB_E_SETTING (the address
 * is invalid) or NB_E_IO (for example, the port is in use).
 */
int nb_listen_open(const struct nb_listen_config *c, int backlog, struct nb_err *err);
/*
 * Close the listening socket after MHD_start_daemon failed, unless it is closed
 * already: libmicrohttpd 0.9.75 closes it if TLS or a thread does not start,
 * but not if it has no descriptor left. @inode: result of nb_listen_inode
 * before the start, or 0. The descriptor may meanwhile be that of another file.
 */
void nb_listen_drop(int fd, uint64_t inode);
/* Returns the inode number of the socket @fd, or 0 if @fd is not open. */
uint64_t nb_listen_inode(int fd);
/* Write the URL of the server on socket @fd, followed by @path. */
void nb_listen_address(const struct nb_listen_config *c, bool tls, int fd, const char *path,
		       char *out, size_t size);

#endif
