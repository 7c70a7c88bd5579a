// SPDX-License-Identifier: MIT
/*
 * Ask a native tuner plugin: native_tuner(path, {contexts}[, seconds]). The plugin runs in a
 * process of its own, so a plugin that crashes, hangs or leaves threads or processes does not harm
 * this one. The interfaces are those of plugin/abi/tuner_abi.h; the newest one that the plugin has
 * is called.
 */
#include "lua/core/process/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lua/core/support/support.h"
#include "lua/core/wait/wait.h"
#include "plugin/abi/tuner_abi.h"

enum { ALGOS = 7, PROTOS = 3, ENTRIES = ALGOS * PROTOS, SECONDS = 60, MAX_TEXT = 256 };

/* How often to look whether the other process has ended. */
static const double SLICE_S = 0.1;
/* Predicted microseconds of NCCL's own choice and of its other offers. */
static const float OWN_US = 10, OTHER_US = 20, NOT_OFFERED = -1;

struct question {
	uint64_t comm_id, bytes;
	uint32_t coll, ranks, nodes, pipe_ops, reg_buff, usable, nvl_domains, nvl_min, nvl_max;
	int32_t own_algo, own_proto;
	float costs[ENTRIES]; /* microseconds, NOT_OFFERED for what NCCL does not offer */
};

struct answer {
	int32_t algo, proto, channels; /* -1, -1 and 0: no opinion */
};

/* What the other process says first: the number of answers that follow, or a text. */
struct reply {
	uint64_t answers;
	char error[MAX_TEXT];
};

/* A plugin's table of functions. All versions begin alike, but for the types of their functions. */
union tuner {
	const void *any;
	const struct nb_tuner_v2 *v2;
	const struct nb_tuner_v3 *v3;
	const struct nb_tuner_v4 *v4;
	const struct nb_tuner_v5 *v5;
	const struct nb_tuner_v7 *v7;
};

struct native {
	union tuner t;
	unsigned version;
	void *context;
	const struct question *of; /* the question whose communicator is initialised */
};

/* ---- in the other process ---- */

static void say_nothing(int level, unsigned long flags, const char *file, int line, const char *fmt,
			...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

static bool native_open(struct native *n, const char *path, struct reply *r)
{
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!so) {
		snprintf(r->error, sizeof(r->error), "%s", dlerror());
		return false;
	}
	for (n->version = 7; n->version >= 2 && !n->t.any; n->version--) {
		char symbol[32];

		snprintf(symbol, sizeof(symbol), "ncclTunerPlugin_v%u", n->version);
		n->t.any = dlsym(so, symbol);
	}
	n->version++;
	if (!n->t.any)
		snprintf(r->error, sizeof(r->error), "it has no symbol ncclTunerPlugin_v2 to v7");
	return n->t.any;
}

static void native_end(struct native *n)
{
	if (n->of && n->t.v5->finalize)
		n->t.v5->finalize(n->context);
	n->of = NULL;
}

/* Begin the communicator of question @q, unless it is the last one's. */
static int native_begin(struct native *n, const struct question *q)
{
	/* The constants of every version, and RCCL's, which are larger. */
	static double constants[1024];
	struct nb_nvl_domain_info nvl = { (int)q->nvl_domains, (int)q->nvl_min, (int)q->nvl_max };
	uint64_t id = q->comm_id ? q->comm_id : 1; /* NCCL passes no 0 */

	if (n->of && n->of->ranks == q->ranks && n->of->nodes == q->nodes &&
	    n->of->comm_id == q->comm_id)
		return 0;
	native_end(n);
	n->context = NULL;
	n->of = q;
	if (n->version < 5)
		return n->t.v2->init(q->ranks, q->nodes, say_nothing, &n->context);
	if (n->version < 7)
		return n->t.v5->init(&n->context, id, q->ranks, q->nodes, say_nothing, &nvl,
				     (struct nb_tuner_constants *)(void *)constants);
	return n->t.v7->init(&n->context, id, q->ranks, q->nodes, say_nothing, &nvl,
			     (struct nb_tuner_constants_v7 *)(void *)constants);
}

static int native_ask(const struct native *n, const struct question *q, struct answer *a)
{
	const float *plain = q->costs;
	float table[ENTRIES];
	float **rows = (float **)(void *)table;
	int coll = (int)q->coll, ops = (int)q->pipe_ops, best = -1, rc;
	bool touched = false;

	*a = (struct answer){ -1, -1, 0 };
	if (n->version == 2)
		return n->t.v2->get_coll_info(n->context, coll, q->bytes, 1, 1, ops, &a->algo,
					      &a->proto, &a->channels);
	memcpy(table, plain, sizeof(table));
	if (n->version == 3)
		rc = n->t.v3->get_coll_info(n->context, coll, q->bytes, ops, rows, ALGOS, PROTOS,
					    &a->channels);
	else
		rc = n->t.v4->get_coll_info(n->context, coll, q->bytes, ops, rows, ALGOS, PROTOS,
					    (int)q->reg_buff, &a->channels);
	for (int i = 0; i < ENTRIES; i++) {
		touched |= table[i] < plain[i] || table[i] > plain[i];
		if (plain[i] >= 0 && table[i] >= 0 && (best < 0 || table[i] < table[best]))
			best = i;
	}
	/* An untouched table is no opinion. */
	if (best >= 0 && touched) {
		a->algo = best / PROTOS;
		a->proto = best % PROTOS;
	}
	return rc;
}

static bool native_answer(struct native *n, const struct question *q, struct answer *a,
			  uint64_t count, struct reply *r)
{
	for (uint64_t i = 0; i < count; i++) {
		int rc = native_begin(n, &q[i]);

		if (rc) {
			snprintf(r->error, sizeof(r->error),
				 "its init returned %d for a communicator with ranks=%u, nodes=%u",
				 rc, q[i].ranks, q[i].nodes);
			return false;
		}
		/* As NCCL does after an error of the plugin: the answer does not count. */
		if (native_ask(n, &q[i], &a[i]))
			a[i] = (struct answer){ -1, -1, 0 };
	}
	native_end(n);
	return true;
}

static void write_all(int fd, const void *p, size_t size)
{
	for (ssize_t n; size; size -= (size_t)n, p = (const char *)p + n) {
		n = write(fd, p, size);
		if (n <= 0)
			_exit(1);
	}
}

static _Noreturn void other_process(int fd, const char *path, const struct question *q,
				    uint64_t count)
{
	struct answer *answers = calloc(count ? count : 1, sizeof(*answers));
	struct reply reply = { 0 };
	struct native n = { .of = NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t alarms;

	setpgid(0, 0); /* so that processes of the plugin can be killed with it */
	signal(SIGINT, SIG_DFL);
	/* in case that this process outlives the one that kills it */
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(2 * SECONDS);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (!answers)
		snprintf(reply.error, sizeof(reply.error), "no memory");
	else if (native_open(&n, path, &reply) && native_answer(&n, q, answers, count, &reply))
		reply.answers = count;
	write_all(fd, &reply, sizeof(reply));
	write_all(fd, answers, reply.answers * sizeof(*answers));
	_exit(0); /* not exit(): the plugin's destructors are not asked for */
}

/* ---- in this process ---- */

static uint64_t field_of(lua_State *L, const char *name)
{
	lua_Integer v;

	lua_getfield(L, -1, name);
	v = lua_isnil(L, -1) ? 0 : luaL_checkinteger(L, -1);
	lua_pop(L, 1);
	return (uint64_t)v;
}

/* Read the cost table of the context at the top of the stack, or make one up. */
static void read_table(lua_State *L, struct question *q)
{
	bool given = lua_getfield(L, -1, "costs") == LUA_TTABLE;

	for (int i = 0; i < ENTRIES; i++) {
		bool own = i / PROTOS == q->own_algo && i % PROTOS == q->own_proto;

		if (given) {
			lua_rawgeti(L, -1, i + 1);
			q->costs[i] = (float)luaL_checknumber(L, -1);
			lua_pop(L, 1);
		} else {
			q->costs[i] = own ? OWN_US : OTHER_US;
		}
		if (!(q->usable >> i & 1))
			q->costs[i] = NOT_OFFERED;
	}
	lua_pop(L, 1);
}

/* Read the context at the top of the stack. */
static struct question to_question(lua_State *L)
{
	struct question q;

	luaL_checktype(L, -1, LUA_TTABLE);
	q = (struct question){
		.comm_id = field_of(L, "comm_id"),
		.bytes = field_of(L, "bytes"),
		.coll = (uint32_t)field_of(L, "coll"),
		.ranks = (uint32_t)field_of(L, "ranks"),
		.nodes = (uint32_t)field_of(L, "nodes"),
		.pipe_ops = (uint32_t)field_of(L, "pipe_ops"),
		.reg_buff = (uint32_t)field_of(L, "reg_buff"),
		.usable = (uint32_t)field_of(L, "usable"),
		.nvl_domains = (uint32_t)field_of(L, "nvl_domains"),
		.nvl_min = (uint32_t)field_of(L, "nvl_min_ranks"),
		.nvl_max = (uint32_t)field_of(L, "nvl_max_ranks"),
		.own_algo = (int32_t)field_of(L, "nccl_algo"),
		.own_proto = (int32_t)field_of(L, "nccl_proto"),
	};
	read_table(L, &q);
	return q;
}

/* The other process, and why it has not answered. */
struct other {
	pid_t pid;
	int fd;
	double deadline;
	bool late, interrupted;
};

static bool has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/*
 * Wait for bytes of the other process. Returns false if there are none. A process that the plugin
 * has left may keep the pipe open, so the end of the other process counts, too.
 */
static bool answers_wait(struct other *o)
{
	struct pollfd in = { .fd = o->fd, .events = POLLIN };
	int n = 0;

	while (!n && !o->late) {
		bool ended = has_ended(o->pid);

		n = nb_lua_poll(&in, 1, ended ? 0 : SLICE_S);
		if (!n && ended)
			return false;
		o->late = !n && nb_lua_mono() >= o->deadline;
	}
	o->interrupted = n < 0;
	return n > 0;
}

/* Read @size bytes. Returns false if the other process does not send them. */
static bool answers_read(struct other *o, void *p, size_t size)
{
	while (size) {
		ssize_t n;

		if (!answers_wait(o))
			return false;
		n = read(o->fd, p, size);
		if (n <= 0)
			return false;
		p = (char *)p + n;
		size -= (size_t)n;
	}
	return true;
}

/* End the other process and those of the plugin. Returns its status. */
static int end_all(pid_t pid)
{
	int status = 0;

	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* -> nil, err, which says how the other process has ended with @status */
static int ended(lua_State *L, const struct other *o, int status, const struct reply *r,
		 int seconds)
{
	if (o->interrupted)
		return nb_lua_interrupted(L);
	if (r->error[0])
		return nb_lua_failf(L, NB_E_ARG, "%s", r->error);
	if (o->late)
		return nb_lua_failf(L, NB_E_TIMEOUT, "it did not answer within %d s", seconds);
	if (WIFSIGNALED(status))
		return nb_lua_failf(L, NB_E_ARG, "it ended with signal %d", WTERMSIG(status));
	return nb_lua_failf(L, NB_E_ARG, "it ended its process");
}

static void push_answers(lua_State *L, const struct answer *a, uint64_t count)
{
	lua_createtable(L, (int)count, 0);
	for (uint64_t i = 0; i < count; i++) {
		lua_createtable(L, 0, 3);
		nb_lua_set_int(L, "algo", a[i].algo);
		nb_lua_set_int(L, "proto", a[i].proto);
		nb_lua_set_int(L, "channels", a[i].channels);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

/* native_tuner(path, {contexts}[, seconds]) -> {{algo proto channels}} | nil, err */
static int native_tuner(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	int seconds = (int)luaL_optinteger(L, 3, SECONDS);
	struct reply reply = { 0 };
	struct other o = { .deadline = nb_lua_mono() + seconds };
	struct question *q;
	struct answer *a;
	uint64_t count;
	int fd[2], *in, status;
	bool read;

	luaL_checktype(L, 2, LUA_TTABLE);
	count = lua_rawlen(L, 2);
	q = lua_newuserdatauv(L, (count + 1) * sizeof(*q), 0);
	a = lua_newuserdatauv(L, (count + 1) * sizeof(*a), 0);
	for (uint64_t i = 0; i < count; i++) {
		lua_rawgeti(L, 2, (lua_Integer)i + 1);
		q[i] = to_question(L);
		lua_pop(L, 1);
	}
	in = nb_lua_fd(L);
	if (pipe2(fd, O_CLOEXEC))
		return nb_lua_failf(L, NB_E_IO, "no pipe for another process");
	*in = fd[0];
	fflush(NULL); /* otherwise both processes would write the buffered output */
	o.fd = fd[0];
	o.pid = fork();
	if (!o.pid)
		other_process(fd[1], path, q, count);
	close(fd[1]);
	if (o.pid < 0)
		return nb_lua_failf(L, NB_E_NOMEM, "no other process");
	setpgid(o.pid, o.pid); /* whichever process comes first */
	read = answers_read(&o, &reply, sizeof(reply)) && reply.answers == count &&
	       answers_read(&o, a, count * sizeof(*a));
	status = end_all(o.pid);
	nb_lua_fd_close(in);
	reply.error[MAX_TEXT - 1] = '\0';
	if (!read)
		return ended(L, &o, status, &reply, seconds);
	push_answers(L, a, count);
	return 1;
}

const luaL_Reg nb_lua_native_tuner[] = { { "native_tuner", native_tuner }, { NULL, NULL } };
