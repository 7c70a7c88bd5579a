// SPDX-License-Identifier: MIT
#ifndef NB_CSVPOLICY_PART_H
#define NB_CSVPOLICY_PART_H

#include "core/csvpolicy/table.h"

/*
 * Between the files of this folder: the search tree that flat.c makes of the
 * rows and emit.c makes a program of.
 *
 * A node has 8 children: child c is the one for keys above last[0..c-1] and up
 * to last[c]. Its number is first + c. Numbers from nnodes on are answers.
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
 * An answer, 64 bits: the entries of the cost table that it needs (21 bits, or
 * ALWAYS), channels (10), algo + 1 (3), proto + 1 (2), and the number in alts
 * of the next answer to try if NCCL offers none of these entries (0: none).
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
	uint64_t *answers, *alts; /* alts: answers that follow others */
	uint32_t nnodes, nanswers, nalts;
	uint32_t cap_nodes, cap_answers;
	uint32_t root; /* node of collective 0; those of the others follow */
	uint32_t depth[NB_TABLE_NDIMS]; /* levels; for bytes the maximum */
	uint32_t chain; /* length of the longest list of answers to try */
	uint64_t *won;	/* one bit for each row: it wins somewhere */
};

/* flat.c */
int nb_table_flatten(struct nb_table_tree *tree, const struct nb_table *t,
		     struct nb_err *err);
void nb_table_tree_fini(struct nb_table_tree *tree);

/* sweep.c: entries of the cost table that an answer needs, as in the answer. */
uint32_t nb_table_need(int32_t algo, int32_t proto);

/* row.c: the numbers of a row other than sizes. Each may also be -1. */
enum nb_table_field {
	NB_ROW_COLL,
	NB_ROW_ALGO,
	NB_ROW_PROTO,
	NB_ROW_CHANNELS,
	NB_ROW_DIMS, /* from here on: enum nb_table_dim */
	NB_ROW_NODES = NB_ROW_DIMS,
	NB_ROW_RANKS,
	NB_ROW_PIPE_OPS,
	NB_ROW_REG_BUFF,
	NB_ROW_NFIELDS
};

struct nb_table_field_spec {
	const char *name;
	uint32_t off; /* in struct nb_table_row */
	int32_t least, most;
	const char *allowed;	     /* for people */
	const char *(*word)(int);    /* NCCL's word; NULL: a plain number */
	int (*number)(const char *); /* of a word; -1: none such */
};

extern const struct nb_table_field_spec nb_table_fields[NB_ROW_NFIELDS];

int32_t *nb_table_field(struct nb_table_row *r, enum nb_table_field f);
int32_t nb_table_value(const struct nb_table_row *r, enum nb_table_field f);

/* The section with the packed rows; nb_table_of_image reads it. */
#define NB_TABLE_ROWS ".rodata.rows"
void nb_table_pack(const struct nb_table *t, struct nb_buf *out);

#endif
