// SPDX-License-Identifier: MIT
#ifndef NB_CSVPOLICY_TABLE_H
#define NB_CSVPOLICY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/image/image.h"

/*
 * Decision tables in the form of NVIDIA's tuner files, compiled into a
 * policy image without a C compiler. A row has conditions and an answer.
 * The first row wins whose conditions hold and whose algorithm and protocol
 * NCCL offers at that decision; if no row does, NCCL decides.
 */
enum {
	NB_TABLE_MAX_ROWS = 20000,
	NB_TABLE_MAX_CHANNELS = 64, /* MAXCHANNELS of NCCL */
	/* Largest number of nodes, ranks or operations in a condition. */
	NB_TABLE_MAX_COUNT = 1 << 30,
	NB_TABLE_MAX_LINE = 1024,
	NB_TABLE_ANY = -1
};

/* All sizes from here on count as equal; as an upper bound this value means
 * none. */
#define NB_TABLE_MAX_BYTES INT64_MAX

struct nb_table_row {
	int64_t min, max; /* Bounds in bytes, both inclusive. */
	int32_t coll;	  /* NCCL_COLL_*, or NB_TABLE_ANY for all. */
	int32_t algo;	  /* NCCL_ALGO_*; -1 for no opinion. */
	int32_t proto;	  /* NCCL_PROTO_*; -1 for no opinion. */
	/* 1 to NB_TABLE_MAX_CHANNELS; -1 for NCCL's choice. */
	int32_t channels;
	/* Conditions, or NB_TABLE_ANY for no condition. */
	int32_t nodes, ranks, pipe_ops, reg_buff;
	uint32_t line; /* Line in the source, from 1; 0 if unknown. */
};

struct nb_table {
	struct nb_table_row *rows; /* Allocated by malloc. */
	uint32_t n, cap;
};

void nb_table_fini(struct nb_table *t);

/* The place of an error: line and column from 1 (line 0 for none), and the
 * name of the field or "". */
struct nb_table_where {
	uint32_t line, col;
	const char *field;
};

/*
 * nb_table_parse - read a table's text, with NVIDIA's columns or named ones
 * @t:     zeroes on entry; call nb_table_fini whatever the result
 * @where: filled on failure; may not be NULL
 *
 * docs/tables.md describes the format. All of the text is used or nothing: the
 * first error ends the reading. Returns 0, NB_E_FORMAT, NB_E_LIMIT or
 * NB_E_NOMEM. Pure.
 */
int nb_table_parse(struct nb_table *t, const char *text, size_t size,
		   struct nb_table_where *where, struct nb_err *err);

/* A fault of a table and its place. */
struct nb_table_fault {
	struct nb_table_where where;
	struct nb_err err;
};

/*
 * Write a table in NVIDIA's columns; nb_table_parse reads the same rows back.
 */
void nb_table_csv(const struct nb_table *t, struct nb_buf *out);

/*
 * nb_table_check_row - check that a row's values are allowed
 *
 * Returns 0, or NB_E_FORMAT with *@field, the name of the field.
 */
int nb_table_check_row(const struct nb_table_row *row, const char **field,
		       struct nb_err *err);

struct nb_table_opts {
	const char *name; /* The name of the policy. */
	/* File name for messages and source lines; "" if there is none. */
	const char *file;
	/* Accept rows that never win because of rows before them. */
	bool keep_hidden;
	/* Accept conditions on reg_buff, which differs between ranks: jobs
	 * that require coherence reject such a policy. */
	bool local;
};

/*
 * nb_table_image - compile a table
 * @out: gets the image's bytes; unchanged on failure
 *
 * The program finds its answer in a tree of nodes with 8 children each, so
 * that the work grows with the logarithm of the number of rows. The image also
 * contains the rows, for nb_table_of_image. Returns 0, NB_E_FORMAT (a hidden
 * row: @where), NB_E_ARG (the name), NB_E_LIMIT (rows that overlap in too many
 * ways) or NB_E_NOMEM.
 */
int nb_table_image(struct nb_buf *out, const struct nb_table *t,
		   const struct nb_table_opts *opts,
		   struct nb_table_where *where, struct nb_err *err);

/*
 * nb_table_faults - find the faults of a table that does not compile
 * @faults: gets at most @most of them, in the order of the lines: faults of
 *          the text, or if it has none, of rows that nb_table_image refuses
 *
 * Returns their number; 0 if the table compiles or memory is short.
 */
uint32_t nb_table_faults(const char *text, size_t size,
			 const struct nb_table_opts *opts,
			 struct nb_table_fault *faults, uint32_t most);

/*
 * nb_table_of_image - read the rows that an image was compiled from
 * @t: zeroes on entry; call nb_table_fini whatever the result
 *
 * Nothing in the image is trusted. Returns 0, NB_E_NOENT (the image is not
 * that of a table), NB_E_IMAGE or NB_E_NOMEM.
 */
int nb_table_of_image(struct nb_table *t, const struct nb_image *img,
		      struct nb_err *err);

#endif
