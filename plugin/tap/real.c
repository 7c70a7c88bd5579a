// SPDX-License-Identifier: MIT
/*
 * Functions of libibverbs.so.1, which the dynamic linker loads together with
 * the tap.
 */
#include "plugin/tap/real.h"

#include <dlfcn.h>

static struct nb_real real;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void real_find(void)
{
	/*
	 * Look functions up by version: libibverbs has older functions of the
	 * same names with another ABI.
	 */
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
