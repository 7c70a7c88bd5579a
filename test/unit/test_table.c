// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Decision tables: what the text may be and what is said where it is not, and
// that the compiled program decides as the rows read one after the other do.
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/load/object.h"
#include "core/load/write.h"
#include "core/ncclbpf.h"
#include "core/csvpolicy/table.h"
#include "test/unit/unit.h"

static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((seed >> 33) % n);
}

/* ---- the model: first row that holds and that NCCL can do ---- */

static bool agrees(int32_t want, uint32_t is)
{
	return want == NB_TABLE_ANY || (uint32_t)want == is;
}

static bool usable(const struct nb_table_row *r, uint32_t mask)
{
	for (int a = 0; a < 7; a++)
		for (int p = 0; p < 3; p++)
			if ((r->algo < 0 || r->algo == a) &&
			    (r->proto < 0 || r->proto == p) &&
			    mask >> (a * 3 + p) & 1)
				return true;
	return r->algo < 0 && r->proto < 0;
}

static void naive(const struct nb_table *t, struct ncclbpf_tuner *c)
{
	/* collectives that have no word are no table's */
	for (uint32_t i = 0; i < t->n && c->coll < 5; i++) {
		const struct nb_table_row *r = &t->rows[i];

		if (!agrees(r->coll, c->coll) || c->bytes < (uint64_t)r->min ||
		    (r->max < NB_TABLE_MAX_BYTES &&
		     c->bytes > (uint64_t)r->max) ||
		    !agrees(r->nodes, c->nodes) ||
		    !agrees(r->ranks, c->ranks) ||
		    !agrees(r->pipe_ops, c->pipe_ops) ||
		    !agrees(r->reg_buff, c->reg_buff) || !usable(r, c->usable))
			continue;
		if (r->algo >= 0)
			c->algo = r->algo;
		if (r->proto >= 0)
			c->proto = r->proto;
		if (r->channels > 0)
			c->channels = (uint32_t)r->channels;
		return;
	}
}

/* ---- random tables ---- */

/* How much of what a table has; each table draws its own. */
struct taste {
	uint32_t rows, bounds, dims, wild, answers;
};

static int64_t bound(const struct taste *taste)
{
	switch (below(8)) {
	case 0:
		return (int64_t)below(4);
	case 1:
		return NB_TABLE_MAX_BYTES - below(3);
	default:
		return (int64_t)below(taste->bounds) << below(20);
	}
}

static int32_t dim(const struct taste *taste, uint32_t bit, uint32_t most,
		   int32_t least)
{
	if (!(taste->dims >> bit & 1) || below(100) < taste->wild)
		return NB_TABLE_ANY;
	return least + (int32_t)below(most);
}

static void random_row(struct nb_table_row *r, const struct taste *taste,
		       uint32_t line)
{
	int64_t a = bound(taste), b = bound(taste);

	*r = (struct nb_table_row){
		.min = a < b ? a : b,
		.max = a < b ? b : a,
		.coll = dim(taste, 0, 5, 0),
		.nodes = dim(taste, 1, 20, 1),
		.ranks = dim(taste, 2, 5, 1),
		.pipe_ops = dim(taste, 3, 3, 1),
		.reg_buff = dim(taste, 4, 2, 0),
		.algo = (int32_t)below(taste->answers) % 8 - 1,
		.proto = (int32_t)below(taste->answers) % 4 - 1,
		.channels = (int32_t)below(3) ? -1 : 1 + (int32_t)below(64),
		.line = line,
	};
	if (r->algo < 0 && r->proto < 0 && r->channels < 0)
		r->channels = 1;
}

static void random_table(struct nb_table *t)
{
	struct taste taste = { 1 + below(1u << below(8)), 2 + below(100),
			       below(4) ? below(32) : 0, below(101),
			       1 + below(60) };

	*t = (struct nb_table){ calloc(taste.rows, sizeof(*t->rows)),
				taste.rows, taste.rows };
	for (uint32_t i = 0; i < t->n; i++)
		random_row(&t->rows[i], &taste, i + 1);
}

/* Sizes at the edges of rows, and others. */
static uint64_t some_bytes(const struct nb_table *t)
{
	const struct nb_table_row *r = &t->rows[below(t->n)];
	uint64_t near = (uint64_t)(below(2) ? r->min : r->max);

	if (!below(8))
		return (uint64_t)below(UINT32_MAX) << below(33);
	if (!below(30))
		return UINT64_MAX - below(2);
	return near + below(3) - (near ? 1 : 0);
}

static struct ncclbpf_tuner some_context(const struct nb_table *t)
{
	return (struct ncclbpf_tuner){
		.bytes = some_bytes(t),
		.coll = below(20) ? below(5) : below(9),
		.ranks = below(8),
		.nodes = below(20) ? below(24) : UINT32_MAX,
		.pipe_ops = below(5),
		.reg_buff = below(2),
		.usable = below(3) ? below(1u << 21) : 0x1fffff,
		.algo = -1,
		.proto = -1,
	};
}

/* ---- the compiled one ---- */

struct compiled {
	struct nb_buf image;
	struct nb_policy *policy;
	struct nb_gen *gen;
	struct nb_gen_count count;
};

static void compile(struct compiled *c, const struct nb_table *t)
{
	struct nb_table_opts opts = { "t", "t.csv", true, true };
	struct nb_policy_opts policy = { .verify.coherence_off = true };
	struct nb_table_where where;
	struct nb_err err = { 0 };

	memset(c, 0, sizeof(*c));
	nb_buf_init(&c->image, 0);
	ck_assert_msg(!nb_table_image(&c->image, t, &opts, &where, &err), "%s",
		      err.text);
	ck_assert_msg(!nb_policy_new(&c->policy, c->image.data, c->image.size,
				     &policy, &err),
		      "%s", err.text);
	ck_assert_msg(!nb_gen_new(&c->gen, &c->policy, 1, NULL, &err), "%s",
		      err.text);
}

static void discard(struct compiled *c)
{
	nb_gen_put(c->gen);
	nb_policy_put(c->policy);
	nb_buf_fini(&c->image);
}

static void same_rows(const struct nb_table *a, const struct nb_table *b)
{
	ck_assert_uint_eq(a->n, b->n);
	for (uint32_t i = 0; i < a->n; i++) {
		struct nb_table_row x = a->rows[i], y = b->rows[i];

		x.line = y.line = 0;
		ck_assert_mem_eq(&x, &y, sizeof(x));
	}
}

static void through_csv(const struct nb_table *t)
{
	struct nb_table back = { 0 };
	struct nb_table_where where;
	struct nb_err err = { 0 };
	struct nb_buf text;

	nb_buf_init(&text, 0);
	nb_table_csv(t, &text);
	ck_assert_msg(
		!nb_table_parse(&back, text.data, text.size, &where, &err),
		"line %u: %s", where.line, err.text);
	same_rows(t, &back);
	nb_table_fini(&back);
	nb_buf_fini(&text);
}

static void through_image(const struct nb_table *t, const struct compiled *c)
{
	struct nb_table back = { 0 };
	struct nb_image *img;
	struct nb_err err = { 0 };

	ck_assert(!nb_image_read(&img, c->image.data, c->image.size, &err));
	ck_assert_msg(!nb_table_of_image(&back, img, &err), "%s", err.text);
	same_rows(t, &back);
	nb_table_fini(&back);
	nb_image_free(img);
}

START_TEST(decides_as_its_rows_do)
{
	const char *more = getenv("TABLES");
	uint32_t tables = more ? (uint32_t)atoi(more) : 400, won = 0;

	if (getenv("TABLE_SEED"))
		seed = strtoull(getenv("TABLE_SEED"), NULL, 0);
	for (uint32_t n = 0; n < tables; n++) {
		uint64_t from = seed;
		struct nb_table t;
		struct compiled c;

		random_table(&t);
		compile(&c, &t);
		through_csv(&t);
		through_image(&t, &c);
		for (int i = 0; i < 500; i++) {
			struct ncclbpf_tuner in = some_context(&t), a = in,
					     b = in;

			naive(&t, &a);
			nb_gen_run_tuner(c.gen, &b, &c.count);
			won += a.algo != in.algo;
			ck_assert_msg(!memcmp(&a, &b, sizeof(a)),
				      "table of seed %" PRIu64
				      ", %u rows: bytes %" PRIu64
				      " coll %u nodes %u ranks %u pipe %u reg "
				      "%u usable %x: %d/%d/%u, rows say "
				      "%d/%d/%u",
				      from, t.n, in.bytes, in.coll, in.nodes,
				      in.ranks, in.pipe_ops, in.reg_buff,
				      in.usable, b.algo, b.proto, b.channels,
				      a.algo, a.proto, a.channels);
		}
		discard(&c);
		nb_table_fini(&t);
	}
	ck_assert_uint_gt(won, tables);
}
END_TEST

/* Ten thousand rows one behind the other, every size of them. */
START_TEST(large_tables_decide_right)
{
	struct nb_table t = { calloc(10000, sizeof(*t.rows)), 10000, 10000 };
	struct compiled c;

	for (uint32_t i = 0; i < t.n; i++)
		t.rows[i] = (struct nb_table_row){ (int64_t)i * 1000,
						   (int64_t)i * 1000 + 998,
						   4,
						   (int32_t)i % 7,
						   (int32_t)i % 3,
						   1 + (int32_t)i % 64,
						   -1,
						   -1,
						   -1,
						   -1,
						   i + 1 };
	compile(&c, &t);
	through_image(&t, &c);
	for (uint64_t bytes = 0; bytes < 10010000; bytes += 333) {
		struct ncclbpf_tuner a = { .bytes = bytes,
					   .coll = 4,
					   .usable = 0x1fffff,
					   .algo = -1,
					   .proto = -1 },
				     b = a;
		uint32_t i = (uint32_t)(bytes / 1000);

		if (i < t.n && bytes % 1000 <= 998) {
			a.algo = t.rows[i].algo;
			a.proto = t.rows[i].proto;
			a.channels = (uint32_t)t.rows[i].channels;
		}
		nb_gen_run_tuner(c.gen, &b, &c.count);
		ck_assert_mem_eq(&a, &b, sizeof(a));
	}
	discard(&c);
	nb_table_fini(&t);
}
END_TEST

/* Rows that name ever other nodes, ranks and operations: refused in time. */
START_TEST(entangled_tables_are_refused)
{
	struct nb_table_opts opts = { "t", "", true, true };
	struct nb_table t = { calloc(6000, sizeof(*t.rows)), 6000, 6000 };
	struct nb_table_where where;
	struct nb_err err = { 0 };
	struct nb_buf out;

	for (uint32_t i = 0; i < t.n; i++) {
		t.rows[i] = (struct nb_table_row){ i,  i + 5000, 4,  1,	 2, 1,
						   -1, -1,	 -1, -1, i };
		*(i % 3 == 0   ? &t.rows[i].nodes
		  : i % 3 == 1 ? &t.rows[i].ranks
			       : &t.rows[i].pipe_ops) = (int32_t)i + 1;
	}
	nb_buf_init(&out, 0);
	ck_assert_int_eq(nb_table_image(&out, &t, &opts, &where, &err),
			 NB_E_LIMIT);
	ck_assert_uint_eq(out.size, 0);
	ck_assert_ptr_nonnull(strstr(err.text, "too many ways"));
	nb_buf_fini(&out);
	nb_table_fini(&t);
}
END_TEST

/* ---- text ---- */

#define NV "allreduce,0,65536,tree,ll,2,1,-1"

static const struct {
	const char *text;
	uint32_t line, col; /* of the fault */
	const char *says;
} faults[] = {
	{ "", 0, 0, "a table without rows" },
	{ "# nothing\n\n", 0, 0, "a table without rows" },
	{ NV "\nallreduce,0,65536,tree,ll,2,1\n", 2, 1,
	  "7 fields; 8 to 10 expected" },
	{ NV ",1,-1,5\n", 1, 1, "11 fields; 8 to 10 expected" },
	{ "allreduze,0,1,tree,ll,2,1,1\n", 1, 1,
	  "collective \"allreduze\": broadcast, reduce, allgather, "
	  "reducescatter, allreduce, or -1 expected" },
	{ "allreduce,4X,1,tree,ll,2,1,1\n", 1, 11,
	  "min_bytes \"4X\": bytes (4194304, 4M, 4MiB) or -1 expected" },
	{ ",,,,,,,\n", 1, 4, "the row has no answer" },
	{ "allreduce,-2,1,tree,ll,2,1,1\n", 1, 11, "min_bytes \"-2\": bytes" },
	{ "allreduce,0x10,1,tree,ll,2,1,1\n", 1, 11, "\"0x10\": bytes" },
	{ "allreduce,1.5M,1,tree,ll,2,1,1\n", 1, 11, "\"1.5M\": bytes" },
	{ "allreduce,1 2,3,tree,ll,2,1,1\n", 1, 11, "\"1 2\": bytes" },
	{ "allreduce,18446744073709551615,-1,tree,ll,2,1,1\n", 1, 11,
	  "less than 2^63 expected" },
	{ "allreduce,0,99e9,tree,ll,2,1,1\n", 1, 13, "max_bytes \"99e9\"" },
	{ "allreduce,9,8,tree,ll,2,1,1\n", 1, 13,
	  "max_bytes 8: at least min_bytes, 9, expected" },
	{ "allreduce,0,1,threee,ll,2,1,1\n", 1, 15,
	  "algorithm \"threee\": tree, ring, collnet_direct, collnet_chain, "
	  "nvls, nvls_tree, pat, or -1 expected" },
	{ "allreduce,0,1,1,ll,2,1,1\n", 1, 15, "algorithm \"1\": tree" },
	{ "allreduce,0,99999999999999999999,tree,ll,2,1,1\n", 1, 13,
	  "max_bytes \"99999999999999999999\": less than 2^64 bytes expected" },
	{ "allreduce,0,17179869184G,tree,ll,2,1,1\n", 1, 13,
	  "max_bytes \"17179869184G\": less than 2^64 bytes expected" },
	{ "allreduce,0,1,tree,l128,2,1,1\n", 1, 20,
	  "protocol \"l128\": ll, ll128, simple, or -1 expected" },
	{ "allreduce,0,1,tree,ll,0,1,1\n", 1, 23,
	  "channels \"0\": 1 to 64, or -1 for NCCL's own, expected" },
	{ "allreduce,0,1,tree,ll,65,1,1\n", 1, 23, "channels \"65\": 1 to 64" },
	{ "allreduce,0,1,tree,ll,two,1,1\n", 1, 23, "channels \"two\"" },
	{ "allreduce,0,1,tree,ll,2,0,1\n", 1, 25,
	  "nodes \"0\": 1 or more, or -1, expected" },
	{ "allreduce,0,1,tree,ll,2,1,-8\n", 1, 27, "ranks \"-8\"" },
	{ "allreduce,0,1,tree,ll,2,1,8,0\n", 1, 29, "pipe_ops \"0\"" },
	{ "allreduce,0,1,tree,ll,2,1,8,1,2\n", 1, 31,
	  "reg_buff \"2\": 0, 1 or -1 expected" },
	{ "allreduce,0,1,tree,ll,2,1,99999999999\n", 1, 27, "ranks" },
	{ "allreduce,0,1,-1,-1,-1,1,1\n", 1, 15,
	  "the row has no answer: algo, proto or channels expected" },
	{ NV "\n\"allreduce\",0,1,tree,ll,2,1,1\n", 2, 1,
	  "collective \"\"allreduce\"\"" },
	{ "allreduce;0;1;tree;ll;2;1;1\n", 1, 1, "1 fields; 8 to 10 expected" },
	{ NV "\nallreduce,0,1\001,tree,ll,2,1,1\n", 2, 14, "byte 0x01" },
	{ "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n", 1, 1,
	  "more than 16 fields" },
	{ "coll,bites,algo\n", 1, 6, "column \"bites\": no such column" },
	{ "coll,algo,Algorithm\n", 1, 11, "header sets the same" },
	{ "coll,bytes,min_bytes,algo\n", 1, 12, "header sets the same" },
	{ "coll,min_bytes,max_bytes_per_rank\n", 1, 16,
	  "header sets the same" },
	{ "coll,algo\nallreduce\n", 2, 1, "1 fields; the header names 2" },
	{ "coll,bytes,algo\nallreduce,4M-8M,ring\n", 2, 11,
	  "bytes \"4M-8M\": an interval of bytes (4M..32M, 4M.., ..32M, 4M) "
	  "or -1 expected" },
	{ "coll,bytes,algo\nallreduce,8M..4M,ring\n", 2, 11,
	  "the smaller size first expected" },
	{ "coll,bytes,algo\nallreduce,..,ring\n", 2, 11, "an interval" },
	{ "coll,bytes_per_rank,algo\nallgather,4M,ring\n", 2, 11,
	  "sizes per rank need the number of ranks" },
	{ "coll,bytes_per_rank,ranks,algo\nallgather,4T..,9999999,ring\n", 2,
	  11, "a size below 2^63 bytes over all ranks" },
	{ "coll,algo,proto\nallreduce,,\n", 2, 11, "the row has no answer" },
};

START_TEST(faults_have_a_place)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct nb_table t = { 0 };
		struct nb_table_where where;
		struct nb_err err = { 0 };
		int rc = nb_table_parse(&t, faults[i].text,
					strlen(faults[i].text), &where, &err);

		ck_assert_msg(rc == NB_E_FORMAT, "%zu %s: %d", i,
			      faults[i].text, rc);
		ck_assert_msg(strstr(err.text, faults[i].says) != NULL,
			      "%s: %s", faults[i].text, err.text);
		ck_assert_msg(where.line == faults[i].line &&
				      where.col == faults[i].col,
			      "%s: at %u:%u", faults[i].text, where.line,
			      where.col);
		nb_table_fini(&t);
	}
}
END_TEST

START_TEST(text_that_is_fine)
{
	static const char text[] =
		"\xef\xbb\xbf# NVIDIA's columns\r\n"
		"\r\n"
		" AllReduce , 0,65536, Tree,LL , -1, 1, 8 \r\n"
		"reduce_none,0,1,ring,ll,1,1,1\r\n";
	static const char named[] =
		"coll,Bytes,nNodes,ALGO,proto,nChannels,num_pipe_ops\n"
		"allreduce,4M..32M,1,ring,ll128,8,\n"
		"any,1G..,,nvls,,any,2";
	static const char each[] =
		"coll,bytes_per_rank,ranks,algo\n"
		"allgather,1K..2K,8,ring\nallgather,4K..,8,tree\n";
	struct nb_table t = { 0 };
	struct nb_table_where where;
	struct nb_err err = { 0 };

	ck_assert_int_eq(
		nb_table_parse(&t, text, sizeof(text) - 1, &where, &err),
		NB_E_FORMAT);
	ck_assert_uint_eq(where.line, 4);
	ck_assert_uint_eq(t.n, 1);
	ck_assert_uint_eq(t.rows[0].line, 3);
	ck_assert_int_eq(t.rows[0].coll, 4);
	ck_assert_int_eq(t.rows[0].max, 65536);
	ck_assert_int_eq(t.rows[0].channels, -1);
	ck_assert_int_eq(t.rows[0].pipe_ops, -1);
	nb_table_fini(&t);
	ck_assert(!nb_table_parse(&t, named, sizeof(named) - 1, &where, &err));
	ck_assert_int_eq(t.rows[0].min, 4 << 20);
	ck_assert_int_eq(t.rows[0].max, 32 << 20);
	ck_assert_int_eq(t.rows[1].coll, -1);
	ck_assert_int_eq(t.rows[1].max, NB_TABLE_MAX_BYTES);
	ck_assert_int_eq(t.rows[1].pipe_ops, 2);
	nb_table_fini(&t);
	ck_assert(!nb_table_parse(&t, each, sizeof(each) - 1, &where, &err));
	ck_assert_int_eq(t.rows[0].min, 8 << 10);
	ck_assert_int_eq(t.rows[0].max, 16 * 1024 + 7);
	ck_assert_int_eq(t.rows[1].max, NB_TABLE_MAX_BYTES);
	nb_table_fini(&t);
}
END_TEST

static int compile_text(const char *text, bool keep, struct nb_table_where *w,
			struct nb_err *err)
{
	struct nb_table_opts opts = { "t", "t.csv", keep, false };
	struct nb_table t = { 0 };
	struct nb_buf out;
	int rc;

	nb_buf_init(&out, 0);
	ck_assert(!nb_table_parse(&t, text, strlen(text), w, err));
	rc = nb_table_image(&out, &t, &opts, w, err);
	ck_assert_msg(!rc == (out.size > 0), "half an image");
	nb_buf_fini(&out);
	nb_table_fini(&t);
	return rc;
}

START_TEST(hidden_rows)
{
	static const char *const never[] = {
		/* the same, narrower, through two, answered by no need */
		"allreduce,0,9,ring,ll,1,-1,-1\nallreduce,0,9,ring,ll,2,1,1\n",
		"any,0,-1,ring,-1,1,-1,-1\nallreduce,5,9,ring,simple,2,1,1\n",
		"allreduce,0,9,-1,-1,4,-1,-1\nallreduce,3,3,ring,ll,2,1,1\n",
		"#\nany,0,5,ring,ll,1,-1,-1\nany,6,9,ring,ll,1,-1,-1\n"
		"allreduce,1,8,ring,ll,1,-1,-1\n",
	};
	static const char fine[] = "allreduce,0,9,ring,ll,1,-1,-1\n"
				   "allreduce,0,9,ring,simple,1,-1,-1\n"
				   "allreduce,0,10,ring,ll,1,-1,-1\n"
				   "any,0,9,ring,ll,1,-1,-1\n";
	struct nb_table_where where;
	struct nb_err err = { 0 };

	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(compile_text(never[i], false, &where, &err),
				 NB_E_FORMAT);
		ck_assert_uint_eq(where.line, i < 3 ? 2 : 4);
		ck_assert_ptr_nonnull(strstr(err.text, "never wins"));
		ck_assert_int_eq(i < 3, strstr(err.text, "line 1") != NULL);
		ck_assert_int_eq(compile_text(never[i], true, &where, &err), 0);
	}
	ck_assert_msg(!compile_text(fine, false, &where, &err), "%s", err.text);
}
END_TEST

START_TEST(reg_buff_is_local)
{
	struct nb_table_where where;
	struct nb_err err = { 0 };

	ck_assert_int_eq(
		compile_text("any,0,9,ring,ll,1,1,1,1,0\n", true, &where, &err),
		NB_E_FORMAT);
	ck_assert_str_eq(where.field, "reg_buff");
	ck_assert_uint_eq(where.line, 1);
}
END_TEST

/* An image that lies about its rows is found out, whatever byte lies. */
START_TEST(rows_of_an_image_are_not_trusted)
{
	struct nb_table t, back;
	struct compiled c;
	struct nb_image *img;
	struct nb_err err = { 0 };
	unsigned char *bytes;
	int m, ok = 0, refused = 0;

	random_table(&t);
	compile(&c, &t);
	ck_assert(!nb_image_read(&img, c.image.data, c.image.size, &err));
	m = nb_image_map(img, ".rodata.rows");
	bytes = malloc(img->maps[m].value_size);
	for (uint32_t n = 0; n < 20000; n++) {
		struct nb_map_spec maps[2] = { img->maps[0], img->maps[1] };
		struct nb_image lies = *img;

		memcpy(bytes, img->maps[m].init, img->maps[m].value_size);
		bytes[below(img->maps[m].value_size)] = (uint8_t)below(256);
		maps[m].init = bytes;
		if (!below(4))
			maps[m].value_size = below(maps[m].value_size);
		lies.maps = maps;
		back = (struct nb_table){ 0 };
		if (nb_table_of_image(&back, &lies, &err))
			refused++;
		else
			ok++;
		nb_table_fini(&back);
	}
	ck_assert_int_gt(refused, 0);
	ck_assert_int_gt(ok, 0);
	free(bytes);
	nb_image_free(img);
	discard(&c);
	nb_table_fini(&t);
}
END_TEST

/* All faults of a text are the first and others, in the order of the lines. */
static void faults_begin_with(const char *text, size_t size,
			      const struct nb_table_where *w,
			      const struct nb_err *err)
{
	struct nb_table_opts opts = { "t", "t.csv", false, false };
	struct nb_table_fault f[3];
	uint32_t n = nb_table_faults(text, size, &opts, f, 3);

	ck_assert_uint_ge(n, 1);
	ck_assert_uint_le(n, 3);
	ck_assert_str_eq(f[0].err.text, err->text);
	ck_assert_uint_eq(f[0].where.line, w->line);
	ck_assert_uint_eq(f[0].where.col, w->col);
	for (uint32_t i = 1; i < n; i++)
		ck_assert_uint_gt(f[i].where.line, f[i - 1].where.line);
}

/* Text with bytes changed: an error with a place, or rows that compile. */
START_TEST(damaged_text)
{
	static const char text[] = "coll,bytes,nodes,algo,proto,channels\n"
				   "allreduce,4M..32M,1,ring,ll128,8\n"
				   "allgather,..64K,-1,tree,ll,-1\n"
				   "# comment\n"
				   "any,1G..,2,nvls,simple,any\n";
	int ok = 0, refused = 0;

	for (uint32_t n = 0; n < 20000; n++) {
		char bytes[sizeof(text)];
		struct nb_table t = { 0 };
		struct nb_table_where w;
		struct nb_err err = { 0 };
		uint32_t size =
			below(6) ? sizeof(text) - 1 : below(sizeof(text));

		memcpy(bytes, text, sizeof(text));
		for (uint32_t k = 0; k <= below(3); k++)
			bytes[below(sizeof(text) - 1)] =
				below(2) ? (char)below(256)
					 : text[below(sizeof(text) - 1)];
		if (nb_table_parse(&t, bytes, size, &w, &err)) {
			refused++;
			ck_assert(err.text[0]);
			ck_assert_msg(w.line || strstr(err.text, "without"),
				      "%s", err.text);
			faults_begin_with(bytes, size, &w, &err);
		} else {
			ok++;
			through_csv(&t);
		}
		nb_table_fini(&t);
	}
	ck_assert_int_gt(refused, 100);
	ck_assert_int_gt(ok, 100);
}
END_TEST

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level, (void)fmt, (void)ap;
	return 0;
}

/* libbpf opens what is written, and our front end finds the same in it. */
START_TEST(object_files)
{
	struct nb_table t;
	struct compiled c;
	struct nb_image *img, *again;
	struct nb_buf object, image;
	struct bpf_object *obj;
	struct nb_err err = { 0 };

	libbpf_set_print(silent);
	for (int i = 0; i < 30; i++) {
		nb_buf_init(&object, 0);
		nb_buf_init(&image, 0);
		random_table(&t);
		compile(&c, &t);
		ck_assert(
			!nb_image_read(&img, c.image.data, c.image.size, &err));
		ck_assert_msg(!nb_object_write(&object, img, &err), "%s",
			      err.text);
		obj = bpf_object__open_mem(object.data, object.size, NULL);
		ck_assert_ptr_nonnull(obj);
		ck_assert_uint_eq(
			bpf_program__insn_cnt(
				bpf_object__find_program_by_name(obj, "table")),
			img->progs[0].nslots);
		ck_assert_ptr_nonnull(
			bpf_object__find_map_by_name(obj, ".rodata.rows"));
		bpf_object__close(obj);
		ck_assert_msg(!nb_object_image(&image, object.data, object.size,
					       "t", &err),
			      "%s", err.text);
		ck_assert(!nb_image_read(&again, image.data, image.size, &err));
		ck_assert_uint_eq(again->nmaps, 2);
		for (int m = 0; m < 2; m++)
			ck_assert_mem_eq(again->maps[m].init, img->maps[m].init,
					 img->maps[m].value_size);
		ck_assert_mem_eq(again->progs[0].slots, img->progs[0].slots,
				 img->progs[0].nslots * sizeof(struct nb_slot));
		nb_image_free(img);
		nb_image_free(again);
		discard(&c);
		nb_table_fini(&t);
		nb_buf_fini(&object);
		nb_buf_fini(&image);
	}
}
END_TEST

UNIT_MAIN("table", tcase_add_test(tc, object_files);
	  tcase_add_test(tc, decides_as_its_rows_do);
	  tcase_add_test(tc, large_tables_decide_right);
	  tcase_add_test(tc, entangled_tables_are_refused);
	  tcase_add_test(tc, faults_have_a_place);
	  tcase_add_test(tc, text_that_is_fine);
	  tcase_add_test(tc, hidden_rows);
	  tcase_add_test(tc, reg_buff_is_local);
	  tcase_add_test(tc, rows_of_an_image_are_not_trusted);
	  tcase_add_test(tc, damaged_text);)
