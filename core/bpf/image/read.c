// SPDX-License-Identifier: MIT
/*
 * Read an image from untrusted bytes, in four steps: the frame (magic,
 * version, sections in order); the records, with each length and string
 * checked; their content (check.c); and last a comparison with the bytes
 * that the writer produces for the content. Records are copied, so the
 * alignment of the input does not matter.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/view.h"
#include "core/bpf/image/check.h"
#include "core/bpf/image/format.h"
#include "core/bpf/image/param.h"
#include "core/bpf/image/write.h"

/* Size of the longest string with its NUL. It bounds the time of scans in a
 * hostile image. */
enum { STRING_MAX = 256 };

/* Bound of the memory of an image: structs are less than 16 times as large
 * as their records. */
enum { ARENA_MAX = 16 * NB_IMAGE_MAX_SIZE };

struct reader {
	struct nb_view all;
	struct nb_view sec[NB_NSECTIONS];
	uint32_t at[NB_NSECTIONS];    /* Offset of each section */
	uint32_t count[NB_NSECTIONS]; /* Number of records of each section. */
	/* For each section: first record not yet assigned. */
	uint32_t next[NB_NSECTIONS];
	struct nb_image *img;
	struct nb_err *err;
	int rc; /* The first failure, which stays. */
};

static int read_fail(struct reader *r, int code, uint32_t at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Record a failure, unless there was one before. */
static int read_fail(struct reader *r, int code, uint32_t at, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!r->rc)
		r->rc = nb_fail(r->err, code, at, "policy image: %s", text);
	return r->rc;
}

static int read_nomem(struct reader *r)
{
	return read_fail(r, NB_E_NOMEM, 0, "out of memory");
}

static int read_header(struct reader *r)
{
	if (!nb_image_is(r->all.p, r->all.size))
		return read_fail(r, NB_E_IMAGE, 0, "the first 8 bytes are not its signature");
	if (r->all.size > NB_IMAGE_MAX_SIZE)
		return read_fail(r, NB_E_LIMIT, 0, "%zu bytes; at most %d", r->all.size,
				 NB_IMAGE_MAX_SIZE);
	if (r->all.size < NB_IMAGE_FIRST)
		return read_fail(r, NB_E_IMAGE, 0, "%zu bytes; the header alone has %d",
				 r->all.size, NB_IMAGE_FIRST);
	if (nb_view_word(r->all, 8) != NB_IMAGE_VERSION)
		return read_fail(r, NB_E_VERSION, 8, "version %u; this build reads version %d",
				 nb_view_word(r->all, 8), NB_IMAGE_VERSION);
	if (nb_view_word(r->all, 12) != r->all.size)
		return read_fail(r, NB_E_IMAGE, 12, "the header says %u bytes, the image has %zu",
				 nb_view_word(r->all, 12), r->all.size);
	if (nb_view_word(r->all, 20) != NB_NSECTIONS)
		return read_fail(r, NB_E_IMAGE, 20, "%u sections; version %d has %d",
				 nb_view_word(r->all, 20), NB_IMAGE_VERSION, NB_NSECTIONS);
	return 0;
}

static int read_section(struct reader *r, uint32_t i)
{
	uint32_t row = NB_IMAGE_HEADER + i * NB_IMAGE_SECTION;
	uint32_t off = nb_view_word(r->all, row + 4), size = nb_view_word(r->all, row + 8);

	r->at[i] = off;
	r->count[i] = nb_view_word(r->all, row + 12);
	if (nb_view_word(r->all, row) != i)
		return read_fail(r, NB_E_IMAGE, row,
				 "section %u has kind %u; section N must have kind N", i,
				 nb_view_word(r->all, row));
	if (off < NB_IMAGE_FIRST || off % 8 || !nb_view_has(r->all, off, size))
		return read_fail(r, NB_E_IMAGE, row + 4,
				 "section %u: %u bytes at %u are not inside the %zu bytes", i, size,
				 off, r->all.size);
	if ((uint64_t)r->count[i] * nb_records[i].size != size)
		return read_fail(r, NB_E_IMAGE, row + 12,
				 "section %u: %u records of %u bytes in %u bytes", i, r->count[i],
				 nb_records[i].size, size);
	r->sec[i] = nb_view_sub(r->all, off, size);
	return 0;
}

/* Return the string to which the number at @at of the file refers. */
static const char *read_string(struct reader *r, uint32_t at)
{
	struct nb_view v = r->sec[NB_SEC_STRINGS];
	uint32_t off = nb_view_word(r->all, at);
	const char *s = nb_view_str(v, off, STRING_MAX - 1);

	if (s)
		return s;
	read_fail(r, NB_E_IMAGE, at,
		  "string %u is not inside the %zu bytes of strings, or has over %d bytes", off,
		  v.size, STRING_MAX - 1);
	return "";
}

static enum nb_hook hook_named(const char *word)
{
	for (unsigned i = 0; i < NB_NHOOKS; i++)
		if (!strcmp(nb_spec_hook((enum nb_hook)i)->word, word))
			return (enum nb_hook)i;
	return NB_NHOOKS;
}

static void read_field(struct reader *r, const struct nb_field *f, uint32_t at, void *record)
{
	unsigned char *to = (unsigned char *)record + f->off;
	uint32_t number = nb_view_word(r->all, at);
	const char *text;

	switch (f->kind) {
	case NB_FIELD_STRING:
		text = read_string(r, at);
		memcpy(to, &text, sizeof(text));
		return;
	case NB_FIELD_HOOK:
		number = hook_named(read_string(r, at));
		break;
	case NB_FIELD_NUMBER:
	case NB_FIELD_END:
		break;
	}
	memcpy(to, &number, sizeof(number));
}

/* Read @n records of section @sec from number @first on; returns NULL if
 * out of memory. */
static void *read_records(struct reader *r, enum nb_section sec, uint32_t first, uint32_t n)
{
	const struct nb_record *rec = &nb_records[sec];
	unsigned char *all = nb_arena_array(&r->img->arena, n, rec->mem_size);

	if (!all)
		read_nomem(r);
	for (uint32_t i = 0; all && i < n; i++) {
		uint32_t at = r->at[sec] + (first + i) * rec->size;

		for (const struct nb_field *f = rec->fields; f->kind; f++, at += 4)
			read_field(r, f, at, all + (size_t)i * rec->mem_size);
	}
	return all;
}

/* Assign the next @n records of @sec; returns the number of the first one. */
static uint32_t assign_records(struct reader *r, enum nb_section sec, uint32_t n)
{
	uint32_t first = r->next[sec];

	if (n <= r->count[sec] - first) {
		r->next[sec] += n;
		return first;
	}
	read_fail(r, NB_E_IMAGE, r->at[sec],
		  "maps or programs refer to records after the last one of this section");
	return 0;
}

static void read_map_specs(struct reader *r)
{
	uint32_t n = r->count[NB_SEC_MAPS];
	struct nb_map_spec *maps = read_records(r, NB_SEC_MAPS, 0, n);

	for (uint32_t i = 0; !r->rc && i < n; i++)
		if (maps[i].origin == NB_ORIGIN_RODATA || maps[i].origin == NB_ORIGIN_DATA)
			maps[i].init = r->sec[NB_SEC_DATA].p +
				       assign_records(r, NB_SEC_DATA, maps[i].value_size);
	r->img->maps = maps;
	r->img->nmaps = n;
}

/* Read slots, functions and lines of a program. */
static void read_prog(struct reader *r, struct nb_prog *p)
{
	const struct nb_hook_spec *hook = nb_spec_hook_section(p->section);
	uint32_t slot = assign_records(r, NB_SEC_SLOTS, p->nslots);
	uint32_t func = assign_records(r, NB_SEC_FUNCS, p->nfuncs);
	uint32_t line = assign_records(r, NB_SEC_LINES, p->nlines);

	if (r->rc)
		return;
	p->hook = hook ? hook->id : NB_NHOOKS;
	p->slots =
		nb_arena_dup(&r->img->arena, r->sec[NB_SEC_SLOTS].p + (size_t)slot * NB_SLOT_SIZE,
			     (size_t)p->nslots * NB_SLOT_SIZE);
	p->funcs = read_records(r, NB_SEC_FUNCS, func, p->nfuncs);
	p->lines = read_records(r, NB_SEC_LINES, line, p->nlines);
	if (!p->slots)
		read_nomem(r);
}

static void read_progs(struct reader *r)
{
	uint32_t n = r->count[NB_SEC_PROGS];
	struct nb_prog *progs = read_records(r, NB_SEC_PROGS, 0, n);

	for (uint32_t i = 0; !r->rc && i < n; i++)
		read_prog(r, &progs[i]);
	r->img->progs = progs;
	r->img->nprogs = n;
}

/* Read all sections. */
static int read_content(struct reader *r)
{
	struct nb_image *img = r->img;

	img->name = read_string(r, 16);
	read_map_specs(r);
	if (!r->rc)
		read_progs(r);
	if (r->rc)
		return r->rc;
	img->nctx_fields = r->count[NB_SEC_CTX];
	img->ctx_fields = read_records(r, NB_SEC_CTX, 0, img->nctx_fields);
	img->nnames = r->count[NB_SEC_NAMES];
	img->names = read_records(r, NB_SEC_NAMES, 0, img->nnames);
	img->btf_size = r->count[NB_SEC_BTF];
	if (img->btf_size)
		img->btf = r->sec[NB_SEC_BTF].p;
	return r->rc;
}

/* Check that nb_image_write produces the same bytes for the content. */
static int check_canonical(struct reader *r)
{
	struct nb_buf again;
	size_t same = 0;

	nb_buf_init(&again, NB_IMAGE_MAX_SIZE);
	r->rc = nb_image_put(&again, r->img, r->err);
	if (r->rc)
		goto out;
	while (same < again.size && same < r->all.size &&
	       (unsigned char)again.data[same] == r->all.p[same])
		same++;
	if (same != r->all.size || same != again.size)
		read_fail(r, NB_E_IMAGE, (uint32_t)same,
			  "byte %zu is not canonical; the image has %zu bytes, "
			  "and the canonical one %zu",
			  same, r->all.size, again.size);
out:
	nb_buf_fini(&again);
	return r->rc;
}

static int read_sections(struct reader *r)
{
	if (read_header(r))
		return r->rc;
	for (uint32_t i = 0; i < NB_NSECTIONS; i++)
		if (read_section(r, i))
			return r->rc;
	if (read_content(r))
		return r->rc;
	r->rc = nb_image_check(r->img, r->at, r->err);
	return r->rc ? r->rc : check_canonical(r);
}

/* Exchange the values of parameters and their defaults. */
static void swap_values(struct nb_image_param *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int64_t value = p[i].value;

		p[i].value = p[i].preset;
		p[i].preset = value;
	}
}

/* Set the digests of a checked image. @bytes: its bytes, which have the defaults of the parameters
 * for a moment. */
static void set_digests(struct reader *r, unsigned char *bytes)
{
	struct nb_image_param p[NB_IMAGE_MAX_PARAMS];
	struct nb_image *img = r->img;
	uint32_t n;

	img->bytes = bytes;
	img->size = r->all.size;
	nb_sha256(bytes, img->size, img->digest);
	memcpy(img->base, img->digest, sizeof(img->base));
	r->rc = nb_image_params(img, p, &n, r->err);
	if (r->rc || !n)
		return;
	swap_values(p, n);
	nb_image_put_params(img, bytes, p, n);
	nb_sha256(bytes, img->size, img->base);
	swap_values(p, n);
	nb_image_put_params(img, bytes, p, n);
}

bool nb_image_is(const void *bytes, size_t size)
{
	return size >= 8 && !memcmp(bytes, NB_IMAGE_MAGIC, 8);
}

int nb_image_read(struct nb_image **out, const void *bytes, size_t size, struct nb_err *err)
{
	struct reader r = { .err = err };
	unsigned char *copy;

	*out = NULL;
	r.img = calloc(1, sizeof(*r.img));
	if (!r.img)
		return read_nomem(&r);
	nb_arena_init(&r.img->arena, ARENA_MAX);
	/* An image over the limit is rejected; its first 8 bytes say
	 * whether it is an image. */
	r.all.size = size;
	copy = nb_arena_dup(&r.img->arena, bytes, size > NB_IMAGE_MAX_SIZE ? 8 : size);
	r.all.p = copy;
	if (!copy)
		read_nomem(&r);
	else if (!read_sections(&r))
		set_digests(&r, copy);
	if (r.rc) {
		nb_image_free(r.img);
		return r.rc;
	}
	*out = r.img;
	return 0;
}
