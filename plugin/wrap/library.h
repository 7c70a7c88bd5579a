// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_WRAP_LIBRARY_H
#define NB_PLUGIN_WRAP_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * The file of a wrapped plugin: the NCCL plugin that ours replaced in a
 * variable of NCCL's. We open it in NCCL's place.
 */
enum { NB_LIBRARY_PATH = 512 };

struct nb_library {
	void *handle;		    /* NULL: there is none */
	char path[NB_LIBRARY_PATH]; /* path of the file found; else the name
				       looked for */
	/* first 32 bits of the file's SHA-256, for comparing ranks; 0: no file
	 * */
	uint32_t digest;
};

/*
 * nb_library_open - find and open a plugin as NCCL does
 * @name:   a path or a file name, not empty. If it cannot be opened, has no
 * slash and is not lib*.so, @prefix-<name>.so is tried
 * @prefix: "libnccl-tuner"
 *
 * 0 or NB_E_NOINPUT (no such file, or the loader refuses it: its words),
 * NB_E_SETTING (it is ncclbpf itself, by device and inode), NB_E_ARG (a name
 * that is too long). On failure @f->handle is NULL and @f->path is what was
 * looked for. The file's constructors run. Rules: ABI reference, 6.2.
 */
int nb_library_open(struct nb_library *f, const char *name, const char *prefix,
		    struct nb_err *err);
/* A NULL handle is fine. Only before any call into the file: a plugin that was
 * called may have threads, and stays open. */
void nb_library_close(struct nb_library *f);

/*
 * nb_library_find - the newest table of functions that both know
 * @stem:    name of the symbol up to the version: "ncclTunerPlugin_v"
 * @newest:  version that NCCL calls us with
 * @oldest:  the oldest that we can call
 * @version: gets the version of what is returned
 *
 * NULL: the file has none of them; *@version is then the newest above @newest
 * that it has, 0 where it has none at all.
 */
const void *nb_library_find(const struct nb_library *f, const char *stem,
			    unsigned newest, unsigned oldest,
			    unsigned *version);

#endif
