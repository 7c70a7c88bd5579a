// SPDX-License-Identifier: MIT
// What the values of a row may be, and rows packed into bytes for the image
// and back: numbers of seven bits a byte, lowest first, the last one without
// its top bit. Optional ones are stored plus one.
#include <stdlib.h>
#include <string.h>

#include "core/csvpolicy/part.h"
#include "core/defs/ctx.h"

enum { FIELDS = 11, PACK_VERSION = 1 };

void nb_table_fini(struct nb_table *t)
{
	free(t->rows);
	*t = (struct nb_table){ 0 };
}

static int out_of_range(const char *name, int64_t v, const char *allowed,
			const char **field, struct nb_err *err)
{
	*field = name;
	return nb_fail(err, NB_E_FORMAT, 0, "%s %lld: %s wanted", name,
		       (long long)v, allowed);
}

int nb_table_check_row(const struct nb_table_row *r, const char **field,
		       struct nb_err *err)
{
	const struct {
		const char *name;
		int32_t value, least, most;
		const char *allowed;
	} small[] = {
		{ "coll", r->coll, 0, NCCL_NUM_COLLS - 1, "0 to 4, or -1" },
		{ "algo", r->algo, 0, NCCL_NUM_ALGOS - 1, "0 to 6, or -1" },
		{ "proto", r->proto, 0, NCCL_NUM_PROTOS - 1, "0 to 2, or -1" },
		{ "channels", r->channels, 1, NB_TABLE_MAX_CHANNELS,
		  "1 to 64, or -1 for NCCL's" },
		{ "nodes", r->nodes, 1, NB_TABLE_MAX_COUNT,
		  "1 or more, or -1" },
		{ "ranks", r->ranks, 1, NB_TABLE_MAX_COUNT,
		  "1 or more, or -1" },
		{ "pipe_ops", r->pipe_ops, 1, NB_TABLE_MAX_COUNT,
		  "1 or more, or -1" },
		{ "reg_buff", r->reg_buff, 0, 1, "0, 1 or -1" },
	};

	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		if (small[i].value != -1 && (small[i].value < small[i].least ||
					     small[i].value > small[i].most))
			return out_of_range(small[i].name, small[i].value,
					    small[i].allowed, field, err);
	if (r->min < 0)
		return out_of_range("min_bytes", r->min, "0 or more", field,
				    err);
	*field = "max_bytes";
	if (r->max < r->min)
		return nb_fail(err, NB_E_FORMAT, 0,
			       "max_bytes %lld: at least min_bytes, %lld, "
			       "wanted",
			       (long long)r->max, (long long)r->min);
	*field = "algo";
	if (r->algo < 0 && r->proto < 0 && r->channels < 0)
		return nb_fail(err, NB_E_FORMAT, 0,
			       "the row has no answer: algo, proto or channels "
			       "wanted");
	return 0;
}

/* ---- packed ---- */

static void put(struct nb_buf *b, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		nb_buf_char(b, (char)((v & 127) | 128));
	nb_buf_char(b, (char)v);
}

void nb_table_pack(const struct nb_table *t, struct nb_buf *out)
{
	put(out, PACK_VERSION);
	put(out, t->n);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct nb_table_row *r = &t->rows[i];

		put(out, (uint64_t)(r->coll + 1));
		put(out, (uint64_t)r->min);
		put(out, (uint64_t)(r->max - r->min));
		put(out, (uint64_t)(r->algo + 1));
		put(out, (uint64_t)(r->proto + 1));
		put(out, (uint64_t)(r->channels + 1));
		put(out, (uint64_t)r->nodes + 1);
		put(out, (uint64_t)r->ranks + 1);
		put(out, (uint64_t)r->pipe_ops + 1);
		put(out, (uint64_t)(r->reg_buff + 1));
		put(out, r->line);
	}
}

/* A number of at most @max; false: there is none. */
static bool get(const unsigned char **p, const unsigned char *end, uint64_t max,
		uint64_t *v)
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

static bool get_row(const unsigned char **p, const unsigned char *end,
		    struct nb_table_row *r)
{
	const uint64_t most = INT64_MAX, some = INT32_MAX;
	uint64_t v[FIELDS];

	for (int i = 0; i < FIELDS; i++)
		if (!get(p, end, i == 1 || i == 2 ? most : some, &v[i]))
			return false;
	if (v[2] > most - v[1])
		return false;
	*r = (struct nb_table_row){
		.coll = (int32_t)v[0] - 1,
		.min = (int64_t)v[1],
		.max = (int64_t)(v[1] + v[2]),
		.algo = (int32_t)v[3] - 1,
		.proto = (int32_t)v[4] - 1,
		.channels = (int32_t)v[5] - 1,
		.nodes = (int32_t)v[6] - 1,
		.ranks = (int32_t)v[7] - 1,
		.pipe_ops = (int32_t)v[8] - 1,
		.reg_buff = (int32_t)v[9] - 1,
		.line = (uint32_t)v[10],
	};
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
	if (!get(&p, end, PACK_VERSION, &version) || version != PACK_VERSION ||
	    !get(&p, end, NB_TABLE_MAX_ROWS, &n))
		return nb_fail(err, NB_E_IMAGE, 0,
			       "policy %s: its table is of another version",
			       img->name);
	t->rows = calloc(n + 1, sizeof(*t->rows));
	if (!t->rows)
		return nb_fail(err, NB_E_NOMEM, 0, "table: out of memory");
	t->cap = (uint32_t)n + 1;
	for (; t->n < n; t->n++)
		if (!get_row(&p, end, &t->rows[t->n]) ||
		    nb_table_check_row(&t->rows[t->n], &field, NULL))
			return nb_fail(err, NB_E_IMAGE, 0,
				       "policy %s: row %u of its table is "
				       "damaged",
				       img->name, t->n + 1);
	return 0;
}
