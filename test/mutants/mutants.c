// SPDX-License-Identifier: MIT
// Does a test notice when a check of the verifier is switched off? This
// program is linked with the mutated copies that mutate.py makes. Each mutant
// runs in a process of its own over the hand-written programs, the quick ones
// first, then as the unit tests given as arguments; a verdict that differs, a
// crash and a run without end notice it.
//
//   mutants MUTANTS.TXT OUT [KINDS [UNIT...]]
//
// OUT gets a line a mutant: number, kind, file, function, text, and who
// noticed it, or SURVIVED.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/mutants/mutant.h"

/* The reading of cases is that of the unit test, outside of libcheck. */
#define NB_TEST_UNIT_H
#include <stdlib.h>
#define START_TEST(name) static __attribute__((unused)) void name(int _i)
#define END_TEST
#define UNIT_MAIN(...)
#define ck_assert_ptr_nonnull(p) holds((p) != NULL)
#define ck_assert_int_ge(a, b) holds((a) >= (b) && _i >= 0)
#define ck_assert_msg(ok, ...) holds(ok)

static void holds(bool ok)
{
	if (!ok)
		_exit(1);
}

#include "test/unit/test_verify_programs.c"

enum { NAME = 160, SECONDS = 10 };

struct timed {
	struct file file;
	double time;
};

static struct timed timed[MAX_FILES];

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Does the file's verdict come out as it says? */
static bool as_expected(const struct file *f)
{
	const char *line = strstr(read_file(f->path), "# expect: ");
	char want[128] = "", found[128];
	struct nb_buf text;

	if (!line)
		return true;
	snprintf(want, sizeof(want), "%.*s", (int)strcspn(line + 10, "\n"),
		 line + 10);
	nb_buf_init(&text, 0);
	judge(f, found, sizeof(found), &text);
	nb_buf_fini(&text);
	return !strcmp(want, found);
}

static int by_time(const void *a, const void *b)
{
	double x = ((const struct timed *)a)->time;
	double y = ((const struct timed *)b)->time;

	return x < y ? -1 : x > y;
}

/* Time every case without a mutant; all of them hold. */
static bool baseline(void)
{
	for (int i = 0; i < nfiles; i++) {
		double start = now();

		if (!as_expected(&files[i])) {
			printf("not ok 1 - %s without a mutant\n1..1\n",
			       files[i].name);
			return false;
		}
		timed[i].file = files[i];
		timed[i].time = now() - start;
	}
	qsort(timed, (size_t)nfiles, sizeof(timed[0]), by_time);
	return true;
}

/* In the child: run until something differs, its name goes to @to. */
static void hunt(int to)
{
	for (int i = 0; i < nfiles; i++) {
		if (write(to, timed[i].file.name,
			  strlen(timed[i].file.name) + 1) < 0)
			_exit(2);
		if (!as_expected(&timed[i].file))
			_exit(1);
	}
	_exit(0);
}

static void limits(void)
{
	struct rlimit core = { 0, 0 }, mem = { 1u << 30, 1u << 30 };
	struct rlimit cpu = { SECONDS, SECONDS };
	int null = open("/dev/null", O_WRONLY);

	setrlimit(RLIMIT_CORE, &core);
	setrlimit(RLIMIT_AS, &mem);
	dup2(null, 1);
	dup2(null, 2);
	/* A run without end. libcheck answers alarms by killing its group. */
	setrlimit(RLIMIT_CPU, &cpu);
}

/* The last name that came through the pipe. */
static void last_name(int from, char *name)
{
	size_t n = 0;
	char c;

	while (read(from, &c, 1) == 1) {
		if (n < NAME - 1)
			name[n] = c;
		if (c)
			n++;
		else
			n = 0;
	}
}

static bool noticed(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static bool by_programs(int mutant, char *name)
{
	int ends[2];
	pid_t pid;

	if (pipe(ends))
		return false;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		nb_mutant_on = mutant;
		limits();
		hunt(ends[1]);
	}
	close(ends[1]);
	last_name(ends[0], name);
	close(ends[0]);
	return noticed(pid);
}

static bool by_unit(int mutant, char *path)
{
	pid_t pid;
	char text[16];

	fflush(NULL);
	pid = fork();
	if (!pid) {
		snprintf(text, sizeof(text), "%d", mutant);
		setenv("NB_MUTANT", text, 1);
		setenv("CK_FORK", "no", 1);
		limits();
		execl(path, path, (char *)NULL);
		_exit(2);
	}
	return noticed(pid);
}

static void one(int mutant, const char *line, char **units, FILE *out)
{
	char name[NAME] = "";
	const char *base;

	if (by_programs(mutant, name)) {
		fprintf(out, "%s\t%s\n", line, name);
		return;
	}
	for (; *units; units++) {
		if (!by_unit(mutant, *units))
			continue;
		base = strrchr(*units, '/');
		fprintf(out, "%s\t%s\n", line, base ? base + 1 : *units);
		return;
	}
	fprintf(out, "%s\tSURVIVED\n", line);
}

int main(int argc, char **argv)
{
	FILE *in = argc > 2 ? fopen(argv[1], "r") : NULL;
	FILE *out = argc > 2 ? fopen(argv[2], "w") : NULL;
	static char line[4096];

	if (!in || !out)
		return 64;
	list("reject");
	list("accept");
	list("coherence");
	if (!baseline())
		return 1;
	while (fgets(line, sizeof(line), in)) {
		char *kind = strchr(line, '\t');

		line[strcspn(line, "\n")] = '\0';
		if (!kind)
			continue;
		if (argc > 3 && *argv[3]) {
			char word[32];

			snprintf(word, sizeof(word), "%.*s",
				 (int)strcspn(kind + 1, "\t"), kind + 1);
			if (!strstr(argv[3], word))
				continue;
		}
		one(atoi(line), line, argv + (argc > 4 ? 4 : argc), out);
	}
	fclose(in);
	return fclose(out) ? 74 : 0;
}
