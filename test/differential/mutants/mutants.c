// SPDX-License-Identifier: MIT
// Does a test notice when a check of the verifier is switched off? This
// program is linked with the mutated copies that mutate.py makes. Each mutant
// runs in a process of its own over the hand-written programs (assembly, and
// the compiled policies of test/corpus), the quick ones first, then as the
// unit tests given as arguments, then over the slow programs; a verdict that
// differs, a crash and a run without end notice it.
//
//   mutants MUTANTS.TXT LISTED.TXT OUT KINDS JOBS [UNIT...]
//
// The mutants of LISTED.TXT meet the quick programs alone. JOBS processes share the mutants. What
// noticed a mutant is tried first on the next one, which stands near it in the source.
//
// OUT gets a line a mutant: number, kind, file, function, text, and who
// noticed it, or SURVIVED.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/differential/mutants/mutant.h"

/* The reading of cases is that of the unit test, outside of libcheck. */
#define NB_TEST_UNIT_H
#include <stdlib.h>
#define TEST(name) static __attribute__((unused)) void name(__attribute__((unused)) int _i)
#define TEST_EACH(name, from, to) TEST(name)
#define UNIT_MAIN_IN_ONE(...)
#define ck_assert_ptr_nonnull(p) holds((p) != NULL)
#define ck_assert_int_ge(a, b) holds((a) >= (b))
#define ck_assert_uint_ge(a, b) holds((a) >= (b))
#define ck_assert_msg(ok, ...) holds(ok)

static void holds(bool ok)
{
	if (!ok)
		_exit(1);
}

#include "test/unit/test_verify_programs.c"

#include "core/bpf/verify/report/say.h"
#include "core/load/object.h"

enum { NAME = 160, UNITS = 16, OBJECT = 1 << 20 };

/* A compiled policy has an image and one word; a program's file has its own. */
struct timed {
	struct file file;
	struct nb_image *img;
	char want[64];
	double time;
};

static struct timed timed[MAX_FILES + 256];
static int ntimed;

/* Slower programs than this come after the unit tests. */
static const double slow = 0.1;

/* Processor time that each unit test takes without a mutant. */
static double unit_time[UNITS];

/* Processor time, in seconds: which programs are slow does not depend on the machine's load. */
static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double now_of_children(void)
{
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

/*
 * A signal ends this process when it has run for a second and four times @time of processor time,
 * @time being that without a mutant: then it runs without end. libcheck answers an alarm by killing
 * its group, so it is another timer, which also holds after exec.
 */
static void end_after(double time)
{
	double most = 1 + 4 * time;
	struct itimerval t = { .it_value = { .tv_sec = (time_t)most } };

	t.it_value.tv_usec = (suseconds_t)((most - (double)t.it_value.tv_sec) * 1e6);
	setitimer(ITIMER_PROF, &t, NULL);
}

/* ---- compiled policies ---- */

static const char *word(const struct nb_verdict *v)
{
	return v->accepted ? "accepted" : nb_finding_words(v->finding.cls)->word;
}

/* A program has the expected verdict, and the others have it or are accepted.
 */
static bool object_as_expected(const struct timed *t)
{
	bool found = false;

	for (uint32_t i = 0; i < t->img->nprogs; i++) {
		struct nb_verdict *v;
		bool same, accepted;

		if (nb_verify(&v, t->img, i, NULL, NULL))
			return false;
		same = !strcmp(word(v), t->want);
		accepted = v->accepted;
		nb_verdict_free(v);
		if (!same && !accepted)
			return false;
		found |= same;
	}
	return found;
}

static struct nb_image *read_object(const char *path, const char *name)
{
	static unsigned char bytes[OBJECT];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	struct nb_image *img = NULL;
	struct nb_buf out;
	struct nb_err err;

	if (!f)
		return NULL;
	fclose(f);
	nb_buf_init(&out, 0);
	if (nb_object_image(&out, bytes, n, name, &err) ||
	    nb_image_read(&img, out.data, out.size, &err))
		img = NULL;
	nb_buf_fini(&out);
	return img;
}

/* The policies of test/corpus/@folder that were compiled. */
static void list_objects(const char *folder)
{
	const char *top = getenv("TOP"), *b = getenv("B");
	char path[512];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/test/corpus/%s", top ? top : ".", folder);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		struct timed *t = &timed[ntimed];
		size_t n = strcspn(e->d_name, ".");

		if (strcmp(e->d_name + n, ".bpf.c") != 0 || n > 100)
			continue;
		snprintf(path, sizeof(path), "%.200s/test/corpus/%s/%.*s.bpf.o",
			 b ? b : "build/debug", folder, (int)n, e->d_name);
		t->img = read_object(path, "test");
		if (!t->img)
			continue;
		snprintf(t->file.name, sizeof(t->file.name), "%.100s", e->d_name);
		snprintf(path, sizeof(path), "%.200s/test/corpus/%s/%.100s", top ? top : ".",
			 folder, e->d_name);
		if (!strcmp(folder, "accept"))
			snprintf(t->want, sizeof(t->want), "accepted");
		else
			sscanf(read_file(path), "// EXPECT: %63s", t->want);
		ntimed++;
	}
	if (d)
		closedir(d);
}

/* ---- programs ---- */

static bool file_as_expected(const struct file *f)
{
	const char *line = strstr(read_file(f->path), "# expect: ");
	char want[128] = "", found[128];
	struct nb_buf text;

	if (!line)
		return true;
	snprintf(want, sizeof(want), "%.*s", (int)strcspn(line + 10, "\n"), line + 10);
	nb_buf_init(&text, 0);
	judge(f, found, sizeof(found), &text);
	nb_buf_fini(&text);
	return !strcmp(want, found);
}

/* Does the verdict come out as it should? */
static bool as_expected(const struct timed *t)
{
	return t->img ? object_as_expected(t) : file_as_expected(&t->file);
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
	bool ok = true;

	for (int i = 0; i < nfiles; i++)
		timed[ntimed++].file = files[i];
	for (int i = 0; i < ntimed; i++) {
		double start = now();

		if (!as_expected(&timed[i])) {
			printf("not ok 1 - %s without a mutant\n", timed[i].file.name);
			ok = false;
		}
		timed[i].time = now() - start;
	}
	qsort(timed, (size_t)ntimed, sizeof(timed[0]), by_time);
	return ok;
}

/* In the child: run until something differs, its name goes to @to. */
static void hunt(int to, bool slow_ones)
{
	for (int i = 0; i < ntimed; i++) {
		if ((timed[i].time > slow) != slow_ones)
			continue;
		if (write(to, timed[i].file.name, strlen(timed[i].file.name) + 1) < 0)
			_exit(2);
		end_after(timed[i].time);
		if (!as_expected(&timed[i]))
			_exit(1);
	}
	_exit(0);
}

static void limits(void)
{
	struct rlimit core = { 0, 0 }, mem = { 1u << 30, 1u << 30 };
	int null = open("/dev/null", O_WRONLY);

	setrlimit(RLIMIT_CORE, &core);
	setrlimit(RLIMIT_AS, &mem);
	dup2(null, 1);
	dup2(null, 2);
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

static bool by_programs(int mutant, bool slow_ones, char *name)
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
		hunt(ends[1], slow_ones);
	}
	close(ends[1]);
	last_name(ends[0], name);
	close(ends[0]);
	return noticed(pid);
}

/* The program @name comes first from now on. */
static void to_front(const char *name)
{
	for (int i = 0; i < ntimed; i++)
		if (!strcmp(timed[i].file.name, name) && timed[i].time <= slow) {
			struct timed t = timed[i];

			memmove(&timed[1], &timed[0], sizeof(t) * (size_t)i);
			timed[0] = t;
			return;
		}
}

/* The unit test has run without a mutant, which is 0, before. */
static bool by_unit(int mutant, char *path, double *time)
{
	double start = now_of_children();
	char text[16];
	bool is;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		snprintf(text, sizeof(text), "%d", mutant);
		setenv("NB_MUTANT", text, 1);
		setenv("CK_FORK", "no", 1);
		limits();
		if (mutant)
			end_after(*time);
		execl(path, path, (char *)NULL);
		_exit(2);
	}
	is = noticed(pid);
	if (!mutant)
		*time = now_of_children() - start;
	return is;
}

/*
 * Who notices the mutant? Into @name: a program, or a path; NULL: nobody. Without @units the quick
 * programs are asked alone.
 */
static const char *who(int mutant, char **units, char *name)
{
	if (by_programs(mutant, false, name)) {
		to_front(name);
		return name;
	}
	if (!units)
		return NULL;
	for (int i = 0; units[i]; i++)
		if (by_unit(mutant, units[i], &unit_time[i]))
			return strrchr(units[i], '/') ? strrchr(units[i], '/') + 1 : units[i];
	return by_programs(mutant, true, name) ? name : NULL;
}

/* Is @kind, a field of a line, among @kinds? NULL, "": all are. */
static bool among(const char *kinds, const char *kind)
{
	char word[32];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(kind, "\t"), kind);
	return !kinds || !*kinds || strstr(kinds, word);
}

/* Every @jobs-th line of the file from @first on. A line goes to @out as a whole. */
static void each(const char *path, int out, int first, int jobs, const char *kinds, char **units)
{
	static char line[4096];
	FILE *in = fopen(path, "r");

	for (int i = 0; in && fgets(line, sizeof(line), in); i++) {
		char *kind = strchr(line, '\t'), name[NAME] = "";
		const char *by;

		line[strcspn(line, "\n")] = '\0';
		if (i % jobs != first || !kind || !among(kinds, kind + 1))
			continue;
		by = who(atoi(line), units, name);
		if (dprintf(out, "%s\t%s\n", line, by ? by : "SURVIVED") < 0)
			_exit(1);
	}
	if (!in || fclose(in))
		_exit(1);
}

int main(int argc, char **argv)
{
	int out = argc > 5 ? open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666) : -1;
	int jobs = argc > 5 ? atoi(argv[5]) : 0, status;
	char **units = argv + (argc > 6 ? 6 : argc), name[NAME] = "";
	const char *by;
	bool ok = true;

	if (out < 0 || jobs < 1 || argc - 6 > UNITS)
		return 64;
	list_objects("reject");
	list_objects("accept");
	list_folder("reject");
	list_folder("accept");
	list_folder("coherence");
	if (!baseline())
		return 1;
	by = who(0, units, name);
	if (by) {
		printf("not ok 1 - %s without a mutant\n", by);
		return 1;
	}
	fflush(NULL);
	for (int i = 0; i < jobs; i++)
		if (!fork()) {
			each(argv[1], out, i, jobs, argv[4], units);
			each(argv[2], out, i, jobs, argv[4], NULL);
			_exit(0);
		}
	while (wait(&status) > 0)
		ok &= status == 0;
	return close(out) || !ok ? 74 : 0;
}
