// SPDX-License-Identifier: MIT
// libibverbs.so.1, which the dynamic linker has loaded with the tap.
#include "plugin/tap/real.h"

#include <dlfcn.h>

static struct nb_real real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void real_find(void)
{
	/* By version: some names have an older function of another ABI. */
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);

	if (!lib)
		return;
#define X(name, version, type, args)                                 \
	{                                                            \
		void *found = dlvsym(lib, "ibv_" #name, version);    \
		__builtin_memcpy(&real.name, &found, sizeof(found)); \
	}
	NB_REAL(X)
#undef X
}

const struct nb_real *nb_real(void)
{
	pthread_once(&once, real_find);
	return &real;
}
