// SPDX-License-Identifier: MIT
#ifndef NB_SHELL_EMBED_H
#define NB_SHELL_EMBED_H

#include <stddef.h>

/* A compiled Lua file of lua/ncclbpf. The list ends with a NULL name. */
struct nb_embedded {
	const char *module; /* "ncclbpf.cli.app" */
	const unsigned char *code;
	size_t size;
};
extern const struct nb_embedded nb_embedded[];

#endif
