// SPDX-License-Identifier: MIT
// Reads an image from bytes that nobody vouches for. First the frame (magic,
// version, sections that tile the file), then records into memory with every
// length and string checked, then the content (check.c), at last the same
// bytes written anew must be the same bytes. Records are copied, so nothing
// depends on the alignment of the input.
#include <stdlib.h>
#include <string.h>

#include "core/base/view.h"
#include "core/image/check.h"
#include "core/image/format.h"
#include "core/image/write.h"

/* Longest string, NUL included; bounds what a hostile image makes us scan. */
enum { STRING_MAX = 256 };

/* Memory for what is read: records grow by less than this factor. */
enum { ARENA_MAX = 16 * NB_IMAGE_MAX_SIZE };

struct reader {
	struct nb_view all;
	struct nb_view sec[NB_NSECTIONS];
	uint32_t at[NB_NSECTIONS];    /* offset of each section */
	uint32_t count[NB_NSECTIONS]; /* records of each */
	uint32_t next[NB_NSECTIONS];  /* records taken by programs so far */
	struct nb_image *img;
	struct nb_err *err;
	int rc; /* sticky */
};

static int fail(struct reader *r, int code, uint32_t at, const char *what)
{
	if (!r->rc)
		r->rc = nb_fail(r->err, code, at, "policy image: %s", what);
	return r->rc;
}

static int nomem(struct reader *r)
{
	return fail(r, NB_E_NOMEM, 0, "out of memory");
}

static uint32_t get(struct nb_view v, uint64_t off)
{
	uint32_t x = 0;

	nb_view_u32(v, off, &x);
	return x;
}

static int read_header(struct reader *r)
{
	if (!nb_image_is(r->all.p, r->all.size))
		return fail(r, NB_E_IMAGE, 0,
			    "the first 8 bytes are not its signature");
	if (r->all.size > NB_IMAGE_MAX_SIZE)
		return r->rc = nb_fail(r->err, NB_E_LIMIT, 0,
				       "policy image: %zu bytes; at most %d",
				       r->all.size, NB_IMAGE_MAX_SIZE);
	if (r->all.size < NB_IMAGE_FIRST)
		return r->rc = nb_fail(r->err, NB_E_IMAGE, 0,
				       "policy image: %zu bytes; the header "
				       "alone has %d",
				       r->all.size, NB_IMAGE_FIRST);
	if (get(r->all, 8) != NB_IMAGE_VERSION)
		return r->rc = nb_fail(r->err, NB_E_VERSION, 8,
				       "policy image: version %u; this build "
				       "reads version %d",
				       get(r->all, 8), NB_IMAGE_VERSION);
	if (get(r->all, 12) != r->all.size)
		return r->rc = nb_fail(r->err, NB_E_IMAGE, 12,
				       "policy image: its header says %u "
				       "bytes, there are %zu",
				       get(r->all, 12), r->all.size);
	if (get(r->all, 20) != NB_NSECTIONS)
		return r->rc = nb_fail(r->err, NB_E_IMAGE, 20,
				       "policy image: %u sections; version %d "
				       "has %d",
				       get(r->all, 20), NB_IMAGE_VERSION,
				       NB_NSECTIONS);
	return 0;
}

static int read_section(struct reader *r, uint32_t i)
{
	uint32_t row = NB_IMAGE_HEADER + i * NB_IMAGE_SECTION;
	uint32_t off = get(r->all, row + 4), size = get(r->all, row + 8);

	r->at[i] = off;
	r->count[i] = get(r->all, row + 12);
	if (get(r->all, row) != i)
		return r->rc = nb_fail(r->err, NB_E_IMAGE, row,
				       "policy image: section %u is of kind "
				       "%u; sections stand in order",
				       i, get(r->all, row));
	if (off < NB_IMAGE_FIRST || off % 8 || !nb_view_has(r->all, off, size))
		return r->rc = nb_fail(r->err, NB_E_IMAGE, row + 4,
				       "policy image: section %u: %u bytes at "
				       "%u are not inside the %zu bytes",
				       i, size, off, r->all.size);
	if ((uint64_t)r->count[i] * nb_record_size[i] != size)
		return r->rc = nb_fail(r->err, NB_E_IMAGE, row + 12,
				       "policy image: section %u: %u records "
				       "of %u bytes in %u bytes",
				       i, r->count[i], nb_record_size[i], size);
	r->sec[i] = nb_view_sub(r->all, off, size);
	return 0;
}

/* The string whose offset stands at @at of the file. */
static const char *string(struct reader *r, uint32_t at)
{
	struct nb_view v = r->sec[NB_SEC_STRINGS];
	uint32_t off = get(r->all, at);
	uint64_t most = off < v.size ? v.size - off : 0;
	const char *s;

	if (most > STRING_MAX)
		most = STRING_MAX;
	s = nb_view_str(nb_view_sub(v, off, most), 0);
	if (s)
		return s;
	if (!r->rc)
		r->rc = nb_fail(r->err, NB_E_IMAGE, at,
				"policy image: string %u is not inside the "
				"%zu bytes of strings, or has over %d bytes",
				off, v.size, STRING_MAX - 1);
	return "";
}

/* Offset in the file of record @i of section @sec. */
static uint32_t record(const struct reader *r, enum nb_section sec, uint32_t i)
{
	return r->at[sec] + i * nb_record_size[sec];
}

static void read_map(struct reader *r, struct nb_map_spec *m, uint32_t i)
{
	uint32_t at = record(r, NB_SEC_MAPS, i);
	struct nb_view init;

	m->name = string(r, at);
	m->type = get(r->all, at + 4);
	m->key_size = get(r->all, at + 8);
	m->value_size = get(r->all, at + 12);
	m->max_entries = get(r->all, at + 16);
	m->flags = get(r->all, at + 20);
	m->tags = get(r->all, at + 24);
	m->origin = (enum nb_map_origin)get(r->all, at + 28);
	m->btf_key = get(r->all, at + 32);
	m->btf_value = get(r->all, at + 36);
	m->inner = get(r->all, at + 40);
	m->lock = get(r->all, at + 44);
	if (m->origin != NB_ORIGIN_RODATA && m->origin != NB_ORIGIN_DATA)
		return;
	init = nb_view_sub(r->sec[NB_SEC_DATA], r->next[NB_SEC_DATA],
			   m->value_size);
	if (!init.p) {
		fail(r, NB_E_IMAGE, at,
		     "a map's initial value is not inside the data");
		return;
	}
	r->next[NB_SEC_DATA] += m->value_size;
	m->init = init.p;
}

static int read_maps(struct reader *r)
{
	uint32_t n = r->count[NB_SEC_MAPS];
	struct nb_map_spec *maps;

	if (n > NB_IMAGE_MAX_MAPS)
		return fail(r, NB_E_LIMIT, r->at[NB_SEC_MAPS], "too many maps");
	maps = nb_arena_array(&r->img->arena, n, sizeof(*maps));
	if (n && !maps)
		return nomem(r);
	for (uint32_t i = 0; i < n; i++)
		read_map(r, &maps[i], i);
	r->img->maps = maps;
	r->img->nmaps = n;
	return r->rc;
}

static void read_func(struct reader *r, struct nb_func *f, uint32_t i)
{
	uint32_t at = record(r, NB_SEC_FUNCS, i);
	uint8_t sig[12] = { 0 };

	f->name = string(r, at);
	f->start = get(r->all, at + 4);
	f->end = get(r->all, at + 8);
	nb_view_get(r->all, at + 12, sig, sizeof(sig));
	f->linkage = (enum nb_linkage)sig[0];
	f->has_sig = sig[1] != 0;
	f->sig.returns_scalar = sig[2] == 1;
	f->sig.returns_other = sig[2] > 1;
	f->sig.nargs = sig[3];
	for (uint32_t j = 0; j < 5; j++) {
		f->sig.arg[j] = sig[4 + j];
		f->sig.mem_size[j] = get(r->all, at + 24 + 4 * j);
	}
}

static void read_line(struct reader *r, struct nb_line *l, uint32_t i)
{
	uint32_t at = record(r, NB_SEC_LINES, i);

	l->pc = get(r->all, at);
	l->line = get(r->all, at + 4);
	l->col = get(r->all, at + 8);
	l->file = string(r, at + 12);
	l->text = string(r, at + 16);
}

/* Take @n records of @sec for a program; their first, or a failure. */
static uint32_t take(struct reader *r, enum nb_section sec, uint32_t n)
{
	uint32_t first = r->next[sec];

	if (n > r->count[sec] - first) {
		fail(r, NB_E_IMAGE, r->at[NB_SEC_PROGS],
		     "the programs have more slots, functions or lines than "
		     "there are");
		return 0;
	}
	r->next[sec] += n;
	return first;
}

static int read_prog(struct reader *r, struct nb_prog *p, uint32_t i)
{
	struct nb_arena *a = &r->img->arena;
	uint32_t at = record(r, NB_SEC_PROGS, i);
	const struct nb_hook_spec *hook;
	uint32_t slot, func, line;
	struct nb_func *funcs;
	struct nb_line *lines;

	p->name = string(r, at);
	p->section = string(r, at + 4);
	hook = nb_spec_hook_section(p->section);
	p->hook = hook ? hook->id : NB_NHOOKS;
	p->nslots = get(r->all, at + 8);
	p->nfuncs = get(r->all, at + 12);
	p->nlines = get(r->all, at + 16);
	slot = take(r, NB_SEC_SLOTS, p->nslots);
	func = take(r, NB_SEC_FUNCS, p->nfuncs);
	line = take(r, NB_SEC_LINES, p->nlines);
	if (r->rc)
		return r->rc;
	p->slots = nb_arena_dup(a, r->all.p + record(r, NB_SEC_SLOTS, slot),
				(size_t)p->nslots * NB_SLOT_SIZE);
	funcs = nb_arena_array(a, p->nfuncs, sizeof(*funcs));
	lines = nb_arena_array(a, p->nlines, sizeof(*lines));
	if (!p->slots || !funcs || !lines)
		return nomem(r);
	for (uint32_t j = 0; j < p->nfuncs; j++)
		read_func(r, &funcs[j], func + j);
	for (uint32_t j = 0; j < p->nlines; j++)
		read_line(r, &lines[j], line + j);
	p->funcs = funcs;
	p->lines = lines;
	return r->rc;
}

static int read_progs(struct reader *r)
{
	uint32_t n = r->count[NB_SEC_PROGS];
	struct nb_prog *progs;

	if (n > NB_IMAGE_MAX_PROGS)
		return fail(r, NB_E_LIMIT, r->at[NB_SEC_PROGS],
			    "too many programs");
	progs = nb_arena_array(&r->img->arena, n, sizeof(*progs));
	if (!progs)
		return nomem(r);
	for (uint32_t i = 0; !r->rc && i < n; i++)
		read_prog(r, &progs[i], i);
	r->img->progs = progs;
	r->img->nprogs = n;
	return r->rc;
}

static enum nb_hook hook_named(const char *word)
{
	for (unsigned i = 0; i < NB_NHOOKS; i++)
		if (!strcmp(nb_spec_hook((enum nb_hook)i)->word, word))
			return (enum nb_hook)i;
	return NB_NHOOKS;
}

static int read_ctx(struct reader *r)
{
	uint32_t n = r->count[NB_SEC_CTX];
	struct nb_ctx_field *fields;

	fields = nb_arena_array(&r->img->arena, n, sizeof(*fields));
	if (!fields)
		return nomem(r);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = record(r, NB_SEC_CTX, i);

		fields[i].hook = hook_named(string(r, at));
		fields[i].name = string(r, at + 4);
		fields[i].off = get(r->all, at + 8);
		fields[i].size = get(r->all, at + 12);
	}
	r->img->ctx_fields = fields;
	r->img->nctx_fields = n;
	return r->rc;
}

static int read_elems(struct reader *r)
{
	uint32_t n = r->count[NB_SEC_ELEMS];
	struct nb_map_elem *elems;

	elems = nb_arena_array(&r->img->arena, n, sizeof(*elems));
	if (!elems)
		return nomem(r);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = record(r, NB_SEC_ELEMS, i);

		elems[i].map = get(r->all, at);
		elems[i].key = get(r->all, at + 4);
		elems[i].value = get(r->all, at + 8);
	}
	r->img->elems = elems;
	r->img->nelems = n;
	return r->rc;
}

static int read_names(struct reader *r)
{
	uint32_t n = r->count[NB_SEC_NAMES];
	struct nb_name *names;

	if (n > NB_IMAGE_MAX_NAMES)
		return fail(r, NB_E_LIMIT, r->at[NB_SEC_NAMES],
			    "too many names");
	names = nb_arena_array(&r->img->arena, n, sizeof(*names));
	if (!names)
		return nomem(r);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = record(r, NB_SEC_NAMES, i);

		names[i].map = get(r->all, at);
		names[i].part = get(r->all, at + 4);
		names[i].level = get(r->all, at + 8);
		names[i].name = string(r, at + 12);
		names[i].off = get(r->all, at + 16);
		names[i].size = get(r->all, at + 20);
		names[i].elem = get(r->all, at + 24);
	}
	r->img->names = names;
	r->img->nnames = n;
	return r->rc;
}

/* All sections to memory. */
static int read_content(struct reader *r)
{
	r->img->name = string(r, 16);
	if (r->rc || read_maps(r) || read_progs(r) || read_ctx(r) ||
	    read_elems(r) || read_names(r))
		return r->rc;
	r->img->btf_size = r->count[NB_SEC_BTF];
	if (r->img->btf_size)
		r->img->btf = r->sec[NB_SEC_BTF].p;
	return 0;
}

/* Is this what nb_image_write makes of the content? */
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
		r->rc = nb_fail(r->err, NB_E_IMAGE, (uint32_t)same,
				"policy image: byte %zu is not the one that "
				"this content has: %zu bytes are expected, "
				"there are %zu",
				same, again.size, r->all.size);
out:
	nb_buf_fini(&again);
	return r->rc;
}

static int read_all(struct reader *r)
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

int nb_image_read(struct nb_image **out, const void *bytes, size_t size,
		  struct nb_err *err)
{
	struct reader r = { .err = err };
	void *copy;

	*out = NULL;
	r.img = calloc(1, sizeof(*r.img));
	if (!r.img)
		return nomem(&r);
	nb_arena_init(&r.img->arena, ARENA_MAX);
	/* One byte more would already be over the limit. */
	r.all.size = size;
	copy = nb_arena_dup(&r.img->arena, bytes,
			    size > NB_IMAGE_MAX_SIZE ? 8 : size);
	r.all.p = copy;
	if (!copy)
		nomem(&r);
	else if (!read_all(&r))
		nb_sha256(copy, size, r.img->digest);
	if (r.rc) {
		nb_image_free(r.img);
		return r.rc;
	}
	r.img->bytes = copy;
	r.img->size = size;
	*out = r.img;
	return 0;
}
