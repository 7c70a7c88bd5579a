// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Bytes to the front end. Whatever passes the structural check goes through
// libbpf and the linker; an image that comes out must be one that the
// plugin's reader accepts.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/image/image.h"
#include "core/load/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int claim)
{
	if (!claim)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_err err = { .code = 0 };
	struct nb_image *img;
	struct nb_buf out;
	int rc;

	nb_buf_init(&out, 0);
	rc = nb_object_image(&out, data, size, "fuzz", &err);
	must(rc == err.code && (!rc || err.text[0]));
	if (rc) {
		must(out.size == 0);
	} else {
		must(!nb_image_read(&img, out.data, out.size, &err));
		nb_image_free(img);
	}
	nb_buf_fini(&out);
	return 0;
}
