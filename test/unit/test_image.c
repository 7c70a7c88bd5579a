// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The image's bytes: what is written is read back, equal content gives equal
// bytes, and each kind of damage is refused with the right code. Every byte
// of an image is changed in turn, and every shorter length tried: neither may
// be accepted as something else than what it says.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/image/image.h"
#include "test/unit/image_sample.h"
#include "test/unit/unit.h"

/* Code of writing the image as it is now. */
static int refused(struct nb_err *err)
{
	struct nb_buf b;
	int rc;

	nb_buf_init(&b, 0);
	rc = nb_image_write(&b, &img, err);
	ck_assert(!rc || b.size == 0);
	nb_buf_fini(&b);
	return rc;
}

TEST(what_is_written_is_read_back)
{
	struct nb_buf b;
	struct nb_image *in;
	struct nb_err err;
	uint8_t digest[NB_SHA256_SIZE];

	fresh();
	b = written();
	ck_assert(nb_image_is(b.data, b.size));
	ck_assert_msg(!nb_image_read(&in, b.data, b.size, &err), "%s", err.text);
	ck_assert_str_eq(in->name, "example");
	ck_assert_uint_eq(in->nmaps, 2);
	ck_assert_str_eq(in->maps[0].name, "counts");
	ck_assert_uint_eq(in->maps[0].btf_value, 2);
	ck_assert_ptr_null(in->maps[0].init);
	ck_assert_mem_eq(in->maps[1].init, rodata, sizeof(rodata));
	ck_assert_int_eq(nb_image_map(in, ".rodata"), 1);
	ck_assert_int_eq(nb_image_map(in, "none"), -1);
	ck_assert_uint_eq(in->nprogs, 1);
	ck_assert_mem_eq(in->progs[0].slots, slots, sizeof(slots));
	ck_assert_uint_eq(in->progs[0].hook, NB_HOOK_TUNER);
	ck_assert_str_eq(in->progs[0].funcs[1].name, "f");
	ck_assert_uint_eq(in->progs[0].funcs[1].start, 6);
	ck_assert_str_eq(in->progs[0].lines[0].text, "\tint x = 1;");
	ck_assert_str_eq(in->ctx_fields[0].name, "bytes");
	ck_assert_mem_eq(in->btf, "BTFblob", 7);
	nb_sha256(b.data, b.size, digest);
	ck_assert_mem_eq(in->digest, digest, sizeof(digest));
	ck_assert_uint_eq(in->size, b.size);
	nb_image_free(in);
	nb_buf_fini(&b);
}

TEST(equal_content_gives_equal_bytes)
{
	char name[] = "example", file[] = "a.c";
	struct nb_buf a, b;

	fresh();
	a = written();
	img.name = name; /* the same text elsewhere */
	lines[1].file = file;
	b = written();
	ck_assert_uint_eq(a.size, b.size);
	ck_assert_mem_eq(a.data, b.data, a.size);
	nb_buf_fini(&b);
	nb_buf_fini(&a);
}

TEST(line_and_function_of_a_slot)
{
	fresh();
	ck_assert_ptr_eq(nb_prog_line(&prog, 0), &lines[0]);
	ck_assert_ptr_eq(nb_prog_line(&prog, 4), &lines[0]);
	ck_assert_ptr_eq(nb_prog_line(&prog, 5), &lines[1]);
	ck_assert_ptr_null(nb_prog_line(&prog, 7)); /* of another function */
	ck_assert_ptr_eq(nb_prog_func(&prog, 5), &funcs[0]);
	ck_assert_ptr_eq(nb_prog_func(&prog, 6), &funcs[1]);
}

/* A change that is accepted must be one that the content says. */
static void try_bytes(const char *bytes, size_t size)
{
	struct nb_image *in;
	struct nb_buf again;
	struct nb_err err = { .code = 0 };
	int rc = nb_image_read(&in, bytes, size, &err);

	if (rc) {
		ck_assert_ptr_null(in);
		ck_assert_int_eq(rc, err.code);
		ck_assert(err.text[0]);
		return;
	}
	nb_buf_init(&again, 0);
	ck_assert(!nb_image_write(&again, in, NULL));
	ck_assert_uint_eq(again.size, size);
	ck_assert_mem_eq(again.data, bytes, size);
	nb_buf_fini(&again);
	nb_image_free(in);
}

TEST(every_changed_byte_is_refused_or_means_what_it_says)
{
	static const unsigned char edge[] = { 0, 1, 0x7f, 0x80, 0xff };
	struct nb_buf b;

	fresh();
	b = written();
	for (size_t i = 0; i < b.size; i++) {
		char keep = b.data[i];

		for (size_t j = 0; j < sizeof(edge); j++) {
			b.data[i] = (char)edge[j];
			try_bytes(b.data, b.size);
		}
		for (int bit = 0; bit < 8; bit++) {
			b.data[i] = (char)(keep ^ (1 << bit));
			try_bytes(b.data, b.size);
		}
		b.data[i] = keep;
	}
	nb_buf_fini(&b);
}

TEST(every_other_length_is_refused)
{
	struct nb_buf b;
	struct nb_image *in;

	fresh();
	b = written();
	for (size_t n = 0; n < b.size; n++) {
		char *exact = malloc(n + 1); /* so that ASan sees one over */

		memcpy(exact, b.data, n);
		exact = realloc(exact, n ? n : 1);
		ck_assert_int_lt(nb_image_read(&in, exact, n, NULL), 0);
		free(exact);
	}
	nb_buf_char(&b, 0);
	ck_assert_int_eq(nb_image_read(&in, b.data, b.size, NULL), NB_E_IMAGE);
	nb_buf_fini(&b);
}

TEST(another_version_is_said_to_be_one)
{
	struct nb_buf b;
	struct nb_image *in;
	struct nb_err err;

	fresh();
	b = written();
	b.data[8] = 1;
	ck_assert_int_eq(nb_image_read(&in, b.data, b.size, &err), NB_E_VERSION);
	ck_assert_uint_eq(err.at, 8);
	ck_assert_ptr_nonnull(strstr(err.text, "version 1"));
	nb_buf_fini(&b);
}

TEST(references_must_hit_something)
{
	struct nb_err err;

	fresh();
	slots[0].imm = 2; /* no such map */
	ck_assert_int_eq(refused(&err), NB_E_IMAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "map 2 of 2"));
	fresh();
	slots[2].imm = 0; /* no data section */
	ck_assert_int_eq(refused(&err), NB_E_IMAGE);
	fresh();
	slots[3].imm = 8; /* one over its end */
	ck_assert_int_eq(refused(&err), NB_E_IMAGE);
	fresh();
	slots[3].imm = 7;
	ck_assert_int_eq(refused(&err), 0);
	fresh();
	slots[4].imm = 2; /* call into the middle of f */
	ck_assert_int_eq(refused(&err), NB_E_IMAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "where no function begins"));
	fresh();
	slots[4].imm = -6;
	ck_assert_int_eq(refused(&err), NB_E_IMAGE);
	fresh();
	slots[4].imm = -5; /* recursion is well formed; not our question */
	ck_assert_int_eq(refused(&err), 0);
	fresh();
	slots[6].opcode = 0x8d;
	ck_assert_int_eq(refused(&err), NB_E_INSN);
	ck_assert_uint_eq(err.at, 6);
}

TEST(names_nest_in_what_they_name)
{
	/* of a map of keys of 8 and values of 16 bytes */
	static const struct {
		struct nb_name n[3];
		int rc;
	} rows[] = {
		{ { { 0, 1, 0, "struct v", 0, 16, 16 },
		    { 0, 1, 1, "a", 8, 8, 4 },
		    { 0, 1, 2, "x", 0, 4, 4 } },
		  0 },
		{ { { 0, 0, 0, "__u64", 0, 8, 8 },
		    { 0, 1, 0, "struct v", 0, 16, 8 },
		    { 0, 1, 1, "", 0, 8, 2 } },
		  0 },
		{ { { 2, 1, 0, "v", 0, 16, 16 }, { 0 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 2, 0, "v", 0, 16, 16 }, { 0 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 0, "v", 0, 12, 12 }, { 0 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 0, "v", 4, 16, 16 }, { 0 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 1, "v", 0, 16, 16 }, { 0 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 0, "v\n", 0, 16, 16 }, { 0 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 0, "v", 0, 16, 0 }, { 0 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 0, "v", 0, 16, 5 }, { 0 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 0, "v", 0, 16, 16 }, { 0, 1, 2, "a", 0, 4, 4 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 0, "v", 0, 16, 16 }, { 0, 0, 1, "a", 0, 4, 4 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 0, "v", 0, 16, 16 }, { 0, 1, 1, "a", 12, 8, 8 }, { 0 } }, NB_E_IMAGE },
		{ { { 0, 1, 0, "v", 0, 16, 16 }, { 0, 1, 1, "a", UINT32_MAX, 8, 8 }, { 0 } },
		  NB_E_IMAGE },
		{ { { 0, 1, 0, "v", 0, 16, 16 }, { 0, 0, 0, "k", 0, 8, 8 }, { 0 } }, NB_E_IMAGE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nb_image *in;
		struct nb_err err = { .text = "" };
		struct nb_buf b;

		fresh();
		img.names = rows[i].n;
		img.nnames = 3;
		ck_assert_msg(refused(&err) == rows[i].rc, "row %zu: %s", i, err.text);
		if (rows[i].rc) {
			ck_assert_ptr_nonnull(strstr(err.text, "name"));
			continue;
		}
		b = written();
		ck_assert_int_eq(nb_image_read(&in, b.data, b.size, &err), 0);
		ck_assert_uint_eq(in->nnames, 3);
		ck_assert_str_eq(in->names[2].name, rows[i].n[2].name);
		ck_assert_uint_eq(in->names[2].elem, rows[i].n[2].elem);
		nb_image_free(in);
		nb_buf_fini(&b);
	}
}

TEST(functions_tile_the_program)
{
	static const uint32_t bad[][4] = {
		{ 1, 6, 6, 8 }, { 0, 5, 6, 8 }, { 0, 7, 6, 8 }, { 0, 6, 6, 7 },
		{ 0, 6, 6, 9 }, { 0, 1, 1, 8 }, { 0, 0, 0, 8 }, { 0, 8, 8, 8 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fresh();
		funcs[0].start = bad[i][0];
		funcs[0].end = bad[i][1];
		funcs[1].start = bad[i][2];
		funcs[1].end = bad[i][3];
		ck_assert_msg(refused(NULL) == NB_E_IMAGE, "row %zu", i);
	}
}

TEST(lines_ascend_and_are_printable)
{
	fresh();
	lines[1].pc = 0;
	ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
	fresh();
	lines[1].pc = 8;
	ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
	fresh();
	lines[1].text = "\033[2J";
	ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
	lines[1].text = "\xc2\x9b"; /* CSI as a C1 control */
	ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
	lines[1].text = "cut short \xe2\x82";
	ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
	lines[1].text = "Gr\xc3\xb6\xc3\x9f"
			"e \xe2\x82\xac";
	ck_assert_int_eq(refused(NULL), 0);
}

TEST(names_are_one_word)
{
	static const char *const bad[] = { "", "a b", "a\n", "a\x1b", "\"" };
	char longest[NB_IMAGE_NAME + 1];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fresh();
		img.name = bad[i];
		ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
		fresh();
		maps[0].name = bad[i];
		ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
		fresh();
		prog.name = bad[i];
		ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
		fresh();
		funcs[1].name = bad[i];
		ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
	}
	fresh();
	img.name = "../up";
	ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
	memset(longest, 'x', sizeof(longest));
	longest[NB_IMAGE_NAME] = '\0';
	img.name = longest;
	ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
	fresh();
	maps[0].name = longest;
	ck_assert_int_eq(refused(NULL), NB_E_LIMIT);
	fresh();
	img.name = longest;
	longest[NB_IMAGE_NAME - 1] = '\0';
	ck_assert_int_eq(refused(NULL), 0);
	fresh();
	maps[1].name = "counts"; /* twice */
	ck_assert_int_eq(refused(NULL), NB_E_IMAGE);
}

TEST(the_hook_is_known)
{
	struct nb_err err;

	fresh();
	prog.section = "kprobe/x";
	ck_assert_int_eq(refused(&err), NB_E_HOOK);
	ck_assert_ptr_nonnull(strstr(err.text, "kprobe/x"));
	fresh();
	prog.section = "tuner/second";
	ck_assert_int_eq(refused(NULL), 0);
}

struct map_case {
	struct nb_map_spec m;
	int rc;
};

#define M(t, k, v, n, f)           \
	.m = { .name = "m",        \
	       .type = (t),        \
	       .key_size = (k),    \
	       .value_size = (v),  \
	       .max_entries = (n), \
	       .flags = (f) }

/* Linux 6.18 answers the same (EINVAL, E2BIG), but for the last rows, where
 * our own limits are narrower. */
static const struct map_case map_cases[] = {
	{ M(NB_MAP_ARRAY, 4, 8, 1, 0), 0 },
	{ M(NB_MAP_ARRAY, 8, 8, 1, 0), NB_E_MAPDEF },
	{ M(NB_MAP_ARRAY, 0, 8, 1, 0), NB_E_MAPDEF },
	{ M(NB_MAP_ARRAY, 4, 0, 1, 0), NB_E_MAPDEF },
	{ M(NB_MAP_ARRAY, 4, 8, 0, 0), NB_E_MAPDEF },
	{ M(NB_MAP_ARRAY, 4, 8, 1, NB_F_NO_PREALLOC), NB_E_MAPDEF },
	{ M(NB_MAP_ARRAY, 4, 8, 1, NB_F_MMAPABLE), 0 },
	{ M(NB_MAP_ARRAY, 4, 8, 1, NB_F_RDONLY_PROG), 0 },
	{ M(NB_MAP_ARRAY, 4, 8, 1, NB_F_RDONLY_PROG | NB_F_WRONLY_PROG), NB_E_MAPDEF },
	{ M(NB_MAP_ARRAY, 4, 8, 1, 1u << 31), NB_E_MAPDEF },
	{ M(NB_MAP_HASH, 1, 1, 1, 0), 0 },
	{ M(NB_MAP_HASH, 0, 1, 1, 0), NB_E_MAPDEF },
	{ M(NB_MAP_HASH, 1, 0, 1, 0), NB_E_MAPDEF },
	{ M(NB_MAP_HASH, 1, 1, 0, 0), NB_E_MAPDEF },
	{ M(NB_MAP_HASH, 512, 1, 1, NB_F_NO_PREALLOC), 0 },
	{ M(NB_MAP_HASH, 513, 1, 1, 0), NB_E_LIMIT },
	{ M(NB_MAP_HASH, 8, 8, 1, NB_F_MMAPABLE), NB_E_MAPDEF },
	{ M(NB_MAP_PERCPU_ARRAY, 4, 32768, 1, 0), 0 },
	{ M(NB_MAP_PERCPU_ARRAY, 4, 32769, 1, 0), NB_E_MAPDEF },
	{ M(NB_MAP_PERCPU_ARRAY, 4, 8, 1, NB_F_MMAPABLE), NB_E_MAPDEF },
	{ M(0, 4, 8, 1, 0), NB_E_MAPDEF },
	{ M(NB_MAP_RINGBUF, 0, 0, 4096, 0), 0 },
	{ M(NB_MAP_RINGBUF, 0, 0, 1 << 20, 0), 0 },
	{ M(NB_MAP_RINGBUF, 4, 0, 4096, 0), NB_E_MAPDEF },
	{ M(NB_MAP_RINGBUF, 0, 4, 4096, 0), NB_E_MAPDEF },
	{ M(NB_MAP_RINGBUF, 0, 0, 2048, 0), NB_E_MAPDEF },
	{ M(NB_MAP_RINGBUF, 0, 0, 12288, 0), NB_E_MAPDEF },
	{ M(NB_MAP_RINGBUF, 0, 0, 4096, NB_F_RDONLY_PROG), NB_E_MAPDEF },
	{ M(3, 4, 4, 8, 0), NB_E_MAPDEF },
	{ M(NB_MAP_ARRAY, 4, 65536, 1, 0), 0 },
	{ M(NB_MAP_ARRAY, 4, 65537, 1, 0), NB_E_LIMIT },
	{ M(NB_MAP_ARRAY, 4, 65536, 1u << 20, 0), NB_E_LIMIT },
	{ M(NB_MAP_HASH, 8, 8, UINT32_MAX, 0), NB_E_LIMIT },
	{ M(NB_MAP_RINGBUF, 0, 0, 1 << 27, 0), NB_E_LIMIT },
};

TEST_EACH(map_definitions_follow_the_kernels_rules, 0, sizeof(map_cases) / sizeof(map_cases[0]))
{
	const struct map_case *c = &map_cases[_i];
	struct nb_err err = { .text = "" };
	int rc = nb_map_spec_check(&c->m, &err);

	ck_assert_msg(rc == c->rc, "row %d: %d, not %d: %s", _i, rc, c->rc, err.text);
	ck_assert(!rc || strstr(err.text, "map m: "));
}

TEST(coherent_maps_answer_alike_everywhere)
{
	struct nb_map_spec m = map_cases[0].m;

	m.tags = NB_MAPF_COHERENT;
	ck_assert_int_eq(nb_map_spec_check(&m, NULL), 0);
	m.flags = NB_F_WRONLY_PROG;
	ck_assert_int_eq(nb_map_spec_check(&m, NULL), NB_E_MAPDEF);
	m.flags = 0;
	m.type = NB_MAP_PERCPU_ARRAY;
	ck_assert_int_eq(nb_map_spec_check(&m, NULL), NB_E_MAPDEF);
	m.tags = 32;
	ck_assert_int_eq(nb_map_spec_check(&m, NULL), NB_E_MAPDEF);
}

TEST(host_maps_are_arrays_that_programs_only_read)
{
	enum { both = NB_F_MMAPABLE | NB_F_RDONLY_PROG };
	static const struct {
		uint32_t type, flags, tags, value;
		int rc;
	} cases[] = {
		{ NB_MAP_ARRAY, both, 0, 8, 0 },
		{ NB_MAP_ARRAY, both, 0, 24, 0 },
		{ NB_MAP_ARRAY, both, 0, 4, NB_E_MAPDEF },
		{ NB_MAP_ARRAY, both, NB_MAPF_COHERENT, 8, NB_E_MAPDEF },
		{ NB_MAP_ARRAY, both, NB_MAPF_SHARED, 8, NB_E_MAPDEF },
		{ NB_MAP_ARRAY, both, NB_MAPF_SUM, 8, NB_E_MAPDEF },
		{ NB_MAP_ARRAY, NB_F_MMAPABLE, 0, 8, NB_E_MAPDEF },
		{ NB_MAP_ARRAY, NB_F_RDONLY_PROG, 0, 8, NB_E_MAPDEF },
		{ NB_MAP_PERCPU_ARRAY, 0, 0, 8, NB_E_MAPDEF },
		{ NB_MAP_HASH, NB_F_RDONLY_PROG, 0, 8, NB_E_MAPDEF },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nb_map_spec m = map_cases[0].m;
		struct nb_err err = { .text = "" };

		m.type = cases[i].type;
		m.flags = cases[i].flags;
		m.tags = NB_MAPF_HOST | cases[i].tags;
		m.value_size = cases[i].value;
		ck_assert_msg(nb_map_spec_check(&m, &err) == cases[i].rc, "case %zu: %s", i,
			      err.text);
	}
}

TEST(many_long_strings_take_little_time)
{
	enum { N = 60000 };
	struct nb_line *many = calloc(N, sizeof(*many));
	struct nb_slot *code = calloc(N, sizeof(*code));
	char(*text)[64] = calloc(N, sizeof(*text));
	struct nb_buf b;
	struct nb_image *in;

	fresh();
	for (uint32_t i = 0; i < N; i++) {
		snprintf(text[i], sizeof(*text), "line %u", (i * 7919u) % N);
		many[i] = (struct nb_line){ i, 1, 1, "f", text[i] };
		code[i] = (struct nb_slot){ EXIT, 0, 0, 0 };
	}
	funcs[0].end = N;
	prog.slots = code;
	prog.nslots = N;
	prog.nfuncs = 1;
	prog.lines = many;
	prog.nlines = N;
	b = written();
	ck_assert(!nb_image_read(&in, b.data, b.size, NULL));
	ck_assert_str_eq(in->progs[0].lines[1].text, "line 7919");
	nb_image_free(in);
	nb_buf_fini(&b);
	free(text);
	free(code);
	free(many);
}

/* As many slots as a program may have, and one more. */
TEST(the_largest_program_is_read_back)
{
	const uint32_t n = NB_IMAGE_MAX_SLOTS;
	struct nb_slot *code = calloc(n + 1, sizeof(*code));
	struct nb_err err = { 0 };
	struct nb_buf b, no;
	struct nb_image *in;

	fresh();
	for (uint32_t i = 0; i <= n; i++)
		code[i] = (struct nb_slot){ MOV_K, 0, 0, (int32_t)i };
	code[n - 2] = (struct nb_slot){ CALL, 0x10, 0, (int32_t)(n / 2) - (int32_t)(n - 1) };
	funcs[0].end = n / 2;
	funcs[1].start = n / 2;
	funcs[1].end = n;
	lines[1].pc = n - 1;
	prog.slots = code;
	prog.nslots = n;
	b = written();
	ck_assert(!nb_image_read(&in, b.data, b.size, NULL));
	ck_assert_uint_eq(in->progs[0].nslots, n);
	ck_assert(!memcmp(in->progs[0].slots, code, n * sizeof(*code)));
	ck_assert_ptr_eq(nb_prog_func(&in->progs[0], n - 1), &in->progs[0].funcs[1]);
	ck_assert_uint_eq(nb_prog_line(&in->progs[0], n - 1)->line, 9);
	nb_image_free(in);
	nb_buf_fini(&b);
	prog.nslots = funcs[1].end = n + 1;
	nb_buf_init(&no, 0);
	ck_assert_int_eq(nb_image_write(&no, &img, &err), NB_E_LIMIT);
	ck_assert_msg(strstr(err.text, "131073 slots; 1 to 131072"), "%s", err.text);
	nb_buf_fini(&no);
	free(code);
}

UNIT_MAIN("image")
