// SPDX-License-Identifier: MIT
/* The only exported function of libncclbpf-load.so. The plugin calls it to
 * read .bpf.o files, so that the plugin need not link libelf and libbpf. */

#include "core/load/object.h"

__attribute__((visibility("default"))) nb_load_entry_fn ncclbpf_load_object;

int ncclbpf_load_object(const void *bytes, size_t size, const char *name, void **image,
			size_t *image_size, struct nb_err *err)
{
	struct nb_buf out;
	int rc;

	*image = NULL;
	*image_size = 0;
	nb_buf_init(&out, 0);
	rc = nb_object_image(&out, bytes, size, name, err);
	if (!rc)
		*image = nb_buf_take(&out, image_size);
	nb_buf_fini(&out);
	return rc;
}
