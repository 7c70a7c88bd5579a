// SPDX-License-Identifier: MIT
/*
 * The one clock and the one wait of the shell and its module: whatever waits calls nb_lua_poll,
 * which Ctrl-C and the deadline of core.limited end.
 */
#include "lua/core/wait/wait.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "core/base/utc.h"

double nb_lua_mono(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool must_end(void)
{
	return nb_lua_stopped() || nb_lua_late();
}

/*
 * Both signals are blocked between the check of their flags and the wait, so a
 * signal at that moment still ends the wait.
 */
int nb_lua_poll(struct pollfd *fds, unsigned n, double timeout)
{
	double end = nb_lua_mono() + timeout;
	sigset_t block, old;
	int rc;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGALRM);
	for (;;) {
		double left = timeout < 0 ? 3600 : end - nb_lua_mono();
		struct timespec t;

		left = left < 0 ? 0 : left > 3600 ? 3600 : left;
		t.tv_sec = (time_t)left;
		t.tv_nsec = (long)((left - (double)t.tv_sec) * 1e9);
		pthread_sigmask(SIG_BLOCK, &block, &old);
		if (must_end()) {
			pthread_sigmask(SIG_SETMASK, &old, NULL);
			errno = EINTR;
			return -1;
		}
		rc = ppoll(fds, n, &t, &old);
		int e = errno;

		pthread_sigmask(SIG_SETMASK, &old, NULL);
		errno = e;
		if (rc > 0 || (rc < 0 && errno != EINTR))
			return rc;
		if (timeout >= 0 && nb_lua_mono() >= end && !must_end())
			return 0;
	}
}

static int clock_mono(lua_State *L)
{
	lua_pushnumber(L, nb_lua_mono());
	return 1;
}

/*
 * time([ns]) -> "2026-01-31T12:00:00.123Z": the present time, or the time ns of
 * CLOCK_REALTIME
 */
static int clock_time(lua_State *L)
{
	struct timespec t;
	char text[NB_UTC_TEXT];

	clock_gettime(CLOCK_REALTIME, &t);
	lua_Integer ns = luaL_optinteger(L, 1, (lua_Integer)t.tv_sec * 1000000000 + t.tv_nsec);

	luaL_argcheck(L, ns >= 0, 1, "before 1970");
	lua_pushstring(L, nb_utc_text(text, (uint64_t)ns, 3));
	return 1;
}

static int clock_sleep(lua_State *L)
{
	if (nb_lua_poll(NULL, 0, luaL_checknumber(L, 1)) < 0)
		return nb_lua_interrupted(L);
	return 0;
}

const luaL_Reg nb_lua_clock[] = {
	{ "mono", clock_mono }, { "time", clock_time }, { "sleep", clock_sleep }, { NULL, NULL }
};
