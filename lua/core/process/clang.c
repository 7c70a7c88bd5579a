// SPDX-License-Identifier: MIT
/*
 * Run clang on a policy in C: clang(path, {flag, ...}). The object comes
 * through clang's standard output and its messages through standard error, so
 * nothing is written to a disk. Scripts that may not start programs may still
 * compile policies. Some of clang's flags load plugins, start programs or write
 * files, so only the flags of a list are passed on.
 */
#include "lua/core/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lua/core/support/support.h"
#include "lua/core/wait/wait.h"

enum { MAX_ARGS = 128, MAX_OUT = 64 << 20, MAX_MESSAGES = 1 << 20 };

struct child {
	pid_t pid;
	int fd[2]; /* read ends of standard output and standard error; -1: ended
		    */
};

/* Start @argv with both outputs in pipes. Returns 0 or an errno. */
static int child_start(struct child *c, char **argv)
{
	posix_spawn_file_actions_t files;
	int ends[2][2] = { { -1, -1 }, { -1, -1 } }, rc = 0;

	if (pipe2(ends[0], O_CLOEXEC) || pipe2(ends[1], O_CLOEXEC))
		rc = errno;
	if (!rc)
		rc = posix_spawn_file_actions_init(&files);
	if (!rc) {
		rc = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
		for (int i = 0; !rc && i < 2; i++)
			rc = posix_spawn_file_actions_adddup2(&files, ends[i][1], 1 + i);
		if (!rc)
			rc = posix_spawnp(&c->pid, argv[0], &files, NULL, argv, environ);
		posix_spawn_file_actions_destroy(&files);
	}
	for (int i = 0; i < 2; i++) {
		nb_lua_fd_close(&ends[i][1]);
		if (rc)
			nb_lua_fd_close(&ends[i][0]);
		c->fd[i] = ends[i][0];
	}
	return rc;
}

/* Read from one pipe, and close it at its end. */
static void child_read(int *fd, struct nb_buf *to)
{
	char bytes[4096];
	ssize_t n = read(*fd, bytes, sizeof(bytes));

	if (n > 0)
		nb_buf_bytes(to, bytes, (size_t)n);
	else if (n == 0 || errno != EINTR)
		nb_lua_fd_close(fd);
}

/* Read both pipes to their ends. False: Ctrl-C was pressed. */
static bool drain(struct child *c, struct nb_buf *out, struct nb_buf *messages)
{
	while (c->fd[0] >= 0 || c->fd[1] >= 0) {
		/* poll skips negative descriptors */
		struct pollfd fds[2] = { { .fd = c->fd[0], .events = POLLIN },
					 { .fd = c->fd[1], .events = POLLIN } };

		if (nb_lua_poll(fds, 2, -1) < 0)
			return false;
		if (fds[0].revents)
			child_read(&c->fd[0], out);
		if (fds[1].revents)
			child_read(&c->fd[1], messages);
	}
	return true;
}

/* Wait for the end of the child; with @kill_it, kill it first. -> exit status;
 * 128
 * and the number of the signal that ended it */
static int child_finish(struct child *c, bool kill_it)
{
	int status = 0;

	nb_lua_fd_close(&c->fd[0]);
	nb_lua_fd_close(&c->fd[1]);
	if (kill_it)
		kill(c->pid, SIGTERM);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Check the flags that scripts pass to clang. */

/* Neither the input nor the output can be chosen. */
static const char *const fixed[] = { "-target", "bpf", "-fno-color-diagnostics", "-c", "-o", "-",
				     "-x",	"c" };
enum { NFIXED = sizeof(fixed) / sizeof(*fixed) };

/*
 * Allowed flags of one argument, as patterns of fnmatch. Only -I, -D and -U may
 * contain a comma: -Wa, -Wl, and -Wp, pass flags on to other programs. A value
 * may not begin with @: clang makes it an argument of its second stage, which
 * reads @FILE as more arguments.
 */
static const char *const allowed_flags[] = {
	"-[IDU][!@]*", "-std=*",    "-O",	    "-O[0-3sgz]",
	"-g",	       "-g[0-3]",   "-W*",	    "-gdwarf-[2-5]",
	"-w",	       "-pedantic", "-ansi",	    "-pedantic-errors",
	"-undef",      "-nostdinc", "-mcpu=[a-z]*", "--target=bpf*",
	"-c",	       "-xc"
};

/* Names that may follow -f or -fno-. */
static const char *const features[] = { "builtin",
					"builtin-*",
					"common",
					"debug-prefix-map=*",
					"error-limit=[0-9]*",
					"file-prefix-map=*",
					"freestanding",
					"inline-functions",
					"jump-tables",
					"macro-prefix-map=*",
					"ms-extensions",
					"short-enums",
					"signed-char",
					"slp-vectorize",
					"stack-protector",
					"strict-aliasing",
					"unroll-loops",
					"unsigned-char",
					"vectorize",
					"wrapv" };

/* Flags whose value is the next argument, with the allowed values. */
static const struct {
	const char *flag, *value;
} pairs[] = { { "-I", "?*" },	    { "-D", "?*" },	    { "-U", "?*" },
	      { "-include", "?*" }, { "-imacros", "?*" },   { "-isystem", "?*" },
	      { "-iquote", "?*" },  { "-idirafter", "?*" }, { "-target", "bpf*" },
	      { "-x", "c" } };

static bool matches_one(const char *const *pattern, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (!fnmatch(pattern[i], s, 0))
			return true;
	return false;
}

static bool is_allowed(const char *flag)
{
	if (strchr(flag, ',') && fnmatch("-[IDU]*", flag, 0))
		return false;
	if (strncmp(flag, "-f", 2) != 0)
		return matches_one(allowed_flags, sizeof(allowed_flags) / sizeof(*allowed_flags),
				   flag);
	flag += strncmp(flag, "-fno-", 5) != 0 ? 2 : 5;
	return matches_one(features, sizeof(features) / sizeof(*features), flag);
}

/*
 * Returns how many arguments the flag at @argv takes (1 or 2), or 0 if it is
 * not allowed.
 */
static int flag_size(char *const *argv)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		if (strcmp(argv[0], pairs[i].flag) != 0)
			continue;
		/* clang reads @FILE as more arguments, wherever it stands */
		return argv[1] && !strchr("-@", *argv[1]) && !fnmatch(pairs[i].value, argv[1], 0)
			       ? 2
			       : 0;
	}
	return is_allowed(argv[0]) ? 1 : 0;
}

/* Returns the first flag that is not allowed, or NULL. */
static const char *wrong_flag(char *const *argv)
{
	for (int n; *argv; argv += n) {
		n = flag_size(argv);
		if (!n)
			return *argv;
	}
	return NULL;
}

/* Put the string on top of the stack into @argv; it stays on the stack. argv
 * is not const in C; posix_spawn does not write to it. */
static void add_argument(lua_State *L, char **at)
{
	const char *s = luaL_checkstring(L, -1);

	memcpy(at, &s, sizeof(s));
}

/*
 * Build the argument list: the program, the fixed arguments, the flags (stack
 * index 2) and the path (index 1). A path is never read as a flag. -> the flags
 * in @argv
 */
static char **fill_arguments(lua_State *L, const char *program, char **argv)
{
	const char *path = luaL_checkstring(L, 1);
	lua_Integer n = luaL_len(L, 2);
	char **flags = argv + 1 + NFIXED;

	luaL_argcheck(L, n >= 0 && n <= MAX_ARGS, 2, "too many flags");
	luaL_checkstack(L, (int)n + 8, NULL);
	lua_pushstring(L, program);
	add_argument(L, argv);
	memcpy(argv + 1, fixed, sizeof(fixed));
	for (int i = 0; i < n; i++) {
		lua_rawgeti(L, 2, i + 1);
		add_argument(L, &flags[i]);
	}
	lua_pushfstring(L, strchr("-@", *path) ? "./%s" : "%s", path);
	return flags;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * clang(path, {flag, ...}) -> status, standard output, messages | nil, err. The
 * program is $NCCLBPF_CLANG, or else clang from $PATH.
 */
static int do_clang(lua_State *L)
{
	const char *program = getenv("NCCLBPF_CLANG"), *wrong;
	char *argv[1 + NFIXED + MAX_ARGS + 2] = { NULL }, **flags;
	struct nb_buf *out, *messages;
	struct child c;
	bool ended;
	int rc;

	luaL_checktype(L, 2, LUA_TTABLE);
	/* clang's second stage also gets the file's name as an argument */
	if (*base_name(luaL_checkstring(L, 1)) == '@')
		return nb_lua_failf(L, NB_E_NOTSUP, "%s: a policy's file name may not begin with @",
				    lua_tostring(L, 1));
	if (!program || !*program)
		program = "clang";
	flags = fill_arguments(L, program, argv);
	wrong = wrong_flag(flags);
	if (wrong)
		return nb_lua_failf(L, NB_E_PERM,
				    "clang's flag %s is not one of those that a policy may set",
				    wrong);
	while (*flags)
		flags++;
	add_argument(L, flags);
	out = nb_lua_buf(L, MAX_OUT);
	messages = nb_lua_buf(L, MAX_MESSAGES);
	rc = child_start(&c, argv);
	if (rc == ENOENT)
		return nb_lua_failf(L, NB_E_NOINPUT, "%s: no such program", program);
	if (rc)
		return nb_lua_failf(L, NB_E_IO, "%s: %s", program, strerror(rc));
	ended = drain(&c, out, messages);
	rc = child_finish(&c, !ended);
	if (!ended)
		return nb_lua_interrupted(L);
	if (!nb_buf_ok(out))
		return nb_lua_failf(L, NB_E_LIMIT, "clang wrote more than %d MiB", MAX_OUT >> 20);
	lua_pushinteger(L, rc);
	lua_pushlstring(L, nb_buf_text(out), out->size);
	lua_pushlstring(L, nb_buf_text(messages), messages->size);
	return 3;
}

const luaL_Reg nb_lua_clang[] = { { "clang", do_clang }, { NULL, NULL } };
