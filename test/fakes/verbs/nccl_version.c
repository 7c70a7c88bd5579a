// SPDX-License-Identifier: MIT
// Preloaded: says that NCCL is of version NCCL_VERSION (22809).
#include <stdlib.h>

__attribute__((visibility("default"))) int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
	const char *v = getenv("NCCL_VERSION");

	*version = v ? atoi(v) : 0;
	return 0;
}
