// SPDX-License-Identifier: MIT
/*
 * Policies offline: object files to images, what an image holds, its
 * disassembly and its verdict, made by the very code that runs in the job.
 */
#include "lua/core/core.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/image/image.h"
#include "core/isa/insn.h"
#include "core/load/object.h"
#include "core/ncclbpf.h"

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
static int object_image(lua_State *L)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, 1, &size);
	const char *name = luaL_checkstring(L, 2);
	struct nb_buf *out = nb_lua_buf(L, NB_IMAGE_MAX_SIZE);
	struct nb_err err = { .code = 0 };

	if (nb_object_image(out, bytes, size, name, &err))
		return nb_lua_fail(L, &err);
	lua_pushlstring(L, nb_buf_text(out), out->size);
	return 1;
}

/* image(bytes) -> image | nil, err */
static int image_new(lua_State *L)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, 1, &size);
	struct nb_image **img = lua_newuserdatauv(L, sizeof(*img), 0);
	struct nb_err err = { .code = 0 };

	*img = NULL;
	luaL_setmetatable(L, IMAGE);
	if (nb_image_read(img, bytes, size, &err))
		return nb_lua_fail(L, &err);
	return 1;
}

/* is_image(bytes) -> do the bytes begin with the magic number of an image */
static int is_image(lua_State *L)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, 1, &size);

	lua_pushboolean(L, nb_image_is(bytes, size));
	return 1;
}

static void str(lua_State *L, const char *key, const char *value)
{
	lua_pushstring(L, value);
	lua_setfield(L, -2, key);
}

static void num(lua_State *L, const char *key, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, key);
}

static void flag(lua_State *L, const char *key, bool value)
{
	lua_pushboolean(L, value);
	lua_setfield(L, -2, key);
}

static void push_map(lua_State *L, const struct nb_map_spec *m)
{
	static const char *const origins[] = { "defined", "rodata", "data",
					       "bss", "inner" };
	const struct nb_map_type_spec *t = nb_spec_map_type(m->type);

	lua_createtable(L, 0, 12);
	str(L, "name", m->name);
	str(L, "type", t ? t->word : "unknown");
	num(L, "key_size", m->key_size);
	num(L, "value_size", m->value_size);
	num(L, "max_entries", m->max_entries);
	num(L, "flags", m->flags);
	flag(L, "coherent", m->tags & NB_MAPF_COHERENT);
	flag(L, "shared", m->tags & NB_MAPF_SHARED);
	if (m->tags & NB_MAPF_MERGED)
		str(L, "merged", m->tags & NB_MAPF_SUM ? "sum" : "max");
	str(L, "origin", (size_t)m->origin < 5 ? origins[m->origin] : "?");
	num(L, "btf_key", m->btf_key);
	num(L, "btf_value", m->btf_value);
	if (m->init) {
		lua_pushlstring(L, (const char *)m->init, m->value_size);
		lua_setfield(L, -2, "init");
	}
}

static void push_prog(lua_State *L, const struct nb_prog *p)
{
	const struct nb_hook_spec *h = nb_spec_hook(p->hook);

	lua_createtable(L, 0, 5);
	str(L, "name", p->name);
	str(L, "section", p->section);
	str(L, "hook", h ? h->word : "?");
	num(L, "insns", p->nslots);
	num(L, "functions", p->nfuncs);
}

/* image:info() -> {name, digest, size, maps, programs, btf} */
static int image_info(lua_State *L)
{
	const struct nb_image *img = to_image(L);
	char digest[65];

	lua_createtable(L, 0, 6);
	str(L, "name", img->name);
	nb_sha256_text(img->digest, digest);
	str(L, "digest", digest);
	num(L, "size", (lua_Integer)img->size);
	lua_createtable(L, (int)img->nmaps, 0);
	for (uint32_t i = 0; i < img->nmaps; i++) {
		push_map(L, &img->maps[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "maps");
	lua_createtable(L, (int)img->nprogs, 0);
	for (uint32_t i = 0; i < img->nprogs; i++) {
		push_prog(L, &img->progs[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "programs");
	return 1;
}

/* image:btf() -> the blob's bytes, or nil */
static int image_btf(lua_State *L)
{
	const struct nb_image *img = to_image(L);

	if (!img->btf)
		return 0;
	lua_pushlstring(L, (const char *)img->btf, img->btf_size);
	return 1;
}

static const char *map_name(void *arg, uint32_t index)
{
	const struct nb_image *img = arg;

	return index < img->nmaps ? img->maps[index].name : NULL;
}

static uint32_t to_prog(lua_State *L, const struct nb_image *img)
{
	lua_Integer i = luaL_checkinteger(L, 2);

	luaL_argcheck(L, i >= 1 && (lua_Unsigned)i <= img->nprogs, 2,
		      "no such program");
	return (uint32_t)(i - 1);
}

static void push_line(lua_State *L, const struct nb_image *img,
		      const struct nb_prog *p, const struct nb_insn *insn,
		      uint32_t pc)
{
	const struct nb_line *at = nb_prog_line(p, pc);
	const struct nb_func *f = nb_prog_func(p, pc);
	char text[256];

	nb_disasm(text, sizeof(text), insn, map_name, (void *)(uintptr_t)img);
	lua_createtable(L, 0, 6);
	num(L, "pc", pc);
	str(L, "insn", text);
	if (f && f->start == pc)
		str(L, "func", f->name);
	/* the source stands at the first instruction made from it */
	if (at && at->pc == pc) {
		str(L, "file", at->file);
		num(L, "line", at->line);
		str(L, "source", at->text);
	}
}

/* image:disasm(n) -> [{pc insn func file line source}] | nil, err */
static int image_disasm(lua_State *L)
{
	struct nb_image *img = to_image(L);
	const struct nb_prog *p = &img->progs[to_prog(L, img)];
	struct nb_insn *insns =
		lua_newuserdatauv(L, p->nslots * sizeof(*insns), 0);
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

/* The bound of a run, and the line of the loop with the longest iteration. */
static void push_run(lua_State *L, const struct nb_verdict *v,
		     const struct nb_prog *p)
{
	const struct nb_policy_effort e = nb_policy_effort_of(v);
	const struct nb_line *line =
		v->lap_pc < p->nslots ? nb_prog_line(p, v->lap_pc) : NULL;

	num(L, "run",
	    (lua_Integer)(nb_effort_path(&e, v->lap, 0) +
			  nb_effort_turns(&e, v->lap)));
	flag(L, "loops", v->loops || v->passes);
	if (v->lap_pc < p->nslots)
		num(L, "loop_pc", v->lap_pc);
	if (line) {
		num(L, "loop_line", line->line);
		str(L, "loop_file", line->file);
	}
}

static void push_stats(lua_State *L, const struct nb_verdict *v,
		       const struct nb_prog *p)
{
	const struct nb_verify_stats *s = &v->stats;

	lua_createtable(L, 0, 8);
	num(L, "insns_walked", s->insns_walked);
	num(L, "work", s->work);
	num(L, "states_peak", s->states_peak);
	num(L, "stack_bytes", s->stack_depth);
	num(L, "lap", v->lap);
	num(L, "numbers", v->numbers);
	push_run(L, v, p);
	num(L, "time_us", (lua_Integer)(s->time_ns / 1000));
	num(L, "memory_bytes", (lua_Integer)s->memory);
}

/* [{class pc text hint file line source}] of an accepted program */
static void push_notes(lua_State *L, const struct nb_verdict *v)
{
	lua_createtable(L, (int)v->nnotes, 0);
	for (uint32_t i = 0; i < v->nnotes; i++) {
		const struct nb_note *note = &v->notes[i];

		lua_createtable(L, 0, 7);
		str(L, "class", note->word);
		num(L, "pc", note->pc);
		str(L, "text", note->text);
		str(L, "hint", note->hint);
		if (note->line) {
			str(L, "file", note->line->file);
			num(L, "line", note->line->line);
			str(L, "source", note->line->text);
		}
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, "notes");
}

static int push_finding(lua_State *L, const struct nb_verdict *v,
			const struct nb_image *img, uint32_t prog)
{
	struct nb_buf *text = nb_lua_buf(L, 0), *json = nb_lua_buf(L, 0);
	struct nb_buf *steps = nb_lua_buf(L, 0);
	struct nb_err err = { .code = 0 };
	struct nb_json j;

	lua_rotate(L, -4, 3); /* the buffers lie below the result */
	nb_verdict_text(v, img, prog, text);
	nb_verdict_notes(v, img, prog, steps);
	nb_json_init(&j, json);
	nb_verdict_json(v, img, prog, &j);
	nb_verdict_err(v, img, prog, &err);
	lua_pushlstring(L, nb_buf_text(text), text->size);
	lua_setfield(L, -2, "text");
	lua_pushlstring(L, nb_buf_text(steps), steps->size);
	lua_setfield(L, -2, "steps");
	str(L, "message", err.text);
	str(L, "hint", err.hint);
	num(L, "at", err.at);
	lua_pushlstring(L, nb_buf_text(json), json->size);
	lua_setfield(L, -2, "finding_json");
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
	num(L, "work_max", opts.max_insns);
	num(L, "memory_bytes", (lua_Integer)bytes);
	num(L, "memory_max_bytes", (lua_Integer)opts.max_memory);
	return 1;
}

/* image:verify(n[, {coherence_off=, trace=, spent=}]) -> verdict table | nil,
 * err; spent: the work of the programs before it */
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
		if (lua_toboolean(L, -1))
			policy.verify.trace = trace = nb_lua_buf(L, 16 << 20);
	}
	v = lua_newuserdatauv(L, sizeof(*v), 0);
	*v = NULL;
	luaL_setmetatable(L, VERDICT);
	nb_lua_policy_limits(&policy);
	policy.verify.policy_insns = policy.max_insns;
	if (nb_verify(v, img, prog, &policy.verify, &err))
		return nb_lua_fail(L, &err);
	lua_createtable(L, 0, 8);
	flag(L, "accepted", (*v)->accepted);
	push_stats(L, *v, &img->progs[prog]);
	lua_setfield(L, -2, "stats");
	if (trace) {
		lua_pushlstring(L, nb_buf_text(trace), trace->size);
		lua_setfield(L, -2, "trace");
	}
	push_notes(L, *v);
	return (*v)->accepted ? 1 : push_finding(L, *v, img, prog);
}

/* image:verify_env(n) -> nil: program n of SEC("env") answers all ranks alike;
 * or the finding that says why it may not, as of image:verify | nil, err */
static int image_verify_env(lua_State *L)
{
	struct nb_image *img = to_image(L);
	uint32_t prog = to_prog(L, img);
	struct nb_err err = { .code = 0 };
	struct nb_verdict **v = lua_newuserdatauv(L, sizeof(*v), 0);

	*v = NULL;
	luaL_setmetatable(L, VERDICT);
	if (nb_verify_env(v, img, prog, &err))
		return nb_lua_fail(L, &err);
	if (!*v)
		return 0;
	lua_createtable(L, 0, 6);
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
	static const luaL_Reg fns[] = { { "object_image", object_image },
					{ "image", image_new },
					{ "is_image", is_image },
					{ NULL, NULL } };

	luaL_newmetatable(L, IMAGE);
	luaL_setfuncs(L, methods, 0);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 1);
	luaL_newmetatable(L, VERDICT);
	lua_pushcfunction(L, verdict_gc);
	lua_setfield(L, -2, "__gc");
	lua_pop(L, 1);
	luaL_setfuncs(L, fns, 0);
}
