// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_WRAP_LIBRARY_H
#define NB_PLUGIN_WRAP_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * The file of a wrapped plugin. A variable of NCCL named this plugin before the
 * user replaced it by ours. We open it in NCCL's place.
 */
enum { NB_LIBRARY_PATH = 512 };
/* The name of our library of TCP transports, beside our own file. */
#define NB_LIBRARY_TCP "tcp"

struct nb_library {
	void *handle; /* handle from dlopen; NULL if no plugin is wrapped */
	/* path of the file found, or the name that was searched */
	char path[NB_LIBRARY_PATH];
	/*
	 * first 32 bits of the file's SHA-256, for comparing ranks; 0: there is
	 * no file
	 */
	uint32_t digest;
};

/*
 * nb_library_open - find and open a plugin as NCCL does
 * @name: a path or a file name, not empty. NB_LIBRARY_TCP is looked for beside
 *   our own file first, also beside the file behind a link. If it cannot be
 * opened, contains no slash and is not of the form lib*.so, @prefix-<name>.so
 * is tried, for RCCL after the same with "librccl-"
 * @prefix: "libnccl-" and the kind, such as "libnccl-tuner"
 *
 * Returns 0, NB_E_NOINPUT (there is no such file, or the loader refuses it:
 * with the loader's text), NB_E_SETTING (it is ncclbpf itself, by device and
 * inode) or NB_E_ARG (the name is too long). On failure @f->handle is NULL and
 * @f->path is the name that was searched. The file's constructors run.
 */
int nb_library_open(struct nb_library *f, const char *name, const char *prefix, struct nb_err *err);
/*
 * Close the file; its handle may be NULL. Only allowed before any call into the
 * file, because a plugin that was called may have threads.
 */
void nb_library_close(struct nb_library *f);

/*
 * nb_library_find - find the newest table of functions that both sides know
 * @stem: symbol name without the version, such as "ncclTunerPlugin_v"
 * @newest: version with which NCCL calls us
 * @oldest: oldest version that we can call
 * @version: set to the version of the returned table
 *
 * Returns NULL if the file has none of these tables; *@version is then the
 * newest version above @newest that the file has, or 0.
 */
const void *nb_library_find(const struct nb_library *f, const char *stem, unsigned newest,
			    unsigned oldest, unsigned *version);

#endif
