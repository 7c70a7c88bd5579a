// SPDX-License-Identifier: MIT
// Writes the policies of the control socket's tests as images, instruction by
// instruction: image DIRECTORY.
//
//	ring    Ring/Simple, 4 channels, always        tree  Tree/Simple
//	choice  what its coherent map says; counts in a local array, traces
//	tables  reads and writes local maps of every kind, has no opinion
//	bad     writes an input field: refused by the verifier
//	big     16,000 instructions, for dumps of several pages
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/image/image.h"
#include "core/defs/ctx.h"
#include "test/unit/map_spec.h"

#define OFF(field) ((int16_t)offsetof(struct ncclbpf_tuner, field))

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

static struct nb_slot code[16384];
static uint32_t n;

static void put(uint8_t opcode, unsigned dst, unsigned src, int16_t off, int32_t imm)
{
	code[n++] = (struct nb_slot){ opcode, (uint8_t)(dst | src << 4), off, imm };
}

static void mov(unsigned dst, int32_t imm)
{
	put(0xb7, dst, 0, 0, imm);
}

static void movr(unsigned dst, unsigned src)
{
	put(0xbf, dst, src, 0, 0);
}

static void store_w(unsigned dst, int16_t off, int32_t imm)
{
	put(0x62, dst, 0, off, imm);
}

static void map_addr(unsigned dst, int32_t map)
{
	put(0x18, dst, 1, 0, map);
	put(0x00, 0, 0, 0, 0);
}

static void call(int32_t helper)
{
	put(0x85, 0, 0, 0, helper);
}

static void end(void)
{
	mov(R0, 0);
	put(0x95, 0, 0, 0, 0);
}

/* r0 = look-up of the 4-byte key 0 in map @map */
static void lookup0(int32_t map)
{
	store_w(R10, -4, 0);
	movr(R2, R10);
	put(0x07, R2, 0, 0, -4);
	map_addr(R1, map);
	call(1);
}

static const unsigned char constant[8] = { 7, 0, 0, 0, 9, 0, 0, 0 };

static void write_image(const char *dir, const char *name, const struct nb_map_spec *maps,
			uint32_t nmaps)
{
	struct nb_func func = { .name = name, .start = 0, .end = n };
	struct nb_line line = {
		.pc = 0, .line = 12, .col = 2, .file = "made/by/hand.c", .text = "\tfirst \"line\";"
	};
	struct nb_prog prog = { .name = name,
				.section = "tuner",
				.hook = NB_HOOK_TUNER,
				.slots = code,
				.nslots = n,
				.funcs = &func,
				.nfuncs = 1,
				.lines = &line,
				.nlines = 1 };
	struct nb_image img = {
		.name = name, .maps = maps, .nmaps = nmaps, .progs = &prog, .nprogs = 1
	};
	struct nb_err err;
	struct nb_buf out;
	char path[4096];
	FILE *f;

	nb_buf_init(&out, 0);
	if (nb_image_write(&out, &img, &err)) {
		fprintf(stderr, "image: %s: %s\n", name, err.text);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/%s.policy", dir, name);
	f = fopen(path, "wb");
	if (!f || fwrite(out.data, 1, out.size, f) != out.size || fclose(f)) {
		perror(path);
		exit(1);
	}
	nb_buf_fini(&out);
	n = 0;
}

static void constant_answer(const char *dir, const char *name, int algo)
{
	store_w(R1, OFF(algo), algo);
	store_w(R1, OFF(proto), NCCL_PROTO_SIMPLE);
	store_w(R1, OFF(channels), 4);
	end();
	write_image(dir, name, NULL, 0);
}

/* Each 32-bit word of the map's value is an answer plus one. */
static void from_map(int16_t word, int16_t field)
{
	put(0x61, R1, R0, word, 0);  /* r1 = *(u32 *)(r0 + word) */
	put(0x04, R1, 0, 0, -1);     /* w1 -= 1 */
	put(0x63, R6, R1, field, 0); /* *(u32 *)(r6 + field) = r1 */
}

static void choice(const char *dir)
{
	static const struct nb_map_spec maps[] = {
		MAP_SPEC("choice", ARRAY, 4, 8, 1, NB_MAPF_COHERENT),
		MAP_SPEC("hits", ARRAY, 4, 8, 4, 0),
	};

	movr(R6, R1);
	lookup0(1);
	put(0x15, R0, 0, 2, 0); /* if r0 == 0 goto +2 */
	mov(R1, 1);
	put(0xdb, R0, R1, 0, 0);       /* lock *(u64 *)(r0) += r1 */
	store_w(R10, -16, 0x20746968); /* "hit " */
	store_w(R10, -12, 0x00756c25); /* "%lu" */
	movr(R1, R10);
	put(0x07, R1, 0, 0, -16);
	mov(R2, 8);
	put(0x79, R3, R6, OFF(seq), 0); /* r3 = *(u64 *)(r6 + seq) */
	call(6);
	lookup0(0);
	put(0x15, R0, 0, 6, 0);
	from_map(0, OFF(algo));
	from_map(4, OFF(proto));
	end();
	write_image(dir, "choice", maps, 2);
}

static void tables(const char *dir)
{
	static const struct nb_map_spec maps[] = {
		MAP_SPEC("by_size", HASH, 8, 8, 16, 0),
		MAP_SPEC("per_cpu", PERCPU_ARRAY, 4, 4, 2, 0),
		{ .name = ".rodata",
		  .type = NB_MAP_ARRAY,
		  .key_size = 4,
		  .value_size = sizeof(constant),
		  .max_entries = 1,
		  .flags = NB_F_RDONLY_PROG,
		  .origin = NB_ORIGIN_RODATA,
		  .init = constant },
		MAP_SPEC("wide", ARRAY, 4, 1024, 2000, 0),
	};

	lookup0(1);
	put(0x15, R0, 0, 3, 0);
	put(0x61, R1, R0, 0, 0);
	put(0x07, R1, 0, 0, 1);
	put(0x63, R0, R1, 0, 0);
	end();
	write_image(dir, "tables", maps, 4);
}

static void bad(const char *dir)
{
	store_w(R1, OFF(ranks), 1);
	end();
	write_image(dir, "bad", NULL, 0);
}

static void big(const char *dir)
{
	for (int i = 0; i < 16000; i++)
		mov(R0, i);
	end();
	write_image(dir, "big", NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 64;
	constant_answer(argv[1], "ring", NCCL_ALGO_RING);
	constant_answer(argv[1], "tree", NCCL_ALGO_TREE);
	choice(argv[1]);
	tables(argv[1]);
	bad(argv[1]);
	big(argv[1]);
	return 0;
}
