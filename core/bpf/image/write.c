// SPDX-License-Identifier: MIT
/*
 * Write an image. Equal content gives equal bytes: the order of all parts
 * follows from the content, strings are sorted and stored once, and gaps
 * are zero. nb_image_read relies on this: it writes the content again and
 * compares, so that each byte of an accepted image has a meaning. Strings
 * are sorted and not hashed, because a hostile image must not make the
 * reader slow.
 */
#include <stdlib.h>
#include <string.h>

#include "core/bpf/image/check.h"
#include "core/bpf/image/format.h"
#include "core/bpf/image/write.h"

/* The strings of an image. */
struct strings {
	const char **s; /* Sorted and unique if @sorted is set. */
	uint32_t *off;	/* Offset of each string in the section. */
	uint32_t n, cap;
	bool sorted, failed;
};

struct writer {
	struct nb_buf sec[NB_NSECTIONS];
	struct strings strings;
};

static void strings_add(struct strings *t, const char *s)
{
	if (t->n == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 256;
		const char **p = reallocarray(t->s, cap, sizeof(*p));

		if (!p) {
			t->failed = true;
			return;
		}
		t->s = p;
		t->cap = cap;
	}
	t->s[t->n++] = s;
}

static int order(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	return x == y ? 0 : strcmp(x, y);
}

/* Write the string section and record the offsets. */
static void strings_sort(struct strings *t, struct nb_buf *b)
{
	uint32_t n = 0;

	if (t->n)
		qsort(t->s, t->n, sizeof(*t->s), order);
	t->off = calloc((size_t)t->n + 1, sizeof(*t->off));
	if (!t->off) {
		t->failed = true;
		return;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		if (n && !order(&t->s[n - 1], &t->s[i]))
			continue;
		t->s[n] = t->s[i];
		t->off[n++] = (uint32_t)b->size;
		nb_buf_bytes(b, t->s[n - 1], strlen(t->s[n - 1]) + 1);
	}
	t->n = n;
	t->sorted = true;
}

/* Return the offset of @s in the string section; 0 while strings are
 * collected. */
static uint32_t put_string(struct writer *w, const char *s)
{
	struct strings *t = &w->strings;
	const char **at;

	if (!t->sorted) {
		if (!t->failed)
			strings_add(t, s);
		return 0;
	}
	at = bsearch(&s, t->s, t->n, sizeof(*t->s), order);
	return at ? t->off[at - t->s] : 0;
}

static void image_put_u32(struct nb_buf *b, uint32_t v)
{
	nb_buf_bytes(b, &v, sizeof(v));
}

static void put_field(struct writer *w, struct nb_buf *b, const struct nb_field *f,
		      const void *record)
{
	const unsigned char *from = (const unsigned char *)record + f->off;
	uint32_t number = 0;
	const char *text;

	switch (f->kind) {
	case NB_FIELD_STRING:
		memcpy(&text, from, sizeof(text));
		number = put_string(w, text);
		break;
	case NB_FIELD_HOOK:
		memcpy(&number, from, sizeof(number));
		number = put_string(w, nb_spec_hook((enum nb_hook)number)->word);
		break;
	case NB_FIELD_NUMBER:
	case NB_FIELD_END:
		memcpy(&number, from, sizeof(number));
		break;
	}
	image_put_u32(b, number);
}

/* Append @n structs at @all to section @sec. */
static void put_records(struct writer *w, enum nb_section sec, const void *all, uint32_t n)
{
	const struct nb_record *rec = &nb_records[sec];

	for (uint32_t i = 0; i < n; i++)
		for (const struct nb_field *f = rec->fields; f->kind; f++)
			put_field(w, &w->sec[sec], f,
				  (const unsigned char *)all + (size_t)i * rec->mem_size);
}

static size_t align8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* Write header, section table and sections. @name: offset of the policy's name
 * in the strings. */
static void put_image(struct nb_buf *out, struct writer *w, uint32_t name)
{
	size_t at = NB_IMAGE_FIRST, total = NB_IMAGE_FIRST;

	for (int i = 0; i < NB_NSECTIONS; i++)
		total = align8(total) + w->sec[i].size;
	nb_buf_bytes(out, NB_IMAGE_MAGIC, 8);
	image_put_u32(out, NB_IMAGE_VERSION);
	image_put_u32(out, (uint32_t)total);
	image_put_u32(out, name);
	image_put_u32(out, NB_NSECTIONS);
	for (uint32_t i = 0; i < NB_NSECTIONS; i++) {
		at = align8(at);
		image_put_u32(out, i);
		image_put_u32(out, (uint32_t)at);
		image_put_u32(out, (uint32_t)w->sec[i].size);
		image_put_u32(out, (uint32_t)(w->sec[i].size / nb_records[i].size));
		at += w->sec[i].size;
	}
	at = NB_IMAGE_FIRST;
	for (int i = 0; i < NB_NSECTIONS; i++) {
		nb_buf_zeros(out, align8(at) - at);
		if (w->sec[i].size)
			nb_buf_bytes(out, w->sec[i].data, w->sec[i].size);
		at = align8(at) + w->sec[i].size;
	}
}

/* Write all records; returns the offset of the policy's name. */
static uint32_t put_all(struct writer *w, const struct nb_image *in)
{
	put_string(w, "");
	put_records(w, NB_SEC_MAPS, in->maps, in->nmaps);
	for (uint32_t i = 0; i < in->nmaps; i++)
		if (in->maps[i].init)
			nb_buf_bytes(&w->sec[NB_SEC_DATA], in->maps[i].init,
				     in->maps[i].value_size);
	put_records(w, NB_SEC_PROGS, in->progs, in->nprogs);
	for (uint32_t i = 0; i < in->nprogs; i++) {
		const struct nb_prog *p = &in->progs[i];

		nb_buf_bytes(&w->sec[NB_SEC_SLOTS], p->slots, (size_t)p->nslots * NB_SLOT_SIZE);
		put_records(w, NB_SEC_FUNCS, p->funcs, p->nfuncs);
		put_records(w, NB_SEC_LINES, p->lines, p->nlines);
	}
	put_records(w, NB_SEC_CTX, in->ctx_fields, in->nctx_fields);
	put_records(w, NB_SEC_NAMES, in->names, in->nnames);
	if (in->btf_size)
		nb_buf_bytes(&w->sec[NB_SEC_BTF], in->btf, in->btf_size);
	return put_string(w, in->name);
}

static bool writer_ok(const struct writer *w)
{
	for (int i = 0; i < NB_NSECTIONS; i++)
		if (!nb_buf_ok(&w->sec[i]))
			return false;
	return !w->strings.failed;
}

/* The first pass collects the strings, the second writes their offsets. */
static void put_twice(struct writer *w, struct nb_buf *joined, const struct nb_image *in)
{
	uint32_t name;

	put_all(w, in);
	if (!writer_ok(w))
		return;
	for (int i = 0; i < NB_NSECTIONS; i++)
		nb_buf_clear(&w->sec[i]);
	strings_sort(&w->strings, &w->sec[NB_SEC_STRINGS]);
	if (!writer_ok(w))
		return;
	name = put_all(w, in);
	if (writer_ok(w))
		put_image(joined, w, name);
}

/* Report why a buffer failed: out of memory, or over the limit. */
static int writer_failure(const struct writer *w, const struct nb_buf *joined, struct nb_err *err)
{
	size_t total = joined->size;

	for (int i = 0; i < NB_NSECTIONS; i++)
		total += w->sec[i].size;
	if (w->strings.failed || total < NB_IMAGE_MAX_SIZE / 8)
		return nb_fail(err, NB_E_NOMEM, 0, "policy image: out of memory");
	return nb_fail(err, NB_E_LIMIT, 0, "policy image: over the limit of %d bytes",
		       NB_IMAGE_MAX_SIZE);
}

int nb_image_put(struct nb_buf *out, const struct nb_image *in, struct nb_err *err)
{
	struct writer w = { 0 };
	struct nb_buf joined;
	int rc = 0;

	nb_buf_init(&joined, NB_IMAGE_MAX_SIZE);
	for (int i = 0; i < NB_NSECTIONS; i++)
		nb_buf_init(&w.sec[i], NB_IMAGE_MAX_SIZE);
	put_twice(&w, &joined, in);
	if (!writer_ok(&w) || !nb_buf_ok(&joined)) {
		rc = writer_failure(&w, &joined, err);
		goto out;
	}
	nb_buf_bytes(out, joined.data, joined.size);
	if (!nb_buf_ok(out))
		rc = nb_fail(err, NB_E_NOMEM, 0, "policy image: out of memory");
out:
	for (int i = 0; i < NB_NSECTIONS; i++)
		nb_buf_fini(&w.sec[i]);
	nb_buf_fini(&joined);
	free(w.strings.s);
	free(w.strings.off);
	return rc;
}

int nb_image_write(struct nb_buf *out, const struct nb_image *in, struct nb_err *err)
{
	int rc = nb_image_check(in, NULL, err);

	return rc ? rc : nb_image_put(out, in, err);
}
