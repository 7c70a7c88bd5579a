// SPDX-License-Identifier: MIT
#ifndef NB_TEST_IMAGE_SAMPLE_H
#define NB_TEST_IMAGE_SAMPLE_H

/* A small, complete image that tests change and write. */
#include <string.h>

#include "core/bpf/image/image.h"
#include "test/unit/unit.h"

enum { CALL = 0x85, EXIT = 0x95, LDDW = 0x18, MOV_K = 0xb7 };

/* r1 = map 0; r2 = &.rodata[4]; call f; exit; f: r0 = 1; exit */
static struct nb_slot slots[] = {
	{ LDDW, 0x11, 0, 0 }, { 0, 0, 0, 0 },	 { LDDW, 0x22, 0, 1 },	{ 0, 0, 0, 4 },
	{ CALL, 0x10, 0, 1 }, { EXIT, 0, 0, 0 }, { MOV_K, 0x00, 0, 1 }, { EXIT, 0, 0, 0 },
};
static struct nb_func funcs[2];
static struct nb_line lines[2];
static struct nb_map_spec maps[2];
static struct nb_prog prog;
static struct nb_ctx_field field;
static const unsigned char rodata[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static struct nb_image img;

/* The same small, complete image each time. */
static void fresh(void)
{
	static struct nb_slot keep[8];
	static int have;

	if (!have)
		memcpy(keep, slots, sizeof(keep));
	have = 1;
	memcpy(slots, keep, sizeof(keep));
	maps[0] = (struct nb_map_spec){ .name = "counts",
					.type = NB_MAP_HASH,
					.key_size = 8,
					.value_size = 16,
					.max_entries = 100,
					.btf_key = 1,
					.btf_value = 2 };
	maps[1] = (struct nb_map_spec){ .name = ".rodata",
					.type = NB_MAP_ARRAY,
					.key_size = 4,
					.value_size = sizeof(rodata),
					.max_entries = 1,
					.flags = NB_F_RDONLY_PROG,
					.origin = NB_ORIGIN_RODATA,
					.init = rodata };
	funcs[0] = (struct nb_func){ .name = "entry", .start = 0, .end = 6 };
	funcs[1] = (struct nb_func){ .name = "f", .start = 6, .end = 8 };
	lines[0] = (struct nb_line){ 0, 7, 2, "a.c", "\tint x = 1;" };
	lines[1] = (struct nb_line){ 5, 9, 0, "a.c", "" };
	prog = (struct nb_prog){ "entry", "tuner", NB_HOOK_TUNER, slots, 8, funcs, 2, lines, 2 };
	field = (struct nb_ctx_field){ NB_HOOK_TUNER, "bytes", 8, 8 };
	img = (struct nb_image){ .name = "example",
				 .maps = maps,
				 .nmaps = 2,
				 .progs = &prog,
				 .nprogs = 1,
				 .ctx_fields = &field,
				 .nctx_fields = 1,
				 .btf = (const unsigned char *)"BTFblob",
				 .btf_size = 7 };
}

__attribute__((unused)) static struct nb_buf written(void)
{
	struct nb_buf b;
	struct nb_err err;

	nb_buf_init(&b, 0);
	ck_assert_msg(!nb_image_write(&b, &img, &err), "%s", err.text);
	return b;
}

#endif
