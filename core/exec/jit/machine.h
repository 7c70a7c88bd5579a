// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_MACHINE_H
#define NB_EXEC_JIT_MACHINE_H

#include "core/exec/jit/emit.h"

/*
 * What the driver (jit.c) and the shared lowering (lower.c) ask of the machine
 * that we run on: x86_64*.c or arm64*.c define all of it.
 *
 * A function emits at c->pos. The first passes only count sizes, so what is
 * emitted may depend on c->base, c->off and c->shorter only in ways that make
 * code shorter from pass to pass. Scratch registers do not survive a function.
 *
 * @reg @base: numbers of machine registers; @log: log2 of bytes in memory;
 * @order: NB_ORDER_* of unsigned numbers; @w: 64 bits, else 32 bits, whose
 * results have a zero upper half
 */
#if defined(__x86_64__) || defined(__aarch64__)
#define NB_JIT_MACHINE 1

struct mem {
	unsigned base;
	int32_t off;
};

struct nb_machine {
	unsigned char nothing[8]; /* a function that returns at once */
	uint8_t reg[NB_NREGS];	  /* machine registers of r0 to r10 */
	uint8_t arg[3];		  /* a function's arguments, its result */
	uint8_t result;
	uint8_t temp, cpu, index;
	/* what a chain keeps while programs run */
	uint8_t ctx, overrides, by, answer, rest;
	uint8_t new_answer, new_rest; /* changed by calls */
};
extern const struct nb_machine nb_machine;

/* The machine register of BPF register @r. */
static inline unsigned reg_of(unsigned r)
{
	return nb_machine.reg[r];
}

/* What this processor has, for c->features. */
unsigned nb_emit_features(void);
/* Make stored code visible to instruction fetch. */
void nb_emit_flush(unsigned char *code, size_t size);
/* Does a short jump reach @distance bytes from its end? */
bool nb_emit_reaches(int64_t distance);

/* Before a program's first slot, and its exit; sets c->body. */
void nb_emit_begin(struct nb_jit_ctx *c);
void nb_emit_leave(struct nb_jit_ctx *c);
/* Before and after the programs of a chain. */
void nb_emit_begin_chain(struct nb_jit_ctx *c);
void nb_emit_leave_chain(struct nb_jit_ctx *c);
/* An instruction that stops the program. */
void nb_emit_trap(struct nb_jit_ctx *c);

/* one of ADD to XOR, except MUL */
void nb_emit_binary(struct nb_jit_ctx *c, const struct nb_code *i,
		    const struct nb_insn_spec *row);
void nb_emit_multiply(struct nb_jit_ctx *c, const struct nb_code *i,
		      const struct nb_insn_spec *row);
void nb_emit_divide(struct nb_jit_ctx *c, uint32_t pc,
		    const struct nb_insn_spec *row);
void nb_emit_shift(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row);
void nb_emit_copy(struct nb_jit_ctx *c, const struct nb_code *i,
		  const struct nb_insn_spec *row);
/* Sign extension of the low @bits. */
void nb_emit_extend(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from,
		    unsigned bits);
void nb_emit_negate(struct nb_jit_ctx *c, bool w, unsigned reg);
/* LE cuts off, BE and BSWAP swap; 16 and 32 bits are zero-extended. */
void nb_emit_swap(struct nb_jit_ctx *c, unsigned reg, unsigned width, bool le);
/* dst = src; dst += k as one; false: not here. */
bool nb_emit_copy_and_add(struct nb_jit_ctx *c, const struct nb_code *i,
			  int64_t k);
void nb_emit_jump(struct nb_jit_ctx *c, uint32_t pc);
void nb_emit_compare_and_jump(struct nb_jit_ctx *c, uint32_t pc,
			      const struct nb_insn_spec *row);
void nb_emit_may_goto(struct nb_jit_ctx *c, uint32_t pc);
void nb_emit_load(struct nb_jit_ctx *c, const struct nb_code *i,
		  const struct nb_insn_spec *row);
void nb_emit_store(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row);
void nb_emit_atomic(struct nb_jit_ctx *c, const struct nb_code *i,
		    const struct nb_insn_spec *row);

/* At @off in the run's own data. */
struct mem nb_emit_run(const struct nb_jit_ctx *c, size_t off);
/* At @off above the frame of a callback. */
struct mem nb_emit_loop(size_t off);

void nb_emit_const(struct nb_jit_ctx *c, unsigned reg, uint64_t v);
void nb_emit_move(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from);
void nb_emit_address(struct nb_jit_ctx *c, unsigned to, struct mem m);
/* @log: 2 or 3 */
void nb_emit_get(struct nb_jit_ctx *c, unsigned log, unsigned to, struct mem m);
void nb_emit_put(struct nb_jit_ctx *c, unsigned log, unsigned from,
		 struct mem m);
void nb_emit_put_const(struct nb_jit_ctx *c, unsigned log, struct mem m,
		       uint32_t v);
/* Four bytes at @off from the thread pointer, in the scratch register temp. */
void nb_emit_get_thread(struct nb_jit_ctx *c, int32_t off);
/* Add 1 to memory, or take 1 off. */
void nb_emit_count(struct nb_jit_ctx *c, unsigned log, struct mem m, bool up);
/* Get four bytes, then add 1 to them in memory. */
void nb_emit_get_and_count(struct nb_jit_ctx *c, unsigned to, struct mem m);

/* Forward, to where nb_emit_land is called with the answer; without @far over
 * less than 128 bytes. */
uint32_t nb_emit_skip(struct nb_jit_ctx *c, bool far);
uint32_t nb_emit_skip_if(struct nb_jit_ctx *c, unsigned order, bool w,
			 unsigned a, unsigned b);
uint32_t nb_emit_skip_if_const(struct nb_jit_ctx *c, unsigned order, bool w,
			       unsigned reg, uint32_t v, bool far);
/* Four bytes of memory are not @v. */
uint32_t nb_emit_skip_unless(struct nb_jit_ctx *c, struct mem m, uint32_t v);
/* The result of a C function is false; far. */
uint32_t nb_emit_skip_if_false(struct nb_jit_ctx *c);
/* Four bytes of memory are 0; else takes 1 off them; far. */
uint32_t nb_emit_skip_or_take(struct nb_jit_ctx *c, struct mem m);
void nb_emit_land(struct nb_jit_ctx *c, uint32_t skip);
/* Back to @at: r0 is 0; r0 is below four bytes of memory. */
void nb_emit_back_if_zero(struct nb_jit_ctx *c, uint32_t at);
void nb_emit_back_if_below(struct nb_jit_ctx *c, struct mem m, uint32_t at);

/* A function of C; and where the stack is a callback's frame. */
void nb_emit_call(struct nb_jit_ctx *c, uint64_t fn);
void nb_emit_call_in_loop(struct nb_jit_ctx *c, uint64_t fn);
/* A function of the program. */
void nb_emit_call_slot(struct nb_jit_ctx *c, uint32_t slot);
/* Save r6 to r10 and make a frame with @more bytes above it, a multiple of 16;
 * and undo that. */
void nb_emit_push_frame(struct nb_jit_ctx *c, uint32_t more);
void nb_emit_pop_frame(struct nb_jit_ctx *c, uint32_t more);
/* Go on at the address in r0. */
void nb_emit_jump_to(struct nb_jit_ctx *c);

/* r0 = the element that r2 is the index of */
void nb_emit_lookup_array(struct nb_jit_ctx *c, const struct nb_map *m);
/* r0 = base + cpu * cpu_size, + index * elem_size unless that is 0 */
void nb_emit_element(struct nb_jit_ctx *c, uint64_t base, uint64_t cpu_size,
		     uint64_t elem_size);
/* A walk of a hash table's chain; false: not here. */
bool nb_emit_lookup_hash(struct nb_jit_ctx *c, struct nb_map *m);
/* If the lock at r1 is free, take it, r0 = 0, and skip; 0: not here. */
uint32_t nb_emit_try_lock(struct nb_jit_ctx *c);
/* Release it if it is this run's, r0 = 0; false: not here. */
bool nb_emit_unlock(struct nb_jit_ctx *c);
/* The record at r1 is not busy any more; r0 = 0. */
void nb_emit_ring_finish(struct nb_jit_ctx *c, bool discard);

#endif
#endif
