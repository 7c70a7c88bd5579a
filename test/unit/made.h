// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_MADE_H
#define NB_TEST_UNIT_MADE_H

#include <check.h>
#include <stdint.h>
#include <string.h>

#include "core/bpf/image/image.h"
#include "core/bpf/isa/insn.h"
#include "test/unit/asm.h"
#include "test/unit/map_spec.h"

/*
 * Policy images made in the test itself, from assembly text. A map is named by
 * "lddw %rN, 0x7000" plus its index. Context offsets of struct ncclbpf_tuner
 * are written as numbers in the text.
 */
enum { MADE_MAP = 0x7000, MADE_SLOTS = 128 };

/* Numbers of maps in the place of MADE_MAP's. */
static inline void made_maps(struct nb_slot *slots, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (slots[i].opcode == 0x18 && slots[i].imm >= MADE_MAP) {
			slots[i].regs |= 1 << 4;
			slots[i].imm -= MADE_MAP;
		}
}

static inline void made_image(struct nb_buf *out, const char *name, const char *text,
			      const struct nb_map_spec *maps, uint32_t nmaps)
{
	struct nb_slot slots[MADE_SLOTS];
	struct nb_err err = { 0 };
	size_t n;

	ck_assert_msg(!nb_asm(slots, MADE_SLOTS, &n, text, &err), "%s", err.text);
	made_maps(slots, n);
	{
		const struct nb_func func = { .name = "f", .end = (uint32_t)n };
		const struct nb_prog prog = { .name = "f",
					      .section = "tuner",
					      .hook = NB_HOOK_TUNER,
					      .slots = slots,
					      .nslots = (uint32_t)n,
					      .funcs = &func,
					      .nfuncs = 1 };
		const struct nb_image img = {
			.name = name, .maps = maps, .nmaps = nmaps, .progs = &prog, .nprogs = 1
		};

		nb_buf_init(out, 0);
		ck_assert_msg(!nb_image_write(out, &img, &err), "%s", err.text);
	}
}

/* Answer algorithm and protocol, nothing else. */
#define MADE_CHOOSE(algo, proto)     \
	"stw [%r1+68], " #algo "\n"  \
	"stw [%r1+72], " #proto "\n" \
	"mov %r0, 0\nexit\n"

#define MADE_NOOP "mov %r0, 0\nexit\n"

/* channels = first 32 bits of element 0 of map 0 */
#define MADE_CHANNELS_FROM_MAP \
	"mov %r6, %r1\n"       \
	"stw [%r10-4], 0\n"    \
	"mov %r2, %r10\n"      \
	"add %r2, -4\n"        \
	"lddw %r1, 0x7000\n"   \
	"call 1\n"             \
	"jeq %r0, 0, +2\n"     \
	"ldxw %r1, [%r0]\n"    \
	"stxw [%r6+76], %r1\n" \
	"mov %r0, 0\nexit\n"

/* element 0 of map 0 += 1 */
#define MADE_COUNT_IN_MAP    \
	"stw [%r10-4], 0\n"  \
	"mov %r2, %r10\n"    \
	"add %r2, -4\n"      \
	"lddw %r1, 0x7000\n" \
	"call 1\n"           \
	"jeq %r0, 0, +3\n"   \
	"ldxw %r1, [%r0]\n"  \
	"add %r1, 1\n"       \
	"stxw [%r0], %r1\n"  \
	"mov %r0, 0\nexit\n"

static const struct nb_map_spec made_coherent =
	MAP_SPEC("limits", ARRAY, 4, 4, 2, NB_MAPF_COHERENT);
static const struct nb_map_spec made_local = MAP_SPEC("counts", ARRAY, 4, 4, 1, 0);

#endif
