// SPDX-License-Identifier: MIT
/*
 * Reads large inputs of requests from sealed memory files. No process can
 * change or shorten a sealed file while we read it.
 */
#include "plugin/control/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bpf/image/image.h"
#include "plugin/control/connection.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

/* Returns the size of a sealed memory file, or 0 if @fd is no such file. */
static size_t sealed_size(int fd, struct nb_err *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		nb_fail(err, NB_E_ARG, 0, "the accompanying descriptor is not a memory file");
		nb_hint(err, "memfd_create with MFD_ALLOW_SEALING");
		return 0;
	}
	if ((seals & SEALS) != SEALS) {
		nb_fail(err, NB_E_ARG, 0,
			"the memory file can still be written or resized (seals 0x%x of 0x%x)",
			(unsigned)(seals & SEALS), (unsigned)SEALS);
		nb_hint(err, "fcntl F_ADD_SEALS with F_SEAL_WRITE, F_SEAL_GROW and F_SEAL_SHRINK");
		return 0;
	}
	if (st.st_size < 1 || st.st_size > NB_IMAGE_MAX_SIZE) {
		nb_fail(err, NB_E_LIMIT, 0, "the memory file has %lld bytes, 1 to %d allowed",
			(long long)st.st_size, NB_IMAGE_MAX_SIZE);
		return 0;
	}
	return (size_t)st.st_size;
}

static int read_sealed(int fd, void **out, size_t *size, struct nb_err *err)
{
	size_t have = 0;
	char *bytes;
	int rc;

	*out = NULL;
	*size = sealed_size(fd, err);
	if (!*size)
		return err->code;
	bytes = malloc(*size);
	if (!bytes)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for %zu bytes", *size);
	while (have < *size) {
		ssize_t n = pread(fd, bytes + have, *size - have, (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = nb_fail(err, NB_E_IO, 0, "cannot read the memory file: %s",
				     n ? strerror(errno) : "it ends early");
			free(bytes);
			return rc;
		}
		have += (size_t)n;
	}
	*out = bytes;
	return 0;
}

int nb_sealed_take(struct nb_call *call, const char *what, void **out, size_t *size)
{
	const char *arg = call->req->narg ? call->req->arg[0] : "";
	int fd = nb_conn_take_fd(call->conn), rc;

	*out = NULL;
	if (fd < 0) {
		nb_fail(call->err, NB_E_ARG, 0, "%s %.64s: the request has no file descriptor",
			call->req->spec->words, arg);
		return nb_hint(
			call->err,
			"send %s as a sealed memory file (SCM_RIGHTS) with the line's first byte",
			what);
	}
	rc = read_sealed(fd, out, size, call->err);
	close(fd);
	return rc;
}
