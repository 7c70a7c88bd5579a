// SPDX-License-Identifier: MIT
// The CUDA runtime, the kernels and the function table of a libnccl.so without symbols.
#ifndef VGPU_FIND_H
#define VGPU_FIND_H

#include "test/fakes/vgpu/image.h"

struct vg_found_name {
	const char *name; // in the library's own memory
	uintptr_t at;
};

struct vg_found {
	struct vg_found_name *functions; // of the CUDA runtime: where each begins
	size_t nfunction;
	struct vg_found_name *kernels; // names as compiled, and their host stubs
	size_t nkernel;
	const int *rows; // ncclDevFuncRowToId, or NULL
	size_t nrows;
};

/*
 * vg_find - look through a loaded and relocated library
 *
 * false: it has no section of the names that this needs, or no function of the
 * CUDA runtime was found. Free with vg_found_free in both cases.
 */
bool vg_find(struct vg_found *f, const struct vg_image *im);
void vg_found_free(struct vg_found *f);

#endif
