// SPDX-License-Identifier: MIT
// Objects to images. Sources stand here and are compiled by the clang that
// policies are built with (CLANG, default "clang"), so that each -mcpu and
// each way of compiling is tried; what is refused is refused by name.
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/image/image.h"
#include "core/load/object.h"
#include "core/load/write.h"
#include "test/unit/unit.h"

enum { MAX = 2 << 20 };

struct bytes {
	unsigned char *p;
	size_t size;
};

static struct bytes slurp(const char *path)
{
	struct bytes b = { malloc(MAX), 0 };
	FILE *f = fopen(path, "rb");

	ck_assert_msg(f != NULL, "no %s", path);
	b.size = fread(b.p, 1, MAX, f);
	fclose(f);
	return b;
}

/* @source after the policy header, compiled with @flags. */
static struct bytes compile(const char *source, const char *flags)
{
	const char *top = getenv("TOP"), *clang = getenv("CLANG");
	char dir[] = "/tmp/ncclbpf-load-XXXXXX", c[64], o[64], command[1024];
	struct bytes b;
	FILE *f;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(c, sizeof(c), "%s/t.bpf.c", dir);
	snprintf(o, sizeof(o), "%s/t.bpf.o", dir);
	f = fopen(c, "w");
	ck_assert_ptr_nonnull(f);
	fprintf(f, "#include \"ncclbpf_policy.h\"\n%s\n", source);
	fclose(f);
	snprintf(command, sizeof(command),
		 "cd '%s' && %s -target bpf -O2 -I. -Ipolicies "
		 "%s -c -o %s %s",
		 top ? top : ".", clang ? clang : "clang", flags, o, c);
	ck_assert_msg(system(command) == 0, "%s", command);
	b = slurp(o);
	unlink(c);
	unlink(o);
	rmdir(dir);
	return b;
}

static struct nb_image *image_of(const char *source, const char *flags)
{
	struct bytes obj = compile(source, flags);
	struct nb_err err = { .text = "" };
	struct nb_image *img;
	struct nb_buf out;

	nb_buf_init(&out, 0);
	ck_assert_msg(!nb_object_image(&out, obj.p, obj.size, "test", &err),
		      "%s: %s", flags, err.text);
	ck_assert_msg(!nb_image_read(&img, out.data, out.size, &err), "%s: %s",
		      flags, err.text);
	nb_buf_fini(&out);
	free(obj.p);
	return img;
}

/* The object is refused with @code and a text that has @word in it. */
static void refuse(const struct bytes *obj, int code, const char *word)
{
	struct nb_err err = { .text = "" };
	struct nb_buf out;
	int rc;

	nb_buf_init(&out, 0);
	nb_buf_str(&out, "kept");
	rc = nb_object_image(&out, obj->p, obj->size, "test", &err);
	ck_assert_msg(rc == code && rc == err.code, "%d, not %d: %s", rc, code,
		      err.text);
	ck_assert_msg(strstr(err.text, word) != NULL, "\"%s\" lacks \"%s\"",
		      err.text, word);
	ck_assert_str_eq(nb_buf_text(&out), "kept");
	nb_buf_fini(&out);
}

static struct nb_insn *decoded(const struct nb_prog *p)
{
	struct nb_insn *insns = calloc(p->nslots, sizeof(*insns));

	ck_assert(!nb_decode(insns, p->slots, p->nslots, NULL));
	return insns;
}

/* Number of instructions of @fn. */
static unsigned count(const struct nb_prog *p, enum nb_fn fn)
{
	struct nb_insn *insns = decoded(p);
	unsigned n = 0;

	for (uint32_t i = 0; i < p->nslots; i++)
		n += insns[i].fn == fn;
	free(insns);
	return n;
}

static const struct nb_func *func_named(const struct nb_prog *p,
					const char *name)
{
	for (uint32_t i = 0; i < p->nfuncs; i++)
		if (!strcmp(p->funcs[i].name, name))
			return &p->funcs[i];
	return NULL;
}

static const char whole[] =
	"struct value { __u64 n; __u32 z[4]; };\n"
	"struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4);\n"
	"	 __type(key, __u32); __type(value, struct value);\n"
	"} first SEC(\".maps\") __coherent;\n"
	"struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 9);\n"
	"	 __type(key, __u64); __type(value, struct value);\n"
	"	 __uint(map_flags, BPF_F_NO_PREALLOC);\n"
	"} second SEC(\".maps\") __shared;\n"
	"const volatile __u32 table[4] = { 1, 2, 3, 4 };\n"
	"static __u64 hits, more;\n"
	"__u32 start = 7;\n"
	"static __noinline __u32 inner(struct ncclbpf_tuner *ctx)\n"
	"{\n"
	"	return ctx->bytes * 3 + hits++ + more++;\n"
	"}\n"
	"__noinline int outer(struct ncclbpf_tuner *ctx, struct value *v,\n"
	"		      int k)\n"
	"{\n"
	"	return v ? inner(ctx) + v->n + k : 0;\n"
	"}\n"
	"SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
	"{\n"
	"	__u32 a = 0;\n"
	"	__u64 b = 3;\n"
	"	struct value *v = bpf_map_lookup_elem(&first, &a);\n"
	"\n"
	"	start++;\n"
	"	if (bpf_map_lookup_elem(&second, &b))\n"
	"		return 9;\n"
	"	return v ? outer(ctx, v, table[ctx->coll & 3]) : inner(ctx);\n"
	"}\n"
	"char _license[] SEC(\"license\") = \"MIT\";\n";

static const char *const cpus[] = { "-g -mcpu=v1", "-g -mcpu=v2",
				    "-g -mcpu=v3" };

static void check_maps(const struct nb_image *img)
{
	static const struct {
		const char *name;
		uint32_t type, value_size, tags, flags;
		enum nb_map_origin origin;
	} want[] = {
		{ "first", NB_MAP_ARRAY, 24, NB_MAPF_COHERENT, 0,
		  NB_ORIGIN_DEFINED },
		{ "second", NB_MAP_HASH, 24, NB_MAPF_SHARED, NB_F_NO_PREALLOC,
		  NB_ORIGIN_DEFINED },
		{ ".rodata", NB_MAP_ARRAY, 16, 0, NB_F_RDONLY_PROG,
		  NB_ORIGIN_RODATA },
		{ ".data", NB_MAP_ARRAY, 4, 0, 0, NB_ORIGIN_DATA },
		{ ".bss", NB_MAP_ARRAY, 16, 0, 0, NB_ORIGIN_BSS },
	};

	ck_assert_uint_eq(img->nmaps, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		int at = nb_image_map(img, want[i].name);
		const struct nb_map_spec *m;

		ck_assert_msg(at >= 0, "no map %s", want[i].name);
		m = &img->maps[at];
		ck_assert_uint_eq(m->type, want[i].type);
		ck_assert_uint_eq(m->value_size, want[i].value_size);
		ck_assert_uint_eq(m->tags, want[i].tags);
		ck_assert_uint_eq(m->flags, want[i].flags);
		ck_assert_int_eq(m->origin, want[i].origin);
		ck_assert_uint_ne(m->btf_value, 0);
	}
	ck_assert_mem_eq(img->maps[nb_image_map(img, ".rodata")].init,
			 "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0", 16);
	ck_assert_mem_eq(img->maps[nb_image_map(img, ".data")].init, "\7\0\0\0",
			 4);
}

START_TEST(a_whole_policy_becomes_an_image)
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
	ck_assert_int_eq(outer->linkage, NB_FUNC_GLOBAL);
	ck_assert_int_eq(inner->linkage, NB_FUNC_STATIC);
	ck_assert(outer->has_sig && outer->sig.returns_scalar);
	ck_assert_uint_eq(outer->sig.nargs, 3);
	ck_assert_uint_eq(outer->sig.arg[0], NB_FARG_CTX);
	ck_assert_uint_eq(outer->sig.arg[1], NB_FARG_MEM);
	ck_assert_uint_eq(outer->sig.mem_size[1], 24);
	ck_assert_uint_eq(outer->sig.arg[2], NB_FARG_SCALAR);
	ck_assert_uint_eq(count(p, NB_FN_MAP), 2);
	ck_assert_uint_ge(count(p, NB_FN_MAP_VALUE), 4);
	ck_assert_uint_eq(count(p, NB_FN_LOCAL), 3);
	nb_image_free(img);
}
END_TEST

/* Offset and map of each reference into data, by name. */
START_TEST(addresses_of_data_have_their_offset)
{
	static const char source[] =
		"volatile __u32 a = 1, b = 2; volatile __u64 c = 3;\n"
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
END_TEST

START_TEST(calls_hit_their_functions)
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
END_TEST

/* Kernel functions by their names: calls of helpers in the image. */
static const char externs[] =
	"#undef bpf_iter_num_new\n"
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

START_TEST(externs_are_helpers)
{
	struct nb_image *img = image_of(
		externs, "-g -Dbpf_iter_num_new=a -Dbpf_iter_num_next=b "
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
	ck_assert_int_eq(want,
			 nb_spec_helper_named("iter_num_destroy")->id + 1);
	free(in);
	nb_image_free(img);
}
END_TEST

START_TEST(lines_are_those_of_the_source)
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
END_TEST

START_TEST(without_debug_information)
{
	static const char source[] =
		"static __noinline int inner(struct ncclbpf_tuner *ctx)\n"
		"{ return ctx->bytes >> 40; }\n"
		"__u32 count;\n"
		"SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
		"{ count++; ctx->channels = 4; return inner(ctx); }\n";
	struct nb_image *img = image_of(source, cpus[_i] + 3);

	ck_assert_uint_eq(img->progs[0].nfuncs, 2);
	ck_assert_uint_eq(img->progs[0].nlines, 0);
	ck_assert(!img->progs[0].funcs[0].has_sig);
	ck_assert_int_eq(img->progs[0].funcs[1].linkage, NB_FUNC_STATIC);
	ck_assert_uint_eq(img->btf_size, 0);
	ck_assert_uint_eq(img->nctx_fields, 0);
	ck_assert_str_eq(img->maps[0].name, ".bss");
	nb_image_free(img);
}
END_TEST

START_TEST(static_function_beside_its_caller)
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
END_TEST

START_TEST(callbacks_come_along)
{
	static const char source[] =
		"static long each(__u32 i, void *arg) { return i > 3; }\n"
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
	ck_assert_uint_eq(i + 1 + (uint32_t)in[i].off,
			  func_named(p, "each")->start);
	free(in);
	nb_image_free(img);
}
END_TEST

START_TEST(fields_of_the_context_are_told)
{
	static const char source[] =
		"SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
		"{ ctx->channels = 1; return 0; }\n";
	struct nb_image *img = image_of(source, "-g");
	const struct nb_hook_spec *hook = nb_spec_hook(NB_HOOK_TUNER);

	ck_assert_uint_eq(img->nctx_fields, hook->nfields);
	for (uint32_t i = 0; i < img->nctx_fields; i++) {
		ck_assert_str_eq(img->ctx_fields[i].name, hook->fields[i].name);
		ck_assert_uint_eq(img->ctx_fields[i].off, hook->fields[i].off);
		ck_assert_uint_eq(img->ctx_fields[i].size,
				  hook->fields[i].size);
	}
	nb_image_free(img);
}
END_TEST

/* Level, name, offset, size, size of an element of each name there is. */
START_TEST(names_of_keys_values_and_variables)
{
	static const char source[] =
		"struct in { __u32 a; __u64 b; };\n"
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

		ck_assert_msg(
			n->map == w->map && n->part == w->part &&
				n->level == w->level &&
				!strcmp(n->name, w->name) && n->off == w->off &&
				n->elem == w->elem && n->size == w->size,
			"name %u: %u %u %u %s %u %u %u", i, n->map, n->part,
			n->level, n->name, n->off, n->size, n->elem);
	}
	nb_image_free(img);
}
END_TEST

#define MAP(body)                                              \
	"struct {" body "} m SEC(\".maps\");\n"                \
	"SEC(\"tuner\") int entry(void *ctx) { __u32 k = 0;\n" \
	"return bpf_map_lookup_elem(&m, &k) != NULL; }\n"
#define ARRAY                                                    \
	"__uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, " \
	"1);"                                                    \
	"__type(key, __u32); __type(value, __u64);"

struct refusal {
	const char *source, *flags;
	int code;
	const char *word;
};

/* A program array with initial elements, two programs and more. */
#define PROGS(values_)                                                 \
	"int data = 1; __noinline int sub(int x) { return x * data; }" \
	"SEC(\"tuner/a\") int a(void *c) { return 0; }"                \
	"SEC(\"tuner/b\") int b(void *c) { return sub(1); }"           \
	"struct { __uint(type, BPF_MAP_TYPE_PROG_ARRAY);"              \
	"__uint(max_entries, 4); __uint(key_size, 4);"                 \
	"__uint(value_size, 4); int (*values[])(void *); } m"          \
	" SEC(\".maps\") = { .values = { " values_ " } };"

/* A map of maps with initial elements; maps a and b are like the inner one. */
#define OUTER(more, values_)                                                \
	"struct inner {" ARRAY "} a SEC(\".maps\"), b SEC(\".maps\");" more \
	"struct { __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);"                \
	"__uint(max_entries, 4); __type(key, __u32);"                       \
	"__array(values, struct inner); } m SEC(\".maps\")"                 \
	" = { .values = { " values_ " } };"                                 \
	"SEC(\"tuner\") int f(void *c) { return 0; }"

static const struct refusal refusals[] = {
	{ "SEC(\"kprobe/x\") int f(void *ctx) { return 0; }", "-g", NB_E_HOOK,
	  "section \"kprobe/x\" names no hook; known: tuner" },
	{ "SEC(\"tunner\") int f(void *ctx) { return 0; }", "-g", NB_E_HOOK,
	  "section \"tunner\" names no hook; nearest: tuner" },
	{ "int f(void *ctx) { return 0; }", "-g", NB_E_HOOK, "no program" },
	{ "char _license[] SEC(\"license\") = \"MIT\";", "-g", NB_E_HOOK,
	  "no program" },
	{ "extern int gone(void *); SEC(\"tuner\") int f(void *c)"
	  "{ return gone(c); }",
	  "-g", NB_E_SYMBOL, "symbol gone" },
	{ "extern int gone; SEC(\"tuner\") int f(void *c) { return gone; }",
	  "-g", NB_E_SYMBOL, "symbol gone" },
	{ "extern int gone __attribute__((weak)); SEC(\"tuner\") int f(void *c)"
	  "{ return gone; }",
	  "-g", NB_E_SYMBOL, "symbol gone" },
	{ "extern int bpf_iter_num_nxet(void *) SEC(\".ksyms\"); SEC(\"tuner\")"
	  "int f(void *c) { return bpf_iter_num_nxet(c); }",
	  "-g", NB_E_SYMBOL, "did you mean bpf_iter_num_next" },
	/* a helper of the kernel is none of its functions */
	{ "extern int bpf_ktime_get_n(void *) SEC(\".ksyms\"); SEC(\"tuner\")"
	  "int f(void *c) { return bpf_ktime_get_n(c); }",
	  "-g", NB_E_SYMBOL, "no extern here has that name" },
	{ "struct { int type, key, value, n, flags; } m SEC(\"maps\") ="
	  "{ 1, 4, 4, 1 }; SEC(\"tuner\") int f(void *c)"
	  "{ int k = 0; return bpf_map_lookup_elem(&m, &k) != NULL; }",
	  "-g", NB_E_NOTSUP, "old form" },
	{ MAP(ARRAY), "", NB_E_MAPDEF, "compile with -g" },
	{ MAP("__uint(type, 26); __uint(max_entries, 4096);"), "-g",
	  NB_E_MAPDEF, "map m: type 26 is not supported; known: hash" },
	{ PROGS("[4] = (void *)&a"), "-g", NB_E_RELOC, "no element" },
	{ PROGS("[0] = (void *)&sub"), "-g", NB_E_RELOC, "no program" },
	{ PROGS("[0] = (void *)&data"), "-g", NB_E_RELOC, "no function" },
	{ "int x; struct {" ARRAY "void *values[]; } m SEC(\".maps\") ="
	  "{ .values = { [0] = &x } };"
	  "SEC(\"tuner\") int f(void *c) { return 0; }",
	  "-g", NB_E_MAPDEF, "map-in-map or prog-array" },
	{ MAP("__uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1);"
	      "__type(key, __u64); __type(value, __u64);"),
	  "-g", NB_E_MAPDEF, "map m: key of 8 bytes" },
	{ MAP("__uint(type, BPF_MAP_TYPE_ARRAY); __type(key, __u32);"
	      "__type(value, __u64);"),
	  "-g", NB_E_MAPDEF, "max_entries is 0" },
	{ MAP(ARRAY "__uint(map_flags, 1);"), "-g", NB_E_MAPDEF,
	  "map_flags 0x1" },
	{ MAP(ARRAY "__uint(pinning, 1);"), "-g", NB_E_NOTSUP, "pinning" },
	{ MAP(ARRAY "__uint(other, 1);"), "-g", NB_E_MAPDEF, "other" },
	{ OUTER("struct other {" ARRAY "__uint(map_flags, 0x400); } x"
		" SEC(\".maps\");",
		"[1] = (void *)&x"),
	  "-g", NB_E_MAPDEF, "not like the inner definition" },
	{ OUTER("int x;", "[1] = (void *)&x"), "-g", NB_E_RELOC, "no map" },
	{ OUTER("", "[4] = (void *)&a"), "-g", NB_E_RELOC, "no element" },
	{ "struct {" ARRAY "} m SEC(\".maps\")"
	  " __attribute__((btf_decl_tag(\"ncclbpf:coherrent\")));"
	  "SEC(\"tuner\") int f(void *c) { int k = 0;"
	  "return bpf_map_lookup_elem(&m, &k) != NULL; }",
	  "-g", NB_E_MAPDEF, "coherrent" },
	{ "int x; int *volatile p = &x; SEC(\"tuner\") int f(void *c)"
	  "{ return *p; }",
	  "-g", NB_E_RELOC, "pointer to x" },
	{ "struct k { int a, b; } __attribute__((preserve_access_index));"
	  "SEC(\"tuner\") int f(struct k *c) { return c->b; }",
	  "-g", NB_E_NOTSUP, "CO-RE) of k" },
	{ "extern int gone(void *) SEC(\".ksyms\"); SEC(\"tuner\") int"
	  " f(void *c) { return gone(c); }",
	  "-g", NB_E_SYMBOL, "symbol gone" },
	{ "SEC(\"tuner\") int a_function_whose_name_is_longer_than_anybody_"
	  "would_ever_want_to_type(void *c) { return 0; }",
	  "-g", NB_E_LIMIT, "1 to 63 bytes" },
	{ "__u64 big[8193]; SEC(\"tuner\") int f(void *c)"
	  "{ return big[0]++; }",
	  "-g", NB_E_LIMIT, "at most 65536" },
	{ "SEC(\"tuner\") int f(void *c) {"
	  "asm volatile(\".rept 131071; r0 = 1; .endr\"); return 0; }",
	  "-g", NB_E_LIMIT, "at most 131072 instruction slots" },
	{ "SEC(\"tuner\") int f(void *c) { return 0; }", "-target bpfeb",
	  NB_E_ELF, "big-endian" },
	{ "SEC(\"tuner\") int f(void *c) { return 0; }",
	  "-target x86_64 -D__bpf__", NB_E_ELF, "machine 62" },
};

START_TEST(program_arrays_begin_with_programs)
{
	struct nb_image *img =
		image_of(PROGS("[3] = (void *)&a, [1] = (void *)&b"), "-g");

	ck_assert_uint_eq(img->nelems, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct nb_map_elem *e = &img->elems[i];

		ck_assert_str_eq(img->maps[e->map].name, "m");
		ck_assert_uint_eq(e->key, i ? 3 : 1);
		ck_assert_str_eq(img->progs[e->value].name, i ? "a" : "b");
	}
	nb_image_free(img);
}
END_TEST

/* What nb_object_write makes of an image is an object with the same in it. */
START_TEST(written_objects_have_tags_and_programs)
{
	static const char source[] =
		"SEC(\"tuner/a\") int a(void *c) { return 0; }"
		"SEC(\"tuner/b\") int b(void *c) { return 1; }"
		"struct { __uint(type, BPF_MAP_TYPE_PROG_ARRAY);"
		"__uint(max_entries, 4); __type(key, __u32);"
		"__array(values, int (void *)); } m SEC(\".maps\") = {"
		".values = { [3] = (void *)&a, [1] = (void *)&b } };"
		"struct { " ARRAY "} h SEC(\".maps\") __merged(sum);"
		"struct { " ARRAY "} x SEC(\".maps\") __merged(max);"
		"struct { " ARRAY
		"} buckets SEC(\".maps\") __merged(histogram);"
		"struct { " ARRAY "} c SEC(\".maps\") __coherent;"
		"struct { " ARRAY "} s SEC(\".maps\") __shared;";
	struct nb_image *img = image_of(source, "-g"), *again;
	struct nb_err err = { .text = "" };
	struct nb_buf object, out;

	nb_buf_init(&object, 0);
	nb_buf_init(&out, 0);
	ck_assert_msg(!nb_object_write(&object, img, &err), "%s", err.text);
	ck_assert_msg(
		!nb_object_image(&out, object.data, object.size, "test", &err),
		"%s", err.text);
	ck_assert_msg(!nb_image_read(&again, out.data, out.size, &err), "%s",
		      err.text);
	ck_assert_uint_eq(img->nmaps, 6);
	/* buckets are numbers that are summed */
	ck_assert_uint_eq(img->maps[nb_image_map(img, "buckets")].tags,
			  NB_MAPF_SUM);
	ck_assert_uint_eq(again->nmaps, img->nmaps);
	for (uint32_t i = 0; i < img->nmaps; i++) {
		int m = nb_image_map(again, img->maps[i].name);

		ck_assert_int_ge(m, 0);
		ck_assert_uint_eq(again->maps[m].type, img->maps[i].type);
		ck_assert_uint_eq(again->maps[m].tags, img->maps[i].tags);
		ck_assert_uint_eq(again->maps[m].max_entries,
				  img->maps[i].max_entries);
		ck_assert_uint_eq(!img->maps[i].tags,
				  !strcmp(img->maps[i].name, "m"));
	}
	ck_assert_uint_eq(again->nelems, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct nb_map_elem *e = &again->elems[i];

		ck_assert_str_eq(again->maps[e->map].name, "m");
		ck_assert_uint_eq(e->key, i ? 3 : 1);
		ck_assert_str_eq(again->progs[e->value].name, i ? "a" : "b");
	}
	nb_image_free(img);
	nb_image_free(again);
	nb_buf_fini(&object);
	nb_buf_fini(&out);
}
END_TEST

START_TEST(maps_of_maps_begin_with_maps)
{
	struct nb_image *img =
		image_of(OUTER("", "[3] = (void *)&a, [1] = (void *)&b"), "-g");
	int m = nb_image_map(img, "m");

	ck_assert_int_ge(m, 0);
	ck_assert_uint_eq(img->nmaps, 4);
	ck_assert_str_eq(img->maps[img->maps[m].inner - 1].name, "m.inner");
	ck_assert_int_eq(nb_image_map(img, "m.inner"), -1);
	ck_assert_uint_eq(img->nelems, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct nb_map_elem *e = &img->elems[i];

		ck_assert_uint_eq(e->key, i ? 3 : 1);
		ck_assert_str_eq(img->maps[e->value].name, i ? "a" : "b");
	}
	nb_image_free(img);
}
END_TEST

START_TEST(what_cannot_be_had_is_refused_by_name)
{
	const struct refusal *r = &refusals[_i];
	struct bytes obj = compile(r->source, r->flags);

	refuse(&obj, r->code, r->word);
	free(obj.p);
}
END_TEST

/* One field of the ELF header or of a section header set to @value. */
struct damage {
	size_t off;
	int section; /* number; -1: the header */
	uint32_t value;
	const char *word;
};

#define EH(field) offsetof(Elf64_Ehdr, field), -1
#define SH(field, n) offsetof(Elf64_Shdr, field), n

static const struct damage damages[] = {
	{ EI_CLASS, -1, 0x01010101, "ELF class 1" },
	{ EH(e_shoff), 0x7ffffff8, "section headers" },
	{ EH(e_shoff), 65, "section headers" },
	{ EH(e_shnum), 0x00010001, "1 sections" },
	{ EH(e_phoff), 64, "program headers" },
	{ SH(sh_offset, 3), 0xfffffff0, "section 3" },
	{ SH(sh_size, 3), 0xfffffff0, "section 3" },
	{ SH(sh_name, 3), 0x00ffffff, "section 3: its name" },
	{ SH(sh_addralign, 3), 3, "alignment 3" },
	{ SH(sh_type, 3), SHT_RELA, "section 3: type 4" },
};

START_TEST(damaged_headers_are_refused_by_name)
{
	const struct damage *d = &damages[_i];
	struct bytes obj = compile(whole, "-g");
	uint64_t shoff;
	size_t at = d->off;

	memcpy(&shoff, obj.p + offsetof(Elf64_Ehdr, e_shoff), 8);
	if (d->section >= 0)
		at += shoff + (size_t)d->section * sizeof(Elf64_Shdr);
	memcpy(obj.p + at, &d->value, 4);
	refuse(&obj, NB_E_ELF, d->word);
	free(obj.p);
}
END_TEST

/* Section @i's header field at @field set to @value. */
static void patch(struct bytes *obj, uint32_t i, size_t field, uint64_t value,
		  size_t size)
{
	uint64_t shoff;

	memcpy(&shoff, obj->p + offsetof(Elf64_Ehdr, e_shoff), 8);
	memcpy(obj->p + shoff + i * sizeof(Elf64_Shdr) + field, &value, size);
}

/* Number of the section of @type. */
static uint32_t section_of(const struct bytes *obj, uint32_t type)
{
	uint64_t shoff;
	uint32_t i = 0;
	Elf64_Shdr h;

	memcpy(&shoff, obj->p + offsetof(Elf64_Ehdr, e_shoff), 8);
	do
		memcpy(&h, obj->p + shoff + ++i * sizeof(h), sizeof(h));
	while (h.sh_type != type);
	return i;
}

/* Grow the object by @size zero bytes; the offset of the first. */
static uint64_t grow(struct bytes *obj, size_t size)
{
	uint64_t at = (obj->size + 7) & ~(size_t)7;

	obj->p = realloc(obj->p, at + size);
	memset(obj->p + obj->size, 0, at + size - obj->size);
	obj->size = at + size;
	return at;
}

START_TEST(what_would_take_long_is_refused_at_once)
{
	struct bytes obj = compile(whole, "-g -mcpu=v3");
	uint32_t symtab = section_of(&obj, SHT_SYMTAB);
	uint32_t rel = section_of(&obj, SHT_REL);
	uint64_t at = grow(&obj, 65537 * sizeof(Elf64_Sym));

	patch(&obj, symtab, offsetof(Elf64_Shdr, sh_offset), at, 8);
	patch(&obj, symtab, offsetof(Elf64_Shdr, sh_size),
	      65537 * sizeof(Elf64_Sym), 8);
	refuse(&obj, NB_E_LIMIT, "65537 symbols");
	free(obj.p);

	obj = compile(whole, "-g -mcpu=v3");
	at = grow(&obj, 500);
	memset(obj.p + at + 1, 'x', 498);
	/* the names of sections become one long one */
	patch(&obj, obj.p[offsetof(Elf64_Ehdr, e_shstrndx)],
	      offsetof(Elf64_Shdr, sh_offset), at, 8);
	patch(&obj, obj.p[offsetof(Elf64_Ehdr, e_shstrndx)],
	      offsetof(Elf64_Shdr, sh_size), 500, 8);
	for (uint32_t i = 1; i < rel; i++)
		patch(&obj, i, offsetof(Elf64_Shdr, sh_name), 1, 4);
	refuse(&obj, NB_E_ELF, "has over 255");
	free(obj.p);
}
END_TEST

START_TEST(no_prefix_of_an_object_passes_or_crashes)
{
	struct bytes obj = compile(whole, "-g -mcpu=v3");
	struct nb_err err;

	ck_assert(!nb_object_check(obj.p, obj.size, &err));
	for (size_t n = 0; n < obj.size; n++) {
		unsigned char *exact = malloc(n ? n : 1);

		memcpy(exact, obj.p, n);
		ck_assert_int_lt(nb_object_check(exact, n, &err), 0);
		free(exact);
	}
	free(obj.p);
}
END_TEST

START_TEST(the_same_object_gives_the_same_image)
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
END_TEST

START_TEST(names_of_policies_are_checked)
{
	static const char *const bad[] = { "", "a b", "../x", "-x", ".x" };
	struct bytes obj = compile(whole, "-g");
	struct nb_buf out;

	nb_buf_init(&out, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(
			nb_object_image(&out, obj.p, obj.size, bad[i], NULL),
			NB_E_ARG);
	ck_assert_uint_eq(out.size, 0);
	nb_buf_fini(&out);
	free(obj.p);
}
END_TEST

START_TEST(the_exported_entry_gives_an_image)
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
	ck_assert_int_eq(ncclbpf_load_object("", 0, "x", &p, &size, &err),
			 NB_E_ELF);
	ck_assert_ptr_null(p);
	free(obj.p);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

UNIT_MAIN("load", tcase_add_loop_test(tc, a_whole_policy_becomes_an_image, 0,
				      ROWS(cpus));
	  tcase_add_test(tc, addresses_of_data_have_their_offset);
	  tcase_add_loop_test(tc, calls_hit_their_functions, 0, ROWS(cpus));
	  tcase_add_test(tc, externs_are_helpers);
	  tcase_add_test(tc, lines_are_those_of_the_source);
	  tcase_add_loop_test(tc, without_debug_information, 0, ROWS(cpus));
	  tcase_add_loop_test(tc, names_of_keys_values_and_variables, 0,
			      ROWS(cpus));
	  tcase_add_loop_test(tc, static_function_beside_its_caller, 0,
			      ROWS(cpus));
	  tcase_add_loop_test(tc, callbacks_come_along, 0, ROWS(cpus));
	  tcase_add_test(tc, program_arrays_begin_with_programs);
	  tcase_add_test(tc, written_objects_have_tags_and_programs);
	  tcase_add_test(tc, maps_of_maps_begin_with_maps);
	  tcase_add_test(tc, fields_of_the_context_are_told);
	  tcase_add_loop_test(tc, what_cannot_be_had_is_refused_by_name, 0,
			      ROWS(refusals));
	  tcase_add_loop_test(tc, damaged_headers_are_refused_by_name, 0,
			      ROWS(damages));
	  tcase_add_test(tc, what_would_take_long_is_refused_at_once);
	  tcase_add_test(tc, no_prefix_of_an_object_passes_or_crashes);
	  tcase_add_test(tc, the_same_object_gives_the_same_image);
	  tcase_add_test(tc, names_of_policies_are_checked);
	  tcase_add_test(tc, the_exported_entry_gives_an_image);)
