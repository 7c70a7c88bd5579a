// SPDX-License-Identifier: MIT
/*
 * The fields of a row, and the conversion between rows and packed bytes for
 * the image. A packed number has seven bits in each byte, lowest first;
 * only its last byte has no top bit. Numbers that may be -1 are stored plus
 * one.
 */
#include <stdlib.h>
#include <string.h>

#include "core/csvpolicy/part.h"
#include "core/defs/ctx.h"

enum { PACK_VERSION = 1 };

#define AT(name) #name, offsetof(struct nb_table_row, name)
#define COUNT 1, NB_TABLE_MAX_COUNT, "1 or more, or -1,", NULL, NULL

const struct nb_table_field_spec nb_table_fields[NB_ROW_NFIELDS] = {
	[NB_ROW_COLL] = { AT(coll), 0, NCCL_NUM_COLLS - 1, "0 to 4, or -1,",
			  nb_nccl_coll, nb_nccl_coll_named },
	[NB_ROW_ALGO] = { AT(algo), 0, NCCL_NUM_ALGOS - 1, "0 to 6, or -1,",
			  nb_nccl_algo, nb_nccl_algo_named },
	[NB_ROW_PROTO] = { AT(proto), 0, NCCL_NUM_PROTOS - 1, "0 to 2, or -1,",
			   nb_nccl_proto, nb_nccl_proto_named },
	[NB_ROW_CHANNELS] = { AT(channels), 1, NB_TABLE_MAX_CHANNELS,
			      "1 to 64, or -1 for NCCL's own,", NULL, NULL },
	[NB_ROW_NODES] = { AT(nodes), COUNT },
	[NB_ROW_RANKS] = { AT(ranks), COUNT },
	[NB_ROW_PIPE_OPS] = { AT(pipe_ops), COUNT },
	[NB_ROW_REG_BUFF] = { AT(reg_buff), 0, 1, "0, 1 or -1", NULL, NULL },
};

int32_t *nb_table_field(struct nb_table_row *r, enum nb_table_field f)
{
	return (int32_t *)(void *)((char *)r + nb_table_fields[f].off);
}

int32_t nb_table_value(const struct nb_table_row *r, enum nb_table_field f)
{
	int32_t v;

	memcpy(&v, (const char *)r + nb_table_fields[f].off, sizeof(v));
	return v;
}

void nb_table_fini(struct nb_table *t)
{
	free(t->rows);
	*t = (struct nb_table){ 0 };
}

static int out_of_range(const char *name, int64_t v, const char *allowed,
			const char **field, struct nb_err *err)
{
	*field = name;
	return nb_fail(err, NB_E_FORMAT, 0, "%s %lld: %s expected", name,
		       (long long)v, allowed);
}

int nb_table_check_row(const struct nb_table_row *r, const char **field,
		       struct nb_err *err)
{
	for (unsigned i = 0; i < NB_ROW_NFIELDS; i++) {
		const struct nb_table_field_spec *f = &nb_table_fields[i];
		int32_t v = nb_table_value(r, i);

		if (v != -1 && (v < f->least || v > f->most))
			return out_of_range(f->name, v, f->allowed, field, err);
	}
	if (r->min < 0)
		return out_of_range("min_bytes", r->min, "0 or more", field,
				    err);
	*field = "max_bytes";
	if (r->max < r->min)
		return nb_fail(
			err, NB_E_FORMAT, 0,
			"max_bytes %lld: at least min_bytes, %lld, expected",
			(long long)r->max, (long long)r->min);
	*field = "algo";
	if (r->algo < 0 && r->proto < 0 && r->channels < 0)
		return nb_fail(
			err, NB_E_FORMAT, 0,
			"the row has no answer: algo, proto or channels expected");
	return 0;
}

static void pack_number(struct nb_buf *b, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		nb_buf_char(b, (char)((v & 127) | 128));
	nb_buf_char(b, (char)v);
}

void nb_table_pack(const struct nb_table *t, struct nb_buf *out)
{
	pack_number(out, PACK_VERSION);
	pack_number(out, t->n);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct nb_table_row *r = &t->rows[i];

		pack_number(out, (uint64_t)r->coll + 1);
		pack_number(out, (uint64_t)r->min);
		pack_number(out, (uint64_t)(r->max - r->min));
		for (unsigned f = NB_ROW_ALGO; f < NB_ROW_NFIELDS; f++)
			pack_number(out, (uint64_t)nb_table_value(r, f) + 1);
		pack_number(out, r->line);
	}
}

/* Read a number of at most @max; returns false if there is none. */
static bool unpack_number(const unsigned char **p, const unsigned char *end,
			  uint64_t max, uint64_t *v)
{
	unsigned shift = 0;

	*v = 0;
	while (*p < end && shift < 63) {
		unsigned char c = *(*p)++;

		*v |= (uint64_t)(c & 127) << shift;
		shift += 7;
		if (!(c & 128))
			return *v <= max;
	}
	return false;
}

static bool unpack_row(const unsigned char **p, const unsigned char *end,
		       struct nb_table_row *r)
{
	uint64_t min, size, v;

	if (!unpack_number(p, end, INT32_MAX, &v))
		return false;
	r->coll = (int32_t)v - 1;
	if (!unpack_number(p, end, INT64_MAX, &min) ||
	    !unpack_number(p, end, INT64_MAX - min, &size))
		return false;
	r->min = (int64_t)min;
	r->max = (int64_t)(min + size);
	for (unsigned f = NB_ROW_ALGO; f < NB_ROW_NFIELDS; f++) {
		if (!unpack_number(p, end, INT32_MAX, &v))
			return false;
		*nb_table_field(r, f) = (int32_t)v - 1;
	}
	if (!unpack_number(p, end, INT32_MAX, &v))
		return false;
	r->line = (uint32_t)v;
	return true;
}

int nb_table_of_image(struct nb_table *t, const struct nb_image *img,
		      struct nb_err *err)
{
	int m = nb_image_map(img, NB_TABLE_ROWS);
	const unsigned char *p, *end;
	const char *field;
	uint64_t version, n;

	if (m < 0 || img->maps[m].origin != NB_ORIGIN_RODATA ||
	    !img->maps[m].init)
		return nb_fail(err, NB_E_NOENT, 0,
			       "policy %s was not made from a table",
			       img->name);
	p = img->maps[m].init;
	end = p + img->maps[m].value_size;
	if (!unpack_number(&p, end, PACK_VERSION, &version) ||
	    version != PACK_VERSION ||
	    !unpack_number(&p, end, NB_TABLE_MAX_ROWS, &n))
		return nb_fail(err, NB_E_IMAGE, 0,
			       "policy %s: the table is of another version",
			       img->name);
	t->rows = calloc(n + 1, sizeof(*t->rows));
	if (!t->rows)
		return nb_fail(err, NB_E_NOMEM, 0, "table: out of memory");
	t->cap = (uint32_t)n + 1;
	for (; t->n < n; t->n++)
		if (!unpack_row(&p, end, &t->rows[t->n]) ||
		    nb_table_check_row(&t->rows[t->n], &field, NULL))
			return nb_fail(
				err, NB_E_IMAGE, 0,
				"policy %s: row %u of its table is damaged",
				img->name, t->n + 1);
	return 0;
}
