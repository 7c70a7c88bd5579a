// SPDX-License-Identifier: MIT
// The names of kernels: a program knows a kernel by the address of its host stub.
#include "test/fakes/vgpu/vgpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct kernel {
	const void *host;
	char *name;
};

static struct kernel *kernels;
static size_t nkernel, ckernel;
static pthread_mutex_t kernel_mu = PTHREAD_MUTEX_INITIALIZER;

void vg_kernel_add(const void *host, const char *symbol)
{
	char *end;
	size_t len = strlen(symbol);

	if (!strncmp(symbol, "_Z", 2)) { // _Z<length><name><parameters>
		size_t n = strtoul(symbol + 2, &end, 10);

		if (n > 0 && strlen(end) >= n) {
			symbol = end;
			len = n;
		}
	}
	pthread_mutex_lock(&kernel_mu);
	if (nkernel == ckernel) {
		ckernel = ckernel ? 2 * ckernel : 256;
		struct kernel *more = vg_calloc(ckernel, sizeof *more);
		if (nkernel)
			memcpy(more, kernels, nkernel * sizeof *more);
		free(kernels);
		kernels = more;
	}
	kernels[nkernel].host = host;
	kernels[nkernel++].name = strndup(symbol, len);
	pthread_mutex_unlock(&kernel_mu);
}

const char *vg_kernel_name(const void *host)
{
	const char *name = "unknown kernel";

	pthread_mutex_lock(&kernel_mu);
	for (size_t i = 0; i < nkernel; i++) {
		if (kernels[i].host == host) {
			name = kernels[i].name;
			break;
		}
	}
	pthread_mutex_unlock(&kernel_mu);
	return name;
}
