// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// The interpreter and machine code agree on every program of the corpora that
// the verifier accepts: the assembly files of test/corpus/verify, and all
// objects of the build (policies, test/corpus, examples). Each runs as a
// policy of its own on each engine, many times with the same contexts, and
// must leave the same r0, the same contexts and the same maps
// (AGREEMENT_SEED=N; the seed is printed). What is accepted as coherent also
// runs on two pretended hosts, which differ in their CPUs and in all local
// data: the answers must be the same. On 64-bit Arm by qemu, without the
// front end, policy images stand for the objects, each with fewer runs.
#include "test/unit/unit.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef __aarch64__
#include "core/load/object.h"
#endif
#include "core/ncclbpf.h"
#include "core/bpf/generation/run.h"
#include "core/defs/ctx.h"
#include "test/unit/verify_image.h"
#include "test/unit/verify_near.h"

#ifdef __aarch64__
#define OBJECT ".policy"
enum { RUNS = 20 };

static int nb_object_image(struct nb_buf *b, const void *p, size_t size, const char *name,
			   struct nb_err *err)
{
	(void)name, (void)err;
	nb_buf_bytes(b, p, size);
	return 0;
}
#else
#define OBJECT ".bpf.o"
enum { RUNS = 200 };
#endif
enum { MAX = 1 << 20, LIMIT_NS = 50 * 1000 * 1000 };

static uint64_t seed = 0x9e3779b97f4a7c15;
static unsigned accepted, refused, unrepeatable;
static unsigned endless;
static uint64_t *runs; /* shared with the processes that run programs */

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d;
}

static void random_bytes(unsigned char *to, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t v = rnd();

		memcpy(to + i, &v, n - i < 8 ? n - i : 8);
	}
}

static void random_context(struct ncclbpf_tuner *ctx)
{
	static float costs[NCCL_NUM_ALGOS * NCCL_NUM_PROTOS];
	unsigned char *p = (unsigned char *)ctx;

	for (size_t i = 0; i < sizeof(*ctx); i += 4) {
		uint32_t v = (uint32_t)(rnd() >> 33) >> (rnd() >> 59);

		memcpy(p + i, &v, i + 4 <= sizeof(*ctx) ? 4 : sizeof(*ctx) - i);
	}
	ctx->algo = ctx->proto = -1;
	ctx->channels = 0;
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
		costs[i] = (float)(ctx->bytes >> i & 255) - 3.0f;
	ctx->costs = ctx->seq % 8 ? costs : NULL;
	ctx->state = NULL;
}

/* One policy on both engines. */
struct side {
	struct nb_policy *policy;
	struct nb_gen *gen;
};

static bool coherence = true;

/* Cases that use an address as a number do not do the same twice. */
static bool uses_addresses(const char *name)
{
	return strstr(name, "/address_") ||
	       strstr(name, "/null_of_a_value_minus_its_own_low_half.");
}

/* Time, random numbers and addresses are not the same twice. */
static bool repeats(const struct nb_image *img, const char *name)
{
	for (uint32_t i = 0; i < img->nprogs; i++)
		for (uint32_t pc = 0; pc < img->progs[i].nslots; pc++) {
			const struct nb_slot *s = &img->progs[i].slots[pc];

			if (s->opcode == 0x85 && s->regs == 0 && (s->imm == 5 || s->imm == 7))
				return false;
		}
	return !uses_addresses(name);
}

static bool make_side(struct side *s, const struct nb_buf *b, bool interpret)
{
	const struct nb_policy_opts opts = { .verify.coherence_off = !coherence,
					     .max_run = UINT32_MAX,
					     .interpret = interpret };
	struct nb_err err = { 0 };

	s->gen = NULL;
	if (nb_policy_new(&s->policy, b->data, b->size, &opts, &err))
		return false;
	if (!nb_gen_new(&s->gen, &s->policy, 1, NULL, &err))
		return true;
	/* its loops take longer than any operator allows */
	ck_assert_msg(err.code == NB_E_LIMIT, "%s", err.text);
	nb_policy_put(s->policy);
	return false;
}

static void drop(struct side *s)
{
	nb_gen_put(s->gen);
	nb_policy_put(s->policy);
}

/* The same keys in the same order with the same values. */
static void same_maps(const struct side *a, const struct side *b, const char *name)
{
	static unsigned char key[2][NB_IMAGE_MAX_KEY], value[2][MAX];
	const struct nb_gen_policy *pa = a->gen->policy, *pb = b->gen->policy;

	for (uint32_t m = 0; m < a->policy->img->nmaps; m++) {
		struct nb_map *ma = pa->maps[m], *mb = pb->maps[m];
		enum nb_map_keys keys;
		int rc;

		if (!ma) /* only a definition, for maps inside maps */
			continue;
		keys = nb_spec_map_type(nb_map_definition(ma)->type)->keys;
		if (keys != NB_KEYS_INDEX && keys != NB_KEYS_BYTES)
			continue;
		for (rc = nb_map_next(ma, NULL, key[0]); !rc;
		     rc = nb_map_next(ma, key[0], key[0])) {
			size_t n = nb_map_user_value_size(ma);
			int ra, rb;

			if (n > MAX)
				break;
			ra = nb_map_read(ma, key[0], value[0], NULL);
			rb = nb_map_read(mb, key[0], value[1], NULL);
			ck_assert_msg(ra == rb && (ra || !memcmp(value[0], value[1], n)),
				      "%s: map %s differs", name, nb_map_definition(ma)->name);
		}
		ck_assert_uint_eq(nb_map_count(ma), nb_map_count(mb));
	}
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void run_both(const struct side *a, const struct side *b, const char *name)
{
	double start = now_ns();

	/* a loop that only its budget ends takes its time */
	for (int i = 0; i < RUNS && now_ns() - start < LIMIT_NS; i++)
		for (uint32_t p = 0; p < a->gen->nprogs; p++) {
			struct ncclbpf_tuner x, y;
			uint64_t r0, r1;

			memset(&x, 0, sizeof(x));
			random_context(&x);
			y = x;
			r0 = nb_exec_run(a->gen->prog[p].exec, &x, sizeof(x));
			r1 = nb_exec_run(b->gen->prog[p].exec, &y, sizeof(y));
			(*runs)++;
			ck_assert_msg(r0 == r1, "%s: r0 %#lx and %#lx", name, (unsigned long)r0,
				      (unsigned long)r1);
			ck_assert_msg(!memcmp(&x, &y, sizeof(x)), "%s: contexts differ", name);
		}
	same_maps(a, b, name);
}

/* In a process of its own: what loops for millions of turns is let go. */
static void in_time(void (*run)(const struct side *a, const struct side *b, const char *name),
		    const struct side *a, const struct side *b, const char *name)
{
	int status = 0;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		setitimer(ITIMER_PROF, &(struct itimerval){ .it_value = { 2, 0 } }, NULL);
		run(a, b, name);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		endless++;
	else
		ck_assert_msg(status == 0, "%s: status %#x", name, (unsigned)status);
}

/* ---- two hosts ---- */

/* Pretend to run on a host with @n possible CPUs. */
static void become_host(uint32_t n)
{
	__atomic_store_n(&nb_cpu_known.n, n, __ATOMIC_RELAXED);
}

enum { FEW_CPUS = 1, MANY_CPUS = 64 };

/* Random elements in the maps that are not coherent. */
static void fill_local_maps(const struct side *s)
{
	static unsigned char key[NB_IMAGE_MAX_KEY], value[MAX];

	for (uint32_t m = 0; m < s->policy->img->nmaps; m++) {
		const struct nb_map_spec *spec = &s->policy->img->maps[m];
		struct nb_map *map = s->gen->policy->maps[m];
		size_t n;

		if (!map || spec->tags & (NB_MAPF_COHERENT | NB_MAPF_REPLICATED) ||
		    (n = nb_map_user_value_size(map)) > MAX)
			continue;
		for (int i = 0; i < 4; i++) {
			random_bytes(value, n);
			memset(key, 0, sizeof(key));
			key[0] = (unsigned char)(rnd() & 7);
			/* refused where it is constant data, or full */
			nb_map_write(map, key, value, NB_ANY, NULL);
		}
	}
}

/* Fields that may differ between ranks do. */
static void change_local_fields(struct ncclbpf_tuner *ctx)
{
	const struct nb_hook_spec *h = nb_spec_hook(NB_HOOK_TUNER);

	for (size_t f = 0; f < h->nfields; f++)
		if (h->fields[f].access == NB_IN && h->fields[f].label == NB_LABEL_LOCAL)
			random_bytes((unsigned char *)ctx + h->fields[f].off, h->fields[f].size);
}

/* The replicated maps of the communicator, on each host. */
static unsigned char state[2][NB_MAP_MAX_STATE];

static void run_on_host(const struct side *s, uint32_t ncpus, uint32_t prog,
			struct ncclbpf_tuner *ctx)
{
	become_host(ncpus);
	fill_local_maps(s);
	change_local_fields(ctx);
	ctx->state = state[ncpus == FEW_CPUS];
	nb_exec_run(s->gen->prog[prog].exec, ctx, sizeof(*ctx));
	(*runs)++;
}

/* A call that both hosts make: what it leaves in the replicated maps is the same. */
static void call_on_hosts(const struct side *a, const struct side *b, const char *name)
{
	struct ncclbpf_coll_api ctx = { .comm_id = rnd(),
					.bytes = rnd() >> (rnd() >> 58),
					.seq = rnd() >> 40,
					.coll = (uint32_t)(rnd() % 6),
					.ranks = 1 + (uint32_t)(rnd() % 64),
					.nodes = 1 };

	become_host(FEW_CPUS);
	fill_local_maps(a);
	ctx.state = state[1];
	nb_gen_run_event(a->gen, NB_HOOK_COLL_API, &ctx, sizeof(ctx), 0);
	become_host(MANY_CPUS);
	fill_local_maps(b);
	ctx.state = state[0];
	nb_gen_run_event(b->gen, NB_HOOK_COLL_API, &ctx, sizeof(ctx), 0);
	ck_assert_msg(!memcmp(state[0], state[1], sizeof(state[0])),
		      "%s: hosts differ in the replicated maps", name);
}

static void run_on_hosts(const struct side *a, const struct side *b, const char *name)
{
	double start = now_ns();

	memset(state, 0, sizeof(state));
	for (int i = 0; i < RUNS && now_ns() - start < LIMIT_NS; i++) {
		call_on_hosts(a, b, name);
		for (uint32_t p = 0; p < a->gen->nprogs; p++) {
			struct ncclbpf_tuner x, y;

			memset(&x, 0, sizeof(x));
			random_context(&x);
			y = x;
			run_on_host(a, FEW_CPUS, p, &x);
			run_on_host(b, MANY_CPUS, p, &y);
			ck_assert_msg(x.algo == y.algo && x.proto == y.proto &&
					      x.channels == y.channels,
				      "%s: hosts decide %d %d %d and %d %d %d", name, x.algo,
				      x.proto, x.channels, y.algo, y.proto, y.channels);
		}
	}
}

static bool make_on_host(struct side *s, uint32_t ncpus, const struct nb_buf *b)
{
	become_host(ncpus);
	return make_side(s, b, ncpus == FEW_CPUS);
}

/* Machine code on the large host, the interpreter on the small one. */
static void alike(const struct nb_buf *b, const char *name)
{
	struct side few, many;

	if (!make_on_host(&few, FEW_CPUS, b)) {
		refused++;
		return;
	}
	ck_assert(make_on_host(&many, MANY_CPUS, b));
	accepted++;
	in_time(run_on_hosts, &few, &many, name);
	drop(&few);
	drop(&many);
}

/* An image's bytes; those that are refused do not count. */
static void agree(const struct nb_buf *b, const char *name)
{
	struct side mine, theirs;

	if (!make_side(&mine, b, false)) {
		refused++;
		return;
	}
	ck_assert(make_side(&theirs, b, true));
	if (!repeats(mine.policy->img, name)) {
		unrepeatable++;
	} else {
		accepted++;
		for (uint32_t p = 0; p < mine.gen->nprogs; p++) {
			const struct nb_exec *x = mine.gen->prog[p].exec;

			ck_assert_uint_gt(nb_exec_compiled(x), 0);
			x = theirs.gen->prog[p].exec;
			ck_assert_uint_eq(nb_exec_compiled(x), 0);
		}
		in_time(run_both, &mine, &theirs, name);
	}
	drop(&mine);
	drop(&theirs);
}

/* ---- files ---- */

static void (*judge)(const struct nb_buf *b, const char *name) = agree;

static char *read_file(const char *path, size_t *n)
{
	static char bytes[MAX + 1];
	FILE *f = fopen(path, "rb");

	*n = f ? fread(bytes, 1, MAX, f) : 0;
	if (f)
		fclose(f);
	bytes[*n] = '\0';
	return bytes;
}

static void assembly(const char *path)
{
	static char twin[MAX];
	static struct case_image c;
	struct nb_err err = { 0 };
	struct nb_buf b;
	size_t n;
	const char *text = accepted_program(twin, sizeof(twin), read_file(path, &n));

	ck_assert_msg(!case_asm(&c, text, &err), "%s: %s", path, err.text);
	nb_buf_init(&b, 0);
	if (!nb_image_write(&b, &c.img, &err))
		judge(&b, path);
	nb_buf_fini(&b);
}

static void object(const char *path)
{
	struct nb_err err = { 0 };
	struct nb_buf b;
	size_t n;
	char *bytes = read_file(path, &n);

	nb_buf_init(&b, 0);
	if (!nb_object_image(&b, bytes, n, "object", &err))
		judge(&b, path);
	nb_buf_fini(&b);
}

/* The compiled programs of these folders are refused, some of them after seconds. */
static bool folder_refused(const char *name)
{
	return !strcmp(name, "reject") || !strcmp(name, "cost");
}

/* Every file below @path whose name ends so. */
static void each_file(const char *path, const char *end, void (*fn)(const char *path))
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name), k = strlen(end);
		char name[1024];

		if (*e->d_name == '.')
			continue;
		snprintf(name, sizeof(name), "%.700s/%.300s", path, e->d_name);
		if (n > k && !strcmp(e->d_name + n - k, end))
			fn(name);
		else if (!strchr(e->d_name, '.') && !folder_refused(e->d_name))
			each_file(name, end, fn);
	}
	if (d)
		closedir(d);
}

static void below(const char *variable, const char *otherwise, const char *folder, const char *end,
		  void (*fn)(const char *path))
{
	const char *top = getenv(variable);
	char path[600];

	snprintf(path, sizeof(path), "%.500s/%s", top ? top : otherwise, folder);
	each_file(path, end, fn);
}

static void begin(void)
{
	const char *s = getenv("AGREEMENT_SEED");
	cpu_set_t one;

	if (s)
		seed = strtoull(s, NULL, 0);
	printf("# AGREEMENT_SEED=%#lx\n", (unsigned long)seed);
	runs = mmap(NULL, sizeof(*runs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(runs != MAP_FAILED);
	/* a per-CPU value must be the same one on both engines */
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ck_assert(!sched_setaffinity(0, sizeof(one), &one));
}

static void end(unsigned least)
{
	printf("# %u programs run %lu times on each side; %u refused, %u "
	       "with time, random numbers or addresses, %u too long to end\n",
	       accepted, (unsigned long)*runs, refused, unrepeatable, endless);
	fflush(stdout);
	ck_assert_uint_ge(accepted, least);
}

TEST(on_every_accepted_assembly_file)
{
	begin();
	below("TOP", ".", "test/corpus/verify/coherence", ".asm", assembly);
	coherence = false;
	below("TOP", ".", "test/corpus/verify/accept", ".asm", assembly);
	below("TOP", ".", "test/corpus/verify/reject", ".asm", assembly);
	end(500);
}

TEST(of_two_hosts_on_what_is_coherent)
{
	begin();
	judge = alike;
	below("TOP", ".", "test/corpus/verify/coherence", ".asm", assembly);
	below("TOP", ".", "test/corpus/verify/accept", ".asm", assembly);
	below("B", "build/debug", "policies", OBJECT, object);
	below("B", "build/debug", "test/corpus", OBJECT, object);
	below("B", "build/debug", "examples", OBJECT, object);
	end(200);
}

TEST(on_every_accepted_object)
{
	begin();
	below("B", "build/debug", "policies", OBJECT, object);
	below("B", "build/debug", "test/corpus", OBJECT, object);
	below("B", "build/debug", "examples", OBJECT, object);
	end(15);
}

UNIT_MAIN("agreement")
