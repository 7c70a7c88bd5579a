// SPDX-License-Identifier: MIT
/*
 * The program of all decision tables (docs/tables.md). The Lua module contains
 * the compiled object, and core.table_image puts the search tree that
 * lua/ncclbpf/policy/table_tree.lua makes of a table's rows in place of .rodata.
 *
 * The verifier knows the numbers of the head, because they are constants at
 * known offsets. So it proves each access for the tree at hand, and does not
 * follow a condition that no row names.
 */
#include "ncclbpf_policy.h"

/* The conditions, in the order of their levels in the tree. */
enum { NODES, RANKS_PER_NODE, RANKS, PIPE_OPS, REG_BUFF, BYTES_PER_RANK, BYTES, CONDITIONS };

/* All sizes from here on count as equal. */
#define MAX_BYTES (~0ull >> 1)

/* .rodata begins with the head. The nodes, the answers and the alternatives
 * follow. */
struct head {
	uint32_t nodes, answers, alternatives; /* their numbers */
	/* Node of collective 0; the nodes of other collectives follow. */
	uint32_t root;
	uint32_t levels[CONDITIONS]; /* Of the last one: the maximum. */
	/* Length of the longest list of answers to try. */
	uint32_t chain;
	uint32_t chunks; /* Number of chunk sizes, which follow the alternatives. */
	uint32_t unused[3];
};

/*
 * Child c of a node is for values above last[0..c-1] and up to last[c]. Its
 * number is first + c. Numbers from head.nodes on are answers.
 */
struct node {
	uint64_t last[7];
	uint64_t first;
};

/*
 * An answer: the entries of the cost table that it needs (21 bits, or ALWAYS),
 * channels (10 bits), algo + 1 (3), proto + 1 (2), the number of the chunk size
 * + 1 (10), and the number of the alternative to try if NCCL offers none of
 * these entries (0: none). A part of 0 is no opinion.
 */
enum {
	NEED = 42,
	ALWAYS = 1 << 21,
	CHANNELS = 32,
	ALGO = 29,
	PROTO = 27,
	CHUNK = 17,
	ALTERNATIVE = (1 << CHUNK) - 1
};

const volatile struct head head SEC(".rodata") = { 0 };

/* The rows that the tree was made of, which no program reads. */
const volatile char rows SEC(".rodata.rows") = 0;

/* Return the address of byte @off behind the head. The compiler may not assume
 * that .rodata ends with the head. */
static __always_inline const void *behind_head(uint32_t off)
{
	const char *p = (const char *)&head;

	asm volatile("" : "+r"(p));
	return p + sizeof(head) + off;
}

/* Return 1 if @v is above @last, else 0. Both are below 2^63. A subtraction
 * instead of a comparison, because a processor cannot predict the order of
 * sizes. */
static __always_inline uint64_t above(uint64_t v, uint64_t last)
{
	return (last - v) >> 63;
}

/* Descend the levels of a condition with value @v from node @at. */
static __always_inline uint64_t descend(uint64_t at, uint64_t v, int condition)
{
	uint32_t levels = head.levels[condition], nodes = head.nodes;

	for (uint32_t i = 0; i < levels && at < nodes; i++) {
		const struct node *n = (const struct node *)behind_head(0) + at;
		const uint64_t *last = n->last;

		at = n->first + (above(v, last[0]) + above(v, last[1])) +
		     (above(v, last[2]) + above(v, last[3])) +
		     (above(v, last[4]) + above(v, last[5])) + above(v, last[6]);
	}
	return at;
}

SEC("tuner")
int table(struct ncclbpf_tuner *ctx)
{
	uint64_t at = ctx->coll, bytes = ctx->bytes;
	uint32_t nodes = head.nodes, alternatives = head.alternatives;
	uint64_t usable = ctx->usable | ALWAYS;
	const uint64_t *words;
	uint64_t word;

	if (at >= NCCL_NUM_COLLS)
		return 0;
	if (bytes > MAX_BYTES)
		bytes = MAX_BYTES;
	at = descend(at + head.root, ctx->nodes, NODES);
	/* BPF divides by 0 with the result 0. */
	if (head.levels[RANKS_PER_NODE])
		at = descend(at, ctx->ranks / ctx->nodes, RANKS_PER_NODE);
	at = descend(at, ctx->ranks, RANKS);
	at = descend(at, ctx->pipe_ops, PIPE_OPS);
	at = descend(at, ctx->reg_buff, REG_BUFF);
	if (head.levels[BYTES_PER_RANK])
		at = descend(at, bytes / ctx->ranks, BYTES_PER_RANK);
	at = descend(at, bytes, BYTES) - nodes;
	if (at >= head.answers)
		return 0;
	words = behind_head(nodes * sizeof(struct node));
	word = words[at];
	words += head.answers;
	for (uint32_t i = 1; !(word >> NEED & usable); i++) {
		word &= ALTERNATIVE;
		if (!word || word >= alternatives || i >= head.chain)
			return 0;
		word = words[word];
	}
	if (word >> ALGO & 7)
		ctx->algo = (int)(word >> ALGO & 7) - 1;
	if (word >> PROTO & 3)
		ctx->proto = (int)(word >> PROTO & 3) - 1;
	if (word >> CHANNELS & 0x3ff)
		ctx->channels = word >> CHANNELS & 0x3ff;
	at = (word >> CHUNK & 0x3ff) - 1;
	if (at < head.chunks)
		ctx->chunk_size = words[alternatives + at];
	return 0;
}
