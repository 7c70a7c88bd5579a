// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Objects that are refused, by name: sources that cannot become an image, and
// objects that are damaged.
#include "test/unit/load_object.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct refusal refusals[] = {
	{ "SEC(\"kprobe/x\") int f(void *ctx) { return 0; }", "-g", NB_E_HOOK,
	  "section \"kprobe/x\" names no hook; known: tuner" },
	{ "SEC(\"tunner\") int f(void *ctx) { return 0; }", "-g", NB_E_HOOK,
	  "section \"tunner\" names no hook; nearest: tuner" },
	{ "SEC(\"?tuner\") int f(void *ctx) { return 0; }", "-g", NB_E_HOOK,
	  "section \"?tuner\": optional programs (\"?\") are not supported; write "
	  "SEC(\"tuner\")" },
	{ "SEC(\"?tunner\") int f(void *ctx) { return 0; }", "-g", NB_E_HOOK,
	  "section \"?tunner\" names no hook" },
	{ "int limit __coherent; SEC(\"tuner\") int f(void *c)"
	  "{ return *(volatile int *)&limit; }",
	  "-g", NB_E_MAPDEF,
	  "variable limit: tag \"ncclbpf:coherent\" is for definitions of maps" },
	{ "struct t { int n; } __coherent; struct t limits;"
	  "SEC(\"tuner\") int f(void *c)"
	  "{ return *(volatile int *)&limits.n; }",
	  "-g", NB_E_MAPDEF, "type t: tag \"ncclbpf:coherent\" is for definitions of maps" },
	{ "SEC(\"tuner\") __coherent int f(void *c) { return 0; }", "-g", NB_E_MAPDEF,
	  "function f: tag \"ncclbpf:coherent\" is for definitions of maps" },
	{ "struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 4); __type(key, __u32);"
	  "__type(value, __u64); } m SEC(\".maps\") __replicated; SEC(\"tuner\") int f(void *c)"
	  "{ int k = 0; return bpf_map_lookup_elem(&m, &k) != NULL; }",
	  "-g", NB_E_MAPDEF,
	  "map m: type hash with map_flags 0x0 and tags 0x20; a replicated map" },
	{ "struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 513); __type(key, __u32);"
	  "__type(value, __u64); } m SEC(\".maps\") __replicated; SEC(\"tuner\") int f(void *c)"
	  "{ int k = 0; return bpf_map_lookup_elem(&m, &k) != NULL; }",
	  "-g", NB_E_LIMIT, "map m: 4104 bytes in each communicator" },
	{ "int f(void *ctx) { return 0; }", "-g", NB_E_HOOK, "no program" },
	{ "char _license[] SEC(\"license\") = \"MIT\";", "-g", NB_E_HOOK, "no program" },
	{ "extern int gone(void *); SEC(\"tuner\") int f(void *c)"
	  "{ return gone(c); }",
	  "-g", NB_E_SYMBOL, "symbol gone" },
	{ "extern int gone; SEC(\"tuner\") int f(void *c) { return gone; }", "-g", NB_E_SYMBOL,
	  "symbol gone" },
	{ "extern int gone __attribute__((weak)); SEC(\"tuner\") int f(void *c)"
	  "{ return gone; }",
	  "-g", NB_E_SYMBOL, "symbol gone" },
	{ "extern int bpf_iter_num_nxet(void *) SEC(\".ksyms\"); SEC(\"tuner\")"
	  "int f(void *c) { return bpf_iter_num_nxet(c); }",
	  "-g", NB_E_SYMBOL, "nearest: bpf_iter_num_next" },
	{ "int bpf_map_lookup_elm(void *, void *); SEC(\"tuner\")"
	  "int f(void *c) { return bpf_map_lookup_elm(c, c); }",
	  "-g", NB_E_SYMBOL, "nearest: bpf_map_lookup_elem" },
	/* a helper of the kernel is none of its functions */
	{ "extern int bpf_ktime_get_n(void *) SEC(\".ksyms\"); SEC(\"tuner\")"
	  "int f(void *c) { return bpf_ktime_get_n(c); }",
	  "-g", NB_E_SYMBOL, "no extern here has that name" },
	{ "struct { int type, key, value, n, flags; } m SEC(\"maps\") ="
	  "{ 1, 4, 4, 1 }; SEC(\"tuner\") int f(void *c)"
	  "{ int k = 0; return bpf_map_lookup_elem(&m, &k) != NULL; }",
	  "-g", NB_E_NOTSUP, "old form" },
	{ MAP(ARRAY), "", NB_E_MAPDEF, "compile with -g" },
	{ MAP("__uint(type, 26); __uint(max_entries, 4096);"), "-g", NB_E_MAPDEF,
	  "map m: type 26 is not supported; known: hash" },
	{ MAP("__uint(type, 5); __uint(max_entries, 4); __type(key, __u32);"
	      "__type(value, __u64);"),
	  "-g", NB_E_MAPDEF, "map m: type percpu_hash is not supported: use a percpu_array" },
	{ MAP("__uint(type, 10); __uint(max_entries, 4); __type(key, __u32);"
	      "__type(value, __u64);"),
	  "-g", NB_E_MAPDEF, "map m: type lru_percpu_hash is not supported: use an lru_hash" },
	{ MAP("__uint(type, 11); __uint(max_entries, 4); __type(key, __u64);"
	      "__type(value, __u64); __uint(map_flags, 1);"),
	  "-g", NB_E_MAPDEF, "map m: type lpm_trie is not supported: use a hash whose key has" },
	{ MAP("__uint(type, 22); __uint(max_entries, 4);"
	      "__type(value, __u64);"),
	  "-g", NB_E_MAPDEF, "map m: type queue is not supported: use a ringbuf" },
	{ MAP("__uint(type, 23); __uint(max_entries, 4);"
	      "__type(value, __u64);"),
	  "-g", NB_E_MAPDEF, "map m: type stack is not supported: use an array" },
	{ MAP("__uint(type, 30); __uint(max_entries, 4);"
	      "__type(value, __u64);"),
	  "-g", NB_E_MAPDEF, "map m: type bloom_filter is not supported: use a hash" },
	{ "struct bpf_spin_lock { __u32 val; };" MAP(
		  "__uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1);"
		  "__type(key, __u32); __type(value, struct bpf_spin_lock);"),
	  "-g", NB_E_MAPDEF, "is not supported: use atomic operations" },
	{ PROGS, "-g", NB_E_MAPDEF,
	  "map m: type prog_array is not supported: use static functions" },
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
	{ MAP(ARRAY "__uint(map_flags, 1);"), "-g", NB_E_MAPDEF, "map_flags 0x1" },
	{ MAP(ARRAY "__uint(pinning, 1);"), "-g", NB_E_NOTSUP, "pinning" },
	{ MAP(ARRAY "__uint(other, 1);"), "-g", NB_E_MAPDEF, "other" },
	{ NESTED("22"), "-g", NB_E_LIMIT, "over 65536 members" },
	{ OUTER("", "[3] = (void *)&a, [1] = (void *)&b"), "-g", NB_E_MAPDEF,
	  "map m: type array_of_maps is not supported: use one array" },
	{ MAP("__uint(type, 13); __uint(max_entries, 4); __type(key, __u32);"
	      "__uint(value_size, 4);"),
	  "-g", NB_E_MAPDEF, "type hash_of_maps is not supported: use one hash" },
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
	{ "SEC(\"tuner\") int f(void *c) { return 0; }", "-target bpfeb", NB_E_ELF, "big-endian" },
	{ "SEC(\"tuner\") int f(void *c) { return 0; }", "-target x86_64 -D__bpf__", NB_E_ELF,
	  "machine 62" },
};

TEST_EACH(what_cannot_be_had_is_refused_by_name, 0, ROWS(refusals))
{
	const struct refusal *r = &refusals[_i];
	struct bytes obj = compile(r->source, r->flags);

	refuse(&obj, r->code, r->word);
	free(obj.p);
}

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
	{ SH(sh_name, 3), 0x00ffffff, "section 3: the name" },
	{ SH(sh_addralign, 3), 3, "alignment 3" },
	{ SH(sh_type, 3), SHT_RELA, "section 3: type 4" },
};

TEST_EACH(damaged_headers_are_refused_by_name, 0, ROWS(damages))
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

/* Section @i's header field at @field set to @value. */
static void patch(struct bytes *obj, uint32_t i, size_t field, uint64_t value, size_t size)
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

TEST(what_would_take_long_is_refused_at_once)
{
	struct bytes obj = compile(whole, "-g -mcpu=v3");
	uint32_t symtab = section_of(&obj, SHT_SYMTAB);
	uint32_t rel = section_of(&obj, SHT_REL);
	uint64_t at = grow(&obj, 65537 * sizeof(Elf64_Sym));

	patch(&obj, symtab, offsetof(Elf64_Shdr, sh_offset), at, 8);
	patch(&obj, symtab, offsetof(Elf64_Shdr, sh_size), 65537 * sizeof(Elf64_Sym), 8);
	refuse(&obj, NB_E_LIMIT, "65537 symbols");
	free(obj.p);

	obj = compile(whole, "-g -mcpu=v3");
	at = grow(&obj, 500);
	memset(obj.p + at + 1, 'x', 498);
	/* the names of sections become one long one */
	patch(&obj, obj.p[offsetof(Elf64_Ehdr, e_shstrndx)], offsetof(Elf64_Shdr, sh_offset), at,
	      8);
	patch(&obj, obj.p[offsetof(Elf64_Ehdr, e_shstrndx)], offsetof(Elf64_Shdr, sh_size), 500, 8);
	for (uint32_t i = 1; i < rel; i++)
		patch(&obj, i, offsetof(Elf64_Shdr, sh_name), 1, 4);
	refuse(&obj, NB_E_ELF, "has over 255");
	free(obj.p);
}

TEST(no_prefix_of_an_object_passes_or_crashes)
{
	struct bytes obj = compile(whole, "-g -mcpu=v3");
	struct nb_err err;
	struct nb_buf out;

	nb_buf_init(&out, 0);
	for (size_t n = 0; n < obj.size; n++) {
		unsigned char *exact = malloc(n ? n : 1);

		memcpy(exact, obj.p, n);
		ck_assert_int_lt(nb_object_image(&out, exact, n, "test", &err), 0);
		ck_assert_uint_eq(out.size, 0);
		free(exact);
	}
	nb_buf_fini(&out);
	free(obj.p);
}

UNIT_MAIN("load_refused")
