// SPDX-License-Identifier: MIT
// conformance_run PLUGIN FOLDER [OPTION]: every data file in FOLDER/tests and
// FOLDER/negative, assembled here and run by the plugin, a process each. A
// file in negative/ is one that must not pass: the assembler or the plugin
// has to refuse it, or its stated outcome has to be found wrong. Prints TAP.
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/bpf/isa/insn.h"
#include "test/unit/asm.h"

enum { MAX_SLOTS = 4096, SECONDS = 600 };

enum section { S_NONE, S_ASM, S_RAW, S_MEM, S_RESULT, S_ERROR, S_IGNORED };

/* A data file in its parts. */
struct test {
	struct nb_buf part[S_IGNORED + 1];
	bool has[S_IGNORED + 1];
};

enum outcome {
	PASSED,	    /* the result is the one stated */
	WRONG,	    /* another result, or a result where an error is stated */
	NOT_A_TEST, /* the file is not of the format */
	ASM_REFUSED,
	PLUGIN_REFUSED,
	BROKEN /* the plugin crashed, hung or broke the protocol */
};

static const char *const outcome_text[] = {
	[PASSED] = "gives the result stated",	    [WRONG] = "does not give what is stated",
	[NOT_A_TEST] = "not of the format",	    [ASM_REFUSED] = "refused by the assembler",
	[PLUGIN_REFUSED] = "refused by the plugin", [BROKEN] = "the plugin broke",
};

struct verdict {
	enum outcome outcome;
	char why[400];
};

static struct verdict verdict(enum outcome o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static struct verdict verdict(enum outcome o, const char *fmt, ...)
{
	struct verdict v = { .outcome = o };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v.why, sizeof(v.why), fmt, ap);
	va_end(ap);
	for (char *c = v.why; *c; c++)
		if (*c == '\n' || *c == '#')
			*c = ' ';
	return v;
}

static enum section section(const char *word)
{
	static const struct {
		const char *word;
		enum section s;
	} words[] = { { "asm", S_ASM },	      { "raw", S_RAW },	    { "mem", S_MEM },
		      { "result", S_RESULT }, { "error", S_ERROR }, { "c", S_IGNORED },
		      { "no", S_IGNORED } };
	size_t n = strcspn(word, " \t\r\n");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == n && !memcmp(words[i].word, word, n))
			return words[i].s;
	return S_NONE;
}

/* Read @path into @t; false when it cannot be read or has an unknown part. */
static bool test_read(struct test *t, const char *path)
{
	FILE *f = fopen(path, "r");
	enum section s = S_NONE;
	bool good = f != NULL;
	char *line = NULL;
	size_t cap = 0;

	memset(t, 0, sizeof(*t));
	for (int i = 0; i <= S_IGNORED; i++)
		nb_buf_init(&t->part[i], 1 << 20);
	while (good && getline(&line, &cap, f) > 0) {
		if (!strncmp(line, "-- ", 3)) {
			s = section(line + 3);
			good = s != S_NONE;
			t->has[s] = true;
		} else if (s == S_ASM || *line != '#') {
			nb_buf_str(&t->part[s], line);
		}
	}
	free(line);
	if (f)
		fclose(f);
	return good;
}

static void test_free(struct test *t)
{
	for (int i = 0; i <= S_IGNORED; i++)
		nb_buf_fini(&t->part[i]);
}

/* The first line of a part, without white space around it. */
static void one_line(char *out, size_t size, const struct nb_buf *part)
{
	const char *p = nb_buf_text(part);
	size_t n;

	p += strspn(p, " \t\r\n");
	n = strcspn(p, "\r\n");
	while (n && isspace((unsigned char)p[n - 1]))
		n--;
	snprintf(out, size, "%.*s", (int)n, p);
}

/* The option by which the plugin knows what to run programs with. */
static const char *engine = "--interpret";

/* The plugin with @input on its standard input; both outputs are ours. */
struct child {
	pid_t pid;
	int in, out, err;
};

static bool start(struct child *c, const char *plugin, const char *mem)
{
	int p[3][2];

	for (int i = 0; i < 3; i++)
		if (pipe(p[i]))
			return false;
	c->pid = fork();
	if (c->pid < 0)
		return false;
	if (!c->pid) {
		dup2(p[0][0], 0);
		dup2(p[1][1], 1);
		dup2(p[2][1], 2);
		for (int i = 0; i < 6; i++)
			close(p[i / 2][i % 2]);
		signal(SIGPIPE, SIG_DFL);
		alarm(SECONDS); /* outlives exec: ends a plugin that hangs */
		if (mem)
			execl(plugin, plugin, mem, engine, (char *)NULL);
		else
			execl(plugin, plugin, engine, (char *)NULL);
		_exit(126);
	}
	close(p[0][0]);
	close(p[1][1]);
	close(p[2][1]);
	c->in = p[0][1];
	c->out = p[1][0];
	c->err = p[2][0];
	return true;
}

/* Everything up to the end of @fd, at most @size - 1 bytes. */
static void drain(int fd, char *out, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while (n + 1 < size && (got = read(fd, out + n, size - 1 - n)) > 0)
		n += (size_t)got;
	out[n] = '\0';
	close(fd);
}

static void write_all(int fd, const char *p, size_t n)
{
	ssize_t done;

	while (n && (done = write(fd, p, n)) > 0) {
		p += done;
		n -= (size_t)done;
	}
	close(fd);
}

/* The line "[0x]HEX\n" and nothing else. */
static bool parse_r0(const char *text, uint64_t *r0)
{
	char *end;

	if (!isxdigit((unsigned char)*text))
		return false;
	*r0 = strtoull(text, &end, 16);
	return end[0] == '\n' && !end[1];
}

static struct verdict execute(const struct test *t, const char *plugin, const char *hex,
			      const char *mem)
{
	char out[256], err[400], stated[256];
	struct child c;
	uint64_t r0, want;
	int status;

	if (!start(&c, plugin, mem))
		return verdict(BROKEN, "cannot start %s", plugin);
	write_all(c.in, hex, strlen(hex));
	drain(c.out, out, sizeof(out));
	drain(c.err, err, sizeof(err));
	if (waitpid(c.pid, &status, 0) != c.pid || !WIFEXITED(status))
		return verdict(BROKEN, "killed by signal %d: %s", WTERMSIG(status), err);
	if (WEXITSTATUS(status) && (*out || !*err || WEXITSTATUS(status) > 1))
		return verdict(BROKEN, "status %d, output \"%s\", error \"%s\"",
			       WEXITSTATUS(status), out, err);
	if (WEXITSTATUS(status))
		return verdict(PLUGIN_REFUSED, "%s", err);
	if (!parse_r0(out, &r0))
		return verdict(BROKEN, "output \"%s\"", out);
	one_line(stated, sizeof(stated), &t->part[S_RESULT]);
	want = strtoull(stated, NULL, 16);
	if (!t->has[S_RESULT] || r0 != want)
		return verdict(WRONG, "r0 is 0x%" PRIx64 ", stated is \"%s\"", r0, stated);
	return verdict(PASSED, "%s", "");
}

static void add_hex(struct nb_buf *b, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		nb_buf_printf(b, "%02x ", ((const unsigned char *)p)[i]);
}

/* Bytes as the protocol has them in the first argument: two blanks between. */
static void add_memory(struct nb_buf *b, const char *text)
{
	for (; *text; text++)
		if (!isspace((unsigned char)*text))
			nb_buf_char(b, *text);
		else if (b->size && b->data[b->size - 1] != ' ')
			nb_buf_str(b, "  ");
	while (b->size && b->data[b->size - 1] == ' ')
		b->data[--b->size] = '\0';
}

static struct verdict one(const struct test *t, const char *plugin)
{
	static struct nb_slot slots[MAX_SLOTS];
	struct nb_err err = { 0 };
	struct nb_buf hex, mem;
	struct verdict v;
	size_t n;

	if (!t->has[S_ASM] && !t->has[S_RAW])
		return verdict(NOT_A_TEST, "neither asm nor raw");
	if (t->has[S_ASM] && nb_asm(slots, MAX_SLOTS, &n, nb_buf_text(&t->part[S_ASM]), &err))
		return verdict(ASM_REFUSED, "%s", err.text);
	nb_buf_init(&hex, 0);
	nb_buf_init(&mem, 0);
	if (t->has[S_ASM])
		add_hex(&hex, slots, n * sizeof(slots[0]));
	else
		nb_buf_str(&hex, nb_buf_text(&t->part[S_RAW]));
	add_memory(&mem, nb_buf_text(&t->part[S_MEM]));
	v = execute(t, plugin, nb_buf_text(&hex), mem.size ? nb_buf_text(&mem) : NULL);
	nb_buf_fini(&hex);
	nb_buf_fini(&mem);
	return v;
}

static unsigned count, failed;

static void say(bool good, const char *folder, const char *name, const struct verdict *v,
		const char *skip)
{
	printf("%s %u - %s/%s: %s%s\n", good ? "ok" : "not ok", ++count, folder, name,
	       outcome_text[v->outcome], skip);
	if (!good) {
		printf("# %s\n", v->why);
		failed++;
	}
}

static void positive(const char *name, const struct verdict *v)
{
	if (!strcmp(name, "callx.data") && v->outcome == PLUGIN_REFUSED &&
	    strstr(v->why, "call through a register"))
		printf("ok %u - callx # SKIP refused by design\n", ++count);
	else
		say(v->outcome == PASSED, "tests", name, v, "");
}

/* Must not pass; raw bytes must be refused by the plugin, and where the
 * assembler refuses, its words hold the ones that the file states. */
static void negative(const char *name, const struct test *t, const struct verdict *v)
{
	char stated[256];
	bool good = v->outcome != PASSED && v->outcome != BROKEN;

	one_line(stated, sizeof(stated), &t->part[S_ERROR]);
	if (t->has[S_RAW])
		good = v->outcome == PLUGIN_REFUSED;
	if (v->outcome == ASM_REFUSED && *stated)
		good = good && strcasestr(v->why, stated);
	say(good, "negative", name, v, "");
}

static int is_data(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 5 && !strcmp(d->d_name + n - 5, ".data");
}

static void folder(const char *plugin, const char *top, const char *sub)
{
	struct dirent **names = NULL;
	char path[1024];
	int n;

	snprintf(path, sizeof(path), "%s/%s", top, sub);
	n = scandir(path, &names, is_data, alphasort);
	if (n <= 0) {
		printf("not ok %u - no data files in %s\n", ++count, path);
		failed++;
	}
	for (int i = 0; i < n; i++) {
		struct verdict v;
		struct test t;

		snprintf(path, sizeof(path), "%s/%s/%s", top, sub, names[i]->d_name);
		v = test_read(&t, path) ? one(&t, plugin) : verdict(NOT_A_TEST, "unknown part");
		if (!strcmp(sub, "tests"))
			positive(names[i]->d_name, &v);
		else
			negative(names[i]->d_name, &t, &v);
		test_free(&t);
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: conformance_run PLUGIN FOLDER "
				"[--interpret | --jit]\n");
		return 64;
	}
	if (argc == 4)
		engine = argv[3];
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	folder(argv[1], argv[2], "tests");
	folder(argv[1], argv[2], "negative");
	printf("1..%u\n", count);
	return failed ? 1 : 0;
}
