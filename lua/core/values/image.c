// SPDX-License-Identifier: MIT
/*
 * Policies without a job: converts object files to images; shows
 * contents, disassembly and verdict of an image with the job's own code.
 */
#include "lua/core/values/values.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/bpf/image/param.h"
#include "core/bpf/isa/insn.h"
#include "core/load/object.h"
#include "core/ncclbpf.h"
#include "lua/core/support/support.h"

#define IMAGE "ncclbpf.image"
#define VERDICT "ncclbpf.verdict"

static struct nb_image *to_image(lua_State *L)
{
	struct nb_image **img = luaL_checkudata(L, 1, IMAGE);

	if (!*img)
		luaL_error(L, "image is closed");
	return *img;
}

static int image_gc(lua_State *L)
{
	struct nb_image **img = luaL_checkudata(L, 1, IMAGE);

	nb_image_free(*img);
	*img = NULL;
	return 0;
}

static int verdict_gc(lua_State *L)
{
	struct nb_verdict **v = luaL_checkudata(L, 1, VERDICT);

	nb_verdict_free(*v);
	*v = NULL;
	return 0;
}

/* object_image(bytes, name) -> image bytes | nil, err */
static int image_of_object(lua_State *L)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, 1, &size);
	const char *name = luaL_checkstring(L, 2);
	struct nb_buf *out = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	struct nb_err err = { .code = 0 };

	return nb_lua_bytes_of(L, nb_object_image(out, bytes, size, name, &err), out, &err);
}

/* Push the image of the bytes at @arg. Returns NULL after it has pushed nil and
 * an error. */
static struct nb_image *push_image(lua_State *L, int arg)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, arg, &size);
	struct nb_image **img = lua_newuserdatauv(L, sizeof(*img), 0);
	struct nb_err err = { .code = 0 };

	*img = NULL;
	luaL_setmetatable(L, IMAGE);
	if (!nb_image_read(img, bytes, size, &err))
		return *img;
	nb_lua_fail(L, &err);
	return NULL;
}

/* image_named(bytes, name) -> the same image under another name | nil, err */
static int image_named(lua_State *L)
{
	const char *name = luaL_checkstring(L, 2);
	struct nb_image *img = push_image(L, 1);
	struct nb_err err = { .code = 0 };
	struct nb_image renamed;
	struct nb_buf *out;

	if (!img)
		return 2;
	renamed = *img;
	renamed.name = name;
	out = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	return nb_lua_bytes_of(L, nb_image_write(out, &renamed, &err), out, &err);
}

/* Push a list of parameters: {name, value, default, min, max} */
static void push_params(lua_State *L, const struct nb_image_param *p, uint32_t n)
{
	lua_createtable(L, (int)n, 0);
	for (uint32_t i = 0; i < n; i++) {
		lua_createtable(L, 0, 5);
		nb_lua_set_str(L, "name", p[i].name);
		nb_lua_set_int(L, "value", p[i].value);
		nb_lua_set_int(L, "default", p[i].preset);
		nb_lua_set_int(L, "min", p[i].min);
		nb_lua_set_int(L, "max", p[i].max);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

/* image_values(bytes, "NAME=VALUE,...") -> the image's parameters with these values | nil, err */
static int image_values(lua_State *L)
{
	const char *text = luaL_checkstring(L, 2);
	struct nb_image *img = push_image(L, 1);
	struct nb_image_param p[NB_IMAGE_MAX_PARAMS];
	struct nb_err err = { .code = 0 };
	uint32_t n;

	if (!img)
		return 2;
	if (nb_image_param_values(p, &n, img, text, &err))
		return nb_lua_fail(L, &err);
	push_params(L, p, n);
	return 1;
}

/* image_set(bytes, "NAME=VALUE,...") -> the image with these values of its parameters | nil, err */
static int image_set(lua_State *L)
{
	const char *text = luaL_checkstring(L, 2);
	struct nb_image *img = push_image(L, 1);
	struct nb_err err = { .code = 0 };
	struct nb_buf *out;

	if (!img)
		return 2;
	out = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	return nb_lua_bytes_of(L, nb_image_set(out, img, text, &err), out, &err);
}

/* image(bytes) -> image | nil, err */
static int image_new(lua_State *L)
{
	return push_image(L, 1) ? 1 : 2;
}

/* is_image(bytes) -> do the bytes begin with an image's magic number? */
static int is_image(lua_State *L)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, 1, &size);

	lua_pushboolean(L, nb_image_is(bytes, size));
	return 1;
}

static void push_map(lua_State *L, const struct nb_map_spec *m)
{
	static const char *const origins[] = { "defined", "rodata", "data", "bss" };
	const struct nb_map_type_spec *t = nb_spec_map_type(m->type);

	lua_createtable(L, 0, 12);
	nb_lua_set_str(L, "name", m->name);
	nb_lua_set_str(L, "type", t ? t->word : "unknown");
	nb_lua_set_int(L, "key_size", m->key_size);
	nb_lua_set_int(L, "value_size", m->value_size);
	nb_lua_set_int(L, "max_entries", m->max_entries);
	nb_lua_set_int(L, "flags", m->flags);
	nb_lua_set_bool(L, "coherent", m->tags & NB_MAPF_COHERENT);
	nb_lua_set_bool(L, "shared", m->tags & NB_MAPF_SHARED);
	if (m->tags & NB_MAPF_MERGED)
		nb_lua_set_str(L, "merged", m->tags & NB_MAPF_SUM ? "sum" : "max");
	nb_lua_set_str(L, "origin", origins[m->origin]);
	nb_lua_set_int(L, "btf_key", m->btf_key);
	nb_lua_set_int(L, "btf_value", m->btf_value);
	if (m->init)
		nb_lua_set_bytes(L, "init", m->init, m->value_size);
}

static void push_prog(lua_State *L, const struct nb_prog *p)
{
	const struct nb_hook_spec *h = nb_spec_hook(p->hook);

	lua_createtable(L, 0, 5);
	nb_lua_set_str(L, "name", p->name);
	nb_lua_set_str(L, "section", p->section);
	nb_lua_set_str(L, "hook", h ? h->word : "?");
	nb_lua_set_int(L, "insns", p->nslots);
	nb_lua_set_int(L, "functions", p->nfuncs);
}

/* image:info() -> {name, digest, size, maps, params, programs, btf} */
static int image_info(lua_State *L)
{
	const struct nb_image *img = to_image(L);
	struct nb_image_param params[NB_IMAGE_MAX_PARAMS];
	uint32_t nparams;
	char digest[65];

	(void)nb_image_params(img, params, &nparams, NULL); /* checked when the image was read */
	lua_createtable(L, 0, 7);
	nb_lua_set_str(L, "name", img->name);
	nb_sha256_text(img->digest, digest);
	nb_lua_set_str(L, "digest", digest);
	nb_lua_set_int(L, "size", (lua_Integer)img->size);
	lua_createtable(L, (int)img->nmaps, 0);
	for (uint32_t i = 0; i < img->nmaps; i++) {
		push_map(L, &img->maps[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "maps");
	push_params(L, params, nparams);
	lua_setfield(L, -2, "params");
	lua_createtable(L, (int)img->nprogs, 0);
	for (uint32_t i = 0; i < img->nprogs; i++) {
		push_prog(L, &img->progs[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "programs");
	return 1;
}

/* image:btf() -> the bytes of the type information (BTF), or nil */
static int image_btf(lua_State *L)
{
	const struct nb_image *img = to_image(L);

	if (!img->btf)
		return 0;
	lua_pushlstring(L, (const char *)img->btf, img->btf_size);
	return 1;
}

static const char *image_map_name(void *arg, uint32_t index)
{
	const struct nb_image *img = arg;

	return index < img->nmaps ? img->maps[index].name : NULL;
}

static uint32_t to_prog(lua_State *L, const struct nb_image *img)
{
	lua_Integer i = luaL_checkinteger(L, 2);

	luaL_argcheck(L, i >= 1 && (lua_Unsigned)i <= img->nprogs, 2, "no such program");
	return (uint32_t)(i - 1);
}

static void set_line(lua_State *L, const struct nb_line *at)
{
	nb_lua_set_str(L, "file", at->file);
	nb_lua_set_int(L, "line", at->line);
	nb_lua_set_str(L, "source", at->text);
}

static void push_line(lua_State *L, const struct nb_image *img, const struct nb_prog *p,
		      const struct nb_insn *insn, uint32_t pc)
{
	const struct nb_line *at = nb_prog_line(p, pc);
	const struct nb_func *f = nb_prog_func(p, pc);
	char text[256];

	nb_disasm(text, sizeof(text), insn, image_map_name, (void *)(uintptr_t)img);
	lua_createtable(L, 0, 6);
	nb_lua_set_int(L, "pc", pc);
	nb_lua_set_str(L, "insn", text);
	if (f && f->start == pc)
		nb_lua_set_str(L, "func", f->name);
	/* a source line is shown at the first of its instructions */
	if (at && at->pc == pc)
		set_line(L, at);
}

/* image:disasm(n) -> [{pc insn func file line source}] | nil, err */
static int image_disasm(lua_State *L)
{
	struct nb_image *img = to_image(L);
	const struct nb_prog *p = &img->progs[to_prog(L, img)];
	struct nb_insn *insns = lua_newuserdatauv(L, p->nslots * sizeof(*insns), 0);
	struct nb_err err = { .code = 0 };
	lua_Integer n = 0;

	if (nb_decode(insns, p->slots, p->nslots, &err))
		return nb_lua_fail(L, &err);
	lua_createtable(L, (int)p->nslots, 0);
	for (uint32_t pc = 0; pc < p->nslots; pc++) {
		if (insns[pc].op == NB_OP_LDDW_HI)
			continue;
		push_line(L, img, p, &insns[pc], pc);
		lua_rawseti(L, -2, ++n);
	}
	return 1;
}

/* Push the bound of a run and its costliest loop. */
static void push_run(lua_State *L, const struct nb_run_bounds *r, const struct nb_prog *p)
{
	const struct nb_loop_report *loop = &r->loop;
	const struct nb_line *line = loop->pc < p->nslots ? nb_prog_line(p, loop->pc) : NULL;

	nb_lua_set_int(
		L, "run",
		(lua_Integer)(nb_runs_path(r, r->iteration) + nb_runs_loops(r, r->iteration)));
	nb_lua_set_bool(L, "loops", r->loops || r->passes);
	if (loop->pc < p->nslots) {
		nb_lua_set_int(L, "loop_pc", loop->pc);
		nb_lua_set_int(L, "loop_iterations", loop->iterations);
		nb_lua_set_int(L, "loop_length", loop->length);
		nb_lua_set_int(L, "loop_share", loop->share);
	}
	if (line) {
		nb_lua_set_int(L, "loop_line", line->line);
		nb_lua_set_str(L, "loop_file", line->file);
	}
}

/* @max_run: limit of a decision or event */
static void push_stats(lua_State *L, const struct nb_verdict *v, const struct nb_prog *p,
		       uint32_t max_run)
{
	const struct nb_verify_stats *s = &v->stats;

	lua_createtable(L, 0, 9);
	nb_lua_set_int(L, "insns_walked", s->insns_walked);
	nb_lua_set_int(L, "work", s->work);
	nb_lua_set_int(L, "states_peak", s->states_peak);
	nb_lua_set_int(L, "stack_bytes", s->stack_depth);
	nb_lua_set_int(L, "iteration_insns", v->runs.iteration);
	nb_lua_set_int(L, "iterator_steps", v->runs.iter_steps);
	push_run(L, &v->runs, p);
	/* No decision waits for a controller, so only its own budget ends its loops. */
	nb_lua_set_int(L, "run_max", p->hook == NB_HOOK_CONTROLLER ? NB_RUN_BUDGET : max_run);
	nb_lua_set_int(L, "time_us", (lua_Integer)(s->time_ns / 1000));
	nb_lua_set_int(L, "memory_bytes", (lua_Integer)s->memory);
}

/* [{class pc text hint file line source}] of an accepted program */
static void push_notes(lua_State *L, const struct nb_verdict *v)
{
	lua_createtable(L, (int)v->nnotes, 0);
	for (uint32_t i = 0; i < v->nnotes; i++) {
		const struct nb_note *note = &v->notes[i];

		lua_createtable(L, 0, 7);
		nb_lua_set_str(L, "class", note->word);
		nb_lua_set_int(L, "pc", note->pc);
		nb_lua_set_str(L, "text", note->text);
		nb_lua_set_str(L, "hint", note->hint);
		if (note->line)
			set_line(L, note->line);
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, "notes");
}

static int push_finding(lua_State *L, const struct nb_verdict *v, const struct nb_image *img,
			uint32_t prog)
{
	struct nb_buf *text = nb_lua_buf(L, 0), *json = nb_lua_buf(L, 0);
	struct nb_buf *steps = nb_lua_buf(L, 0);
	struct nb_err err = { .code = 0 };
	struct nb_json j;

	lua_rotate(L, -4, 3); /* move the result below the buffers */
	nb_verdict_text(v, img, prog, text);
	nb_verdict_notes(v, img, prog, steps);
	nb_json_init(&j, json);
	nb_verdict_json(v, img, prog, &j);
	nb_verdict_err(v, img, prog, &err);
	nb_lua_set_bytes(L, "text", nb_buf_text(text), text->size);
	nb_lua_set_bytes(L, "steps", nb_buf_text(steps), steps->size);
	nb_lua_set_str(L, "message", err.text);
	nb_lua_set_str(L, "hint", err.hint);
	nb_lua_set_int(L, "at", err.at);
	nb_lua_set_bytes(L, "finding_json", nb_buf_text(json), json->size);
	return 1;
}

/* A limit from the environment; 0: not set */
static uint64_t limit_of(enum nb_param p)
{
	char name[64];
	const char *text;
	int64_t n = 0;

	snprintf(name, sizeof(name), "NCCLBPF_%s", nb_spec_param(p)->name);
	text = getenv(name);
	if (text && !nb_spec_param_int(p, text, &n))
		n = 0;
	return (uint64_t)n;
}

void nb_lua_policy_limits(struct nb_policy_opts *opts)
{
	opts->max_insns = (uint32_t)limit_of(NB_P_MAX_VERIFY);
	opts->max_memory = limit_of(NB_P_MAX_POLICY_MEMORY) << 20;
	opts->max_run = (uint32_t)limit_of(NB_P_MAX_RUN);
	nb_policy_limits(opts);
}

/* image:budget() -> {work_max memory_bytes memory_max_bytes} | nil, err:
 * over the limit of memory */
static int image_budget(lua_State *L)
{
	struct nb_image *img = to_image(L);
	struct nb_policy_opts opts = { .max_insns = 0 };
	struct nb_err err = { .code = 0 };
	uint64_t bytes;

	nb_lua_policy_limits(&opts);
	if (nb_policy_memory(&bytes, img, opts.max_memory, &err))
		return nb_lua_fail(L, &err);
	lua_createtable(L, 0, 4);
	nb_lua_set_int(L, "work_max", opts.max_insns);
	nb_lua_set_int(L, "memory_bytes", (lua_Integer)bytes);
	nb_lua_set_int(L, "memory_max_bytes", (lua_Integer)opts.max_memory);
	return 1;
}

/*
 * image:verify(n[, {coherence_off=, trace=, spent=}]) -> verdict table | nil,
 * err; spent: the work that earlier programs took
 */
static int image_verify(lua_State *L)
{
	struct nb_image *img = to_image(L);
	uint32_t prog = to_prog(L, img);
	struct nb_policy_opts policy = { .max_insns = 0 };
	struct nb_err err = { .code = 0 };
	struct nb_verdict **v;
	struct nb_buf *trace = NULL;

	if (lua_istable(L, 3)) {
		lua_getfield(L, 3, "coherence_off");
		policy.verify.coherence_off = lua_toboolean(L, -1);
		lua_getfield(L, 3, "spent");
		policy.verify.policy_spent = (uint32_t)lua_tointeger(L, -1);
		lua_getfield(L, 3, "trace");
		if (lua_toboolean(L, -1)) {
			policy.verify.observe = nb_trace_state;
			policy.verify.observe_arg = trace = nb_lua_buf(L, 16 << 20);
		}
	}
	v = lua_newuserdatauv(L, sizeof(*v), 0);
	*v = NULL;
	nb_lua_collected(L, VERDICT, verdict_gc);
	nb_lua_policy_limits(&policy);
	policy.verify.policy_insns = policy.max_insns;
	if (nb_verify(v, img, prog, &policy.verify, &err))
		return nb_lua_fail(L, &err);
	lua_createtable(L, 0, 8);
	nb_lua_set_bool(L, "accepted", (*v)->accepted);
	push_stats(L, *v, &img->progs[prog], policy.max_run);
	lua_setfield(L, -2, "stats");
	if (trace)
		nb_lua_set_bytes(L, "trace", nb_buf_text(trace), trace->size);
	push_notes(L, *v);
	return (*v)->accepted ? 1 : push_finding(L, *v, img, prog);
}

/*
 * image:verify_env(n, spent) -> nil if program n of SEC("env") answers all
 * ranks alike; otherwise a finding with the reason, as from image:verify, and
 * unknown=true if the verifier gave up | nil, err; spent: the work that the
 * policy's programs took
 */
static int image_verify_env(lua_State *L)
{
	struct nb_image *img = to_image(L);
	uint32_t prog = to_prog(L, img);
	struct nb_policy_opts policy = { .max_insns = 0 };
	struct nb_err err = { .code = 0 };
	struct nb_verdict **v = lua_newuserdatauv(L, sizeof(*v), 0);

	*v = NULL;
	nb_lua_collected(L, VERDICT, verdict_gc);
	nb_lua_policy_limits(&policy);
	policy.verify.policy_insns = policy.max_insns;
	policy.verify.policy_spent = (uint32_t)luaL_checkinteger(L, 3);
	if (nb_verify_env(v, img, prog, &policy.verify, &err))
		return nb_lua_fail(L, &err);
	if (!*v)
		return 0;
	lua_createtable(L, 0, 8);
	nb_lua_set_bool(L, "unknown", !nb_finding_about_ranks(&(*v)->finding));
	return push_finding(L, *v, img, prog);
}

void nb_lua_open_image(lua_State *L)
{
	static const luaL_Reg methods[] = { { "info", image_info },
					    { "btf", image_btf },
					    { "disasm", image_disasm },
					    { "verify", image_verify },
					    { "verify_env", image_verify_env },
					    { "budget", image_budget },
					    { "__gc", image_gc },
					    { "__close", image_gc },
					    { NULL, NULL } };
	static const luaL_Reg fns[] = { { "object_image", image_of_object },
					{ "image_named", image_named },
					{ "image_values", image_values },
					{ "image_set", image_set },
					{ "image", image_new },
					{ "is_image", is_image },
					{ NULL, NULL } };

	nb_lua_class(L, IMAGE, methods);
	luaL_setfuncs(L, fns, 0);
}
