// SPDX-License-Identifier: MIT
/*
 * The listening socket, the address and the TLS files of the agent's HTTP
 * server.
 */
#include "plugin/relay/listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PEM_SIZE = 1 << 20 };

static int read_pem(char **out, const char *what, const char *path, struct nb_err *err)
{
	FILE *f = fopen(path, "re");
	char *text = f ? calloc(1, PEM_SIZE) : NULL;
	int e = errno;
	bool bad = !text || !fread(text, 1, PEM_SIZE - 1, f);

	if (f)
		fclose(f);
	if (bad) {
		free(text);
		return nb_fail(err, NB_E_SETTING, 0, "relay: %s %s: %s", what, path,
			       f ? "no data" : strerror(e));
	}
	*out = text;
	return 0;
}

int nb_listen_read(struct nb_listen_pem *p, const struct nb_listen_config *c, struct nb_err *err)
{
	bool ca = c->cacert && c->cacert[0], cert = c->cert && c->cert[0],
	     key = c->key && c->key[0];
	int rc;

	if (!ca && !cert && !key)
		return 0;
	if (!ca || !cert || !key)
		return nb_fail(err, NB_E_SETTING, 0,
			       "relay: TLS needs a CA certificate, "
			       "a certificate and its key; %s is missing",
			       !ca     ? "the CA certificate"
			       : !cert ? "the certificate"
				       : "the key");
	p->tls = true;
	rc = read_pem(&p->cacert, "CA certificate", c->cacert, err);
	if (!rc)
		rc = read_pem(&p->cert, "certificate", c->cert, err);
	if (!rc)
		rc = read_pem(&p->key, "key", c->key, err);
	return rc;
}

void nb_listen_free(struct nb_listen_pem *p)
{
	free(p->cacert);
	free(p->cert);
	if (p->key)
		explicit_bzero(p->key, strlen(p->key));
	free(p->key);
	*p = (struct nb_listen_pem){ .tls = false };
}

int nb_listen_open(const struct nb_listen_config *c, int backlog, struct nb_err *err)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
				  .ai_socktype = SOCK_STREAM },
			*ai = NULL;
	const char *host = c->listen && c->listen[0] ? c->listen : "127.0.0.1";
	char port[16];
	int fd, yes = 1;

	snprintf(port, sizeof(port), "%u", c->port);
	if (c->port > UINT16_MAX)
		return nb_fail(err, NB_E_SETTING, 0,
			       "relay: port %u is not a port (allowed: 1 to %d)", c->port,
			       UINT16_MAX);
	if (getaddrinfo(host, port, &hints, &ai) || !ai)
		return nb_fail(err, NB_E_SETTING, 0,
			       "relay: %s is not a numeric address to listen on", host);
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, ai->ai_addr, ai->ai_addrlen) || listen(fd, backlog)) {
		nb_fail(err, NB_E_IO, 0, "relay: address %s, port %u: %s", host, c->port,
			strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = NB_E_IO;
	}
	freeaddrinfo(ai);
	return fd;
}

uint64_t nb_listen_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

void nb_listen_drop(int fd, uint64_t inode)
{
	if (inode && nb_listen_inode(fd) == inode)
		close(fd);
}

void nb_listen_address(const struct nb_listen_config *c, bool tls, int fd, const char *path,
		       char *out, size_t size)
{
	struct sockaddr_storage a;
	socklen_t length = sizeof(a);
	char port[16] = "0";
	const char *host = c->advertise && c->advertise[0] ? c->advertise
			   : c->listen && c->listen[0]	   ? c->listen
							   : "127.0.0.1";

	if (!getsockname(fd, (struct sockaddr *)&a, &length))
		getnameinfo((struct sockaddr *)&a, length, NULL, 0, port, sizeof(port),
			    NI_NUMERICSERV);
	snprintf(out, size, strchr(host, ':') ? "%s://[%.250s]:%s%s" : "%s://%.250s:%s%s",
		 tls ? "https" : "http", host, port, path);
}
