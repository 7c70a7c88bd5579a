// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_MACHINE_H
#define NB_EXEC_JIT_MACHINE_H

#include "core/bpf/exec/jit/emit.h"

/*
 * The functions that the driver (jit.c) and the shared lowering (lower.c) call
 * for the machine that we run on: x86_64*.c or arm64*.c define all of them.
 *
 * A function emits at c->pos. The first passes only count sizes, so emitted
 * code may depend on c->base, c->off and c->shorter only in ways that make it
 * shorter from pass to pass. Scratch registers do not survive a function.
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
	uint8_t reg[NB_NREGS]; /* The machine registers of r0 to r10. */
	/* Registers of a function's arguments; @result holds its result. */
	uint8_t arg[3];
	uint8_t result;
	uint8_t temp, cpu, index;
};
extern const struct nb_machine nb_machine;

/* Return the machine register of BPF register @r. */
static inline unsigned reg_of(unsigned r)
{
	return nb_machine.reg[r];
}

/* Return the features of this processor, for c->features. */
unsigned nb_emit_features(void);
/* Make stored code visible to instruction fetch. */
void nb_emit_flush(unsigned char *code, size_t size);
/* Does a short jump reach @distance bytes from its end? */
bool nb_emit_reaches(int64_t distance);

/* Emit code before a program's first slot (this sets c->body), and code for
 * its exit. */
void nb_emit_begin(struct nb_jit_ctx *c);
void nb_emit_leave(struct nb_jit_ctx *c);
/* Emit an instruction that stops the program. */
void nb_emit_trap(struct nb_jit_ctx *c);

/* Emit one of the operations ADD to XOR, except MUL. */
void nb_emit_binary(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row);
void nb_emit_multiply(struct nb_jit_ctx *c, const struct nb_code *i,
		      const struct nb_insn_spec *row);
void nb_emit_divide(struct nb_jit_ctx *c, uint32_t pc, const struct nb_insn_spec *row);
void nb_emit_shift(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row);
void nb_emit_copy(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row);
/* Emit a sign extension of the low @bits. */
void nb_emit_extend(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from, unsigned bits);
void nb_emit_negate(struct nb_jit_ctx *c, bool w, unsigned reg);
/* Emit a byte swap: LE truncates, BE and BSWAP swap; 16 and 32 bits are
 * zero-extended. */
void nb_emit_swap(struct nb_jit_ctx *c, unsigned reg, unsigned width, bool le);
/* Emit "dst = src; dst += k" as one instruction; returns false if
 * impossible. */
bool nb_emit_copy_and_add(struct nb_jit_ctx *c, const struct nb_code *i, int64_t k);
void nb_emit_jump(struct nb_jit_ctx *c, uint32_t pc);
void nb_emit_compare_and_jump(struct nb_jit_ctx *c, uint32_t pc, const struct nb_insn_spec *row);
void nb_emit_may_goto(struct nb_jit_ctx *c, uint32_t pc);
void nb_emit_load(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row);
void nb_emit_store(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row);
void nb_emit_atomic(struct nb_jit_ctx *c, const struct nb_code *i, const struct nb_insn_spec *row);

/* Return the address at @off in the run's own data. */
struct mem nb_emit_run(const struct nb_jit_ctx *c, size_t off);
/* Return the address at @off above the frame of a callback. */
struct mem nb_emit_loop(size_t off);

void nb_emit_const(struct nb_jit_ctx *c, unsigned reg, uint64_t v);
void nb_emit_move(struct nb_jit_ctx *c, bool w, unsigned to, unsigned from);
void nb_emit_address(struct nb_jit_ctx *c, unsigned to, struct mem m);
/* Load from memory; @log is 2 or 3. */
void nb_emit_get(struct nb_jit_ctx *c, unsigned log, unsigned to, struct mem m);
void nb_emit_put(struct nb_jit_ctx *c, unsigned log, unsigned from, struct mem m);
void nb_emit_put_const(struct nb_jit_ctx *c, unsigned log, struct mem m, uint32_t v);
/* Load four bytes at @off from the thread pointer into the scratch register
 * temp. */
void nb_emit_get_thread(struct nb_jit_ctx *c, int32_t off);
/* Load four bytes, then add 1 to them in memory. */
void nb_emit_get_and_count(struct nb_jit_ctx *c, unsigned to, struct mem m);

/* Emit a forward jump. nb_emit_land takes the returned number and sets the
 * jump's target; without @far the target is less than 128 bytes away. */
uint32_t nb_emit_skip(struct nb_jit_ctx *c, bool far);
uint32_t nb_emit_skip_if_const(struct nb_jit_ctx *c, unsigned order, bool w, unsigned reg,
			       uint32_t v, bool far);
/* Emit a forward jump taken if four bytes of memory are not @v. */
uint32_t nb_emit_skip_unless(struct nb_jit_ctx *c, struct mem m, uint32_t v);
/* Emit a far forward jump taken if the result of a C function is false. */
uint32_t nb_emit_skip_if_false(struct nb_jit_ctx *c);
/* Emit a far forward jump taken if four bytes of memory are 0; otherwise
 * the code subtracts 1 from them. */
uint32_t nb_emit_skip_or_take(struct nb_jit_ctx *c, struct mem m);
void nb_emit_land(struct nb_jit_ctx *c, uint32_t skip);
/* Emit a jump back to @at, taken if r0 is 0 (below: if r0 is less than four
 * bytes of memory). */
void nb_emit_back_if_zero(struct nb_jit_ctx *c, uint32_t at);
void nb_emit_back_if_below(struct nb_jit_ctx *c, struct mem m, uint32_t at);

/* Emit a call of a C function; nb_emit_call_in_loop does so while the stack
 * is a callback's frame. */
void nb_emit_call(struct nb_jit_ctx *c, uint64_t fn);
void nb_emit_call_in_loop(struct nb_jit_ctx *c, uint64_t fn);
/* Emit a call of a function of the program. */
void nb_emit_call_slot(struct nb_jit_ctx *c, uint32_t slot);
/* nb_emit_push_frame saves r6 to r10 and makes a frame with @more bytes
 * above it, a multiple of 16; nb_emit_pop_frame undoes that. */
void nb_emit_push_frame(struct nb_jit_ctx *c, uint32_t more);
void nb_emit_pop_frame(struct nb_jit_ctx *c, uint32_t more);

/* Emit r0 = address of the array element whose index r2 points to. */
void nb_emit_lookup_array(struct nb_jit_ctx *c, const struct nb_map *m);
/* Emit r0 = base + cpu * cpu_size, plus index * elem_size unless elem_size
 * is 0. */
void nb_emit_element(struct nb_jit_ctx *c, uint64_t base, uint64_t cpu_size, uint64_t elem_size);
/* Emit a look-up along a hash table's chain; returns false if the machine
 * has no such code. */
bool nb_emit_lookup_hash(struct nb_jit_ctx *c, struct nb_map *m);
/* Emit code that clears the busy flag of the record at r1, with r0 = 0. */
void nb_emit_ring_finish(struct nb_jit_ctx *c, bool discard);

#endif
#endif
