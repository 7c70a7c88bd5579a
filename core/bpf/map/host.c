// SPDX-License-Identifier: MIT
/*
 * The pages of host maps. A descriptor is first mapped at another address,
 * every page is read once, and the mapping is moved once where no program
 * reads; only then mremap moves it over the map's address, in one step for all
 * threads. So a descriptor that cannot be read, or a limit of the process,
 * leaves the map unchanged, and no program gets SIGBUS: neither a BPF array nor
 * a memory file sealed against shrinking and writing can lose a page
 * afterwards.
 */
#include "core/bpf/map/host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bpf/map/ops.h"

#ifndef MAP_FIXED_NOREPLACE
/* Linux 4.17 added this flag to linux/mman.h. */
#define MAP_FIXED_NOREPLACE 0x100000
#endif
/* Linux 5.1 added this seal to linux/fcntl.h: no new writable mappings, no new
 * writes. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Return the size of all elements in bytes. */
static size_t host_bytes(const struct nb_map *m)
{
	return (size_t)m->elem_size * m->max_entries;
}

static size_t host_mapped(const struct nb_map *m)
{
	return (host_bytes(m) + page_size() - 1) & ~(page_size() - 1);
}

static void *map_zeroes(size_t size)
{
	return mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

int nb_map_host_new(struct nb_map **out, const struct nb_map_def *def, struct nb_err *err)
{
	const size_t size = nb_whole_lines(sizeof(struct nb_map));
	uint64_t plan = 0;
	struct nb_map *m;
	int rc = nb_map_plan(&plan, def, 1, err);

	*out = NULL;
	if (!rc && def->type != NB_MAP_ARRAY)
		rc = nb_fail(err, NB_E_MAPDEF, 0, "map %s: a host map is an array", def->name);
	if (!rc && plan > NB_MAP_MAX_BYTES)
		rc = nb_fail(err, NB_E_LIMIT, 0,
			     "map %s: a host map of %" PRIu64 " bytes; at most %d", def->name, plan,
			     NB_MAP_MAX_BYTES);
	if (rc)
		return rc;
	m = nb_map_allocate(def, size);
	if (m)
		m->base = map_zeroes(host_mapped(m));
	if (!m || m->base == MAP_FAILED) {
		free(m);
		return nb_fail(err, NB_E_NOMEM, 0, "map %s: no memory for %" PRIu64 " bytes",
			       def->name, plan);
	}
	m->host = true;
	*out = m;
	return 0;
}

void nb_map_host_unmap(struct nb_map *m)
{
	if (m->host)
		munmap(m->base, host_mapped(m));
}

bool nb_map_is_host(const struct nb_map *m)
{
	return m->host;
}

/* Parse the number after "@key:" at the start of a line; returns false if
 * there is no such line. */
static bool fdinfo_number(const char *text, const char *key, uint64_t *out)
{
	size_t n = strlen(key);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, key, n) == 0 && p[n] == ':') {
			*out = strtoull(p + n + 1, NULL, 0);
			return true;
		}
	}
	return false;
}

/* Read the kernel's text about a descriptor, as a string; returns false if
 * there is none. */
static bool read_fdinfo(int fd, char *text, size_t size)
{
	char path[40];
	ssize_t got = 0, n = 1;
	int info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return false;
	while (n > 0 && (size_t)got < size - 1) {
		n = read(info, text + got, size - 1 - (size_t)got);
		if (n > 0)
			got += n;
	}
	close(info);
	text[got] = '\0';
	return n >= 0;
}

/* Reject a BPF map whose property @what has the value @found. */
static int refuse_shape(const struct nb_map *m, const char *what, uint64_t found, uint64_t wanted,
			struct nb_err *err)
{
	return nb_fail(err, NB_E_ARG, 0,
		       "map %s: the BPF map's %s is %" PRIu64 "; the host map's is %" PRIu64,
		       m->name, what, found, wanted);
}

static int check_bpf_map(const struct nb_map *m, const char *info, struct nb_err *err)
{
	const struct nb_map_def *d = &m->def;
	const struct {
		const char *what;
		uint64_t wanted;
	} shape[] = { { "map_type", NB_MAP_ARRAY },
		      { "key_size", d->key_size },
		      { "value_size", d->value_size },
		      { "max_entries", d->max_entries } };
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
		n = 0;
		fdinfo_number(info, shape[i].what, &n);
		if (n != shape[i].wanted)
			return refuse_shape(m, shape[i].what, n, shape[i].wanted, err);
	}
	n = 0;
	fdinfo_number(info, "map_flags", &n);
	if (!(n & NB_F_MMAPABLE))
		return nb_fail(err, NB_E_ARG, 0,
			       "map %s: the BPF map's map_flags are 0x%" PRIx64
			       "; BPF_F_MMAPABLE (0x400) is needed",
			       m->name, n);
	n = 0;
	fdinfo_number(info, "frozen", &n);
	if (n)
		return 0;
	nb_fail(err, NB_E_ARG, 0,
		"map %s: the BPF map is not frozen, so any process that has it could write it",
		m->name);
	nb_hint(err, "bpf_map_freeze(fd) or `bpftool map freeze` freezes the map; "
		     "BPF programs in the kernel can write a frozen map too");
	return NB_E_ARG;
}

/* Check that @fd is a sealed memory file. *@private: its contents never
 * change again, so a private mapping will do. */
static int check_memory_file(const struct nb_map *m, int fd, bool *private, struct nb_err *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	size_t least = host_bytes(m), most = host_mapped(m);
	struct stat st;

	if (seals < 0 || fstat(fd, &st))
		return nb_fail(err, NB_E_ARG, 0,
			       "map %s: the descriptor is neither a BPF map nor a memory file",
			       m->name);
	*private = seals & F_SEAL_WRITE;
	if (!(seals & F_SEAL_SHRINK) || !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))) {
		nb_fail(err, NB_E_ARG, 0,
			"map %s: the memory file has the seals 0x%x; "
			"F_SEAL_SHRINK and F_SEAL_FUTURE_WRITE (0x12) are needed",
			m->name, (unsigned)seals);
		nb_hint(err, "memfd_create with MFD_ALLOW_SEALING; "
			     "map the file for writing, then fcntl F_ADD_SEALS");
		return NB_E_ARG;
	}
	if (st.st_size < (off_t)least || st.st_size > (off_t)most)
		return nb_fail(err, NB_E_ARG, 0,
			       "map %s: the memory file has %lld bytes; "
			       "the host map's %u elements of %zu bytes are %zu",
			       m->name, (long long)st.st_size, m->max_entries, m->elem_size, least);
	return 0;
}

/*
 * Read a byte of each page by a system call, which returns EFAULT where a
 * load would raise SIGBUS (a memory file's page that cannot be allocated).
 * Returns 0 or errno.
 */
static int touch_pages(const unsigned char *pages, size_t size)
{
	int pipe_fd[2], rc = 0;
	char byte;

	if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK))
		return errno;
	for (size_t at = 0; !rc && at < size; at += page_size())
		if (write(pipe_fd[1], pages + at, 1) != 1 || read(pipe_fd[0], &byte, 1) != 1)
			rc = errno;
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return rc;
}

/*
 * Map zeroes in the pages of the map if none are mapped there: mremap
 * unmaps its target before it may run out of memory. The map is then
 * detached.
 */
static void fill_hole(struct nb_map *m)
{
	size_t size = host_mapped(m);
	void *p = mmap(m->base, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		       -1, 0);

	if (p == m->base)
		__atomic_store_n(&m->attached, false, __ATOMIC_RELAXED);
	else if (p != MAP_FAILED)
		/* Linux before 4.17 ignores MAP_FIXED_NOREPLACE. */
		munmap(p, size);
}

/*
 * Move the mapping @from over the map's pages; other threads see either the
 * old or the new pages. On failure returns errno, with @from unmapped and
 * the map unchanged or detached.
 *
 * mremap unmaps the old pages first. After that it needs memory only for a
 * mapping's record and page tables: the kernel waits for it or ends the
 * process. rehearse_move has met the limits of the process. So other threads
 * lose the pages only if a limit is lowered between both calls; fill_hole then
 * maps zeroes.
 */
static int replace_pages(struct nb_map *m, void *from)
{
	size_t size = host_mapped(m);
	int rc = 0;

	if (mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, m->base) == MAP_FAILED) {
		rc = errno;
		munmap(from, size);
		fill_hole(m);
	}
	return rc;
}

static int refuse_ordinary(const struct nb_map *m, struct nb_err *err)
{
	nb_fail(err, NB_E_NOTSUP, 0, "map %s is no host map", m->name);
	nb_hint(err, "tag the map __host in the policy");
	return NB_E_NOTSUP;
}

/* Map @fd for reading. Kernels before 6.7 refuse shared mappings of
 * write-sealed files, so @private asks for a private one. */
static void *map_readable(const struct nb_map *m, int fd, bool private, struct nb_err *err)
{
	int flags = (private ? MAP_PRIVATE : MAP_SHARED) | MAP_POPULATE, rc;
	void *pages = mmap(NULL, host_mapped(m), PROT_READ, flags, fd, 0);

	if (pages != MAP_FAILED)
		return pages;
	rc = errno;
	nb_fail(err, NB_E_IO, 0, "map %s: the descriptor cannot be mapped: %s", m->name,
		strerror(rc));
	if (rc == EINVAL)
		nb_hint(err, "a descriptor opened with BPF_F_RDONLY cannot be mapped; "
			     "freeze the map instead");
	return NULL;
}

/*
 * Move @from to an address of its own. mremap over a map's pages unmaps these
 * pages before it can exceed a limit of the process. This move meets such
 * limits first, at an address where no program reads. Returns the new address,
 * or NULL with errno and @from unmapped.
 */
static void *rehearse_move(void *from, size_t size)
{
	void *to = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int rc;

	if (to != MAP_FAILED && mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to)
		return to;
	rc = errno;
	if (to != MAP_FAILED)
		munmap(to, size);
	munmap(from, size);
	errno = rc;
	return NULL;
}

/* Map the pages of @fd, after all checks. */
static int map_descriptor(const struct nb_map *m, int fd, void **out, struct nb_err *err)
{
	bool private = false;
	char info[2048];
	uint64_t type;
	int rc;

	if (!read_fdinfo(fd, info, sizeof(info)))
		return nb_fail(err, NB_E_IO, 0,
			       "map %s: /proc/self/fdinfo/%d cannot be read, so "
			       "the descriptor's shape is unknown",
			       m->name, fd);
	rc = fdinfo_number(info, "map_type", &type) ? check_bpf_map(m, info, err)
						    : check_memory_file(m, fd, &private, err);
	if (rc)
		return rc;
	*out = map_readable(m, fd, private, err);
	if (!*out)
		return NB_E_IO;
	rc = touch_pages(*out, host_mapped(m));
	if (!rc)
		return 0;
	munmap(*out, host_mapped(m));
	return nb_fail(err, NB_E_IO, 0, "map %s: the descriptor's pages cannot be read: %s",
		       m->name, strerror(rc));
}

static int refuse_zeroes(const struct nb_map *m, int rc, struct nb_err *err)
{
	return nb_fail(err, NB_E_NOMEM, 0, "map %s stays attached: no memory for zeroes: %s",
		       m->name, strerror(rc));
}

/*
 * Map the pages of descriptor @fd, or zeroes if @fd is negative, and check
 * them; the map stays as it is. *@pages goes to show_pages.
 */
static int prepare_pages(const struct nb_map *m, int fd, void **pages, struct nb_err *err)
{
	void *p = NULL;
	int rc;

	*pages = NULL;
	if (!m->host)
		return refuse_ordinary(m, err);
	if (fd >= 0) {
		rc = map_descriptor(m, fd, &p, err);
		if (rc)
			return rc;
	} else {
		p = map_zeroes(host_mapped(m));
		if (p == MAP_FAILED)
			return refuse_zeroes(m, errno, err);
	}
	*pages = rehearse_move(p, host_mapped(m));
	if (*pages)
		return 0;
	rc = errno;
	if (fd < 0)
		return refuse_zeroes(m, rc, err);
	return nb_fail(err, NB_E_IO, 0, "map %s: the descriptor's pages cannot be moved: %s",
		       m->name, strerror(rc));
}

/*
 * Show prepared pages, which the map owns from now on, also on failure.
 * @attached: a descriptor provides the pages.
 */
static int show_pages(struct nb_map *m, void *pages, bool attached, struct nb_err *err)
{
	int rc = replace_pages(m, pages);

	/* the map was detached during the exchange, as the caller wants */
	if (rc && !attached && !nb_map_host_attached(m))
		return 0;
	if (rc && !attached)
		return refuse_zeroes(m, rc, err);
	if (rc)
		return nb_fail(err, NB_E_IO, 0, "map %s: the pages cannot be exchanged: %s",
			       m->name, strerror(rc));
	__atomic_store_n(&m->attached, attached, __ATOMIC_RELAXED);
	return 0;
}

int nb_map_host_attach(struct nb_map *m, int fd, struct nb_err *err)
{
	void *pages;
	int rc;

	if (m->host && fd < 0)
		return nb_fail(err, NB_E_IO, 0, "map %s: no descriptor", m->name);
	rc = prepare_pages(m, fd, &pages, err);
	return rc ? rc : show_pages(m, pages, true, err);
}

int nb_map_host_detach(struct nb_map *m, struct nb_err *err)
{
	void *pages;
	int rc = prepare_pages(m, -1, &pages, err);

	return rc ? rc : show_pages(m, pages, false, err);
}

bool nb_map_host_attached(const struct nb_map *m)
{
	return __atomic_load_n(&m->attached, __ATOMIC_RELAXED);
}

uint64_t nb_map_host_written(const struct nb_map *m, uint32_t *unfinished)
{
	uint64_t latest = 0;

	*unfinished = 0;
	for (uint32_t i = 0; m->host && i < m->max_entries; i++) {
		const void *element = m->base + m->elem_size * i;
		uint64_t at = __atomic_load_n((const uint64_t *)element, __ATOMIC_RELAXED);

		if (at & NB_HOST_WRITING)
			++*unfinished;
		else if (at > latest)
			latest = at;
	}
	return latest;
}
