// SPDX-License-Identifier: MIT
// Prints what find.c finds in a libnccl.so: usage: find_check LIBRARY
//
//	function NAME OFFSET		kernel NAME OFFSET		rows COUNT OFFSET
//
// Offsets are those of the file's symbols, so a library that has symbols shows
// whether find.c is right (test/integration/vgpu_find.t).
#include "test/fakes/vgpu/find.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

static void names_print(const char *kind, const struct vg_found_name *names, size_t n,
			uintptr_t base)
{
	for (size_t i = 0; i < n; i++)
		printf("%s %s %lx\n", kind, names[i].name, (unsigned long)(names[i].at - base));
}

int main(int argc, char **argv)
{
	struct vg_found found;
	struct vg_image image = { 0 };
	struct link_map *map = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;

	if (!map || !vg_image_open(&image, map->l_name, map->l_addr)) {
		fprintf(stderr, "find_check: %s\n", argc == 2 ? dlerror() : "one library, please");
		return 1;
	}
	if (!vg_find(&found, &image)) {
		fprintf(stderr, "find_check: %s: no CUDA runtime found\n", argv[1]);
		return 1;
	}
	names_print("function", found.functions, found.nfunction, image.base);
	names_print("kernel", found.kernels, found.nkernel, image.base);
	if (found.rows)
		printf("rows %zu %lx\n", found.nrows,
		       (unsigned long)((uintptr_t)found.rows - image.base));
	vg_found_free(&found);
	vg_image_close(&image);
	return 0;
}
