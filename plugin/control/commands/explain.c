// SPDX-License-Identifier: MIT
/*
 * Explains why policies answer as they do. It runs the generation on copies of
 * its maps and traces the run. It then repeats the run with one field changed,
 * so that one comparison on the path has the other result. It reports only
 * changes that change the answer.
 */
#include "plugin/control/commands/explain.h"

#include <stdlib.h>
#include <string.h>

#include "core/bpf/exec/explain/path.h"
#include "core/bpf/image/image.h"
#include "plugin/comm/comm.h"
#include "plugin/control/reply.h"
#include "plugin/runtime/clock.h"
#include "plugin/tuner/explain.h"

/*
 * Each try copies all maps and binds the programs again while the lock is held.
 * Tries are therefore limited in number and in time.
 */
enum { WOULD_MOST = 12, TRIES_MOST = 32, TRIES_NS = 50000000 };

/* A change of one field that would change the answer. */
struct would {
	uint32_t field, policy;
	uint64_t value;
	/*
	 * direction of the change. true: @value and larger values change the
	 * answer; false: @value and smaller values do
	 */
	bool up;
	const struct nb_path_branch *branch;
	struct nb_decision answer;
};

struct why {
	const struct nb_comm *c;
	const struct nb_explain *e;
	uint64_t bytes;
	const struct nb_hook_spec *hook;
	struct nb_path path[NB_GEN_MAX_POLICIES];
	struct would would[WOULD_MOST];
	uint32_t nwould, ntries;
	struct {
		uint32_t field;
		uint64_t value;
		/*
		 * all values tried, including those that did not change the
		 * answer
		 */
	} tries[TRIES_MOST];
	uint64_t began_ns;
	/* a limit ended the search before all values were tried */
	bool stopped;
};

static struct ncclbpf_tuner make_context(const struct why *w, float table[NB_COSTS_KNOWN])
{
	struct ncclbpf_tuner ctx;

	nb_comm_explain_context(w->c, w->e, w->bytes, table, &ctx);
	return ctx;
}

static int watched_run(struct why *w, struct nb_err *err)
{
	float table[NB_COSTS_KNOWN];
	struct ncclbpf_tuner ctx = make_context(w, table);
	uint32_t number;
	struct nb_gen *g;
	int rc = nb_gen_rehearsal(&g, nb_comm_gen(w->c, &number), err);

	for (uint32_t i = 0; !rc && i < g->nprogs; i++)
		nb_exec_path(g->prog[i].exec, &ctx, sizeof(ctx), w->hook,
			     &w->path[g->prog[i].policy]);
	if (!rc)
		nb_gen_put(g);
	return rc;
}

static void set_field(struct ncclbpf_tuner *ctx, const struct nb_field_spec *f, uint64_t value)
{
	memcpy((char *)ctx + f->off, &value, f->size);
}

static uint64_t get_field(const struct ncclbpf_tuner *ctx, const struct nb_field_spec *f)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)ctx + f->off, f->size);
	return v;
}

/*
 * Compute the answer with one field changed. Returns false if there is no
 * memory.
 */
static bool answer_with(const struct why *w, uint32_t field, uint64_t value,
			struct nb_decision *out)
{
	float table[NB_COSTS_KNOWN];
	struct ncclbpf_tuner ctx = make_context(w, table);
	struct nb_explain e = *w->e;
	struct nb_gen *g;
	uint32_t number;

	if (nb_gen_rehearsal(&g, nb_comm_gen(w->c, &number), NULL))
		return false;
	set_field(&ctx, &w->hook->fields[field], value);
	for (uint32_t i = 0; i < g->nprogs; i++)
		nb_exec_run(g->prog[i].exec, &ctx, sizeof(ctx));
	nb_gen_put(g);
	e.answer.algo = e.basis.nccl_algo;
	e.answer.proto = e.basis.nccl_proto;
	e.answer.channels = 0;
	nb_comm_explain_answer(w->c, &e, &ctx);
	*out = e.answer;
	return true;
}

/*
 * Returns true if the user could ask for another value of the field. NCCL's own
 * choice and its offered choices cannot be asked for.
 */
static bool may_vary(const struct nb_field_spec *f)
{
	static const char *const not [] = { "comm_id", "usable", "nccl_algo", "nccl_proto" };

	for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++)
		if (!strcmp(f->name, not [i]))
			return false;
	return f->access == NB_IN;
}

static uint64_t distance_of(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

/* Returns the least value that a field can have. */
static uint64_t least_value(const struct nb_field_spec *f)
{
	return !strcmp(f->name, "ranks") || !strcmp(f->name, "nodes") ||
	       !strcmp(f->name, "pipe_ops");
}

static uint64_t most_value(const struct nb_field_spec *f)
{
	if (!strcmp(f->name, "coll"))
		return NCCL_NUM_COLLS - 1;
	if (!strcmp(f->name, "reg_buff"))
		return 1;
	return f->size == 8 ? INT64_MAX : INT32_MAX;
}

/*
 * Find the nearest value of the field, above (@up) or below, that reverses the
 * jump. It is next to the other operand, or at the value where the sum wraps
 * around.
 */
static bool nearest_flip(const struct nb_path_branch *b, bool left, const struct nb_field_spec *f,
			 uint64_t now, bool up, uint64_t *out)
{
	uint64_t add = left ? b->from_a.add : b->from_b.add;
	uint64_t other = left ? b->b : b->a, best = UINT64_MAX;
	const uint64_t sums[] = { other - 1, other, other + 1, 0, UINT64_MAX };

	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
		uint64_t v = sums[i] - add, x = sums[i];
		bool holds = left ? nb_jump_holds(b->fn, b->width, x, other)
				  : nb_jump_holds(b->fn, b->width, other, x);

		if (holds == b->taken || v < least_value(f) || v > most_value(f) || v == now ||
		    (v > now) != up || distance_of(v, now) >= best)
			continue;
		best = distance_of(v, now);
		*out = v;
	}
	return best != UINT64_MAX;
}

static bool is_tried(const struct why *w, uint32_t field, uint64_t value)
{
	for (uint32_t i = 0; i < w->ntries; i++)
		if (w->tries[i].field == field && w->tries[i].value == value)
			return true;
	return false;
}

/* Returns true if one more try is allowed, and records it. */
static bool may_try(struct why *w, uint32_t field, uint64_t value)
{
	if (w->nwould == WOULD_MOST || w->ntries == TRIES_MOST ||
	    nb_clock_thread() - w->began_ns >= TRIES_NS)
		return false;
	w->tries[w->ntries].field = field;
	w->tries[w->ntries++].value = value;
	return true;
}

static void try_operand(struct why *w, uint32_t policy, const struct nb_path_branch *b, bool left,
			bool up)
{
	const struct nb_origin *o = left ? &b->from_a : &b->from_b;
	const struct nb_origin *other = left ? &b->from_b : &b->from_a;
	const struct nb_decision *a = &w->e->answer;
	float table[NB_COSTS_KNOWN];
	struct ncclbpf_tuner ctx = make_context(w, table);
	const struct nb_field_spec *f;
	struct would x = { .policy = policy, .branch = b, .up = up };

	if (o->exact < 0 || other->fields || w->stopped)
		return;
	x.field = (uint32_t)o->exact;
	f = &w->hook->fields[x.field];
	if (!may_vary(f) || !nearest_flip(b, left, f, get_field(&ctx, f), up, &x.value) ||
	    is_tried(w, x.field, x.value))
		return;
	w->stopped = !may_try(w, x.field, x.value) || !answer_with(w, x.field, x.value, &x.answer);
	if (w->stopped)
		return;
	if (x.answer.algo != a->algo || x.answer.proto != a->proto ||
	    x.answer.channels != a->channels)
		w->would[w->nwould++] = x;
}

static void find_would(struct why *w)
{
	w->began_ns = nb_clock_thread();
	for (uint32_t k = 0; k < w->e->order.n; k++) {
		uint32_t p = w->e->order.at[k];

		for (uint32_t i = 0; i < w->path[p].nbranches; i++) {
			try_operand(w, p, &w->path[p].branch[i], true, false);
			try_operand(w, p, &w->path[p].branch[i], true, true);
			try_operand(w, p, &w->path[p].branch[i], false, false);
			try_operand(w, p, &w->path[p].branch[i], false, true);
		}
	}
}

static void put_site(struct nb_json *j, const struct nb_image *img, const struct nb_path_site *s)
{
	const struct nb_line *l = NULL;

	nb_json_kobj(j, "at");
	if (s->prog < img->nprogs) {
		nb_json_kstr(j, "program", img->progs[s->prog].name);
		l = nb_prog_line(&img->progs[s->prog], s->pc);
	}
	nb_json_ku64(j, "pc", s->pc);
	nb_json_kstr(j, "file", l ? l->file : NULL);
	nb_json_ku64(j, "line", l ? l->line : 0);
	nb_json_ku64(j, "col", l ? l->col : 0);
	nb_json_kstr(j, "text", l ? l->text : NULL);
	nb_json_end_obj(j);
}

/* Returns the comparison operator that held on this path. */
static const char *op_of(const struct nb_path_branch *b)
{
	static const struct {
		const char *word, *taken;
	} op[] = { { "!=", "==" }, { "<=", ">" }, { "<", ">=" }, { "!&", "&" },
		   { "==", "!=" }, { "<=", ">" }, { "<", ">=" }, { ">=", "<" },
		   { ">", "<=" },  { ">=", "<" }, { ">", "<=" } };
	size_t i = (size_t)b->fn - NB_FN_JEQ;

	if (i >= sizeof(op) / sizeof(*op))
		return "?";
	return b->taken ? op[i].taken : op[i].word;
}

static void put_operand(struct nb_json *j, const struct why *w, const char *key, uint64_t value,
			uint8_t width, const struct nb_origin *o)
{
	bool exact = o->exact >= 0;
	const struct nb_field_spec *f = &w->hook->fields[exact ? o->exact : 0];

	nb_json_kobj(j, key);
	nb_json_kstr(j, "field", exact ? f->name : NULL);
	if (exact && o->add)
		nb_json_ki64(j, "plus", (int64_t)o->add);
	if (width == 32 || (exact && f->size == 4 && !o->add))
		nb_json_ki64(j, "value", (int32_t)value);
	else
		nb_json_ki64(j, "value", (int64_t)value);
	nb_json_karr(j, "of");
	for (size_t i = 0; i < w->hook->nfields && i < NB_PATH_FIELDS; i++)
		if (o->fields >> i & 1)
			nb_json_str(j, w->hook->fields[i].name);
	nb_json_end_arr(j);
	nb_json_kbool(j, "memory", o->map);
	nb_json_end_obj(j);
}

static void explain_put_branch(struct nb_json *j, const struct why *w, const struct nb_image *img,
			       const struct nb_path_branch *b)
{
	nb_json_obj(j);
	put_operand(j, w, "left", b->a, b->width, &b->from_a);
	nb_json_kstr(j, "op", op_of(b));
	put_operand(j, w, "right", b->b, b->width, &b->from_b);
	put_site(j, img, &b->at);
	nb_json_end_obj(j);
}

static void put_policy(struct nb_json *j, const struct why *w, uint32_t p,
		       const struct nb_image *img)
{
	const struct nb_path *x = &w->path[p];

	nb_json_obj(j);
	nb_json_kstr(j, "name", img->name);
	nb_json_karr(j, "writes");
	for (size_t i = 0; i < w->hook->nfields && i < NB_PATH_FIELDS; i++) {
		if (!x->store[i].done)
			continue;
		nb_json_obj(j);
		nb_json_kstr(j, "field", w->hook->fields[i].name);
		nb_json_kbool(j, "memory", x->store[i].from.map);
		put_site(j, img, &x->store[i].at);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
	nb_json_karr(j, "branches");
	for (uint32_t i = 0; i < x->nbranches && nb_cmd_room(j); i++)
		explain_put_branch(j, w, img, &x->branch[i]);
	nb_json_end_arr(j);
	nb_json_ku64(j, "left_out", x->left_out);
	nb_json_end_obj(j);
}

static void put_would(struct nb_json *j, const struct why *w, const struct would *x,
		      const struct nb_image *img)
{
	float table[NB_COSTS_KNOWN];
	struct ncclbpf_tuner ctx = make_context(w, table);
	const struct nb_field_spec *f = &w->hook->fields[x->field];

	nb_json_obj(j);
	nb_json_kstr(j, "field", f->name);
	nb_json_ku64(j, "now", get_field(&ctx, f));
	nb_json_ku64(j, "value", x->value);
	nb_json_kbool(j, "or_more", x->up);
	nb_cmd_answer(j, "answer", x->answer.algo, x->answer.proto, x->answer.channels);
	nb_json_kstr(j, "policy", img->name);
	put_site(j, img, &x->branch->at);
	nb_json_end_obj(j);
}

static void put_why(struct nb_json *j, const struct why *w)
{
	struct nb_decision basis = w->e->basis;
	uint32_t number;
	const struct nb_gen *g = nb_comm_gen(w->c, &number);

	if (!w->e->seen)
		/*
		 * a collective of -1 selects no decision, so there is no cost
		 * table
		 */
		basis.coll = -1;
	nb_cmd_context(j, w->c, &basis);
	nb_json_karr(j, "why");
	for (uint32_t k = 0; k < g->order.n; k++)
		put_policy(j, w, g->order.at[k], g->policy[g->order.at[k]].policy->img);
	nb_json_end_arr(j);
	nb_json_karr(j, "would");
	for (uint32_t i = 0; i < w->nwould; i++)
		put_would(j, w, &w->would[i], g->policy[w->would[i].policy].policy->img);
	nb_json_end_arr(j);
	nb_json_kbool(j, "would_stopped", w->stopped);
}

int nb_explain_json(struct nb_json *j, const struct nb_comm *c, const struct nb_explain *e,
		    uint64_t bytes, struct nb_err *err)
{
	struct why *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return nb_fail(err, NB_E_NOMEM, 0, "explain: no memory");
	w->c = c;
	w->e = e;
	w->bytes = bytes;
	w->hook = nb_spec_hook(NB_HOOK_TUNER);
	rc = watched_run(w, err);
	if (!rc) {
		find_would(w);
		put_why(j, w);
	}
	free(w);
	return rc;
}
