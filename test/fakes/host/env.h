// SPDX-License-Identifier: MIT
#ifndef NB_TEST_HOST_ENV_H
#define NB_TEST_HOST_ENV_H

#include <stdint.h>

#include "test/fakes/host/nccl.h"

/* NCCL's env interface, versions 1 and 2, declared apart from the plugin's. */
struct host_env {
	const char *name;
	union {
		int (*v1)(uint8_t a, uint8_t b, uint8_t c, const char *s);
		int (*v2)(uint8_t a, uint8_t b, uint8_t c, const char *s, host_logger *log);
	} init;
	int (*finalize)(void);
	const char *(*get)(const char *name);
};
_Static_assert(sizeof(struct host_env) == 32, "NCCL's table has four pointers");

#endif
