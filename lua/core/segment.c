// SPDX-License-Identifier: MIT
// A job's segment read from its file: what its ranks decided is there also
// when none of its processes lives.
#include "lua/core/core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/jobseg/report.h"
#include "core/spec/spec.h"

enum { MOST = 16 << 20 };

/* job_agreement(path [, comm]) -> table as of `check agreement` | nil, err */
static int agreement(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	const char *comm = luaL_optstring(L, 2, NULL);
	struct nb_buf *text = nb_lua_buf(L, MOST);
	struct nb_err err = { 0 };
	struct nb_job job;
	struct nb_json j;
	uint64_t id = 0;
	char *end;

	if (comm) {
		errno = 0;
		id = strtoull(comm, &end, 16);
		if (errno || *end || end == comm)
			return nb_lua_failf(L, NB_E_ARG,
					    "comm=%.40s: 1 to 16 hexadecimal "
					    "digits expected",
					    comm);
	}
	if (nb_job_read(&job, path, &err))
		return nb_lua_fail(L, &err);
	nb_json_init(&j, text);
	nb_json_obj(&j);
	nb_job_json(&job, path, comm != NULL, id, MOST / 2, &j);
	nb_json_end_obj(&j);
	nb_job_free(&job);
	if (!nb_buf_ok(text))
		return nb_lua_failf(L, NB_E_NOMEM, "no memory for the report");
	return nb_lua_json_push(L, nb_buf_text(text), text->size);
}

static void word(lua_State *L, const char *key, const char *text)
{
	if (!text)
		return;
	lua_pushstring(L, text);
	lua_setfield(L, -2, key);
}

static void number(lua_State *L, const char *key, uint64_t v)
{
	lua_pushinteger(L, (lua_Integer)v);
	lua_setfield(L, -2, key);
}

static void choice(lua_State *L, const char *key, int algo, int proto,
		   uint32_t channels)
{
	lua_createtable(L, 0, 3);
	word(L, "algo", algo < 0 ? NULL : nb_nccl_algo(algo));
	word(L, "proto", proto < 0 ? NULL : nb_nccl_proto(proto));
	number(L, "channels", channels);
	lua_setfield(L, -2, key);
}

static void push_decision(lua_State *L, const struct nb_seg_comm *c,
			  uint32_t slot, const struct nb_decision *d)
{
	char id[17];

	snprintf(id, sizeof(id), "%016llx", (unsigned long long)c->comm_id);
	lua_createtable(L, 0, 12);
	word(L, "comm", id);
	number(L, "slot", slot);
	number(L, "seq", d->seq);
	word(L, "coll", d->coll < 0 ? NULL : nb_nccl_coll(d->coll));
	number(L, "bytes", d->bytes);
	number(L, "generation", d->generation);
	choice(L, "nccl", d->nccl_algo, d->nccl_proto, 0);
	choice(L, "answer", d->algo, d->proto, d->channels);
	lua_pushnumber(L, d->cost_us);
	lua_setfield(L, -2, "cost_us");
	lua_pushnumber(L, d->nccl_cost_us);
	lua_setfield(L, -2, "nccl_cost_us");
	lua_createtable(L, 0, 5);
	number(L, "ranks", c->nranks);
	number(L, "nodes", c->nnodes);
	number(L, "pipe_ops", d->pipe_ops);
	number(L, "reg_buff", d->reg_buff);
	number(L, "usable", d->usable);
	lua_setfield(L, -2, "context");
}

/* The decisions that are kept of rank @slot, appended to the list on top. */
static void push_rank(lua_State *L, const struct nb_job *job,
		      const struct nb_seg_comm *c, uint32_t slot)
{
	const struct nb_packed *ring = nb_job_ring(job, &c->slot[slot]);
	uint64_t end = nb_job_decisions(&c->slot[slot]);
	struct nb_decision d;

	for (uint64_t k = end > NB_RING ? end - NB_RING : 0; ring && k < end;
	     k++) {
		if (!nb_unpack(&ring[k % NB_RING], k, &d))
			continue;
		push_decision(L, c, slot, &d);
		lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
	}
}

static int job_gc(lua_State *L)
{
	nb_job_free(lua_touserdata(L, 1));
	return 0;
}

/* job_decisions(path) -> list of decisions as of `decision tail` | nil, err */
static int decisions(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct nb_job *job = lua_newuserdatauv(L, sizeof(*job), 0);
	struct nb_err err = { 0 };

	if (nb_job_read(job, path, &err))
		return nb_lua_fail(L, &err);
	luaL_newmetatable(L, "ncclbpf.job");
	lua_pushcfunction(L, job_gc);
	lua_setfield(L, -2, "__gc");
	lua_setmetatable(L, -2);
	lua_newtable(L);
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = nb_job_comm(job, i);

		for (uint32_t s = 0; c && s < NB_SEG_SLOTS; s++)
			push_rank(L, job, c, s);
	}
	return 1;
}

void nb_lua_open_segment(lua_State *L)
{
	lua_pushcfunction(L, agreement);
	lua_setfield(L, -2, "job_agreement");
	lua_pushcfunction(L, decisions);
	lua_setfield(L, -2, "job_decisions");
}
