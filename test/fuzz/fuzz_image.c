// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Bytes to nb_image_read. What is accepted must write back to the same bytes
// and read again to the same digest; what is refused must say why.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int claim)
{
	if (!claim)
		abort();
}

/* Look at all that a reader hands out, so that ASan does as well. */
static size_t touch(const struct nb_image *img)
{
	size_t n = strlen(img->name);

	for (uint32_t i = 0; i < img->nmaps; i++) {
		n += strlen(img->maps[i].name);
		for (uint32_t j = 0; img->maps[i].init && j < img->maps[i].value_size; j++)
			n += img->maps[i].init[j];
	}
	for (uint32_t i = 0; i < img->nprogs; i++)
		for (uint32_t pc = 0; pc < img->progs[i].nslots; pc++) {
			const struct nb_line *l = nb_prog_line(&img->progs[i], pc);

			n += strlen(nb_prog_func(&img->progs[i], pc)->name);
			n += l ? strlen(l->text) + strlen(l->file) : 0;
		}
	for (uint32_t i = 0; i < img->nnames; i++)
		n += strlen(img->names[i].name);
	for (uint32_t i = 0; i < img->btf_size; i++)
		n += img->btf[i];
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_err err = { .code = 0 };
	struct nb_image *img;
	struct nb_buf again;
	int rc = nb_image_read(&img, data, size, &err);

	must(!rc == !!img);
	must(rc == err.code && (!rc || err.text[0]));
	if (rc)
		return 0;
	must(touch(img) > 0);
	nb_buf_init(&again, 0);
	must(!nb_image_write(&again, img, &err));
	must(again.size == size && !memcmp(again.data, data, size));
	nb_buf_fini(&again);
	nb_image_free(img);
	return 0;
}
