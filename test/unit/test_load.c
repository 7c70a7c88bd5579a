// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Objects to images. Sources stand here and are compiled by the clang that
// policies are built with (CLANG, default "clang"), so that each -mcpu and
// each way of compiling is tried.
#include "test/unit/load_object.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

TEST_EACH(a_whole_policy_becomes_an_image, 0, ROWS(cpus))
{
	struct nb_image *img = image_of(whole, cpus[_i]);
	const struct nb_prog *p = &img->progs[0];
	const struct nb_func *outer = func_named(p, "outer");
	const struct nb_func *inner = func_named(p, "inner");

	check_maps(img);
	ck_assert_uint_eq(img->nprogs, 1);
	ck_assert_str_eq(p->name, "entry");
	ck_assert_str_eq(p->section, "tuner");
	ck_assert_uint_eq(p->nfuncs, 3);
	ck_assert_str_eq(p->funcs[0].name, "entry");
	ck_assert_ptr_nonnull(outer);
	ck_assert_ptr_nonnull(inner);
	ck_assert_uint_eq(count(p, NB_FN_MAP), 2);
	ck_assert_uint_ge(count(p, NB_FN_MAP_VALUE), 4);
	ck_assert_uint_eq(count(p, NB_FN_LOCAL), 3);
	nb_image_free(img);
}

/* Offset and map of each reference into data, by name. */
TEST(addresses_of_data_have_their_offset)
{
	static const char source[] = "volatile __u32 a = 1, b = 2; volatile __u64 c = 3;\n"
				     "static volatile __u32 d[9];\n"
				     "SEC(\"tuner\") int entry(void *ctx)\n"
				     "{ a = 5; b = 6; c = 7; d[5] = 8; return 0; }\n";
	struct nb_image *img = image_of(source, "-g -mcpu=v3");
	struct nb_insn *in = decoded(&img->progs[0]);
	uint64_t seen[3] = { 0 };

	for (uint32_t i = 0; i < img->progs[0].nslots; i++)
		if (in[i].fn == NB_FN_MAP_VALUE) {
			uint64_t off = (uint64_t)in[i].imm >> 32;
			const char *map = img->maps[(uint32_t)in[i].imm].name;

			ck_assert_uint_le(off, 20);
			seen[strcmp(map, ".bss") == 0] |= 1ull << off;
		}
	/* a at 0, b at 4, c at 8; d[5] at 20, as address or displacement */
	ck_assert_uint_eq(seen[0], 1 << 0 | 1 << 4 | 1 << 8);
	ck_assert(seen[1] == 1 << 20 || seen[1] == 1 << 0);
	free(in);
	nb_image_free(img);
}

TEST_EACH(calls_hit_their_functions, 0, ROWS(cpus))
{
	struct nb_image *img = image_of(whole, cpus[_i]);
	const struct nb_prog *p = &img->progs[0];
	struct nb_insn *in = decoded(p);
	const uint32_t outer = func_named(p, "outer")->start;
	const uint32_t inner = func_named(p, "inner")->start;
	unsigned calls = 0;

	for (uint32_t i = 0; i < p->nslots; i++) {
		uint32_t to = i + 1 + (uint32_t)in[i].off;

		if (in[i].fn != NB_FN_LOCAL)
			continue;
		calls++;
		ck_assert(to == outer || to == inner);
		if (i >= outer && i < nb_prog_func(p, outer)->end)
			ck_assert_uint_eq(to, inner);
	}
	ck_assert_uint_eq(calls, 3);
	free(in);
	nb_image_free(img);
}

/* Kernel functions by their names: calls of helpers in the image. */
static const char externs[] = "#undef bpf_iter_num_new\n"
			      "#undef bpf_iter_num_next\n"
			      "#undef bpf_iter_num_destroy\n"
			      "extern int bpf_iter_num_new(struct bpf_iter_num *it, int start,\n"
			      "			     int end) SEC(\".ksyms\");\n"
			      "extern int *bpf_iter_num_next(struct bpf_iter_num *it)\n"
			      "	__attribute__((weak)) SEC(\".ksyms\");\n"
			      "extern void bpf_iter_num_destroy(struct bpf_iter_num *it)\n"
			      "	SEC(\".ksyms\");\n"
			      "SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
			      "{\n"
			      "	struct bpf_iter_num it;\n"
			      "\n"
			      "	bpf_iter_num_new(&it, 0, 9);\n"
			      "	bpf_iter_num_next(&it);\n"
			      "	bpf_iter_num_destroy(&it);\n"
			      "	return 0;\n"
			      "}\n";

TEST(externs_are_helpers)
{
	struct nb_image *img = image_of(externs, "-g -Dbpf_iter_num_new=a -Dbpf_iter_num_next=b "
						 "-Dbpf_iter_num_destroy=c");
	const struct nb_prog *p = &img->progs[0];
	struct nb_insn *in = decoded(p);
	int64_t want = nb_spec_helper_named("iter_num_new")->id;

	for (uint32_t i = 0; i < p->nslots; i++) {
		if (in[i].kind != NB_KIND_CALL)
			continue;
		ck_assert_int_eq(in[i].fn, NB_FN_HELPER);
		ck_assert_int_eq(in[i].imm, want++);
	}
	ck_assert_int_eq(want, nb_spec_helper_named("iter_num_destroy")->id + 1);
	free(in);
	nb_image_free(img);
}

/* A function of the object is called by its name even if a helper has the same.
 */
TEST(own_functions_come_before_helpers)
{
	static const char source[] = "#undef bpf_iter_num_new\n"
				     "__attribute__((noinline)) int\n"
				     "own(struct ncclbpf_tuner *ctx) { return ctx->bytes != 7; }\n"
				     "SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
				     "{ return own(ctx); }\n";
	struct nb_image *img = image_of(source, "-g -Dbpf_iter_num_new=a -Down=bpf_iter_num_new");
	const struct nb_prog *p = &img->progs[0];
	struct nb_insn *in = decoded(p);

	ck_assert_uint_eq(count(p, NB_FN_LOCAL), 1);
	ck_assert_uint_eq(count(p, NB_FN_HELPER), 0);
	free(in);
	nb_image_free(img);
}

TEST(lines_are_those_of_the_source)
{
	struct nb_image *img = image_of(whole, "-g -mcpu=v3");
	const struct nb_prog *p = &img->progs[0];
	const struct nb_func *inner = func_named(p, "inner");
	bool seen = false;

	for (uint32_t pc = inner->start; pc < inner->end; pc++) {
		const struct nb_line *l = nb_prog_line(p, pc);

		ck_assert_ptr_nonnull(l);
		ck_assert_ptr_nonnull(strstr(l->file, "t.bpf.c"));
		ck_assert_uint_gt(l->line, 1);
		seen |= strstr(l->text, "return ctx->bytes * 3") != NULL;
	}
	ck_assert(seen);
	for (uint32_t i = 1; i < p->nlines; i++)
		ck_assert_uint_gt(p->lines[i].pc, p->lines[i - 1].pc);
	nb_image_free(img);
}

TEST_EACH(without_debug_information, 0, ROWS(cpus))
{
	static const char source[] = "static __noinline int inner(struct ncclbpf_tuner *ctx)\n"
				     "{ return ctx->bytes >> 40; }\n"
				     "__u32 count;\n"
				     "SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
				     "{ count++; ctx->channels = 4; return inner(ctx); }\n";
	struct nb_image *img = image_of(source, cpus[_i] + 3);

	ck_assert_uint_eq(img->progs[0].nfuncs, 2);
	ck_assert_uint_eq(img->progs[0].nlines, 0);
	ck_assert_str_eq(img->progs[0].funcs[1].name, "inner");
	ck_assert_uint_eq(img->btf_size, 0);
	ck_assert_uint_eq(img->nctx_fields, 0);
	ck_assert_str_eq(img->maps[0].name, ".bss");
	nb_image_free(img);
}

TEST_EACH(static_function_beside_its_caller, 0, ROWS(cpus))
{
	static const char source[] =
		"SEC(\"tuner\") static __noinline int\n"
		"inner(struct ncclbpf_tuner *ctx) { return ctx->bytes >> 9; }\n"
		"SEC(\"tuner\") int one(struct ncclbpf_tuner *ctx)\n"
		"{ return inner(ctx) + 1; }\n"
		"SEC(\"tuner\") int two(struct ncclbpf_tuner *ctx)\n"
		"{ return inner(ctx) + 2; }\n"
		"SEC(\"tuner/other\") int three(struct ncclbpf_tuner *ctx)\n"
		"{ return 3; }\n";
	struct nb_image *img = image_of(source, cpus[_i]);

	ck_assert_uint_eq(img->nprogs, 3);
	ck_assert_str_eq(img->progs[0].name, "one");
	ck_assert_uint_eq(img->progs[0].nfuncs, 2);
	ck_assert_str_eq(img->progs[1].name, "two");
	ck_assert_uint_eq(img->progs[1].nfuncs, 2);
	ck_assert_str_eq(img->progs[2].section, "tuner/other");
	ck_assert_uint_eq(img->progs[2].nfuncs, 1);
	nb_image_free(img);
}

/* Their number is bounded: unit-load_refused has the refused twin. */
TEST(values_may_nest)
{
	struct nb_image *img = image_of(NESTED("8"), "-g");

	ck_assert_uint_eq(img->maps[0].value_size, 4);
	nb_image_free(img);
}

TEST_EACH(callbacks_come_along, 0, ROWS(cpus))
{
	static const char source[] = "static long each(__u32 i, void *arg) { return i > 3; }\n"
				     "static long (*const loop)(__u32, void *, void *, __u64) =\n"
				     "	(void *)181;\n"
				     "SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
				     "{ loop(9, each, NULL, 0); return 0; }\n";
	struct nb_image *img = image_of(source, cpus[_i]);
	const struct nb_prog *p = &img->progs[0];
	struct nb_insn *in = decoded(p);
	uint32_t i = 0;

	while (i < p->nslots && in[i].fn != NB_FN_FUNC)
		i++;
	ck_assert_uint_lt(i, p->nslots);
	ck_assert_uint_eq(i + 1 + (uint32_t)in[i].off, func_named(p, "each")->start);
	free(in);
	nb_image_free(img);
}

TEST(fields_of_the_context_are_told)
{
	static const char source[] = "SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
				     "{ ctx->channels = 1; return 0; }\n";
	struct nb_image *img = image_of(source, "-g");
	const struct nb_hook_spec *hook = nb_spec_hook(NB_HOOK_TUNER);

	ck_assert_uint_eq(img->nctx_fields, hook->nfields);
	for (uint32_t i = 0; i < img->nctx_fields; i++) {
		ck_assert_str_eq(img->ctx_fields[i].name, hook->fields[i].name);
		ck_assert_uint_eq(img->ctx_fields[i].off, hook->fields[i].off);
		ck_assert_uint_eq(img->ctx_fields[i].size, hook->fields[i].size);
	}
	nb_image_free(img);
}

/* Level, name, offset, size, size of an element of each name there is. */
TEST_EACH(names_of_keys_values_and_variables, 0, ROWS(cpus))
{
	static const char source[] = "struct in { __u32 a; __u64 b; };\n"
				     "struct key { __u64 id; __u32 kind; };\n"
				     "struct value { struct in row[3]; union { __u32 x; __u64 y; "
				     "};\n"
				     "  int grid[2][4]; unsigned bit : 3; };\n"
				     "struct { __uint(type, BPF_MAP_TYPE_HASH);\n"
				     "  __uint(max_entries, 4); __type(key, struct key);\n"
				     "  __type(value, struct value); } m SEC(\".maps\");\n"
				     "__u64 counter; __u32 table[5];\n"
				     "SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
				     "{ counter++; return table[ctx->ranks & 3]; }\n";
	static const struct nb_name want[] = {
		{ 0, 0, 0, "struct key", 0, 16, 16 },
		{ 0, 0, 1, "id", 0, 8, 8 },
		{ 0, 0, 1, "kind", 8, 4, 4 },
		{ 0, 1, 0, "struct value", 0, 96, 96 },
		{ 0, 1, 1, "row", 0, 48, 16 },
		{ 0, 1, 2, "a", 0, 4, 4 },
		{ 0, 1, 2, "b", 8, 8, 8 },
		{ 0, 1, 1, "x", 48, 4, 4 },
		{ 0, 1, 1, "y", 48, 8, 8 },
		{ 0, 1, 1, "grid", 56, 32, 16 },
		{ 0, 1, 2, "", 0, 16, 4 },
		{ 1, 1, 0, "", 0, 28, 28 },
		{ 1, 1, 1, "counter", 0, 8, 8 },
		{ 1, 1, 1, "table", 8, 20, 4 },
	};
	struct nb_image *img = image_of(source, cpus[_i]);

	ck_assert_uint_eq(img->nnames, sizeof(want) / sizeof(want[0]));
	for (uint32_t i = 0; i < img->nnames; i++) {
		const struct nb_name *n = &img->names[i], *w = &want[i];

		ck_assert_msg(n->map == w->map && n->part == w->part && n->level == w->level &&
				      !strcmp(n->name, w->name) && n->off == w->off &&
				      n->elem == w->elem && n->size == w->size,
			      "name %u: %u %u %u %s %u %u %u", i, n->map, n->part, n->level,
			      n->name, n->off, n->size, n->elem);
	}
	nb_image_free(img);
}

TEST(tags_of_maps_are_words)
{
	static const char source[] =
		"SEC(\"tuner\") int a(void *c) { return 0; }"
		"struct { " ARRAY "} h SEC(\".maps\") __merged(sum);"
		"struct { " ARRAY "} x SEC(\".maps\") __merged(max);"
		"struct { " ARRAY "} buckets SEC(\".maps\") __merged(histogram);"
		"struct { " ARRAY "} c SEC(\".maps\") __coherent;"
		"struct { " ARRAY "} s SEC(\".maps\") __shared;"
		"struct { " ARRAY "__uint(map_flags, 0x480); } h2"
		" SEC(\".maps\") __host;";
	static const struct {
		const char *map;
		uint32_t tags;
	} want[] = { { "h", NB_MAPF_SUM },	{ "x", NB_MAPF_MAX },	 { "buckets", NB_MAPF_SUM },
		     { "c", NB_MAPF_COHERENT }, { "s", NB_MAPF_SHARED }, { "h2", NB_MAPF_HOST } };
	struct nb_image *img = image_of(source, "-g");

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		ck_assert_uint_eq(img->maps[nb_image_map(img, want[i].map)].tags, want[i].tags);
	nb_image_free(img);
}

TEST(the_same_object_gives_the_same_image)
{
	struct bytes obj = compile(whole, "-g");
	struct nb_buf a, b;

	nb_buf_init(&a, 0);
	nb_buf_init(&b, 0);
	ck_assert(!nb_object_image(&a, obj.p, obj.size, "test", NULL));
	ck_assert(!nb_object_image(&b, obj.p, obj.size, "test", NULL));
	ck_assert_uint_eq(a.size, b.size);
	ck_assert_mem_eq(a.data, b.data, a.size);
	nb_buf_fini(&b);
	nb_buf_fini(&a);
	free(obj.p);
}

TEST(names_of_policies_are_checked)
{
	static const char *const bad[] = { "", "a b", "../x", "-x", ".x" };
	struct bytes obj = compile(whole, "-g");
	struct nb_buf out;

	nb_buf_init(&out, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(nb_object_image(&out, obj.p, obj.size, bad[i], NULL), NB_E_ARG);
	ck_assert_uint_eq(out.size, 0);
	nb_buf_fini(&out);
	free(obj.p);
}

TEST(the_exported_entry_gives_an_image)
{
	extern nb_load_entry_fn ncclbpf_load_object;
	struct bytes obj = compile(whole, "-g");
	struct nb_err err;
	struct nb_image *img;
	size_t size;
	void *p;

	ck_assert(!ncclbpf_load_object(obj.p, obj.size, "x", &p, &size, &err));
	ck_assert(!nb_image_read(&img, p, size, &err));
	nb_image_free(img);
	free(p);
	ck_assert_int_eq(ncclbpf_load_object("", 0, "x", &p, &size, &err), NB_E_ELF);
	ck_assert_ptr_null(p);
	free(obj.p);
}

UNIT_MAIN("load")
