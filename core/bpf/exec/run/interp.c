// SPDX-License-Identifier: MIT
/*
 * The interpreter: the reference for the meaning of each instruction (RFC
 * 9669). Each row of core/defs/isa.h has one handler, so operand kind and width
 * need no test. Each handler jumps to the next one: CPUs predict that better
 * than one switch.
 *
 * The verifier has proved memory accesses, jumps, call depth and termination;
 * the interpreter checks none of them.
 */
#include "core/bpf/exec/run/interp.h"

#include <errno.h>
#include <string.h>

#include "core/bpf/map/ops.h"

/*
 * Registers hold addresses, and the dispatch is one function by its nature:
 * NOLINTBEGIN(performance-no-int-to-ptr,readability-function-size)
 */

/* The frame of a function; that of the entry is frame 0. */
struct frame {
	_Alignas(16) unsigned char stack[NB_STACK_SIZE];
	uint64_t saved[4]; /* The registers r6 to r9 of the caller. */
	const struct nb_code *ret;
	/* In a callback's frame: the call that it belongs to. */
	const struct nb_code *site, *callback;
	uint32_t limit;
	struct nb_each loop;
};

/* The code that callbacks return to. */
static const struct nb_code loop_next = { .op = NB_CODE_LOOP_NEXT };
static const struct nb_code each_next = { .op = NB_CODE_EACH_NEXT };

static inline const struct nb_exec *exec_of(const struct nb_code *ip)
{
	return (const struct nb_exec *)(uintptr_t)ip->imm;
}

/* Prepare a frame for the callback in r2 of the call at @ip. */
static inline void callback_frame(struct frame *f, const struct nb_code *ip, const uint64_t *r)
{
	memcpy(f->saved, &r[6], sizeof(f->saved));
	f->site = ip;
	f->callback = exec_of(ip)->code + r[2];
	f->loop = (struct nb_each){ .ctx = r[3] };
}

/* Return the error of bpf_loop for its arguments; 0 if they are valid. */
static inline uint64_t loop_refused(const uint64_t *r)
{
	if (r[4])
		return (uint64_t)-EINVAL;
	return (uint32_t)r[1] > NB_LOOP_MAX ? (uint64_t)-E2BIG : 0;
}

/* Division has no trap: division by zero gives 0, and MIN / -1 gives MIN. */
static inline uint64_t udiv64(uint64_t a, uint64_t b)
{
	return b ? a / b : 0;
}

static inline uint64_t umod64(uint64_t a, uint64_t b)
{
	return b ? a % b : a;
}

static inline uint64_t sdiv64(uint64_t a, uint64_t b)
{
	if (b + 1 <= 1)
		return b ? -a : 0;
	return (uint64_t)((int64_t)a / (int64_t)b);
}

static inline uint64_t smod64(uint64_t a, uint64_t b)
{
	if (b + 1 <= 1)
		return b ? 0 : a;
	return (uint64_t)((int64_t)a % (int64_t)b);
}

static inline uint32_t udiv32(uint32_t a, uint32_t b)
{
	return b ? a / b : 0;
}

static inline uint32_t umod32(uint32_t a, uint32_t b)
{
	return b ? a % b : a;
}

static inline uint32_t sdiv32(uint32_t a, uint32_t b)
{
	if (b + 1 <= 1)
		return b ? -a : 0;
	return (uint32_t)((int32_t)a / (int32_t)b);
}

static inline uint32_t smod32(uint32_t a, uint32_t b)
{
	if (b + 1 <= 1)
		return b ? 0 : a;
	return (uint32_t)((int32_t)a % (int32_t)b);
}

static inline uint64_t asr64(uint64_t a, uint64_t n)
{
	return (uint64_t)((int64_t)a >> (n & 63));
}

static inline uint32_t asr32(uint32_t a, uint32_t n)
{
	return (uint32_t)((int32_t)a >> (n & 31));
}

static inline void *addr(uint64_t base, int32_t off)
{
	return (void *)(uintptr_t)(base + (uint64_t)(int64_t)off);
}

/* Look up an element; only per-CPU types and replicated maps need the call of the helper. */
static inline uint64_t interp_lookup(struct nb_run *run, const struct nb_code *ip,
				     const uint64_t *r)
{
	struct nb_map *m = (struct nb_map *)(uintptr_t)r[1];
	const void *key = (const void *)(uintptr_t)r[2];
	uint32_t i;

	/* The verifier has proved that this pointer is a map. */
	// NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
	if (m->def.type == NB_MAP_ARRAY && !m->replicated) {
		i = nb_array_index(key);
		return i < m->max_entries ? (uintptr_t)(m->base + i * m->elem_size) : 0;
	}
	if (!m->percpu && !m->replicated)
		return (uintptr_t)m->lookup(m, key, 0);
	return ((nb_helper_fn *)(uintptr_t)ip->imm)(run, r[1], r[2], r[3], r[4], r[5]);
}

/* Pedantic warnings stop at __extension__: labels as values are GNU C. */
#define GO() __extension__({ goto *next[ip->op]; })
#define NEXT()        \
	do {          \
		ip++; \
		GO(); \
	} while (0)
#define JUMP()                                \
	do {                                  \
		ip += 1 + (ptrdiff_t)ip->off; \
		GO();                         \
	} while (0)

#define DST r[ip->dst]
#define SRC r[ip->src]
#define K64 ((uint64_t)ip->imm)
#define K32 ((uint32_t)ip->imm)

/* One form of an ALU operation: @e is an expression of a and b. */
#define ALU1(name, type, rhs, e)                           \
	op_##name:                                         \
	{                                                  \
		const type a = (type)DST, b = (type)(rhs); \
		(void)a;                                   \
		DST = (type)(e);                           \
		NEXT();                                    \
	}

/* The four forms of an ALU operation. */
#define ALU(name, e64, e32)                  \
	ALU1(name##64_K, uint64_t, K64, e64) \
	ALU1(name##64_X, uint64_t, SRC, e64) \
	ALU1(name##32_K, uint32_t, K32, e32) \
	ALU1(name##32_X, uint32_t, SRC, e32)

/* An operation on the one register @from. */
#define UNARY_OF(name, from, e)          \
	op_##name:                       \
	{                                \
		const uint64_t a = from; \
		DST = (e);               \
		NEXT();                  \
	}
#define UNARY(name, e) UNARY_OF(name, DST, e)
#define MOVE(name, e) UNARY_OF(name, SRC, e)

/* One form of a conditional jump: @type says how a and b compare. */
#define JMP1(name, type, rhs, cmp)                         \
	op_##name:                                         \
	{                                                  \
		const type a = (type)DST, b = (type)(rhs); \
		if (cmp)                                   \
			JUMP();                            \
		NEXT();                                    \
	}

/* The four forms of a conditional jump. */
#define JMP4(name, t64, t32, cmp)       \
	JMP1(name##64_K, t64, K64, cmp) \
	JMP1(name##64_X, t64, SRC, cmp) \
	JMP1(name##32_K, t32, K32, cmp) \
	JMP1(name##32_X, t32, SRC, cmp)
#define JMPU(name, cmp) JMP4(name, uint64_t, uint32_t, cmp)
#define JMPS(name, cmp) JMP4(name, int64_t, int32_t, cmp)

/* Loads and stores need no alignment: memcpy of a constant size is one
 * machine instruction. */
#define LOAD(name, type, to)                               \
	op_##name:                                         \
	{                                                  \
		type v;                                    \
		memcpy(&v, addr(SRC, ip->off), sizeof(v)); \
		DST = (uint64_t)(to)v;                     \
		NEXT();                                    \
	}

#define STORE1(name, type, value)                          \
	op_##name:                                         \
	{                                                  \
		const type v = (type)(value);              \
		memcpy(addr(DST, ip->off), &v, sizeof(v)); \
		NEXT();                                    \
	}
#define STORE(bits)                           \
	STORE1(ST##bits, uint##bits##_t, K64) \
	STORE1(STX##bits, uint##bits##_t, SRC)

#define ATOMIC_FN(name, fn, bits)                                   \
	op_ATOMIC_##name##bits:                                     \
	{                                                           \
		uint##bits##_t *p = addr(DST, ip->off);             \
		fn(p, (uint##bits##_t)SRC, __ATOMIC_SEQ_CST);       \
		NEXT();                                             \
	}                                                           \
	op_ATOMIC_FETCH_##name##bits:                               \
	{                                                           \
		uint##bits##_t *p = addr(DST, ip->off);             \
		SRC = fn(p, (uint##bits##_t)SRC, __ATOMIC_SEQ_CST); \
		NEXT();                                             \
	}

#define ATOMIC(bits)                                                                           \
	ATOMIC_FN(ADD, __atomic_fetch_add, bits)                                               \
	ATOMIC_FN(OR, __atomic_fetch_or, bits)                                                 \
	ATOMIC_FN(AND, __atomic_fetch_and, bits)                                               \
	ATOMIC_FN(XOR, __atomic_fetch_xor, bits)                                               \
	op_ATOMIC_XCHG##bits:                                                                  \
	{                                                                                      \
		uint##bits##_t *p = addr(DST, ip->off);                                        \
		SRC = __atomic_exchange_n(p, (uint##bits##_t)SRC, __ATOMIC_SEQ_CST);           \
		NEXT();                                                                        \
	}                                                                                      \
	op_ATOMIC_CMPXCHG##bits:                                                               \
	{                                                                                      \
		uint##bits##_t *p = addr(DST, ip->off);                                        \
		uint##bits##_t old = (uint##bits##_t)r[0];                                     \
		__atomic_compare_exchange_n(p, &old, (uint##bits##_t)SRC, 0, __ATOMIC_SEQ_CST, \
					    __ATOMIC_SEQ_CST);                                 \
		r[0] = old;                                                                    \
		NEXT();                                                                        \
	}

#define ORDERED(bits)                                                       \
	op_LOAD_ACQ##bits:                                                  \
	{                                                                   \
		const uint##bits##_t *p = addr(SRC, ip->off);               \
		DST = __atomic_load_n(p, __ATOMIC_ACQUIRE);                 \
		NEXT();                                                     \
	}                                                                   \
	op_STORE_REL##bits:                                                 \
	{                                                                   \
		uint##bits##_t *p = addr(DST, ip->off);                     \
		__atomic_store_n(p, (uint##bits##_t)SRC, __ATOMIC_RELEASE); \
		NEXT();                                                     \
	}

static unsigned char *run_state(const struct nb_exec *x, const void *ctx)
{
	unsigned char *state = NULL;

	if (x->state_at)
		memcpy(&state, (const char *)ctx + x->state_at, sizeof(state));
	return state;
}

/*
 * Interpret a program. Policies on several threads use the same map values
 * without locks, as in the kernel: their plain loads and stores are races by
 * design, so the thread sanitizer leaves this function out.
 *
 * @watch: called before each code; may be NULL. It costs nothing if NULL,
 * because a watched run uses another table of labels.
 */
__attribute__((no_sanitize("thread"))) static uint64_t
interpret(const struct nb_exec *x, void *ctx, uint64_t ctx_size, nb_watch_fn *watch, void *arg)
{
	__extension__ static const void *const labels[NB_NCODES] = {
#define INSN(name, ...) [NB_OP_##name] = &&op_##name,
#include "core/defs/isa.h"
		[NB_OP_LDDW_HI] = &&op_EXIT,	      [NB_CODE_LOOKUP] = &&op_LOOKUP,
		[NB_CODE_CONST] = &&op_CONST,	      [NB_CODE_FUNC] = &&op_CONST,
		[NB_CODE_LOOP] = &&op_LOOP,	      [NB_CODE_EACH] = &&op_EACH,
		[NB_CODE_LOOP_NEXT] = &&op_LOOP_NEXT, [NB_CODE_EACH_NEXT] = &&op_EACH_NEXT,
	};
	__extension__ static const void *const watched[NB_NCODES] = {
		[0 ... NB_NCODES - 1] = &&op_WATCH,
	};
	const void *const *next = watch ? watched : labels;
	struct frame frames[NB_MAX_FRAMES], *f = frames;
	struct nb_run run = { .trace = x->trace,
			      .iterations = x->iterations,
			      .iter_steps = x->iter_steps,
			      .cpu = nb_cpu_seen(),
			      .state = run_state(x, ctx) };
	uint32_t passes = x->passes;
	const struct nb_code *ip = x->code;
	uint64_t r[NB_NREGS] = { 0 };

	r[1] = (uintptr_t)ctx;
	r[2] = ctx_size;
	r[NB_R10] = (uintptr_t)(f->stack + NB_STACK_SIZE);
	GO();
op_WATCH:
	watch(arg, ip, r);
	__extension__({ goto *labels[ip->op]; });

	ALU(ADD, a + b, a + b)
	ALU(SUB, a - b, a - b)
	ALU(MUL, a * b, a * b)
	ALU(DIV, udiv64(a, b), udiv32(a, b))
	ALU(MOD, umod64(a, b), umod32(a, b))
	ALU(SDIV, sdiv64(a, b), sdiv32(a, b))
	ALU(SMOD, smod64(a, b), smod32(a, b))
	ALU(OR, a | b, a | b)
	ALU(AND, a & b, a & b)
	ALU(XOR, a ^ b, a ^ b)
	ALU(LSH, a << (b & 63), a << (b & 31))
	ALU(RSH, a >> (b & 63), a >> (b & 31))
	ALU(ARSH, asr64(a, b), asr32(a, b))
	ALU(MOV, b, b)
	UNARY(NEG64, -a)
	UNARY(NEG32, 0u - (uint32_t)a)
	/* The host is little-endian, so LE only truncates. */
	UNARY(LE16, (uint16_t)a)
	UNARY(LE32, (uint32_t)a)
	UNARY(LE64, a)
	UNARY(BE16, __builtin_bswap16((uint16_t)a))
	UNARY(BE32, __builtin_bswap32((uint32_t)a))
	UNARY(BE64, __builtin_bswap64(a))
	UNARY(BSWAP16, __builtin_bswap16((uint16_t)a))
	UNARY(BSWAP32, __builtin_bswap32((uint32_t)a))
	UNARY(BSWAP64, __builtin_bswap64(a))
	MOVE(MOVSX8_64, (uint64_t)(int8_t)a)
	MOVE(MOVSX16_64, (uint64_t)(int16_t)a)
	MOVE(MOVSX32_64, (uint64_t)(int32_t)a)
	MOVE(MOVSX8_32, (uint64_t)(uint32_t)(int8_t)a)
	MOVE(MOVSX16_32, (uint64_t)(uint32_t)(int16_t)a)

	JMPU(JEQ, a == b)
	JMPU(JNE, a != b)
	JMPU(JGT, a > b)
	JMPU(JGE, a >= b)
	JMPU(JLT, a < b)
	JMPU(JLE, a <= b)
	JMPU(JSET, a & b)
	JMPS(JSGT, a > b)
	JMPS(JSGE, a >= b)
	JMPS(JSLT, a < b)
	JMPS(JSLE, a <= b)
op_JA:
op_JA32:
	JUMP();
op_MAY_GOTO:
	if (!passes)
		JUMP();
	passes--;
	NEXT();

	LOAD(LDX8, uint8_t, uint64_t)
	LOAD(LDX16, uint16_t, uint64_t)
	LOAD(LDX32, uint32_t, uint64_t)
	LOAD(LDX64, uint64_t, uint64_t)
	LOAD(LDXS8, int8_t, int64_t)
	LOAD(LDXS16, int16_t, int64_t)
	LOAD(LDXS32, int32_t, int64_t)
	STORE(8)
	STORE(16)
	STORE(32)
	STORE(64)
	ATOMIC(32)
	ATOMIC(64)
	ORDERED(8)
	ORDERED(16)
	ORDERED(32)
	ORDERED(64)

op_LDDW_IMM:
op_LDDW_MAP:
op_LDDW_MAP_VALUE:
op_LDDW_FUNC:
op_CONST:
	DST = K64;
	ip += 2;
	GO();
op_LOOKUP:
	r[0] = interp_lookup(&run, ip, r);
	NEXT();
op_CALL_HELPER:
	r[0] = ((nb_helper_fn *)(uintptr_t)ip->imm)(&run, r[1], r[2], r[3], r[4], r[5]);
	NEXT();
op_CALL_LOCAL:
	f++;
	memcpy(f->saved, &r[6], sizeof(f->saved));
	f->ret = ip + 1;
	r[NB_R10] = (uintptr_t)(f->stack + NB_STACK_SIZE);
	JUMP();
op_LOOP:
	r[0] = loop_refused(r);
	if (r[0] || !(uint32_t)r[1])
		NEXT();
	callback_frame(++f, ip, r);
	f->ret = &loop_next;
	f->limit = (uint32_t)r[1];
loop_iteration:
	if (!run.iterations)
		goto callback_done;
	run.iterations--;
	r[NB_R10] = (uintptr_t)(f->stack + NB_STACK_SIZE);
	r[1] = f->loop.done++;
	r[2] = f->loop.ctx;
	ip = f->callback;
	GO();
/* f is the caller's frame again, and f + 1 is as the callback left it. */
op_LOOP_NEXT:
	f++;
	if (!r[0] && f->loop.done < f->limit)
		goto loop_iteration;
callback_done:
	r[0] = f->loop.done;
	ip = f->site;
	f--;
	r[NB_R10] = (uintptr_t)(f->stack + NB_STACK_SIZE);
	NEXT();
op_EACH:
	r[0] = (uint64_t)-EINVAL;
	if (r[4])
		NEXT();
	callback_frame(++f, ip, r);
	f->ret = &each_next;
	f->loop.map = (struct nb_map *)(uintptr_t)r[1];
each_iteration:
	if (!nb_each_next(&run, &f->loop))
		goto callback_done;
	r[NB_R10] = (uintptr_t)(f->stack + NB_STACK_SIZE);
	r[1] = (uintptr_t)f->loop.map;
	r[2] = (uintptr_t)f->loop.cursor.key;
	r[3] = (uintptr_t)f->loop.cursor.value;
	r[4] = f->loop.ctx;
	ip = f->callback;
	GO();
op_EACH_NEXT:
	f++;
	if (!r[0])
		goto each_iteration;
	goto callback_done;
op_EXIT:
	if (f == frames)
		return r[0];
	memcpy(&r[6], f->saved, sizeof(f->saved));
	ip = f->ret;
	f--;
	r[NB_R10] = (uintptr_t)(f->stack + NB_STACK_SIZE);
	GO();
}

/* NOLINTEND(performance-no-int-to-ptr,readability-function-size) */

uint64_t nb_exec_interpret(const struct nb_exec *x, void *ctx, uint64_t ctx_size)
{
	return interpret(x, ctx, ctx_size, NULL, NULL);
}

uint64_t nb_exec_watch(const struct nb_exec *x, void *ctx, uint64_t ctx_size, nb_watch_fn *watch,
		       void *arg)
{
	return interpret(x, ctx, ctx_size, watch, arg);
}
