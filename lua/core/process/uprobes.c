// SPDX-License-Identifier: MIT
/*
 * core.calls: uprobes on NCCL's interface in other processes, by libbpf, with
 * the programs of bpf/calls.bpf.c. Only the kernel knows whether that is
 * permitted, so the caller gets the kernel's error.
 */
#include "lua/core/process/probes.h"

#include <errno.h>

#include "lua/bpf/calls.h"

#define CALLS "ncclbpf.calls"

extern const unsigned char nb_calls_bpf[];
extern const unsigned long nb_calls_bpf_size;

static const char *const calls_funcs[] = { "ncclAllReduce", "ncclBroadcast",	 "ncclReduce",
					   "ncclAllGather", "ncclReduceScatter", "ncclSend",
					   "ncclRecv",	    "ncclGroupStart",	 "ncclGroupEnd" };
enum { NFUNCS = sizeof(calls_funcs) / sizeof(calls_funcs[0]) };

static void set(lua_State *L, const char *key, unsigned long long v)
{
	nb_lua_set_int(L, key, (lua_Integer)v);
}

static int calls_take(void *arg, void *data, size_t size)
{
	struct nb_probes *c = arg;
	const struct nb_call_seen *s = data;

	if (size < sizeof(*s) || s->func >= NFUNCS)
		return 0;
	lua_createtable(c->L, 0, 8);
	lua_pushstring(c->L, calls_funcs[s->func]);
	lua_setfield(c->L, -2, "func");
	set(c->L, "start_ns", s->start);
	set(c->L, "end_ns", s->end);
	set(c->L, "off_ns", s->off);
	set(c->L, "longest_off_ns", s->longest);
	set(c->L, "switches", s->switches);
	set(c->L, "pid", s->pid);
	set(c->L, "tid", s->tid);
	lua_rawseti(c->L, -2, ++c->n);
	return 0;
}

static int attach_one(struct nb_probes *c, int pid, const char *path, unsigned f)
{
	int rc = 0;

	/*
	 * attach the return probe first, so that each recorded call also ends
	 */
	for (int ret = 1; ret >= 0 && !rc; ret--) {
		struct bpf_uprobe_opts o = { .sz = sizeof(o),
					     .func_name = calls_funcs[f],
					     .retprobe = ret,
					     .bpf_cookie = f };
		struct bpf_program *p =
			bpf_object__find_program_by_name(c->obj, ret ? "leave" : "enter");

		rc = nb_probes_keep(c, bpf_program__attach_uprobe_opts(p, pid, path, 0, &o));
	}
	return rc;
}

/* calls({ {pid, path}, ... }) -> calls | nil, err */
static int open_uprobes(lua_State *L)
{
	const struct nb_probes_object o = { "ncclbpf_calls", nb_calls_bpf, nb_calls_bpf_size, NULL,
					    calls_take };
	struct nb_probes *c;
	int rc;

	luaL_checktype(L, 1, LUA_TTABLE);
	c = nb_probes_open(L, CALLS, &o);
	if (!c)
		return 2;
	rc = nb_probes_keep(c,
			    bpf_program__attach(bpf_object__find_program_by_name(c->obj, "sched")));
	if (rc)
		return nb_probes_refuse(L, c, "the scheduler's switches", rc);
	for (lua_Integer i = 1; lua_rawgeti(L, 1, i) == LUA_TTABLE; i++) {
		int pid;
		const char *path;

		lua_rawgeti(L, -1, 1);
		lua_rawgeti(L, -2, 2);
		pid = (int)luaL_checkinteger(L, -2);
		path = luaL_checkstring(L, -1);
		for (unsigned f = 0; f < NFUNCS && !rc; f++)
			rc = attach_one(c, pid, path, f);
		if (rc)
			return nb_probes_refuse(L, c, path, rc);
		lua_pop(L, 3);
	}
	lua_pop(L, 1);
	lua_settop(L, 2);
	return 1;
}

void nb_lua_open_uprobes(lua_State *L)
{
	nb_probes_type(L, CALLS);
	lua_pushcfunction(L, open_uprobes);
	lua_setfield(L, -2, "calls");
}
