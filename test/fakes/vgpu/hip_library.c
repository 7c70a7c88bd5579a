// SPDX-License-Identifier: MIT
// Which RCCL is loaded: its version and where its code lies. Nothing in it is changed: it imports
// HIP's functions from us.
#include "test/fakes/vgpu/vgpu.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "test/fakes/vgpu/hip.h"

int vg_nccl_version;
bool vg_rccl = true;

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	if (!strstr(info->dlpi_name, "librccl.so"))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && h->p_flags & PF_X)
			vg_spin_in(at, at + h->p_memsz);
	}
	return 1;
}

static __attribute__((constructor)) void start(void)
{
	vg_model_label();
	dl_iterate_phdr(on_object, NULL);
}

static void find_version(void)
{
	int (*version)(int *);
	void *p = dlsym(RTLD_DEFAULT, "ncclGetVersion");

	memcpy(&version, &p, sizeof version);
	if (p)
		version(&vg_nccl_version);
}

void hip_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_version);
}
