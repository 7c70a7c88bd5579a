// SPDX-License-Identifier: MIT
/*
 * Build a search tree of rows, one dimension after the other. In a
 * dimension, the values that rows name split the range into segments; a
 * segment has the rows that match there. Equal sets of rows are built once.
 * The last dimension is bytes (sweep.c) and ends in answers. Dimensions
 * that no row names have no level; the others have the same number of
 * levels on each path.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/csvpolicy/part.h"
#include "core/csvpolicy/sweep.h"
#include "core/defs/ctx.h"

enum {
	FANOUT = NB_TABLE_KEYS + 1,
	/* Limit of the rows visited in all sets together. */
	MAX_WORK = 32 << 20,
	MEMO_SLOTS = 4096
};

/* Limit of the tree in bytes. The tree has to fit into a data section. */
#define MAX_TREE (NB_IMAGE_MAX_DATA - 4096)

/* Flag in node->first: the other bits are the number of an answer. */
static const uint64_t leaf = UINT64_C(1) << 63;

struct set {
	const uint32_t *rows;
	uint32_t n;
};

struct memo {
	struct memo *next;
	struct set set;
	uint32_t dim;
	struct nb_table_node node;
};

struct build {
	struct nb_table_tree *tree;
	const struct nb_table *t;
	struct nb_table_sweep sweep;
	struct nb_arena arena;
	struct memo *memo[MEMO_SLOTS];
	uint64_t work;
	struct nb_err *err;
};

/* A node of the tree that has no number yet, and the largest key below this
 * node. */
struct segment {
	int64_t last;
	struct nb_table_node node;
};

static int too_large(struct build *b)
{
	nb_fail(b->err, NB_E_LIMIT, 0,
		"the rows overlap in too many ways: the search tree is over %d KiB",
		NB_IMAGE_MAX_DATA >> 10);
	nb_hint(b->err,
		"set nodes, ranks and similar conditions in all rows or in none, "
		"or make several tables");
	return NB_E_LIMIT;
}

static int32_t row_value(const struct nb_table_row *r, uint32_t dim)
{
	return nb_table_value(r, NB_ROW_DIMS + dim);
}

static size_t tree_size(const struct nb_table_tree *tree)
{
	return tree->nnodes * sizeof(*tree->nodes) +
	       tree->nanswers * sizeof(*tree->answers);
}

/* Append @n nodes; *@at gets the number of the first one. */
static int add_nodes(struct build *b, const struct segment *s, uint32_t n,
		     uint64_t *at)
{
	struct nb_table_tree *tree = b->tree;
	struct nb_table_node *p;
	uint32_t cap = tree->cap_nodes ? tree->cap_nodes * 2 : 256;

	if (tree->cap_nodes - tree->nnodes < n) {
		p = reallocarray(tree->nodes, cap, sizeof(*p));
		if (!p)
			return nb_table_nomem(b->err);
		tree->nodes = p;
		tree->cap_nodes = cap;
	}
	*at = tree->nnodes;
	for (uint32_t i = 0; i < n; i++)
		tree->nodes[tree->nnodes++] = s[i].node;
	return tree_size(tree) > MAX_TREE ? too_large(b) : 0;
}

static int add_answers(struct build *b, const struct nb_table_interval *in,
		       uint32_t n, uint64_t *at)
{
	struct nb_table_tree *tree = b->tree;
	uint32_t cap = tree->cap_answers ? tree->cap_answers * 2 : 256;
	uint64_t *p;

	if (tree->cap_answers - tree->nanswers < n) {
		p = reallocarray(tree->answers, cap, sizeof(*p));
		if (!p)
			return nb_table_nomem(b->err);
		tree->answers = p;
		tree->cap_answers = cap;
	}
	*at = tree->nanswers | leaf;
	for (uint32_t i = 0; i < n; i++)
		tree->answers[tree->nanswers++] = in[i].word;
	return tree_size(tree) > MAX_TREE ? too_large(b) : 0;
}

/* Set key @i of a node with @n children to @last. */
static void set_keys(struct nb_table_node *node, uint32_t i, uint32_t n,
		     int64_t last)
{
	if (i < NB_TABLE_KEYS)
		node->last[i] = i + 1 == n ? NB_TABLE_MAX_BYTES : last;
}

static struct nb_table_node no_keys(void)
{
	struct nb_table_node node = { .first = 0 };

	for (int i = 0; i < NB_TABLE_KEYS; i++)
		node.last[i] = NB_TABLE_MAX_BYTES;
	return node;
}

/* Replace each group of eight nodes of @s by a node above them. */
static int raise_level(struct build *b, struct segment *s, uint32_t *n)
{
	uint32_t up = 0;

	for (uint32_t i = 0; i < *n; up++) {
		uint32_t k = *n - i < FANOUT ? *n - i : FANOUT;
		struct nb_table_node node = no_keys();
		int rc = add_nodes(b, s + i, k, &node.first);

		if (rc)
			return rc;
		for (uint32_t c = 0; c < k; c++)
			set_keys(&node, c, k, s[i + c].last);
		s[up] = (struct segment){ s[i + k - 1].last, node };
		i += k;
	}
	*n = up;
	return 0;
}

static int build_bytes(struct build *b, struct set set,
		       struct nb_table_node *node)
{
	struct nb_table_sweep *w = &b->sweep;
	struct segment *s;
	uint32_t n = 0, depth = 1;
	int rc = nb_table_sweep_run(w, set.rows, set.n, b->err);

	if (rc)
		return rc;
	s = calloc(w->nout / FANOUT + 1, sizeof(*s));
	if (!s)
		return nb_table_nomem(b->err);
	for (uint32_t i = 0; !rc && i < w->nout; n++) {
		uint32_t k = w->nout - i < FANOUT ? w->nout - i : FANOUT;

		s[n].node = no_keys();
		rc = add_answers(b, w->out + i, k, &s[n].node.first);
		for (uint32_t c = 0; c < k; c++)
			set_keys(&s[n].node, c, k, w->out[i + c].last);
		s[n].last = w->out[i + k - 1].last;
		i += k;
	}
	for (; !rc && n > 1; depth++)
		rc = raise_level(b, s, &n);
	if (depth > b->tree->depth[NB_TABLE_BYTES])
		b->tree->depth[NB_TABLE_BYTES] = depth;
	*node = s[0].node;
	free(s);
	return rc;
}

static int build_set(struct build *b, uint32_t dim, struct set set,
		     struct nb_table_node *node);

static int by_value(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* Store the values that rows of @set name, ascending and unique. */
static uint32_t set_values(struct build *b, uint32_t dim, struct set set,
			   int32_t *v)
{
	uint32_t n = 0, kept = 0;

	for (uint32_t i = 0; i < set.n; i++) {
		v[n] = row_value(&b->t->rows[set.rows[i]], dim);
		n += v[n] != NB_TABLE_ANY;
	}
	qsort(v, n, sizeof(*v), by_value);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || v[kept - 1] != v[i])
			v[kept++] = v[i];
	return kept;
}

/* Return the rows of @set that match @value. With NB_TABLE_ANY, return
 * those that match values which no row names. */
static struct set set_matching(struct build *b, uint32_t dim, struct set set,
			       int32_t value)
{
	uint32_t *rows =
		nb_arena_array(&b->arena, (size_t)set.n + 1, sizeof(*rows));
	uint32_t n = 0;

	for (uint32_t i = 0; rows && i < set.n; i++) {
		int32_t v = row_value(&b->t->rows[set.rows[i]], dim);

		if (v == NB_TABLE_ANY || v == value)
			rows[n++] = set.rows[i];
	}
	b->work += set.n;
	return (struct set){ rows, n };
}

static int add_segment(struct build *b, uint32_t dim, struct set set,
		       int64_t last, struct segment *s)
{
	if (!set.rows)
		return b->arena.at_limit ? too_large(b)
					 : nb_table_nomem(b->err);
	s->last = last;
	return build_set(b, dim + 1, set, &s->node);
}

/* Build a segment for each value, and for each range between values. */
static int add_segments(struct build *b, uint32_t dim, struct set set,
			const int32_t *v, uint32_t nv, struct segment *s,
			uint32_t *n)
{
	struct set others = set_matching(b, dim, set, NB_TABLE_ANY);
	int64_t from = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < nv; i++) {
		if (from < v[i])
			rc = add_segment(b, dim, others, v[i] - 1, &s[(*n)++]);
		if (!rc)
			rc = add_segment(b, dim,
					 set_matching(b, dim, set, v[i]), v[i],
					 &s[(*n)++]);
		from = (int64_t)v[i] + 1;
	}
	return rc ? rc
		  : add_segment(b, dim, others, NB_TABLE_MAX_BYTES, &s[(*n)++]);
}

static int build_dim(struct build *b, uint32_t dim, struct set set,
		     struct nb_table_node *node)
{
	int32_t *v = calloc((size_t)set.n + 1, sizeof(*v));
	uint32_t nv = v ? set_values(b, dim, set, v) : 0, n = 0;
	struct segment *s = calloc(2 * (size_t)nv + 1, sizeof(*s));
	int rc;

	if (!v || !s) {
		free(v);
		free(s);
		return nb_table_nomem(b->err);
	}
	rc = add_segments(b, dim, set, v, nv, s, &n);
	for (uint32_t d = 0; !rc && d < b->tree->depth[dim]; d++)
		rc = raise_level(b, s, &n);
	if (!rc)
		*node = s[0].node;
	free(v);
	free(s);
	return rc;
}

static struct memo **memo_slot(struct build *b, uint32_t dim, struct set set)
{
	uint64_t h = dim + 1;

	for (uint32_t i = 0; i < set.n; i++)
		h = (h ^ set.rows[i]) * 0x9e3779b97f4a7c15;
	return &b->memo[(h >> 40) % MEMO_SLOTS];
}

/* NOLINTNEXTLINE(misc-no-recursion): one level a dimension */
static int build_set(struct build *b, uint32_t dim, struct set set,
		     struct nb_table_node *node)
{
	struct memo **slot, *m;
	int rc;

	while (dim < NB_TABLE_BYTES && !b->tree->depth[dim])
		dim++;
	b->work += set.n;
	if (b->work > MAX_WORK)
		return too_large(b);
	slot = memo_slot(b, dim, set);
	for (m = *slot; m; m = m->next)
		if (m->dim == dim && m->set.n == set.n &&
		    !memcmp(m->set.rows, set.rows, set.n * sizeof(*set.rows))) {
			*node = m->node;
			return 0;
		}
	rc = dim == NB_TABLE_BYTES ? build_bytes(b, set, node)
				   : build_dim(b, dim, set, node);
	m = rc ? NULL : nb_arena_alloc(&b->arena, sizeof(*m));
	if (m) {
		*m = (struct memo){ *slot, set, dim, *node };
		*slot = m;
	}
	return rc;
}

/* Set the number of levels of each dimension: enough for the values of the
 * whole table. */
static int set_depths(struct build *b, struct set all)
{
	int32_t *v = calloc((size_t)all.n + 1, sizeof(*v));

	if (!v)
		return nb_table_nomem(b->err);
	for (uint32_t dim = 0; dim < NB_TABLE_BYTES; dim++) {
		uint64_t n = 2 * (uint64_t)set_values(b, dim, all, v) + 1;

		for (uint64_t room = 1; room < n; room *= FANOUT)
			b->tree->depth[dim]++;
	}
	free(v);
	return 0;
}

/* Build the tree of each collective; their roots are consecutive nodes. */
static int build_colls(struct build *b, uint32_t *rows)
{
	struct segment s[NCCL_NUM_COLLS];
	uint64_t at = 0;
	int rc = 0;

	for (int32_t coll = 0; !rc && coll < NCCL_NUM_COLLS; coll++) {
		uint32_t *mine, n = 0;

		for (uint32_t i = 0; i < b->t->n; i++)
			if (b->t->rows[i].coll == coll ||
			    b->t->rows[i].coll == NB_TABLE_ANY)
				rows[n++] = i;
		mine = nb_arena_dup(&b->arena, rows, (n + 1) * sizeof(*rows));
		if (!mine)
			return nb_table_nomem(b->err);
		rc = build_set(b, 0, (struct set){ mine, n }, &s[coll].node);
	}
	if (!rc)
		rc = add_nodes(b, s, NCCL_NUM_COLLS, &at);
	b->tree->root = (uint32_t)at;
	return rc;
}

/* Renumber the answers: their numbers follow the numbers of the nodes. */
static int number_answers(struct build *b)
{
	struct nb_table_tree *tree = b->tree;
	struct nb_table_sweep *w = &b->sweep;

	for (uint32_t i = 0; i < tree->nnodes; i++)
		if (tree->nodes[i].first & leaf)
			tree->nodes[i].first =
				(tree->nodes[i].first & ~leaf) + tree->nnodes;
	tree->chain = w->chain;
	tree->alts = w->alts;
	tree->nalts = w->nalts;
	w->alts = NULL;
	return tree_size(tree) + tree->nalts * sizeof(*tree->alts) > MAX_TREE
		       ? too_large(b)
		       : 0;
}

int nb_table_flatten(struct nb_table_tree *tree, const struct nb_table *t,
		     struct nb_err *err)
{
	struct build *b = calloc(1, sizeof(*b));
	uint32_t *rows = calloc((size_t)t->n + 1, sizeof(*rows));
	int rc = NB_E_NOMEM;

	*tree = (struct nb_table_tree){
		.won = calloc(t->n / 64 + 1, sizeof(*tree->won)),
	};
	if (!b || !rows || !tree->won) {
		nb_table_nomem(err);
		goto out;
	}
	b->tree = tree;
	b->t = t;
	b->err = err;
	nb_arena_init(&b->arena, 256 << 20);
	rc = nb_table_sweep_init(&b->sweep, t, tree->won, err);
	for (uint32_t i = 0; i < t->n; i++)
		rows[i] = i;
	if (!rc)
		rc = set_depths(b, (struct set){ rows, t->n });
	if (!rc)
		rc = build_colls(b, rows);
	if (!rc)
		rc = number_answers(b);
	nb_table_sweep_fini(&b->sweep);
	nb_arena_fini(&b->arena);
out:
	free(b);
	free(rows);
	if (rc)
		nb_table_tree_fini(tree);
	return rc;
}

void nb_table_tree_fini(struct nb_table_tree *tree)
{
	free(tree->nodes);
	free(tree->answers);
	free(tree->alts);
	free(tree->won);
	*tree = (struct nb_table_tree){ 0 };
}
