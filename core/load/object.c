// SPDX-License-Identifier: MIT
/*
 * Turn the bytes of a BPF object into those of a policy image. Read this
 * file first; front.h lists the passes. The object is not trusted: the
 * structural check comes before libbpf sees a byte, and each reader of the
 * image checks the image again.
 */
#include "core/load/object.h"

#include <stdlib.h>

#include "core/bpf/image/check.h"
#include "core/load/btf.h"
#include "core/load/front.h"

/* Bound of the memory for copies of line records of a hostile object. */
enum { ARENA_MAX = 128 << 20 };

int nb_front_nomem(struct nb_err *err)
{
	return nb_fail(err, NB_E_NOMEM, 0, "object: out of memory");
}

/* Run the structural check; it fills elf and the views of BTF. */
static int check_structure(struct nb_front *f, const void *bytes, size_t size, struct nb_err *err)
{
	int rc = nb_elf_open(&f->elf, &f->arena, bytes, size, err);
	const struct nb_elf_section *btf, *ext;

	if (rc)
		return rc;
	btf = &f->elf.sec[nb_elf_find(&f->elf, ".BTF")];
	ext = &f->elf.sec[nb_elf_find(&f->elf, ".BTF.ext")];
	f->btf_bytes = btf->data;
	if (btf->size)
		rc = nb_btf_check(btf->data, btf->off, &f->arena, err);
	if (rc || !btf->size || !ext->size)
		return rc;
	f->ext = ext->data;
	return nb_btf_ext_check(f->ext, nb_btf_strings(f->btf_bytes), ext->off, err);
}

static int write_image(const struct nb_front *f, const char *name, struct nb_buf *out,
		       struct nb_err *err)
{
	struct nb_image img = {
		.name = name,
		.maps = f->maps,
		.nmaps = f->nmaps,
		.progs = f->progs,
		.nprogs = f->nprogs,
		.ctx_fields = f->ctx_fields,
		.nctx_fields = f->nctx_fields,
		.names = f->names,
		.nnames = f->nnames,
	};

	if (f->btf)
		img.btf = btf__raw_data(f->btf, &img.btf_size);
	return nb_image_write(out, &img, err);
}

static int run_passes(struct nb_front *f, const void *bytes, size_t size, struct nb_err *err)
{
	static int (*const passes[])(struct nb_front *,
				     struct nb_err *) = { nb_front_code, nb_front_maps,
							  nb_front_info, nb_front_link,
							  nb_front_ctx,	 nb_front_names };
	int rc = check_structure(f, bytes, size, err);

	for (size_t i = 0; !rc && i < sizeof(passes) / sizeof(passes[0]); i++)
		rc = passes[i](f, err);
	return rc;
}

int nb_object_image(struct nb_buf *out, const void *bytes, size_t size, const char *name,
		    struct nb_err *err)
{
	struct nb_front *f;
	int rc;

	if (!nb_image_name_ok(name))
		return nb_fail(err, NB_E_ARG, 4,
			       "policy name \"%.64s\": 1 to %d letters, digits and _ - . "
			       "are allowed, not beginning with one of the last two",
			       name, NB_IMAGE_NAME - 1);
	f = calloc(1, sizeof(*f));
	if (!f)
		return nb_front_nomem(err);
	nb_arena_init(&f->arena, ARENA_MAX);
	rc = run_passes(f, bytes, size, err);
	if (!rc)
		rc = write_image(f, name, out, err);
	bpf_object__close(f->obj);
	nb_arena_fini(&f->arena);
	free(f);
	return rc;
}
