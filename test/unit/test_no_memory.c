// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// No memory at any point of the plugin's life in a process: each allocation
// of its initialisation, of its profiler, of each control command and of a run
// of a controller fails in turn. NCCL is told of no error, decisions go on, a
// command that fails says so and has changed nothing, and the next try works. A
// block that is leaked is found by LeakSanitizer (V=asan), at the exit of each
// process.
#include "test/unit/unit.h"
#include "test/unit/map_spec.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/defs/ctx.h"
#include "core/bpf/map/map.h"
#include "plugin/abi/profiler_abi.h"
#include "plugin/abi/tuner_abi.h"
#include "plugin/control/socket.h"
#include "plugin/controller/controller.h"
#include "plugin/process/process.h"
#include "plugin/trace/ring.h"
#include "test/fakes/host/prof.h"
#include "test/unit/fail_alloc.h"
#include "test/unit/made.h"
#include "test/unit/asm.h"

char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);

char *__wrap_strdup(const char *s)
{
	return alloc_fails() ? NULL : alloc_counted(__real_strdup(s));
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
	return alloc_fails() ? EAGAIN : __real_pthread_create(t, a, fn, arg);
}

/* ---- what the process has ---- */

static const struct nb_map_spec maps[] = {
	MAP_SPEC("want", ARRAY, 4, 4, 2, NB_MAPF_COHERENT),
	MAP_SPEC("seen", HASH, 4, 8, 8, 0),
	MAP_SPEC("line", RINGBUF, 0, 0, 4096, 0),
};
enum { NMAPS = sizeof(maps) / sizeof(maps[0]) };

#define ALWAYS_5 "stw [%r1+76], 5\nmov %r0, 0\nexit\n"

static char dir[64], lines[64 << 10];

static void logger(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	size_t n = strlen(lines);
	va_list ap;

	(void)level, (void)flags, (void)file, (void)line;
	va_start(ap, fmt);
	vsnprintf(lines + n, sizeof(lines) - n, fmt, ap);
	va_end(ap);
}

static void write_bytes(const char *name, const struct nb_buf *b)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.policy", dir, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, b->data, b->size), (ssize_t)b->size);
	close(fd);
}

static void write_policy(const char *name, const char *text)
{
	struct nb_buf b;

	made_image(&b, name, text, maps, NMAPS);
	write_bytes(name, &b);
	nb_buf_fini(&b);
}

static void set_up(const char *policy)
{
	char path[128];

	strcpy(dir, "/tmp/nbnomemXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	/* channels are want[0] */
	write_policy("by_map", MADE_CHANNELS_FROM_MAP);
	write_policy("five", ALWAYS_5);
	snprintf(path, sizeof(path), "%s/%s.policy", dir, policy);
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	setenv("NCCLBPF_JOB", "t", 1);
	setenv("NCCLBPF_LOG", "info", 1);
	setenv("NCCLBPF_POLICY", path, 1);
	unsetenv("NCCL_ALGO");
	unsetenv("NCCL_PROTO");
}

static void tear_down(void)
{
	char cmd[96];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static void *rank;

static void finish(void)
{
	ck_assert(!ncclTunerPlugin_v5.finalize(rank));
	tear_down();
}

static int begin(void **ctx)
{
	struct nb_nvl_domain_info nvl = { 1, 1, 1 };

	*ctx = NULL;
	return ncclTunerPlugin_v5.init(ctx, 7, 1, 1, logger, &nvl, NULL);
}

/* One decision; -1 where it fails or NCCL has nothing left to choose. */
static int channels(void *ctx)
{
	float t[NCCL_NUM_ALGOS * NCCL_NUM_PROTOS];
	int n = 0, good = 0;

	for (int i = 0; i < NCCL_NUM_ALGOS * NCCL_NUM_PROTOS; i++)
		t[i] = 1.0f + (float)i;
	if (ncclTunerPlugin_v5.get_coll_info(ctx, 4, 1024, 1, (float **)(void *)t, NCCL_NUM_ALGOS,
					     NCCL_NUM_PROTOS, 0, &n))
		return -1;
	for (int i = 0; i < NCCL_NUM_ALGOS * NCCL_NUM_PROTOS; i++)
		good += t[i] >= 0.0f;
	return good ? n : -1;
}

/* ---- from NCCL's first call to its last ---- */

enum { FINE = 0, THE_END = 42, BAD = 43 };

static int bad(const char *what)
{
	printf("# %s\n%s", what, lines);
	return BAD;
}

/* A trace and the profiler, and a collective for both. */
static const char *profile(void)
{
	static const struct host_coll coll = { .func = 4,
					       .algo = 1,
					       .proto = 2,
					       .datatype = 7,
					       .channels = 2,
					       .ops = 2,
					       .steps = 2,
					       .count = 1 << 20,
					       .gpu_from = 1000,
					       .gpu_to = 51000 };
	static int mask;
	struct nb_err err = { .text = "" };
	int rc = nb_trace_ring_open(1, &err);
	struct host_prof p = {
		.abi = 5, .mask = &mask, .name = "world", .id = 7, .nodes = 1, .ranks = 1
	};

	p.p = (const struct host_profiler *)(const void *)&ncclProfiler_v5;
	if (rc && (rc != NB_E_NOMEM || !alloc_failed || !*err.text))
		return "a trace is refused without a reason";
	if (host_prof_init(&p, NULL))
		return "the profiler's init tells NCCL of an error";
	host_prof_coll(&p, &coll);
	host_prof_fini(&p);
	if (!rc)
		nb_trace_ring_close(1);
	return NULL;
}

/* In a process of its own, with allocation @k failing. */
static int whole_life(long k)
{
	const char *why;
	void *ctx;
	long before;
	int n, rc;

	alloc_arm(ALLOC_MAIN, k);
	rc = begin(&ctx);
	why = rc ? "init tells NCCL of an error" : profile();
	alloc_until = -1;
	if (why)
		return bad(why);
	before = alloc_count;
	n = channels(ctx);
	if (n != channels(ctx) || (n != 0 && n != 5))
		return bad("NCCL's choice or the policy's has to stand");
	if (before != alloc_count)
		return bad("a decision allocates");
	if (n == 0 && !strstr(lines, "memory"))
		return bad("nobody was told why the policy does not decide");
	if (!alloc_failed && n != 5)
		return bad("the policy does not decide");
	if (ncclTunerPlugin_v5.finalize(ctx))
		return bad("finalize tells NCCL of an error");
	return alloc_failed ? FINE : THE_END;
}

TEST(each_allocation_of_init)
{
	int status = 0;
	long k;

	set_up("five");
	for (k = 0; status != THE_END; k++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			exit(whole_life(k));
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_msg(WIFEXITED(status), "%ld: signal %d", k, WTERMSIG(status));
		status = WEXITSTATUS(status);
		ck_assert_msg(status == FINE || status == THE_END, "allocation %ld: status %d", k,
			      status);
	}
	printf("# from init to finalize: %ld allocations\n", k - 1);
	ck_assert_int_gt(k, 20);
	tear_down();
}

/* ---- control commands ---- */

static int client = -1;
static char reply[1 << 20];

static void connect_client(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (client >= 0)
		close(client);
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", nb_process_socket());
	ck_assert(!connect(client, (struct sockaddr *)&a, sizeof(a)));
}

/* A sealed memory file with @size bytes. */
static int memory_file(const void *p, size_t size)
{
	int fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_eq(write(fd, p, size), (ssize_t)size);
	ck_assert(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
	return fd;
}

static void send_line(const char *line, int fd)
{
	char text[512];
	struct iovec v = { text, 0 };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} u = { .space = { 0 } };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	v.iov_len = (size_t)snprintf(text, sizeof(text), "%s\n", line);
	if (fd >= 0) {
		m.msg_control = u.space;
		m.msg_controllen = sizeof(u.space);
		u.align.cmsg_level = SOL_SOCKET;
		u.align.cmsg_type = SCM_RIGHTS;
		u.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&u.align), &fd, sizeof(int));
	}
	(void)!sendmsg(client, &m, MSG_NOSIGNAL);
}

/* Bytes of the reply, with descriptors closed; 0: the connection ended. */
static ssize_t some_bytes(char *to, size_t room)
{
	char space[CMSG_SPACE(4 * sizeof(int))];
	struct iovec v = { to, room };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = space,
			    .msg_controllen = sizeof(space) };
	struct pollfd p = { .fd = client, .events = POLLIN };
	ssize_t n;
	int fd;

	ck_assert_msg(poll(&p, 1, 600000) == 1, "no answer");
	n = recvmsg(client, &m, MSG_CMSG_CLOEXEC);
	if (n > 0 && m.msg_controllen >= CMSG_LEN(sizeof(int))) {
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
		close(fd);
	}
	return n < 0 ? 0 : n;
}

/* False: the connection ended. */
static bool read_reply(void)
{
	size_t have = 0;
	ssize_t n;

	do {
		n = some_bytes(reply + have, sizeof(reply) - 1 - have);
		have += (size_t)n;
	} while (n > 0 && reply[have - 1] != '\n');
	reply[have] = '\0';
	return n > 0;
}

/* "policy load NAME" brings an image, "map load" elements. */
static int file_for(const char *line)
{
	static const char elements[] = "\0\1\0\0\0abcdefgh\1\1\0\0\0";
	const char *name = line + strlen("policy load ");
	struct nb_buf b;
	int fd;

	if (!strncmp(line, "map load", 8))
		return memory_file(elements, sizeof(elements) - 1);
	if (strncmp(line, "policy load ", 12) != 0)
		return -1;
	made_image(&b, name, !strcmp(name, "five") ? ALWAYS_5 : MADE_NOOP, maps, NMAPS);
	fd = memory_file(b.data, b.size);
	nb_buf_fini(&b);
	return fd;
}

static bool ask(const char *line, long k)
{
	int fd = file_for(line);
	bool whole;

	alloc_arm(ALLOC_OTHERS, k);
	send_line(line, fd);
	whole = read_reply();
	alloc_until = -1;
	if (fd >= 0)
		close(fd);
	if (!whole)
		*reply = '\0';
	return whole && strstr(reply, "\"ok\":true");
}

static void must(const char *line)
{
	ck_assert_msg(ask(line, -1), "%s: %s", line, reply);
}

static void hello(void)
{
	connect_client();
	must("hello 1");
}

/* Decide until what was committed is passed. */
static void settle(int want, const char *after)
{
	int have = 0;

	for (int i = 0; i < 2000000 && have != want; i++)
		have = channels(rank);
	ck_assert_msg(have == want, "after %s: %d, not %d", after, have, want);
}

enum { NONE = -100 };

static const struct work {
	const char *line, *back; /* back: to where it began, NULL: no need */
	int channels;		 /* when it is done; 0: as before */
} works[] = {
	{ "hello 1", NULL, 0 },
	{ "help", NULL, 0 },
	{ "status", NULL, 0 },
	{ "doctor", NULL, 0 },
	{ "policy list", NULL, 0 },
	{ "policy show by_map", NULL, 0 },
	{ "policy time on", "policy time off", 0 },
	{ "policy load six", "policy unload six", 0 },
	{ "policy export five", NULL, 0 },
	{ "policy dump by_map", NULL, 0 },
	{ "policy use five", "policy undo", 5 },
	{ "policy use none", "policy undo", NONE },
	{ "policy use five comm=0000000000000007", "policy undo", 5 },
	{ "policy add five", "policy remove five", 5 },
	{ "policy add five position=first", "policy remove five", 0 },
	{ "policy use five commit=no", "map set want 00000000 03000000", 0 },
	{ "policy history", NULL, 0 },
	{ "map list", NULL, 0 },
	{ "map show want", NULL, 0 },
	{ "map dump seen", NULL, 0 },
	{ "map get want 00000000", NULL, 0 },
	{ "map set want 00000000 07000000", "map set want 00000000 03000000", 7 },
	{ "map set seen 02000000 0000000000000001", "map remove seen 02000000", 0 },
	{ "map load seen", NULL, 0 },
	{ "map pop line", NULL, 0 },
	{ "change status", NULL, 0 },
	{ "controller status", NULL, 0 },
	{ "controller pause", "controller resume", 0 },
	{ "comm list", NULL, 0 },
	{ "comm show 0000000000000007", NULL, 0 },
	{ "check agreement", NULL, 0 },
	{ "explain AllReduce 1024", NULL, 0 },
	{ "decision tail", NULL, 0 },
	{ "env list", NULL, 0 },
	{ "env set NCCL_X 1", "env remove NCCL_X", 0 },
	{ "net", NULL, 0 },
	{ "telemetry on", "telemetry off", 0 },
	{ "stats", NULL, 0 },
	{ "sample tail", NULL, 0 },
	{ "trace start", "trace stop", 0 },
	{ "trace status", NULL, 0 },
	{ "trace read", NULL, 0 },
	{ "trace tail", NULL, 0 },
};

/*
 * @line with allocation @k failing: done, or refused for want of memory, and
 * then nothing has changed.
 */
static bool attempt(const struct work *w, long k, int before)
{
	bool done = ask(w->line, k), failed = alloc_failed;

	if (*reply == '\0') { /* not even an error could be said */
		ck_assert_msg(failed, "%s: the connection ended", w->line);
		hello();
	} else if (!done) {
		ck_assert_msg(failed && strstr(reply, "memory"), "%s, allocation %ld: %s", w->line,
			      k, reply);
	}
	if (!done)
		for (int i = 0; i < 100; i++)
			ck_assert_msg(channels(rank) == before, "%s, allocation %ld: %d, %s",
				      w->line, k, channels(rank), reply);
	return done;
}

/* Everything as it was. */
static void put_back(const struct work *w, int before)
{
	settle(w->channels == NONE ? 0 : w->channels ? w->channels : before, w->line);
	if (w->back)
		must(w->back);
	settle(before, w->back);
}

/* How many allocations it has. */
static long each_of(const struct work *w)
{
	long k = 0;
	bool done, failed;

	do {
		done = attempt(w, k, 3);
		failed = alloc_failed;
		if (!done) /* what it wants is there again */
			must(w->line);
		put_back(w, 3);
		ck_assert_msg(k++ < 2000, "%s does not end", w->line);
	} while (failed);
	return k - 1;
}

TEST(each_allocation_of_commands)
{
	long all = 0, n;

	set_up("by_map");
	ck_assert(!begin(&rank));
	hello();
	must("policy load five");
	must("map set want 00000000 03000000");
	settle(3, "map set");
	for (unsigned i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		n = each_of(&works[i]);
		printf("# %s: %ld allocations\n", works[i].line, n);
		all += n;
	}
	ck_assert_int_gt(all, 300);
	finish();
	close(client);
}

/* ---- the loader's lock, and the environment ---- */

static sem_t inside, go;
static const char *read_variable; /* by another thread than main */
static pthread_t main_thread;

char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name);

char *__wrap_getenv(const char *name)
{
	if (main_thread && !pthread_equal(pthread_self(), main_thread))
		__atomic_store_n(&read_variable, name, __ATOMIC_RELAXED);
	return __real_getenv(name);
}

/* The constructor of in_constructor.so calls it, with the loader's lock. */
__attribute__((visibility("default"))) void in_constructor(void);

void in_constructor(void)
{
	sem_post(&inside);
	sem_wait(&go);
}

/* It is beside this program. */
static void *open_library(void *arg)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)arg;
	path[n > 0 ? n : 0] = '\0';
	snprintf(strrchr(path, '/'), 32, "/in_constructor.so");
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* A thread that waits for ours may hold the loader's lock, and the application
 * may be changing the environment. */
TEST(commands_need_neither_the_loader_nor_the_environment)
{
	pthread_t thread;

	set_up("by_map");
	unsetenv("NCCLBPF_POLICY");
	sem_init(&inside, 0, 0);
	sem_init(&go, 0, 0);
	main_thread = pthread_self();
	ck_assert(!begin(&rank));
	hello();
	pthread_create(&thread, NULL, open_library, NULL);
	sem_wait(&inside);
	must("policy load five");
	must("policy load by_map");
	for (unsigned i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		ask(works[i].line, -1);
		ck_assert_msg(!read_variable, "%s: getenv(%s)", works[i].line, read_variable);
		if (works[i].back)
			ask(works[i].back, -1);
	}
	sem_post(&go);
	pthread_join(thread, NULL);
	finish();
	close(client);
}

/* ---- a controller ---- */

/* want[0] goes from 1 to 16 and begins again. */
#define ONE_MORE                \
	"stw [%r10-8], 0\n"     \
	"mov %r2, %r10\n"       \
	"add %r2, -8\n"         \
	"lddw %r1, 0x7000\n"    \
	"call 1\n"              \
	"jeq %r0, 0, +12\n"     \
	"ldxw %r1, [%r0]\n"     \
	"and32 %r1, 15\n"       \
	"add32 %r1, 1\n"        \
	"stxw [%r10-16], %r1\n" \
	"mov %r2, %r10\n"       \
	"add %r2, -8\n"         \
	"mov %r3, %r10\n"       \
	"add %r3, -16\n"        \
	"mov %r4, 0\n"          \
	"lddw %r1, 0x7000\n"    \
	"call 2\n"              \
	"mov %r0, 0\nexit\n"

static void write_controller(void)
{
	static const char *const text[] = { MADE_CHANNELS_FROM_MAP, ONE_MORE };
	struct nb_slot slots[2][MADE_SLOTS];
	struct nb_func func[2];
	struct nb_prog prog[2] = { 0 };
	const struct nb_image img = {
		.name = "more", .maps = maps, .nmaps = NMAPS, .progs = prog, .nprogs = 2
	};
	struct nb_err err = { 0 };
	struct nb_buf b;
	size_t n;

	for (int i = 0; i < 2; i++) {
		ck_assert_msg(!nb_asm(slots[i], MADE_SLOTS, &n, text[i], &err), "%s", err.text);
		made_maps(slots[i], n);
		func[i] = (struct nb_func){ .name = i ? "c" : "t", .end = (uint32_t)n };
		prog[i] = (struct nb_prog){
			.name = func[i].name,
			.section = i ? "controller" : "tuner",
			.hook = i ? NB_HOOK_CONTROLLER : NB_HOOK_TUNER,
			.slots = slots[i],
			.nslots = (uint32_t)n,
			.funcs = &func[i],
			.nfuncs = 1,
		};
	}
	nb_buf_init(&b, 0);
	ck_assert_msg(!nb_image_write(&b, &img, &err), "%s", err.text);
	write_bytes("more", &b);
	nb_buf_fini(&b);
}

/* Housekeeping until the controller has made another number of channels, or
 * an allocation has failed; 30 s are for ever. */
static void until_it_ran(int from)
{
	struct nb_controllers_info info;

	for (int i = 0; i < 30000; i++) {
		nb_process_tick();
		for (int n = 0; n < 100 && channels(rank) == from; n++)
			;
		if (alloc_failed || channels(rank) != from)
			return;
		usleep(1000);
	}
	nb_controllers_status(&info);
	ck_abort_msg("the controller changes nothing: want %d, runs %llu, "
		     "changes %llu, failures %llu, %s, %s",
		     channels(rank), (unsigned long long)info.state.runs,
		     (unsigned long long)info.state.changes,
		     (unsigned long long)info.state.failures, info.state.error, lines);
}

TEST(each_allocation_of_a_controllers_run)
{
	bool failed;
	long k = 0;

	set_up("more");
	write_controller();
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_CONTROLLER_MS", "20", 1);
	ck_assert(!begin(&rank));
	do {
		int from = channels(rank);

		ck_assert_int_ge(from, 0);
		alloc_arm(ALLOC_MAIN, k);
		until_it_ran(from);
		alloc_until = -1;
		failed = alloc_failed;
		alloc_failed = false;
		until_it_ran(from);
		ck_assert_int_lt(k++, 2000);
	} while (failed);
	printf("# a controller's run: %ld allocations\n", k - 1);
	ck_assert_int_gt(k, 20);
	finish();
}

UNIT_MAIN("no memory")
