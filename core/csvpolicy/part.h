// SPDX-License-Identifier: MIT
#ifndef NB_CSVPOLICY_PART_H
#define NB_CSVPOLICY_PART_H

#include "core/csvpolicy/table.h"

/*
 * Types that the files of this folder share: the search tree that flat.c makes
 * of the rows, and that emit.c turns into a program.
 *
 * A node has 8 children: child c is for keys above last[0..c-1] and up to
 * last[c]. Its number is first + c. Numbers from nnodes on are answers.
 */
enum { NB_TABLE_KEYS = 7 };

struct nb_table_node {
	int64_t last[NB_TABLE_KEYS];
	uint64_t first;
};

/* The dimensions of the tree, from the root down. */
enum nb_table_dim {
	NB_TABLE_NODES,
	NB_TABLE_RANKS,
	NB_TABLE_PIPE_OPS,
	NB_TABLE_REG_BUFF,
	NB_TABLE_BYTES,
	NB_TABLE_NDIMS
};

/*
 * An answer, 64 bits: the entries of the cost table that it needs (21 bits,
 * or ALWAYS), channels (10), algo + 1 (3), proto + 1 (2), and the number in
 * alts of the next answer to try if NCCL offers none of these entries (0:
 * none).
 */
enum {
	NB_ANSWER_NEED = 42,
	NB_ANSWER_ALWAYS = 1 << 21,
	NB_ANSWER_CHANNELS = 32,
	NB_ANSWER_ALGO = 29,
	NB_ANSWER_PROTO = 27,
	NB_ANSWER_NEXT_BITS = 27
};

struct nb_table_tree {
	struct nb_table_node *nodes;
	/* @alts: answers to try in turn, each if NCCL does not offer the
	 * previous one. */
	uint64_t *answers, *alts;
	uint32_t nnodes, nanswers, nalts;
	uint32_t cap_nodes, cap_answers;
	/* Node of collective 0; the nodes of other collectives follow. */
	uint32_t root;
	/* Number of levels; for bytes the maximum. */
	uint32_t depth[NB_TABLE_NDIMS];
	uint32_t chain; /* Length of the longest list of answers to try. */
	uint64_t *won;	/* One bit for each row: the row wins somewhere. */
};

/*
 * Read a table's text like nb_table_parse, and go on after a fault as long as
 * the lines can be told apart. Returns the number of @faults, at most @most.
 */
uint32_t nb_table_read(struct nb_table *t, const char *text, size_t size,
		       struct nb_table_fault *faults, uint32_t most);

/* Build the tree; see flat.c. */
int nb_table_flatten(struct nb_table_tree *tree, const struct nb_table *t,
		     struct nb_err *err);
void nb_table_tree_fini(struct nb_table_tree *tree);

/* Return the entries of the cost table that an answer needs, in the form of
 * an answer; see sweep.c. */
uint32_t nb_table_need(int32_t algo, int32_t proto);

/* The numbers of a row other than sizes, see row.c. Each may also be -1. */
enum nb_table_field {
	NB_ROW_COLL,
	NB_ROW_ALGO,
	NB_ROW_PROTO,
	NB_ROW_CHANNELS,
	/* The fields from here on are in the order of enum nb_table_dim. */
	NB_ROW_DIMS,
	NB_ROW_NODES = NB_ROW_DIMS,
	NB_ROW_RANKS,
	NB_ROW_PIPE_OPS,
	NB_ROW_REG_BUFF,
	NB_ROW_NFIELDS
};

struct nb_table_field_spec {
	const char *name;
	uint32_t off; /* Offset in struct nb_table_row. */
	int32_t least, most;
	const char *allowed; /* The allowed values, as text for people. */
	/* NCCL's word for a number; NULL: a plain number. */
	const char *(*word)(int);
	/* The number of a word; -1 if there is no such word. */
	int (*number)(const char *);
};

extern const struct nb_table_field_spec nb_table_fields[NB_ROW_NFIELDS];

int32_t *nb_table_field(struct nb_table_row *r, enum nb_table_field f);
int32_t nb_table_value(const struct nb_table_row *r, enum nb_table_field f);

/* The section with the packed rows, which nb_table_of_image reads. */
#define NB_TABLE_ROWS ".rodata.rows"
void nb_table_pack(const struct nb_table *t, struct nb_buf *out);

#endif
