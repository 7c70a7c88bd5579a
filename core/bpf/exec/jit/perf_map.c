// SPDX-License-Identifier: MIT
/*
 * Names for machine code in perf's map file of the process. The file is written
 * only on request; if naming fails, the program runs anyway.
 */
#include "core/bpf/exec/jit/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/file_limit.h"
#include "core/bpf/exec/jit/emit.h"

/* Open only a regular file of our own: a link, or another user's file in a
 * shared folder, is refused. */
static int open_map(struct nb_err *err)
{
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0)
		return nb_fail(err, NB_E_IO, 0, "%s: %s", path, strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1)
		return fd;
	close(fd);
	return nb_fail(err, NB_E_IO, 0, "%s is not a file of this user's own", path);
}

/* Append one line for function @f of program @p. The set-up code of the entry
 * belongs to function 0. */
static void put_function(struct nb_buf *b, const struct nb_jit *j, const char *policy,
			 const struct nb_prog *p, uint32_t f)
{
	uint32_t start = f ? j->off[p->funcs[f].start] : 0;
	uint32_t end = f + 1 < p->nfuncs ? j->off[p->funcs[f].end] : (uint32_t)j->size;

	nb_buf_printf(b, "%" PRIxPTR " %x %s/%s", (uintptr_t)j->code + start, end - start, policy,
		      p->name);
	if (f)
		nb_buf_printf(b, "/%s", p->funcs[f].name);
	nb_buf_char(b, '\n');
}

int nb_perf_map_add(const struct nb_jit *j, const struct nb_image *img, uint32_t prog,
		    struct nb_err *err)
{
	const struct nb_prog *p = &img->progs[prog];
	int fd = open_map(err), rc = 0;
	struct nb_buf b;
	struct stat at;

	if (fd < 0)
		return fd;
	nb_buf_init(&b, 1 << 20);
	for (uint32_t f = 0; f < p->nfuncs; f++)
		put_function(&b, j, img->name, p, f);
	/* One write for all lines, so that lines of other threads do not
	 * come between. */
	if (!nb_buf_ok(&b) || fstat(fd, &at) || nb_past_file_limit(at.st_size, b.size) ||
	    write(fd, b.data, b.size) != (ssize_t)b.size)
		rc = nb_fail(err, NB_E_IO, 0, "cannot append %zu bytes to /tmp/perf-%d.map", b.size,
			     getpid());
	nb_buf_fini(&b);
	close(fd);
	return rc;
}
