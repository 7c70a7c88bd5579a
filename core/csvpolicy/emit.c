// SPDX-License-Identifier: MIT
/*
 * Create a policy image from a search tree: a program without loops that
 * walks the tree, and a read-only section with the tree and its answers.
 * Each level compares the key with seven numbers without a branch, because
 * a processor cannot predict the order of sizes. The only branch of a level
 * checks the number of the next node and nearly always goes the same way.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/csvpolicy/part.h"
#include "core/defs/ctx.h"

enum { MAX_INSNS = 4096, NODE_SHIFT = 6, ANSWER_SHIFT = 3, MAX_JUMPS = 256 };
_Static_assert(sizeof(struct nb_table_node) == 1 << NODE_SHIFT,
	       "a node's size");

/* The use of registers; R0 and R4 to R8 are scratch. */
enum { R0, R_KEY, R_NODE, R_AT, R4, R5, R6, R7, R8, R_CTX };

/* Targets of forward jumps */
enum label { L_ANSWER, L_TAKE, L_OUT, NLABELS };

struct emit {
	struct nb_insn insns[MAX_INSNS];
	struct nb_slot slots[MAX_INSNS];
	uint32_t n;
	struct {
		uint32_t pc;
		enum label to;
	} jumps[MAX_JUMPS];
	uint32_t njumps;
	uint32_t label[NLABELS];
	const struct nb_table_tree *tree;
};

#define CTX(field) ((int32_t)offsetof(struct ncclbpf_tuner, field))

static void emit_insn(struct emit *e, enum nb_op op, int dst, int src,
		      int32_t off, int64_t imm)
{
	/* nb_encode takes the other fields from the table row of @op. */
	if (e->n < MAX_INSNS)
		e->insns[e->n++] = (struct nb_insn){ .op = (uint16_t)op,
						     .dst = (uint8_t)dst,
						     .src = (uint8_t)src,
						     .off = off,
						     .imm = imm };
}

static void emit_alu(struct emit *e, enum nb_op op, int dst, int64_t imm)
{
	emit_insn(e, op, dst, 0, 0, imm);
}

static void emit_alux(struct emit *e, enum nb_op op, int dst, int src)
{
	emit_insn(e, op, dst, src, 0, 0);
}

/* @dst += @src */
static void emit_add(struct emit *e, int dst, int src)
{
	emit_alux(e, NB_OP_ADD64_X, dst, src);
}

static void emit_load(struct emit *e, enum nb_op op, int dst, int src,
		      int32_t off)
{
	emit_insn(e, op, dst, src, off, 0);
}

static void emit_jump(struct emit *e, enum nb_op op, int dst, int64_t imm,
		      enum label to)
{
	if (e->njumps < MAX_JUMPS) {
		e->jumps[e->njumps].pc = e->n;
		e->jumps[e->njumps++].to = to;
	}
	emit_insn(e, op, dst, 0, 0, imm);
}

static void place_label(struct emit *e, enum label l)
{
	e->label[l] = e->n;
}

static void emit_lddw(struct emit *e, enum nb_op op, int dst, int64_t imm)
{
	emit_insn(e, op, dst, 0, 0, imm);
	emit_insn(e, NB_OP_LDDW_HI, 0, 0, 0, 0);
}

/* Emit R_AT = address of element @index of 1 << @shift bytes, in the array
 * at @off. */
static void emit_element(struct emit *e, int index, int shift, uint32_t off)
{
	emit_alu(e, NB_OP_LSH64_K, index, shift);
	emit_lddw(e, NB_OP_LDDW_MAP_VALUE, R_AT,
		  (int64_t)((uint64_t)off << 32));
	emit_add(e, R_AT, index);
}

/* Emit @reg = 1 if the key is above number @i of the node, else 0. */
static void emit_compare(struct emit *e, int reg, int i)
{
	emit_load(e, NB_OP_LDX64, reg, R_AT, 8 * i);
	emit_alux(e, NB_OP_SUB64_X, reg, R_KEY);
	emit_alu(e, NB_OP_RSH64_K, reg, 63);
}

/* Emit the step from a node to its child. Key and numbers are below 2^63,
 * so their difference does not overflow. */
static void emit_level(struct emit *e, enum label beyond)
{
	emit_element(e, R_NODE, NODE_SHIFT, 0);
	emit_load(e, NB_OP_LDX64, R_NODE, R_AT, 8 * NB_TABLE_KEYS);
	emit_compare(e, R0, 0);
	emit_compare(e, R4, 1);
	emit_compare(e, R5, 2);
	emit_compare(e, R6, 3);
	emit_compare(e, R7, 4);
	emit_compare(e, R8, 5);
	emit_add(e, R0, R4);
	emit_add(e, R5, R6);
	emit_compare(e, R4, 6);
	emit_add(e, R7, R8);
	emit_add(e, R_NODE, R4);
	emit_add(e, R0, R5);
	emit_add(e, R_NODE, R7);
	emit_add(e, R_NODE, R0);
	emit_jump(e, NB_OP_JGE64_K, R_NODE, e->tree->nnodes, beyond);
}

static void emit_walk(struct emit *e)
{
	static const int32_t at[] = { CTX(nodes), CTX(ranks), CTX(pipe_ops),
				      CTX(reg_buff) };
	const struct nb_table_tree *tree = e->tree;

	emit_alux(e, NB_OP_MOV64_X, R_CTX, 1);
	emit_load(e, NB_OP_LDX32, R_NODE, R_CTX, CTX(coll));
	emit_jump(e, NB_OP_JGE64_K, R_NODE, NCCL_NUM_COLLS, L_OUT);
	emit_alu(e, NB_OP_ADD64_K, R_NODE, tree->root);
	for (int dim = 0; dim < NB_TABLE_BYTES; dim++) {
		if (tree->depth[dim])
			emit_load(e, NB_OP_LDX32, R_KEY, R_CTX, at[dim]);
		for (uint32_t d = 0; d < tree->depth[dim]; d++)
			emit_level(e, L_OUT);
	}
	emit_load(e, NB_OP_LDX64, R_KEY, R_CTX, CTX(bytes));
	emit_insn(e, NB_OP_JSGE64_K, R_KEY, 0, 2, 0);
	emit_lddw(e, NB_OP_LDDW_IMM, R_KEY, NB_TABLE_MAX_BYTES);
	for (uint32_t d = 0; d < tree->depth[NB_TABLE_BYTES]; d++)
		emit_level(e, L_ANSWER);
}

/* Emit R6 = (answer >> @shift) & @mask. */
static void emit_part(struct emit *e, int shift, int64_t mask)
{
	emit_alux(e, NB_OP_MOV64_X, R6, R4);
	emit_alu(e, NB_OP_RSH64_K, R6, shift);
	emit_alu(e, NB_OP_AND64_K, R6, mask);
}

/* Emit a store of a part of the answer in the context; a part of 0 stores
 * nothing. */
static void emit_output(struct emit *e, int shift, int64_t mask, int32_t off,
			int64_t minus)
{
	emit_part(e, shift, mask);
	emit_insn(e, NB_OP_JEQ64_K, R6, 0, minus ? 2 : 1, 0);
	if (minus)
		emit_alu(e, NB_OP_ADD64_K, R6, -minus);
	emit_insn(e, NB_OP_STX32, R_CTX, R6, off, 0);
}

static void emit_answer(struct emit *e)
{
	const struct nb_table_tree *tree = e->tree;
	uint32_t at = tree->nnodes << NODE_SHIFT;

	place_label(e, L_ANSWER);
	emit_alu(e, NB_OP_SUB64_K, R_NODE, tree->nnodes);
	emit_jump(e, NB_OP_JGE64_K, R_NODE, tree->nanswers, L_OUT);
	emit_element(e, R_NODE, ANSWER_SHIFT, at);
	emit_load(e, NB_OP_LDX64, R4, R_AT, 0);
	emit_load(e, NB_OP_LDX32, R5, R_CTX, CTX(usable));
	emit_alu(e, NB_OP_OR64_K, R5, NB_ANSWER_ALWAYS);
	at += tree->nanswers << ANSWER_SHIFT;
	for (uint32_t i = 0;; i++) {
		emit_alux(e, NB_OP_MOV64_X, R6, R4);
		emit_alu(e, NB_OP_RSH64_K, R6, NB_ANSWER_NEED);
		emit_alux(e, NB_OP_AND64_X, R6, R5);
		emit_jump(e, NB_OP_JNE64_K, R6, 0, L_TAKE);
		if (i + 1 >= tree->chain)
			break;
		emit_alu(e, NB_OP_AND64_K, R4, (1 << NB_ANSWER_NEXT_BITS) - 1);
		emit_jump(e, NB_OP_JEQ64_K, R4, 0, L_OUT);
		emit_jump(e, NB_OP_JGE64_K, R4, tree->nalts, L_OUT);
		emit_element(e, R4, ANSWER_SHIFT, at);
		emit_load(e, NB_OP_LDX64, R4, R_AT, 0);
	}
	place_label(e, L_OUT);
	emit_alu(e, NB_OP_MOV64_K, R0, 0);
	emit_insn(e, NB_OP_EXIT, 0, 0, 0, 0);
	place_label(e, L_TAKE);
	emit_output(e, NB_ANSWER_ALGO, 7, CTX(algo), 1);
	emit_output(e, NB_ANSWER_PROTO, 3, CTX(proto), 1);
	emit_output(e, NB_ANSWER_CHANNELS, 0x3ff, CTX(channels), 0);
	emit_alu(e, NB_OP_MOV64_K, R0, 0);
	emit_insn(e, NB_OP_EXIT, 0, 0, 0, 0);
}

static int make_code(struct emit *e, struct nb_err *err)
{
	emit_walk(e);
	emit_answer(e);
	if (e->n == MAX_INSNS || e->njumps == MAX_JUMPS)
		return nb_fail(
			err, NB_E_BUG, 0,
			"table: the program would have more than %d instructions",
			MAX_INSNS);
	for (uint32_t i = 0; i < e->njumps; i++)
		e->insns[e->jumps[i].pc].off =
			(int32_t)(e->label[e->jumps[i].to] - e->jumps[i].pc -
				  1);
	return nb_encode(e->slots, e->insns, e->n, err);
}

static struct nb_map_spec data_section(const char *name,
				       const struct nb_buf *data)
{
	return (struct nb_map_spec){
		.name = name,
		.type = NB_MAP_ARRAY,
		.key_size = 4,
		.value_size = (uint32_t)data->size,
		.max_entries = 1,
		.flags = NB_F_RDONLY_PROG,
		.origin = NB_ORIGIN_RODATA,
		.init = (const unsigned char *)data->data,
	};
}

/* List the context's fields that this build has, for the image. */
static uint32_t context_fields(struct nb_ctx_field *out, uint32_t max)
{
	const struct nb_hook_spec *h = nb_spec_hook(NB_HOOK_TUNER);
	uint32_t n = 0;

	for (; n < h->nfields && n < max; n++)
		out[n] = (struct nb_ctx_field){
			.hook = NB_HOOK_TUNER,
			.name = h->fields[n].name,
			.off = h->fields[n].off,
			.size = h->fields[n].size,
		};
	return n;
}

static int write_image(struct nb_buf *out, const struct emit *e,
		       const struct nb_table *t, const struct nb_buf *data,
		       const struct nb_buf *rows,
		       const struct nb_table_opts *opts, struct nb_err *err)
{
	char text[64];
	struct nb_line line = { 0, t->rows[0].line, 0, opts->file, text };
	struct nb_func func = { .name = "table",
				.end = e->n,
				.linkage = NB_FUNC_GLOBAL };
	struct nb_prog prog = { .name = "table",
				.section = "tuner",
				.hook = NB_HOOK_TUNER,
				.slots = e->slots,
				.nslots = e->n,
				.funcs = &func,
				.nfuncs = 1,
				.lines = &line,
				.nlines = 1 };
	struct nb_map_spec maps[] = { data_section(".rodata", data),
				      data_section(NB_TABLE_ROWS, rows) };
	struct nb_ctx_field fields[64];
	struct nb_image img = { .name = opts->name,
				.maps = maps,
				.nmaps = 2,
				.progs = &prog,
				.nprogs = 1,
				.ctx_fields = fields,
				.nctx_fields = context_fields(fields, 64) };

	snprintf(text, sizeof(text), "a table of %u row%s", t->n,
		 t->n == 1 ? "" : "s");
	return nb_image_write(out, &img, err);
}

static int make_image(struct nb_buf *out, const struct nb_table *t,
		      const struct nb_table_tree *tree,
		      const struct nb_table_opts *opts, struct nb_err *err)
{
	struct emit *e = calloc(1, sizeof(*e));
	struct nb_buf data, rows;
	int rc = e ? 0 : NB_E_NOMEM;

	nb_buf_init(&data, NB_IMAGE_MAX_DATA);
	nb_buf_init(&rows, NB_IMAGE_MAX_DATA);
	nb_buf_bytes(&data, tree->nodes, tree->nnodes * sizeof(*tree->nodes));
	nb_buf_bytes(&data, tree->answers,
		     tree->nanswers * sizeof(*tree->answers));
	nb_buf_bytes(&data, tree->alts, tree->nalts * sizeof(*tree->alts));
	nb_table_pack(t, &rows);
	if (rc || !nb_buf_ok(&data) || !nb_buf_ok(&rows)) {
		rc = nb_fail(err, NB_E_NOMEM, 0, "table: out of memory");
		goto out;
	}
	e->tree = tree;
	rc = make_code(e, err);
	if (!rc)
		rc = write_image(out, e, t, &data, &rows, opts, err);
out:
	nb_buf_fini(&data);
	nb_buf_fini(&rows);
	free(e);
	return rc;
}

/*
 * Does @a match wherever @b matches, and does it need only cost-table entries
 * that @b needs too?
 */
static bool row_covers(const struct nb_table_row *a,
		       const struct nb_table_row *b)
{
	uint32_t need = nb_table_need(a->algo, a->proto);

	if (a->coll != NB_TABLE_ANY && a->coll != b->coll)
		return false;
	for (unsigned f = NB_ROW_DIMS; f < NB_ROW_NFIELDS; f++)
		if (nb_table_value(a, f) != NB_TABLE_ANY &&
		    nb_table_value(a, f) != nb_table_value(b, f))
			return false;
	return a->min <= b->min && a->max >= b->max &&
	       (need == NB_ANSWER_ALWAYS ||
		!(nb_table_need(b->algo, b->proto) & ~need));
}

static void hidden_row(const struct nb_table *t, uint32_t i,
		       struct nb_table_where *where, struct nb_err *err)
{
	uint32_t by = 0;

	*where = (struct nb_table_where){ t->rows[i].line, 1, "" };
	while (by < i && !row_covers(&t->rows[by], &t->rows[i]))
		by++;
	if (by < i && t->rows[by].line)
		nb_fail(err, NB_E_FORMAT, 0,
			"this row never wins: line %u always matches first",
			t->rows[by].line);
	else
		nb_fail(err, NB_E_FORMAT, 0,
			"this row never wins: earlier rows always match first");
	nb_hint(err,
		"the first matching row wins: put the narrower row first, or remove this row");
}

/* Return the faults of rows that never win. */
static uint32_t check_rows(const struct nb_table *t,
			   const struct nb_table_tree *tree,
			   const struct nb_table_opts *opts,
			   struct nb_table_fault *faults, uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n && n < most && !opts->keep_hidden; i++)
		if (!(tree->won[i / 64] >> i % 64 & 1)) {
			hidden_row(t, i, &faults[n].where, &faults[n].err);
			n++;
		}
	return n;
}

/* Return the faults of rows whose conditions differ between ranks. */
static uint32_t check_local(const struct nb_table *t,
			    const struct nb_table_opts *opts,
			    struct nb_table_fault *faults, uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n && n < most; i++) {
		struct nb_table_fault *f = &faults[n];

		if (opts->local || t->rows[i].reg_buff == NB_TABLE_ANY)
			continue;
		f->where = (struct nb_table_where){ t->rows[i].line, 0,
						    "reg_buff" };
		nb_fail(&f->err, NB_E_FORMAT, 0,
			"reg_buff %d: "
			"buffers may be registered on one rank and not on another; -1 expected",
			t->rows[i].reg_buff);
		nb_hint(&f->err,
			"policy build FILE coherence=off compiles such a table, "
			"for jobs that run with NCCLBPF_COHERENCE=off");
		n++;
	}
	return n;
}

static int first_fault(const struct nb_table_fault *f,
		       struct nb_table_where *where, struct nb_err *err)
{
	*where = f->where;
	if (err)
		*err = f->err;
	return f->err.code;
}

int nb_table_image(struct nb_buf *out, const struct nb_table *t,
		   const struct nb_table_opts *opts,
		   struct nb_table_where *where, struct nb_err *err)
{
	struct nb_table_tree tree;
	struct nb_table_fault f;
	int rc;

	*where = (struct nb_table_where){ 0, 0, "" };
	if (!t->n)
		return nb_fail(err, NB_E_FORMAT, 0, "a table without rows");
	if (check_local(t, opts, &f, 1))
		return first_fault(&f, where, err);
	rc = nb_table_flatten(&tree, t, err);
	if (rc)
		return rc;
	if (check_rows(t, &tree, opts, &f, 1))
		rc = first_fault(&f, where, err);
	else
		rc = make_image(out, t, &tree, opts, err);
	nb_table_tree_fini(&tree);
	return rc;
}

uint32_t nb_table_faults(const char *text, size_t size,
			 const struct nb_table_opts *opts,
			 struct nb_table_fault *faults, uint32_t most)
{
	struct nb_table t = { 0 };
	struct nb_table_tree tree;
	uint32_t n = nb_table_read(&t, text, size, faults, most);

	if (!n)
		n = check_local(&t, opts, faults, most);
	if (!n && !nb_table_flatten(&tree, &t, NULL)) {
		n = check_rows(&t, &tree, opts, faults, most);
		nb_table_tree_fini(&tree);
	}
	nb_table_fini(&t);
	return n;
}
