// SPDX-License-Identifier: MIT
#ifndef NB_TEST_GEN_PARTS_H
#define NB_TEST_GEN_PARTS_H

#include "test/differential/oracle/gen.h"

/* A program in the making, and what its parts are made of: see gen.c. */

enum { NO_TURNS, NUMBERED, OF_A_MAP };

enum type { NONE, NUM, SMALL, CTX, FRAME, VALUE, MAYBE };

enum {
	WINDOW = 64, /* bytes of stack that are used */
	MAX_FIX = 256,
	MAX_FUNCS = 4,
	ROOM = GEN_MAX_SLOTS - 64
};

struct regs {
	uint8_t type[10];
	uint8_t map[10];	   /* VALUE, MAYBE */
	int32_t off[10];	   /* VALUE, FRAME: where it points */
	uint32_t limit[10];	   /* SMALL: below this */
	uint8_t init[WINDOW];	   /* bytes below r10, the nearest last */
	uint8_t spill[WINDOW / 8]; /* 1 + register spilled there */
};

struct gen {
	const struct gen_opts *o;
	struct rng *r;
	struct nb_slot *out;
	uint32_t n;
	struct regs t;
	uint32_t fix[MAX_FIX], nfix; /* jumps to the function's way out */
	uint32_t calls[MAX_FIX], ncalls;
	uint8_t callee[MAX_FIX], nargs[MAX_FUNCS], nfuncs, func;
	bool frame_arg[MAX_FUNCS];
	uint8_t turns[MAX_FUNCS]; /* a callback's: NUMBERED, or of a map */
	uint8_t turn_map[MAX_FUNCS];
	unsigned depth;
};

static const uint8_t alu_ops[] = { 0x00, 0x10, 0x20, 0x30, 0x40, 0x50,
				   0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0 };

static const uint8_t jmp_ops[] = {
	0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0
};

static const uint8_t ldx_ops[] = { 0x71, 0x69, 0x61, 0x79 };

static const uint8_t ldxs_ops[] = { 0x91, 0x89, 0x81 };

static const uint8_t stx_ops[] = { 0x73, 0x6b, 0x63, 0x7b };

static const uint8_t st_ops[] = { 0x72, 0x6a, 0x62, 0x7a };

struct nb_slot gen_slot(uint8_t op, unsigned dst, unsigned src, int off, int32_t imm);
void gen_emit(struct gen *g, uint8_t op, unsigned dst, unsigned src, int off, int32_t imm);
void gen_emit_lddw(struct gen *g, unsigned dst, unsigned kind, uint32_t lo, uint32_t hi);
bool gen_chance(struct gen *g, uint32_t percent);
uint32_t gen_below(struct gen *g, uint32_t n);
int32_t gen_immediate(struct gen *g);
bool gen_is_number(const struct gen *g, unsigned reg);
void gen_set_number(struct gen *g, unsigned reg);
int gen_pick(struct gen *g, enum type type);
unsigned gen_target(struct gen *g);
unsigned gen_number(struct gen *g);
void gen_kill(struct gen *g, unsigned first, unsigned last);
void gen_join(struct regs *a, const struct regs *b);
void gen_bail(struct gen *g, uint8_t op, unsigned dst, unsigned src, int32_t imm);
void gen_stmt_alu(struct gen *g);
void gen_stmt_const(struct gen *g);
void gen_stmt_ctx_load(struct gen *g);
void gen_stmt_output(struct gen *g);
void gen_wrote(struct gen *g, int off, unsigned size);
void gen_stmt_stack_store(struct gen *g);
bool gen_stack_ready(const struct gen *g, int off, unsigned size);
void gen_stmt_stack_load(struct gen *g);
void gen_bound(struct gen *g, unsigned reg, uint32_t limit);
void gen_stmt_bound(struct gen *g);
uint32_t gen_pick_map(struct gen *g);
void gen_make_key(struct gen *g, uint32_t map);
void gen_stmt_lookup(struct gen *g);
void gen_stmt_direct(struct gen *g);
void gen_access_value(struct gen *g, unsigned ptr, uint32_t map, int off, unsigned k);
void gen_stmt_value(struct gen *g);
void gen_stmt_value_at(struct gen *g);
void gen_stmt_stack_at(struct gen *g);
void gen_stmt_stack_atomic(struct gen *g);
void gen_stmt_update(struct gen *g);
void gen_stmt_helper(struct gen *g);
void gen_stmt_printk(struct gen *g);

#endif
