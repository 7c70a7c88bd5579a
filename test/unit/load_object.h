// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_LOAD_OBJECT_H
#define NB_TEST_UNIT_LOAD_OBJECT_H

/* Sources compiled to objects, and their images. */
#include "test/unit/unit.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bpf/image/image.h"
#include "core/load/object.h"

enum { MAX = 2 << 20 };

struct bytes {
	unsigned char *p;
	size_t size;
};

static inline struct bytes slurp(const char *path)
{
	struct bytes b = { malloc(MAX), 0 };
	FILE *f = fopen(path, "rb");

	ck_assert_msg(f != NULL, "no %s", path);
	b.size = fread(b.p, 1, MAX, f);
	fclose(f);
	return b;
}

/* @source after the policy header, compiled with @flags. */
static inline struct bytes compile(const char *source, const char *flags)
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

static inline struct nb_image *image_of(const char *source, const char *flags)
{
	struct bytes obj = compile(source, flags);
	struct nb_err err = { .text = "" };
	struct nb_image *img;
	struct nb_buf out;

	nb_buf_init(&out, 0);
	ck_assert_msg(!nb_object_image(&out, obj.p, obj.size, "test", &err), "%s: %s", flags,
		      err.text);
	ck_assert_msg(!nb_image_read(&img, out.data, out.size, &err), "%s: %s", flags, err.text);
	nb_buf_fini(&out);
	free(obj.p);
	return img;
}

/* The object is refused with @code and a text that has @word in it. */
static inline void refuse(const struct bytes *obj, int code, const char *word)
{
	struct nb_err err = { .text = "" };
	struct nb_buf out;
	int rc;

	nb_buf_init(&out, 0);
	nb_buf_str(&out, "kept");
	rc = nb_object_image(&out, obj->p, obj->size, "test", &err);
	ck_assert_msg(rc == code && rc == err.code, "%d, not %d: %s", rc, code, err.text);
	ck_assert_msg(strstr(err.text, word) != NULL, "\"%s\" lacks \"%s\"", err.text, word);
	ck_assert_str_eq(nb_buf_text(&out), "kept");
	nb_buf_fini(&out);
}

static inline struct nb_insn *decoded(const struct nb_prog *p)
{
	struct nb_insn *insns = calloc(p->nslots, sizeof(*insns));

	ck_assert(!nb_decode(insns, p->slots, p->nslots, NULL));
	return insns;
}

/* Number of instructions of @fn. */
static inline unsigned count(const struct nb_prog *p, enum nb_fn fn)
{
	struct nb_insn *insns = decoded(p);
	unsigned n = 0;

	for (uint32_t i = 0; i < p->nslots; i++)
		n += insns[i].fn == fn;
	free(insns);
	return n;
}

static inline const struct nb_func *func_named(const struct nb_prog *p, const char *name)
{
	for (uint32_t i = 0; i < p->nfuncs; i++)
		if (!strcmp(p->funcs[i].name, name))
			return &p->funcs[i];
	return NULL;
}

static const char whole[] = "struct value { __u64 n; __u32 z[4]; };\n"
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

static const char *const cpus[] = { "-g -mcpu=v1", "-g -mcpu=v2", "-g -mcpu=v3" };

static inline void check_maps(const struct nb_image *img)
{
	static const struct {
		const char *name;
		uint32_t type, value_size, tags, flags;
		enum nb_map_origin origin;
	} want[] = {
		{ "first", NB_MAP_ARRAY, 24, NB_MAPF_COHERENT, 0, NB_ORIGIN_DEFINED },
		{ "second", NB_MAP_HASH, 24, NB_MAPF_SHARED, NB_F_NO_PREALLOC, NB_ORIGIN_DEFINED },
		{ ".rodata", NB_MAP_ARRAY, 16, 0, NB_F_RDONLY_PROG, NB_ORIGIN_RODATA },
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
	ck_assert_mem_eq(img->maps[nb_image_map(img, ".data")].init, "\7\0\0\0", 4);
}

#define MAP(body)                                              \
	"struct {" body "} m SEC(\".maps\");\n"                \
	"SEC(\"tuner\") int entry(void *ctx) { __u32 k = 0;\n" \
	"return bpf_map_lookup_elem(&m, &k) != NULL; }\n"
#define ARRAY                                                    \
	"__uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, " \
	"1);"                                                    \
	"__type(key, __u32); __type(value, __u64);"

/* An array whose value has a struct of 2^LEVEL empty structs. */
#define NEST(n, m) "struct s" n " { struct s" m " a, b; };"
#define NESTED(level)                                                                              \
	"struct s0 {};" NEST("1", "0") NEST("2", "1") NEST("3", "2") NEST("4", "3") NEST("5", "4") \
		NEST("6", "5") NEST("7", "6") NEST("8", "7") NEST("9", "8") NEST("10", "9")        \
			NEST("11", "10") NEST("12", "11") NEST("13", "12") NEST("14", "13") NEST(  \
				"15", "14") NEST("16", "15") NEST("17", "16") NEST("18", "17")     \
				NEST("19", "18") NEST("20", "19") NEST("21", "20")                 \
					NEST("22", "21") "struct v { struct s" level               \
							 " deep; __u32 n; };" MAP(                 \
								 "__uint(type, "                   \
								 "BPF_MAP_TYPE_ARRAY); "           \
								 "__uint(max_entries, 1);"         \
								 "__type(key, __u32); "            \
								 "__type(value, struct v);")

struct refusal {
	const char *source, *flags;
	int code;
	const char *word;
};

/* A program array with a program in it, which is refused. */
#define PROGS                                               \
	"SEC(\"tuner/a\") int a(void *c) { return 0; }"     \
	"struct { __uint(type, 3); __uint(max_entries, 4);" \
	"__uint(key_size, 4); __uint(value_size, 4);"       \
	"int (*values[])(void *); } m SEC(\".maps\")"       \
	" = { .values = { [1] = (void *)&a } };"

/* A map of maps, which is refused. */
#define OUTER(more, values_)                                                \
	"struct inner {" ARRAY "} a SEC(\".maps\"), b SEC(\".maps\");" more \
	"struct { __uint(type, 12);"                                        \
	"__uint(max_entries, 4); __type(key, __u32);"                       \
	"__array(values, struct inner); } m SEC(\".maps\")"                 \
	" = { .values = { " values_ " } };"                                 \
	"SEC(\"tuner\") int f(void *c) { return 0; }"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

#endif
