// SPDX-License-Identifier: MIT
/*
 * The files of wrapped plugins. They are found by NCCL's rules and opened with
 * NCCL's flags; our own file is refused. A digest of the file lets ranks detect
 * a peer with another build.
 */
#include "plugin/wrap/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/sha256.h"
#include "plugin/runtime/nccl.h"

enum { NEWEST_EVER = 32 };

/* Returns true for a name of the form lib*.so, which NCCL does not extend. */
static bool is_library_name(const char *name)
{
	size_t n = strlen(name);

	return n > 6 && !strncmp(name, "lib", 3) && !strcmp(name + n - 3, ".so");
}

/* Returns the path by which our own file was opened, or NULL. */
static const char *own_path(void)
{
	static const char here;
	Dl_info info;

	return dladdr(&here, &info) ? info.dli_fname : NULL;
}

/*
 * Open libnccl-net-tcp.so in the folder of @path. Returns NULL if it is not
 * there.
 */
static void *open_tcp_beside(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char file[NB_LIBRARY_PATH];

	if (!slash || (size_t)(slash - path) > sizeof(file) - 32)
		return NULL;
	snprintf(file, sizeof(file), "%.*s/libnccl-net-tcp.so", (int)(slash - path), path);
	return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

/*
 * Open libnccl-net-tcp.so beside our own file, where `make install` puts it.
 * Our path may be a link in another folder.
 */
static void *open_tcp(void)
{
	const char *path = own_path();
	void *h = open_tcp_beside(path);
	char *real = h || !path ? NULL : realpath(path, NULL);

	if (real)
		h = open_tcp_beside(real);
	free(real);
	return h;
}

/*
 * Open @prefix-<name>.so, with @letter behind "lib": n in NCCL's names, r in
 * RCCL's.
 */
static void *open_short(const char *name, const char *prefix, char letter, char words[256])
{
	char file[NB_LIBRARY_PATH + 64];
	const char *why;
	void *h;

	snprintf(file, sizeof(file), "lib%c%s-%s.so", letter, prefix + 4, name);
	h = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!h && (why = dlerror()))
		snprintf(words, 256, "%.255s", why);
	return h;
}

static void *open_as_nccl(const char *name, const char *prefix, char words[256])
{
	void *h = !strcmp(name, NB_LIBRARY_TCP) ? open_tcp() : NULL;
	const char *why;

	if (h)
		return h;
	h = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (h)
		return h;
	why = dlerror();
	snprintf(words, 256, "%.255s", why ? why : "it cannot be opened");
	if (strchr(name, '/') || is_library_name(name))
		return NULL;
	h = nb_nccl_is_rccl() ? open_short(name, prefix, 'r', words) : NULL;
	return h ? h : open_short(name, prefix, 'n', words);
}

/* Get the path of the file behind a handle. Returns false if it is unknown. */
static bool library_path(void *handle, char path[NB_LIBRARY_PATH])
{
	struct link_map *map = NULL;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) || !map || !map->l_name || !*map->l_name ||
	    strlen(map->l_name) >= NB_LIBRARY_PATH)
		return false;
	snprintf(path, NB_LIBRARY_PATH, "%s", map->l_name);
	return true;
}

/* Returns true if @path is our own file, compared by device and inode. */
static bool is_self(const char *path)
{
	const char *own = own_path();
	struct stat a, b;

	return own && !stat(path, &a) && !stat(own, &b) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/*
 * Returns the first 32 bits of the file's digest, or 1 if the file cannot be
 * read.
 */
static uint32_t library_digest(const char *path)
{
	uint8_t out[NB_SHA256_SIZE];
	struct nb_sha256 sha;
	char bytes[4096];
	uint32_t v;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 1;
	nb_sha256_init(&sha);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		nb_sha256_add(&sha, bytes, (size_t)n);
	close(fd);
	nb_sha256_end(&sha, out);
	v = (uint32_t)out[0] << 24 | (uint32_t)out[1] << 16 | (uint32_t)out[2] << 8 | out[3];
	return v ? v : 1;
}

/* Report a file that could not be opened; @words has the loader's reason. */
static int library_not_opened(struct nb_err *err, const char *name, const char *words)
{
	const char *own = own_path();

	nb_fail(err, NB_E_NOINPUT, 0, "%s", words);
	if (own && !strcmp(name, NB_LIBRARY_TCP))
		/*
		 * ranks on hosts that have the file use another transport than
		 * this rank
		 */
		nb_hint(err, "install libnccl-net-tcp.so beside %.140s on all hosts", own);
	return NB_E_NOINPUT;
}

int nb_library_open(struct nb_library *f, const char *name, const char *prefix, struct nb_err *err)
{
	char words[256] = "";

	memset(f, 0, sizeof(*f));
	if (strlen(name) >= NB_LIBRARY_PATH)
		return nb_fail(err, NB_E_ARG, 0, "the name has %zu characters (allowed: %d)",
			       strlen(name), NB_LIBRARY_PATH - 1);
	snprintf(f->path, sizeof(f->path), "%s", name);
	f->handle = open_as_nccl(name, prefix, words);
	if (!f->handle)
		return library_not_opened(err, name, words);
	library_path(f->handle, f->path);
	if (is_self(f->path)) {
		nb_library_close(f);
		nb_fail(err, NB_E_SETTING, 0, "%.300s is ncclbpf itself", f->path);
		return nb_hint(err, "name the plugin that NCCL would load without ncclbpf");
	}
	f->digest = library_digest(f->path);
	return 0;
}

void nb_library_close(struct nb_library *f)
{
	if (f->handle)
		dlclose(f->handle);
	f->handle = NULL;
	f->digest = 0;
}

static const void *find_symbol(const struct nb_library *f, const char *stem, unsigned version)
{
	char symbol[64];

	snprintf(symbol, sizeof(symbol), "%.50s%u", stem, version);
	return f->handle ? dlsym(f->handle, symbol) : NULL;
}

const void *nb_library_find(const struct nb_library *f, const char *stem, unsigned newest,
			    unsigned oldest, unsigned *version)
{
	for (unsigned v = newest; v >= oldest && v > 0; v--) {
		const void *table = find_symbol(f, stem, v);

		*version = v;
		if (table)
			return table;
	}
	for (unsigned v = NEWEST_EVER; v > newest; v--) {
		*version = v;
		if (find_symbol(f, stem, v))
			return NULL;
	}
	*version = 0;
	return NULL;
}
