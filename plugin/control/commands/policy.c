// SPDX-License-Identifier: MIT
/*
 * Handlers of policy list|show|time|load|export|dump|use|undo|unload. Images
 * are passed as sealed memory files, so no process can change or shorten the
 * bytes while we read them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utc.h"
#include "core/job/wire/object.h"

#include "core/bpf/image/param.h"
#include "core/bpf/isa/insn.h"
#include "plugin/change/change.h"
#include "plugin/change/compose.h"
#include "plugin/change/sync.h"
#include "plugin/change/selector.h"
#include "plugin/change/stage.h"
#include "plugin/comm/comm.h"
#include "plugin/control/commands/maker.h"
#include "plugin/control/reply.h"
#include "plugin/control/sealed.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/held.h"
#include "plugin/policies/history.h"
#include "plugin/runtime/lock.h"

static void put_name(struct nb_json *j, const struct nb_policy *p)
{
	nb_json_kstr(j, "name", p->img->name);
	nb_cmd_digest(j, "digest", p->img->digest);
}

/*
 * Write which engine runs the program, or null if the program is not in the
 * baseline.
 */
static void put_engine(struct nb_json *j, const struct nb_policy *p, uint32_t i)
{
	const struct nb_exec *x = nb_gens.baseline ? nb_gen_exec(nb_gens.baseline, p, i) : NULL;

	nb_json_kstr(j, "engine", !x ? NULL : nb_exec_compiled(x) ? "machine code" : "interpreter");
	nb_json_ku64(j, "code_bytes", x ? nb_exec_compiled(x) : 0);
}

/*
 * Returns the mean run time. Reading the clock takes longer than some policies
 * run, so a negative mean becomes zero.
 */
static uint64_t mean_ns(const struct nb_gen_sum *sum)
{
	return sum->samples && sum->time_ns > 0 ? (uint64_t)sum->time_ns / sum->samples : 0;
}

/* Write the histogram of measured run times. */
static void policy_put_times(struct nb_json *j, const struct nb_policy *p, uint32_t i)
{
	const struct nb_gen_times t = nb_held_times(p, i);

	nb_json_arr(j);
	for (int k = 0; k < NB_GEN_TIMES; k++) {
		bool last = k + 1 == NB_GEN_TIMES;

		nb_json_obj(j);
		nb_json_ku64_if(j, "le_ns", !last, last ? 0 : nb_gen_times_ns[k]);
		nb_json_ku64(j, "count", t.n[k]);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

static void put_program(struct nb_json *j, const struct nb_policy *p, uint32_t i)
{
	const struct nb_prog *prog = &p->img->progs[i];
	struct nb_gen_sum sum = nb_held_counts(p, i);

	nb_json_obj(j);
	nb_json_kstr(j, "name", prog->name);
	nb_json_kstr(j, "section", prog->section);
	nb_json_kstr(j, "hook", nb_spec_hook(prog->hook)->word);
	nb_json_ku64(j, "insns", prog->nslots);
	put_engine(j, p, i);
	nb_json_ku64(j, "runs", sum.runs);
	nb_json_ku64(j, "overrides", sum.overrides);
	nb_json_ku64(j, "refused", sum.refused);
	nb_json_ku64(j, "samples", sum.samples);
	nb_json_ku64_if(j, "mean_ns", sum.samples, mean_ns(&sum));
	nb_json_key(j, "times");
	if (sum.samples)
		policy_put_times(j, p, i);
	else
		nb_json_null(j);
	nb_json_end_obj(j);
}

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/*
 * Write the cost of verification: sums over the programs, and the maxima of
 * stack size, loop iterations and iterator steps.
 */
static void put_effort(struct nb_json *j, const struct nb_policy *p)
{
	uint32_t states = 0, stack = 0, iteration = 0, iter_steps = 0;
	uint64_t insns = 0, time_ns = 0;

	for (uint32_t i = 0; i < p->img->nprogs; i++) {
		const struct nb_policy_effort *e = &p->effort[i];

		insns += e->stats.insns_walked;
		time_ns += e->stats.time_ns;
		states = most(states, e->stats.states_peak);
		stack = most(stack, e->stats.stack_depth);
		iteration = most(iteration, e->runs.iteration);
		iter_steps = most(iter_steps, e->runs.iter_steps);
	}
	nb_json_kobj(j, "verify");
	nb_json_ku64(j, "insns_walked", insns);
	nb_json_ku64(j, "states_peak", states);
	nb_json_ku64(j, "stack_bytes", stack);
	nb_json_ku64(j, "iteration_insns", iteration);
	nb_json_ku64(j, "iterator_steps", iter_steps);
	nb_json_ku64(j, "time_us", time_ns / 1000);
	nb_json_end_obj(j);
}

static void put_params(struct nb_json *j, const struct nb_image *img)
{
	struct nb_image_param p[NB_IMAGE_MAX_PARAMS];
	uint32_t n;

	nb_json_karr(j, "params");
	(void)nb_image_params(img, p, &n, NULL); /* the image was checked when it was read */
	for (uint32_t i = 0; i < n; i++) {
		nb_json_obj(j);
		nb_json_kstr(j, "name", p[i].name);
		nb_json_ki64(j, "value", p[i].value);
		nb_json_ki64(j, "default", p[i].preset);
		nb_json_ki64(j, "min", p[i].min);
		nb_json_ki64(j, "max", p[i].max);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

/*
 * Returns the policy's position in the order of @g, or -1 if @g does not have
 * it.
 */
static int position_in(const struct nb_gen *g, const struct nb_policy *p)
{
	for (uint32_t i = 0; i < g->order.n; i++)
		if (g->policy[g->order.at[i]].policy == p)
			return (int)i;
	return -1;
}

/* Write the communicators whose scope contains the policy. */
static void put_comms(struct nb_json *j, const struct nb_gen *g, const struct nb_policy *p)
{
	nb_json_karr(j, "comms");
	for (uint32_t i = 0; i < g->nviews; i++)
		for (uint32_t k = 0; k < g->scopes.scope[i].ncomms; k++)
			if (position_in(g->view[i], p) >= 0)
				nb_json_id(j, g->scopes.scope[i].comm[k]);
	nb_json_end_arr(j);
}

/* Write a held policy as members of the open JSON object. */
static void put_held(struct nb_json *j, const struct nb_held *h)
{
	const struct nb_policy *p = h->policy;
	int position = position_in(nb_gens.baseline, p);

	put_name(j, p);
	nb_json_kstr(j, "source", h->source == NB_SOURCE_ENV ? "env" : "shell");
	nb_json_ku64(j, "size", p->img->size);
	nb_json_kbool(j, "in_use", nb_held_in_use(p));
	nb_json_ku64_if(j, "position", position >= 0, (uint64_t)position);
	put_comms(j, nb_gens.baseline, p);
	nb_json_karr(j, "maps");
	for (uint32_t i = 0; i < p->img->nmaps; i++)
		nb_json_str(j, p->img->maps[i].name);
	nb_json_end_arr(j);
	put_params(j, p->img);
	nb_json_karr(j, "programs");
	for (uint32_t i = 0; i < p->img->nprogs; i++)
		put_program(j, p, i);
	nb_json_end_arr(j);
	put_effort(j, p);
}

int nb_cmd_policy_list(struct nb_call *call)
{
	struct nb_json *j = call->out;

	nb_json_ku64(j, "generation", nb_history_number(nb_gens.baseline_number));
	nb_cmd_scopes(j, nb_gens.baseline);
	nb_json_karr(j, "policies");
	for (uint32_t i = 0; i < nb_held.n; i++) {
		nb_json_obj(j);
		put_held(j, &nb_held.at[i]);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
	return 0;
}

int nb_cmd_policy_show(struct nb_call *call)
{
	struct nb_held *h = nb_held_find(call->req->arg[0], call->err);

	if (h)
		put_held(call->out, h);
	return h ? 0 : call->err->code;
}

int nb_cmd_policy_time(struct nb_call *call)
{
	const char *word = call->req->arg[0];
	bool on = !strcmp(word, "on");

	if (!on && strcmp(word, "off"))
		return nb_fail(call->err, NB_E_ARG, 1, "policy time %.40s (allowed: on, off)",
			       word);
	nb_comms_time(on);
	nb_json_kbool(call->out, "on", on);
	nb_json_ku64(call->out, "sample", NB_GEN_SAMPLE);
	return 0;
}

/*
 * Check a policy's name, which appears in commands and in paths like
 * "policy/map".
 */
static int policy_check_name(const char *name, struct nb_err *err)
{
	if (!strcmp(name, "common"))
		return nb_fail(err, NB_E_ARG, 1,
			       "a policy cannot be named \"common\": "
			       "policy use common selects the policies of the other communicators");
	if (!strcmp(name, "none"))
		return nb_fail(
			err, NB_E_ARG, 1,
			"a policy cannot be named \"none\": policy use none means no policy");
	return 0;
}

static int load_image(struct nb_call *call, const void *bytes, size_t size)
{
	char text[NB_CMD_SHORT];
	struct nb_held *held;
	int rc;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	rc = nb_held_add(bytes, size, call->req->arg[0], NB_SOURCE_SHELL, &call->text,
			 &call->finding, &held, call->err);
	if (!rc) {
		nb_cmd_short(text, held->policy->img->digest);
		snprintf(call->note, sizeof(call->note), "digest %s, verdict good", text);
		put_held(call->out, held);
	}
	nb_unlock(NB_LOCK_STATE);
	return rc;
}

int nb_cmd_policy_load(struct nb_call *call)
{
	void *bytes = NULL;
	size_t size = 0;
	int rc = nb_sealed_take(call, "the image", &bytes, &size);

	if (!rc)
		rc = policy_check_name(call->req->arg[0], call->err);
	if (!rc)
		rc = load_image(call, bytes, size);
	free(bytes);
	return rc;
}

static int seal_image(const struct nb_image *img, int *out, struct nb_err *err)
{
	int fd = nb_wire_object_file(img->bytes, img->size);

	if (fd < 0)
		return nb_fail(err, NB_E_IO, 0, "memory file for policy %s: %s", img->name,
			       strerror(errno));
	*out = fd;
	return 0;
}

/*
 * Returns a new reference to a held policy, so that work on it needs no lock.
 * On failure it returns NULL and call->err holds the reason.
 */
static struct nb_policy *find_policy(struct nb_call *call)
{
	struct nb_policy *p;
	struct nb_held *h;

	nb_lock(NB_LOCK_STATE);
	h = nb_held_find(call->req->arg[0], call->err);
	p = h ? nb_policy_get(h->policy) : NULL;
	nb_unlock(NB_LOCK_STATE);
	return p;
}

int nb_cmd_policy_export(struct nb_call *call)
{
	struct nb_policy *p = find_policy(call);
	int rc;

	if (!p)
		return call->err->code;
	rc = seal_image(p->img, &call->fd_out, call->err);
	if (!rc) {
		put_name(call->out, p);
		nb_json_ku64(call->out, "size", p->img->size);
	}
	nb_policy_put(p);
	return rc;
}

/* Returns the name of map @index. @arg: address of a pointer to the image */
static const char *policy_map_name(void *arg, uint32_t index)
{
	const struct nb_image *img = *(const struct nb_image **)arg;

	return index < img->nmaps ? img->maps[index].name : NULL;
}

static void put_insn(struct nb_json *j, const struct nb_image *img, const struct nb_prog *prog,
		     const struct nb_insn *insn, uint32_t pc)
{
	const struct nb_line *l = nb_prog_line(prog, pc);
	const struct nb_func *f = nb_prog_func(prog, pc);
	char text[160];

	nb_disasm(text, sizeof(text), insn, policy_map_name, &img);
	nb_json_obj(j);
	nb_json_ku64(j, "pc", pc);
	nb_json_kstr(j, "insn", text);
	nb_json_kstr(j, "func", f && f->start == pc && f->name ? f->name : NULL);
	nb_json_kstr(j, "file", l ? l->file : NULL);
	nb_json_ku64(j, "line", l ? l->line : 0);
	nb_json_kstr(j, "source", l && l->text && l->text[0] ? l->text : NULL);
	nb_json_end_obj(j);
}

static int dump_program(struct nb_json *j, const struct nb_image *img, const struct nb_prog *prog,
			struct nb_page *page, struct nb_err *err)
{
	struct nb_insn *insns = calloc(prog->nslots, sizeof(*insns));
	int rc;

	if (!insns)
		return nb_fail(err, NB_E_NOMEM, 0, "policy dump: no memory");
	rc = nb_decode(insns, prog->slots, prog->nslots, err);
	nb_json_obj(j);
	nb_json_kstr(j, "name", prog->name);
	nb_json_kstr(j, "section", prog->section);
	nb_json_karr(j, "lines");
	for (uint32_t pc = 0; !rc && !page->more && pc < prog->nslots; pc++)
		if (nb_page_takes(page, j) && insns[pc].op != NB_OP_LDDW_HI)
			put_insn(j, img, prog, &insns[pc], pc);
	nb_json_end_arr(j);
	nb_json_end_obj(j);
	free(insns);
	return rc;
}

int nb_cmd_policy_dump(struct nb_call *call)
{
	struct nb_json *j = call->out;
	struct nb_page page;
	struct nb_policy *p;
	int rc = nb_page_options(call, &page);

	if (rc)
		return rc;
	p = find_policy(call);
	if (!p)
		return call->err->code;
	put_name(j, p);
	nb_json_karr(j, "programs");
	for (uint32_t i = 0; i < p->img->nprogs && !rc && !page.more; i++) {
		const struct nb_prog *prog = &p->img->progs[i];

		if (page.at + prog->nslots <= page.after)
			page.at += prog->nslots;
		else
			rc = dump_program(j, p->img, prog, &page, call->err);
	}
	nb_json_end_arr(j);
	nb_page_end(j, &page);
	nb_policy_put(p);
	return rc;
}

/*
 * Set *@is if @word is the only name in the request. Returns NB_E_ARG if other
 * names are beside it.
 */
static int stands_alone(struct nb_call *call, const char *word, bool *is)
{
	const struct nb_request *req = call->req;

	*is = req->narg == 1 && !strcmp(req->arg[0], word);
	for (uint32_t i = 0; !*is && i < req->narg; i++)
		if (!strcmp(req->arg[i], word))
			return nb_fail(call->err, NB_E_ARG, i + 1,
				       "policy use: \"%s\" must be the only name, found %u", word,
				       req->narg - 1);
	return 0;
}

int nb_cmd_policy_use(struct nb_call *call)
{
	const struct nb_request *req = call->req;
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_selector reach;
	bool none, common;
	int rc = nb_selector_parse(&reach, nb_request_opt(req, "comm"), call->err);

	if (!rc)
		rc = stands_alone(call, "none", &none);
	if (!rc)
		rc = stands_alone(call, "common", &common);
	if (rc)
		return rc;
	if (common)
		rc = nb_change_stage_edit(&(struct nb_edit){ .what = NB_COMPOSE_COMMON }, &reach,
					  digest, call->err);
	else
		rc = nb_change_stage_for(&reach, req->arg, none ? 0 : req->narg, digest, call->err);
	return rc ? rc : nb_cmd_finish_change(call, digest);
}

int nb_cmd_policy_undo(struct nb_call *call)
{
	uint8_t digest[NB_SHA256_SIZE];
	uint64_t to = NB_CHANGE_ANY;
	int rc = nb_cmd_number(call, "to", 0, UINT32_MAX, &to);

	if (!rc)
		rc = nb_change_stage_undo(to, digest, call->err);
	return rc ? rc : nb_cmd_finish_change(call, digest);
}

static void put_past(struct nb_json *j, const struct nb_history_entry *e)
{
	char text[NB_HISTORY_NAMES], when[NB_UTC_TEXT];
	char *rest = text;

	nb_utc_text(when, (uint64_t)e->at_s * 1000000000, 0);
	nb_json_obj(j);
	nb_json_ku64(j, "generation", e->shown);
	nb_cmd_digest(j, "digest", e->digest);
	nb_json_karr(j, "policies");
	snprintf(text, sizeof(text), "%s", e->names);
	for (char *p; (p = strsep(&rest, " ")) != NULL;)
		if (*p)
			nb_json_str(j, p);
	nb_json_end_arr(j);
	nb_json_kstr(j, "scoped", e->scoped[0] ? e->scoped : NULL);
	nb_json_kstr(j, "time", when);
	nb_cmd_maker(j, &e->maker);
	nb_json_kbool(j, "kept", e->gen != NULL);
	nb_json_end_obj(j);
}

int nb_cmd_policy_history(struct nb_call *call)
{
	struct nb_json *j = call->out;

	nb_json_ku64(j, "generation", nb_history_number(nb_gens.baseline_number));
	nb_json_karr(j, "history");
	for (uint32_t i = 0; i < nb_history.n; i++)
		put_past(j, &nb_history.entry[i]);
	nb_json_end_arr(j);
	return 0;
}

int nb_cmd_policy_unload(struct nb_call *call)
{
	char text[NB_CMD_SHORT];
	struct nb_policy *p = find_policy(call);
	int rc;

	if (!p)
		return call->err->code;
	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	rc = nb_held_discard(call->req->arg[0], !nb_request_yes(call->req, "commit", true),
			     call->err);
	nb_unlock(NB_LOCK_STATE);
	if (!rc) {
		nb_cmd_short(text, p->img->digest);
		snprintf(call->note, sizeof(call->note), "digest %s", text);
		put_name(call->out, p);
	}
	nb_policy_put(p);
	return rc;
}
