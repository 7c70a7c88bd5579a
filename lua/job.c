// SPDX-License-Identifier: MIT
// A job's segment read from its file: what its ranks decided is there also
// when none of its processes lives.
#include "lua/core.h"

#include <errno.h>
#include <stdlib.h>

#include "core/job/report.h"

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
					    "digits wanted",
					    comm);
	}
	if (nb_job_read(&job, path, &err))
		return nb_lua_fail(L, &err);
	nb_json_init(&j, text);
	nb_job_json(&job, path, comm != NULL, id, MOST / 2, &j);
	nb_job_free(&job);
	if (!nb_buf_ok(text))
		return nb_lua_failf(L, NB_E_NOMEM, "no memory for the report");
	return nb_lua_json_push(L, nb_buf_text(text), text->size);
}

void nb_lua_open_job(lua_State *L)
{
	lua_pushcfunction(L, agreement);
	lua_setfield(L, -2, "job_agreement");
}
