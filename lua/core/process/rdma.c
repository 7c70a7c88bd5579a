// SPDX-License-Identifier: MIT
/*
 * core.rdma traces the kernel's functions for the queue pairs of some
 * processes. libbpf loads the programs of lua/bpf/rdma.bpf.c.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lua/bpf/rdma.h"
#include "lua/core/process/probes.h"

#define RDMA "ncclbpf.rdma"

extern const unsigned char nb_rdma_bpf[];
extern const unsigned long nb_rdma_bpf_size;

static const char *const rdma_events[] = { [NB_RDMA_CREATE] = "create",
					   [NB_RDMA_CHANGE] = "change",
					   [NB_RDMA_DESTROY] = "destroy",
					   [NB_RDMA_POST] = "post",
					   [NB_RDMA_DONE] = "done" };
enum { NEVENTS = sizeof(rdma_events) / sizeof(rdma_events[0]) };

static const char *state_of(unsigned state)
{
	static const char *const words[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < sizeof(words) / sizeof(words[0]) ? words[state] : NULL;
}

static int take_event(void *arg, void *data, size_t size)
{
	struct nb_probes *p = arg;
	const struct nb_rdma_seen *s = data;
	lua_State *L = p->L;

	if (size < sizeof(*s) || s->event >= NEVENTS)
		return 0;
	lua_createtable(L, 0, 12);
	lua_pushstring(L, rdma_events[s->event]);
	lua_setfield(L, -2, "event");
	nb_lua_set_bytes(L, "device", s->qp.device, strnlen(s->qp.device, sizeof(s->qp.device)));
	nb_lua_set_int(L, "qp", s->qp.number);
	nb_lua_set_int(L, "start_ns", (lua_Integer)s->start);
	nb_lua_set_int(L, "end_ns", (lua_Integer)s->end);
	nb_lua_set_int(L, "pid", s->pid);
	nb_lua_set_int(L, "error", -s->error);
	if (s->event == NB_RDMA_CHANGE && state_of(s->to)) {
		lua_pushstring(L, state_of(s->to));
		lua_setfield(L, -2, "to");
	}
	if (s->event == NB_RDMA_DONE) {
		nb_lua_set_int(L, "status", s->status);
		nb_lua_set_int(L, "bytes", s->bytes);
		lua_pushboolean(L, s->opcode < 128);
		lua_setfield(L, -2, "send");
	}
	lua_rawseti(L, -2, ++p->n);
	return 0;
}

/* ---- what is traced ---- */

static int rdma_put(struct nb_probes *p, const char *map, const void *key, unsigned value)
{
	int fd = bpf_object__find_map_fd_by_name(p->obj, map);

	return bpf_map_update_elem(fd, key, &value, 0) ? -errno : 0;
}

/* Element @i of the list at @at is a process: {pid=, qps={{qp=, device=}...}}.
 */
static int trace_process(lua_State *L, struct nb_probes *p)
{
	unsigned pid;
	int rc;

	lua_getfield(L, -1, "pid");
	pid = (unsigned)luaL_checkinteger(L, -1);
	lua_pop(L, 1);
	rc = rdma_put(p, "pids", &pid, 0);
	lua_getfield(L, -1, "qps");
	for (lua_Integer i = 1; !rc && lua_rawgeti(L, -1, i) == LUA_TTABLE; i++) {
		struct nb_rdma_qp key = { 0 };

		lua_getfield(L, -1, "qp");
		key.number = (unsigned)luaL_checkinteger(L, -1);
		lua_getfield(L, -2, "device");
		strncpy(key.device, luaL_checkstring(L, -1), sizeof(key.device) - 1);
		rc = rdma_put(p, "qps", &key, pid);
		lua_pop(L, 3);
	}
	return rc;
}

/* Leave the programs of SoftRoCE out if its module is not loaded. */
static void choose_rdma(struct bpf_object *obj)
{
	bool rxe = !access("/sys/kernel/btf/rdma_rxe", R_OK);
	struct bpf_program *prog;

	bpf_object__for_each_program(
		prog, obj) if (!rxe && strstr(bpf_program__section_name(prog), "/rxe_"))
		bpf_program__set_autoload(prog, false);
}

static int attach_rdma(struct nb_probes *p)
{
	struct bpf_program *prog;
	int rc = 0;

	bpf_object__for_each_program(prog, p->obj) if (!rc && bpf_program__autoload(prog)) rc =
		nb_probes_keep(p, bpf_program__attach(prog));
	return rc;
}

/* rdma({ {pid=, qps={{qp=, device=}...}}, ... }) -> probes | nil, err */
static int open_rdma(lua_State *L)
{
	const struct nb_probes_object o = { "ncclbpf_rdma", nb_rdma_bpf, nb_rdma_bpf_size,
					    choose_rdma, take_event };
	struct nb_probes *p;
	int rc = 0, top;

	luaL_checktype(L, 1, LUA_TTABLE);
	p = nb_probes_open(L, RDMA, &o);
	if (!p)
		return 2;
	top = lua_gettop(L);
	for (lua_Integer i = 1; !rc && lua_rawgeti(L, 1, i) == LUA_TTABLE; i++)
		rc = trace_process(L, p);
	lua_settop(L, top);
	if (!rc)
		rc = attach_rdma(p);
	if (rc)
		return nb_probes_refuse(L, p, "queue pairs in the kernel", rc);
	return 1;
}

void nb_lua_open_rdma(lua_State *L)
{
	nb_probes_type(L, RDMA);
	lua_pushcfunction(L, open_rdma);
	lua_setfield(L, -2, "rdma");
}
