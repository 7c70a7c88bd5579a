// SPDX-License-Identifier: MIT
/*
 * What a policy includes, and all it needs: no libc and no kernel header.
 *
 *	#include "ncclbpf_policy.h"
 *
 *	SEC("tuner")
 *	int ring(struct ncclbpf_tuner *ctx)
 *	{
 *		ctx->algo = NCCL_ALGO_RING;
 *		return 0;
 *	}
 *
 *	clang -target bpf -O2 -g -mcpu=v3 $(pkg-config --cflags ncclbpf) \
 *		-c ring.bpf.c -o ring.bpf.o
 *
 * The tables that it is made of (core/defs/) are installed beside it, so one
 * -I for this file's folder finds them. docs/policies.md explains how to
 * write one, and docs/reference.md lists hooks, fields, maps and helpers.
 */
#ifndef NCCLBPF_POLICY_H
#define NCCLBPF_POLICY_H

/* ---- integers ---- */

typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;

#ifndef NULL
#define NULL ((void *)0)
#endif

/* ---- contexts and NCCL's numbers ---- */

#include "core/defs/ctx.h"

/* ---- programs and maps ---- */

/* The hook of a program: SEC("tuner"); of a map: SEC(".maps"). */
#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))

/* Fields of a map's definition, as elsewhere in the BPF world. */
#define __uint(name, val) int(*name)[val]
#define __type(name, val) __typeof__(val) *name
#define __array(name, val) __typeof__(val) *name[]

/*
 * After SEC(".maps"):
 * __coherent  programs only read it, it changes on all ranks at the same
 *             decision, so answers may depend on it
 * __replicated
 *             an array of which each communicator has its own contents, equal on
 *             all of its ranks: SEC("profiler/coll_api") programs write it,
 *             SEC("tuner") programs read it, and answers may depend on it
 * __shared    one map for all policies of the process that define it alike
 * __merged(sum), __merged(max), __merged(histogram)
 *             of a local map: SEC("controller") programs see that of all
 *             processes of the host together, merged 8 bytes of a value after
 *             the other; a histogram's buckets are summed
 * __host      an array with BPF_F_MMAPABLE | BPF_F_RDONLY_PROG whose memory the
 *             host provides (shell: map attach), zeroes until then; the first 8
 *             bytes of a value are the time of its last write
 *             (ncclbpf_host_age)
 */
#define __coherent __attribute__((btf_decl_tag("ncclbpf:coherent")))
#define __replicated __attribute__((btf_decl_tag("ncclbpf:replicated")))
#define __shared __attribute__((btf_decl_tag("ncclbpf:shared")))
#define __host __attribute__((btf_decl_tag("ncclbpf:host")))
#define __merged(how) __attribute__((btf_decl_tag("ncclbpf:" #how)))

enum ncclbpf_map_type {
#define MAPTYPE(name, id, word, ops, keys, traits, flags, doc) BPF_MAP_TYPE_##name = id,
#include "core/defs/maps.h"
};

/* Flags of a map and of bpf_map_update_elem, with Linux's values. */
enum {
	BPF_F_NO_PREALLOC = 0x1,
	BPF_F_NO_COMMON_LRU = 0x2,
	BPF_F_RDONLY_PROG = 0x80,
	BPF_F_WRONLY_PROG = 0x100,
	BPF_F_MMAPABLE = 0x400
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };

/* Flags of bpf_ringbuf_submit, _discard and _output, and of
 * bpf_ringbuf_query. */
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA, BPF_RB_RING_SIZE, BPF_RB_CONS_POS, BPF_RB_PROD_POS };

/* State of bpf_iter_num_new and its companions; see ncclbpf_for. */
struct bpf_iter_num {
	uint64_t opaque[1];
} __attribute__((aligned(8)));

/* ---- helpers: bpf_<name>, one for each row of core/defs/helpers.h ---- */

#define NB_RETURN_SCALAR long
#define NB_RETURN_VALUE_OR_NULL void *
#define NB_RETURN_VOID void
#define NB_RETURN_ELEM int *
#define NB_RETURN_SAMPLE_OR_NULL void *
#define NB_FIRST_NONE void
#define NB_FIRST_ANY uint64_t
#define NB_FIRST_MAP void *map
#define NB_FIRST_MEM const void *mem
#define NB_FIRST_CTX void *ctx
#define NB_FIRST_ITER0 struct bpf_iter_num *it
#define NB_FIRST_ITER struct bpf_iter_num *it
#define NB_FIRST_OUT void *out
#define NB_FIRST_SAMPLE void *sample
/* Optional arguments: the caller may omit them or pass anything. */
#define NB_THIRD_OPT , ...
#define NB_THIRD_NONE
#define NB_THIRD_ANY , uint64_t
#define NB_THIRD_CALLBACK_CTX , void *ctx
#define NB_THIRD_VALUE , const void *value
#define NB_THIRD_MEM , const void *mem
#define NB_THIRD_OUT , void *out
#define NB_THIRD_STR , const char *text
#define NB_THIRD_SIZE , uint32_t size
#define NB_THIRD_SIZE0 , uint32_t size
#define NB_THIRD_ALLOC , uint64_t size
#define NB_NEXT_NONE
#define NB_NEXT_OPT
#define NB_NEXT_ANY , uint64_t
#define NB_NEXT_MAP , void *map
#define NB_NEXT_FUNC , void *fn
#define NB_NEXT_KEY , const void *key
#define NB_NEXT_VALUE , const void *value
#define NB_NEXT_MEM , const void *mem
#define NB_NEXT_MEM0 , const void *mem
#define NB_NEXT_OUT , void *out
#define NB_NEXT_OUT8 , void *number
#define NB_NEXT_SIZE , uint32_t size
#define NB_NEXT_SIZE0 , uint32_t
#define NB_NEXT_ALLOC , uint64_t size

#define HELPER(id, name, ret, a1, a2, a3, a4, a5, maps, label, success, effect, cost, work, doc) \
	static NB_RETURN_##ret (*const bpf_##name)(                                              \
		NB_FIRST_##a1 NB_NEXT_##a2 NB_THIRD_##a3 NB_NEXT_##a4 NB_NEXT_##a5)              \
		__attribute__((unused)) = (NB_RETURN_##ret(*const)(                              \
			NB_FIRST_##a1 NB_NEXT_##a2 NB_THIRD_##a3 NB_NEXT_##a4 NB_NEXT_##a5))id;
#include "core/defs/helpers.h"

/*
 * bpf_printk(format, up to three numbers): a line in the policy's trace ring;
 * `trace tail` in the shell shows it. %d %u %x %p, with l or ll for 64 bits.
 */
#define NB_PRINTK(fmt, ...)                                              \
	({                                                               \
		static const char nb_fmt[] = fmt;                        \
                                                                         \
		bpf_trace_printk(nb_fmt, sizeof(nb_fmt), ##__VA_ARGS__); \
	})
#define NB_PRINTK0(fmt) NB_PRINTK(fmt)
#define NB_PRINTK1(fmt, a) NB_PRINTK(fmt, (uint64_t)(a))
#define NB_PRINTK2(fmt, a, b) NB_PRINTK(fmt, (uint64_t)(a), (uint64_t)(b))
#define NB_PRINTK3(fmt, a, b, c) NB_PRINTK(fmt, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c))
#define NB_PRINTK_PICK(a0, a1, a2, a3, name, ...) name
#define bpf_printk(...)                                                               \
	NB_PRINTK_PICK(__VA_ARGS__, NB_PRINTK3, NB_PRINTK2, NB_PRINTK1, NB_PRINTK0, ) \
	(__VA_ARGS__)

/*
 * ncclbpf_snprintf(text, size, format, up to 12 numbers): write the same
 * formats into memory. Returns the length with the NUL, even if only a part of
 * the text fits.
 */
#define ncclbpf_snprintf(text, size, fmt, ...)                      \
	({                                                          \
		static const char nb_fmt[] = fmt;                   \
		uint64_t nb_args[] = { 0, ##__VA_ARGS__ };          \
                                                                    \
		bpf_snprintf(text, size, nb_fmt, nb_args + 1,       \
			     sizeof(nb_args) - sizeof(nb_args[0])); \
	})

/* ---- loops with a bounded number of iterations ---- */

/*
 * ncclbpf_for(i, start, end) { ... } runs its body with i (an int declared
 * before) from start to end - 1, ncclbpf_repeat(n) { ... } n times; n may be
 * any number up to 2^23, known only at run time. break, continue and return
 * work as in other loops. The verifier walks the body only a few times,
 * whatever n is. It knows that i is between the bounds of start and end.
 */
static __always_inline void ncclbpf_iter_end(struct bpf_iter_num *it)
{
	bpf_iter_num_destroy(it);
}

/* *@i is set to the next number; returns 0 at the end. */
static __always_inline int ncclbpf_iter_step(struct bpf_iter_num *it, int *i)
{
	const int *next = bpf_iter_num_next(it);

	if (!next)
		return 0;
	*i = *next;
	return 1;
}

#define NB_GLUE_(a, b) a##b
#define NB_GLUE(a, b) NB_GLUE_(a, b)
#define NB_FOR(it, i, start, end)                                                      \
	for (struct bpf_iter_num it __attribute__((cleanup(ncclbpf_iter_end))),        \
	     *NB_GLUE(it, p) __attribute__((unused)) =                                 \
		     (bpf_iter_num_new(&it, (uint64_t)(start), (uint64_t)(end)), &it); \
	     ncclbpf_iter_step(&it, &(i));)
#define ncclbpf_for(i, start, end) NB_FOR(NB_GLUE(nb_iter_, __COUNTER__), i, start, end)
#define NB_REPEAT(n, id)                                                                   \
	for (int NB_GLUE(nb_i_, id) = 0, NB_GLUE(nb_once_, id) = 1; NB_GLUE(nb_once_, id); \
	     NB_GLUE(nb_once_, id) = 0)                                                    \
	NB_FOR(NB_GLUE(nb_iter_, id), NB_GLUE(nb_i_, id), 0, n)
#define ncclbpf_repeat(n) NB_REPEAT(n, __COUNTER__)

/* ---- what most tuner policies want ---- */

/* Does NCCL offer this combination for the current collective? */
static __always_inline int ncclbpf_usable(const struct ncclbpf_tuner *ctx, int algo, int proto)
{
	return ctx->usable >> (algo * NCCL_NUM_PROTOS + proto) & 1;
}

/* Ask for a combination if NCCL offers it; returns 1 if it does, else 0. */
static __always_inline int ncclbpf_choose(struct ncclbpf_tuner *ctx, int algo, int proto)
{
	if (!ncclbpf_usable(ctx, algo, proto))
		return 0;
	ctx->algo = algo;
	ctx->proto = proto;
	return 1;
}

/*
 * The size class of @bytes: its base-2 logarithm, rounded down; 0 for 0. The
 * steps are arithmetic, not branches, so that the verifier has one path; the
 * sign of limit - x tells whether x is above it, and the last & tells the
 * verifier that the answer is 63 at most. (__builtin_clzll would be
 * shorter, but clang 14 does not come to an end on it for this target.)
 */
static __always_inline uint32_t ncclbpf_log2(uint64_t bytes)
{
	uint64_t x = bytes, n, step;

	n = (0 - (x >> 32)) >> 63 << 5;
	x >>= n;
	step = (0xffff - x) >> 63 << 4;
	x >>= step;
	n += step;
	step = (0xff - x) >> 63 << 3;
	x >>= step;
	n += step;
	step = (0xf - x) >> 63 << 2;
	x >>= step;
	n += step;
	step = (0x3 - x) >> 63 << 1;
	x >>= step;
	return (uint32_t)(n + step + (x >> 1)) & 63;
}

/*
 * The base-2 logarithm of @x in units of 1/256; 0 for 0. Between two powers of
 * two it is a straight line, at most 23 units below the logarithm. The mean of
 * the logarithms of many times is a robust mean: one time that is 64 times as
 * long moves that of 50 times by an eighth of a doubling.
 */
static __always_inline uint64_t ncclbpf_log2_fine(uint64_t x)
{
	uint32_t n = ncclbpf_log2(x);

	return (uint64_t)n << 8 | (x << (63 - n) >> 55 & 255);
}

/*
 * Return NCCL's predicted time in ns of a combination for the current
 * collective. If NCCL does not offer it or its costs are not known, return
 * UINT64_MAX, which is larger than any time.
 */
static __always_inline uint64_t ncclbpf_cost(struct ncclbpf_tuner *ctx, int algo, int proto)
{
	return (uint64_t)bpf_nccl_cost(ctx, (uint64_t)algo, (uint64_t)proto);
}

/*
 * Return the NCCL_PROTO_* that costs least with @algo; NCCL_PROTO_UNDEF if
 * there is none.
 */
static __always_inline int ncclbpf_cheapest_proto(struct ncclbpf_tuner *ctx, int algo)
{
	return (int)bpf_nccl_cheapest_proto(ctx, (uint64_t)algo);
}

/*
 * Return the NCCL_ALGO_* that costs least with @proto (NCCL_PROTO_UNDEF: any
 * protocol); NCCL_ALGO_UNDEF if there is none.
 */
static __always_inline int ncclbpf_cheapest_algo(struct ncclbpf_tuner *ctx, int proto)
{
	return (int)bpf_nccl_cheapest_algo(ctx, (uint64_t)proto);
}

/*
 * Return the bytes that one rank contributes. ctx->bytes of AllGather and
 * ReduceScatter counts all ranks, so the result is a part of it; for other
 * collectives it is ctx->bytes.
 */
static __always_inline uint64_t ncclbpf_bytes_per_rank(const struct ncclbpf_tuner *ctx)
{
	if (ctx->coll != NCCL_COLL_ALL_GATHER && ctx->coll != NCCL_COLL_REDUCE_SCATTER)
		return ctx->bytes;
	return ctx->ranks ? ctx->bytes / ctx->ranks : ctx->bytes;
}

/*
 * A bit in the first 8 bytes of a __host map's value. A writer sets it before
 * it changes several fields, and stores the time without it afterwards.
 */
#define NCCLBPF_HOST_WRITING (1ull << 63)

/*
 * Return the nanoseconds since the last write to @value, a value of a __host
 * map. Returns UINT64_MAX if it was never written, if the map is not attached,
 * or if a writer is changing the value or died while it did.
 */
static __always_inline uint64_t ncclbpf_host_age(const void *value)
{
	uint64_t at = *(const volatile uint64_t *)value;
	uint64_t now = bpf_ktime_get_ns();

	if (!at || at & NCCLBPF_HOST_WRITING)
		return ~0ull;
	return now > at ? now - at : 0;
}

/*
 * For SEC("env"). ncclbpf_env_is(ctx, "NCCL_ALGO"): is this the variable?
 * ncclbpf_env_set(ctx, "Ring"): give NCCL this value. Both take a string
 * literal of at most 63 characters. ncclbpf_env_hide(ctx): tell NCCL that the
 * variable is not set.
 */
union ncclbpf_words {
	char text[64];
	__u64 word[8];
};
#define ncclbpf_env_is(ctx, literal)                                                          \
	({                                                                                    \
		const union ncclbpf_words nb_w = { literal };                                 \
		(ctx)->name.word[0] == nb_w.word[0] && (ctx)->name.word[1] == nb_w.word[1] && \
			(ctx)->name.word[2] == nb_w.word[2] &&                                \
			(ctx)->name.word[3] == nb_w.word[3] &&                                \
			(ctx)->name.word[4] == nb_w.word[4] &&                                \
			(ctx)->name.word[5] == nb_w.word[5] &&                                \
			(ctx)->name.word[6] == nb_w.word[6] &&                                \
			(ctx)->name.word[7] == nb_w.word[7];                                  \
	})
#define ncclbpf_env_set(ctx, literal)                         \
	do {                                                  \
		const union ncclbpf_words nb_w = { literal }; \
		(ctx)->answer0 = nb_w.word[0];                \
		(ctx)->answer1 = nb_w.word[1];                \
		(ctx)->answer2 = nb_w.word[2];                \
		(ctx)->answer3 = nb_w.word[3];                \
		(ctx)->answer4 = nb_w.word[4];                \
		(ctx)->answer5 = nb_w.word[5];                \
		(ctx)->answer6 = nb_w.word[6];                \
		(ctx)->answer7 = nb_w.word[7];                \
		(ctx)->answer = 1;                            \
	} while (0)
#define ncclbpf_env_hide(ctx) ((void)((ctx)->answer = 2))

#include "ncclbpf_math.h"

/* ---- values that are set when the policy is loaded, or later ---- */

/*
 * In front of a variable: like a __coherent map, programs only read it, and the shell changes it
 * on all ranks at the same decision (map set .data.coherent NAME=VALUE). It starts with the value
 * that the source gives it.
 *
 *	__coherent_data struct limits limits = { .small = KIB(32), .channels = 8 };
 */
#define __coherent_data volatile SEC(".data.coherent")

/*
 * NCCLBPF_PARAM(small, KIB(32), 0, GIB(1)): a constant int64_t small, which is 32 KiB unless the
 * policy is loaded with another value of the range, both ends included
 * (NCCLBPF_POLICY=PATH?small=64K). The verifier knows the value. All three numbers are whole
 * numbers, because a conversion would make 0 of 0.9.
 */
struct ncclbpf_param_range {
	int64_t preset, min, max;
};
#define NB_WHOLE(n) _Generic((n), float : 0, double : 0, long double : 0, default : 1)
#define NCCLBPF_PARAM(name, preset, min, max)                                                      \
	_Static_assert(NB_WHOLE(preset) && NB_WHOLE(min) && NB_WHOLE(max),                         \
		       "the default and the range of " #name " must be whole numbers");            \
	_Static_assert((int64_t)(min) <= (int64_t)(preset) && (int64_t)(preset) <= (int64_t)(max), \
		       "the default of " #name " is not in its range");                            \
	static const volatile int64_t name SEC(".rodata.params") = (int64_t)(preset);              \
	static const struct ncclbpf_param_range ncclbpf_param_##name SEC(                          \
		".rodata.params") = { (int64_t)(preset), (int64_t)(min), (int64_t)(max) }

#ifndef UINT64_MAX
#define UINT64_MAX __UINT64_MAX__
#endif

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)

#endif
