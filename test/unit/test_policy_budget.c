// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What a whole policy may cost when it is loaded: instructions that the
// verifier walks for all of its programs, and memory of all of its maps. Each
// attack stands beside the largest policy that is accepted.
#include "test/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/ncclbpf.h"
#include "test/unit/made.h"
#include "test/unit/asm.h"

/* ---- verification ---- */

static struct nb_slot slots[MADE_SLOTS];

/* @n programs, each a loop that is walked 100,000 times. */
static void costly_policy(struct nb_buf *out, uint32_t n)
{
	static char names[NB_IMAGE_MAX_PROGS][16];
	static const struct nb_func func = { .name = "f", .end = 5 };
	struct nb_prog progs[NB_IMAGE_MAX_PROGS];
	struct nb_image img = { .name = "costly", .progs = progs, .nprogs = n };
	struct nb_err err = { 0 };
	size_t nslots;

	ck_assert(!nb_asm(slots, MADE_SLOTS, &nslots,
			  "mov %r1, 0\nloop:\nadd %r1, 1\n"
			  "jlt %r1, 100000, loop\nmov %r0, 0\nexit\n",
			  &err));
	for (uint32_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "p%u", i);
		progs[i] = (struct nb_prog){ .name = names[i],
					     .section = "tuner",
					     .hook = NB_HOOK_TUNER,
					     .slots = slots,
					     .nslots = (uint32_t)nslots,
					     .funcs = &func,
					     .nfuncs = 1 };
	}
	nb_buf_init(out, 0);
	ck_assert_msg(!nb_image_write(out, &img, &err), "%s", err.text);
}

/* What nb_policy_new answers. */
static int load(const struct nb_buf *b, const struct nb_policy_opts *opts, struct nb_err *err)
{
	struct nb_policy *p = NULL;
	int rc = nb_policy_new(&p, b->data, b->size, opts, err);

	nb_policy_put(p);
	return rc;
}

/* Instructions that count for one of the programs. */
static uint32_t work_of_one(void)
{
	struct nb_err err = { 0 };
	struct nb_image *img;
	struct nb_verdict *v;
	struct nb_buf b;
	uint32_t work;

	costly_policy(&b, 1);
	ck_assert(!nb_image_read(&img, b.data, b.size, &err));
	ck_assert(!nb_verify(&v, img, 0, NULL, &err));
	ck_assert(v->accepted);
	work = v->stats.work;
	nb_verdict_free(v);
	nb_image_free(img);
	nb_buf_fini(&b);
	return work;
}

TEST(verification_of_all_programs_has_one_budget)
{
	struct nb_policy_opts opts = { .max_insns = 0 };
	uint32_t work = work_of_one(), fit;
	struct nb_err err = { 0 };
	struct nb_buf b, text;
	char spent[64];

	nb_policy_limits(&opts);
	fit = opts.max_insns / work;
	ck_assert_uint_ge(fit, 1);
	ck_assert_uint_lt(fit, NB_IMAGE_MAX_PROGS);
	costly_policy(&b, fit);
	ck_assert_msg(!load(&b, NULL, &err), "%s", err.text);
	nb_buf_fini(&b);
	costly_policy(&b, NB_IMAGE_MAX_PROGS);
	nb_buf_init(&text, 0);
	opts.finding_text = &text;
	ck_assert_int_eq(load(&b, &opts, &err), NB_E_VERIFY);
	ck_assert_msg(strstr(nb_buf_text(&text), "within 2000000 instructions walked") &&
			      strstr(nb_buf_text(&text), "NCCLBPF_MAX_VERIFY"),
		      "%s", nb_buf_text(&text));
	/* it says what those that fit took */
	snprintf(spent, sizeof(spent), "the verifier walked %u instructions of", fit * work);
	ck_assert_msg(strstr(err.text, spent) != NULL, "%s", err.text);
	nb_buf_fini(&text);
	nb_buf_fini(&b);
}

TEST(the_operator_sets_the_budget_to_the_instruction)
{
	struct nb_policy_opts opts = { .max_insns = 3 * work_of_one() };
	struct nb_err err = { 0 };
	struct nb_buf b;

	costly_policy(&b, 3);
	ck_assert_msg(!load(&b, &opts, &err), "%s", err.text);
	opts.max_insns--;
	ck_assert_int_eq(load(&b, &opts, &err), NB_E_VERIFY);
	nb_buf_fini(&b);
}

/* What nb_verify_env says of the program @text of SEC("env"); its rule class. */
static enum nb_finding_class env_finding(const char *text, struct nb_verify_opts *limits,
					 bool *about_ranks)
{
	struct nb_func func = { .name = "f" };
	struct nb_prog prog = { .name = "f",
				.section = "env",
				.hook = NB_HOOK_ENV,
				.slots = slots,
				.funcs = &func,
				.nfuncs = 1 };
	struct nb_image img = { .name = "env", .progs = &prog, .nprogs = 1 };
	enum nb_finding_class cls = NB_FIND_NONE;
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	size_t n;

	ck_assert_msg(!nb_asm(slots, MADE_SLOTS, &n, text, &err), "%s", err.text);
	func.end = prog.nslots = (uint32_t)n;
	ck_assert_msg(!nb_verify_env(&v, &img, 0, limits, &err), "%s", err.text);
	if (v)
		cls = v->finding.cls;
	*about_ranks = v && nb_finding_about_ranks(&v->finding);
	nb_verdict_free(v);
	return cls;
}

TEST(answers_of_an_env_program_are_not_known_at_a_limit)
{
	static const char loop[] = "call 7\nmov %r1, 0\nloop:\nadd %r1, 1\n"
				   "jlt %r1, 1000, loop\nmov %r0, 0\nexit\n";
	struct nb_verify_opts limits = { .policy_insns = 10000 };
	uint32_t spent;
	bool ranks;

	/* ctx->answer */
	ck_assert_int_eq(env_finding("stw [%r1+200], 2\nmov %r0, 0\nexit\n", &limits, &ranks),
			 NB_FIND_NONE);
	ck_assert_int_eq(env_finding("call 7\nexit\n", &limits, &ranks), NB_FIND_NONE);
	ck_assert_int_eq(env_finding("mov %r6, %r1\ncall 7\nstxw [%r6+200], %r0\n"
				     "mov %r0, 0\nexit\n",
				     &limits, &ranks),
			 NB_FIND_LOCAL_OUTPUT);
	ck_assert(ranks);
	ck_assert_int_eq(env_finding(loop, &limits, &ranks), NB_FIND_NONE);
	spent = limits.policy_spent;
	ck_assert_uint_gt(spent, 2000);
	/* the rest is too little for the same program */
	limits.policy_insns = spent + 1000;
	ck_assert_int_eq(env_finding(loop, &limits, &ranks), NB_FIND_POLICY_WORK);
	ck_assert(!ranks);
	limits = (struct nb_verify_opts){ .max_memory = 4096 };
	ck_assert_int_eq(env_finding(loop, &limits, &ranks), NB_FIND_MEMORY);
	ck_assert(!ranks);
}

/* ---- memory ---- */

static const char *const return_0 = "mov %r0, 0\nexit\n";

/* @n maps as @spec says. */
static void large_policy(struct nb_buf *out, struct nb_map_spec spec, uint32_t n)
{
	static char names[NB_IMAGE_MAX_MAPS][16];
	struct nb_map_spec maps[NB_IMAGE_MAX_MAPS];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "m%u", i);
		maps[i] = spec;
		maps[i].name = names[i];
	}
	made_image(out, "large", return_0, maps, n);
}

static int load_large(struct nb_map_spec spec, uint32_t n, const struct nb_policy_opts *opts,
		      struct nb_err *err)
{
	struct nb_buf b;
	int rc;

	large_policy(&b, spec, n);
	rc = load(&b, opts, err);
	nb_buf_fini(&b);
	return rc;
}

static const struct nb_map_spec array_of_8_mib = {
	.type = NB_MAP_ARRAY, .key_size = 4, .value_size = 1 << 13, .max_entries = 1020
};

TEST(memory_of_all_maps_has_one_budget)
{
	struct nb_map_spec spec = array_of_8_mib;
	struct nb_err err = { 0 };

	ck_assert_msg(!load_large(spec, 32, NULL, &err), "%s", err.text);
	ck_assert_int_eq(load_large(spec, 33, NULL, &err), NB_E_LIMIT);
	ck_assert_str_eq(err.text, "policy large: its maps take 264 MiB, the largest, "
				   "m32, 8 MiB; at most 256 MiB");
	ck_assert(strstr(err.hint, "NCCLBPF_MAX_POLICY_MEMORY") != NULL);
}

/* In a process that may have 1 GiB: an allocation of 15 GiB would fail with
 * another error. */
TEST(nothing_is_allocated_for_a_policy_over_its_budget)
{
	const struct rlimit most = { 1 << 30, 1 << 30 };
	struct nb_map_spec spec = array_of_8_mib;
	struct nb_err err = { 0 };
	int status;
	pid_t pid;

	spec.max_entries = 32700;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		/* Sanitizers reserve more addresses than that. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
		setrlimit(RLIMIT_AS, &most);
#else
		(void)most;
#endif
		_exit(load_large(spec, 60, NULL, &err) == NB_E_LIMIT ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* 16 KiB a CPU, or twice that, whatever this host has: 4 or 10 MiB count. */
TEST(per_cpu_maps_count_alike_on_every_host)
{
	static const struct nb_map_spec percpu = {
		.type = NB_MAP_PERCPU_ARRAY, .key_size = 4, .value_size = 64, .max_entries = 256
	};
	const struct nb_policy_opts opts = { .max_memory = 11 << 20 };
	const uint32_t cpus[] = { 1, nb_ncpus(), 512 };
	struct nb_err err = { 0 };

	for (size_t c = 0; c < 3; c++) {
		nb_cpu_known.n = cpus[c];
		ck_assert_msg(!load_large(percpu, 1, &opts, &err), "%s", err.text);
		ck_assert_int_eq(load_large(percpu, 3, &opts, &err), NB_E_LIMIT);
	}
}

/* What is planned for this host is what a map takes. */
TEST(plans_are_what_maps_take)
{
	for (uint32_t entries = 1; entries < 200000; entries *= 7) {
		const struct nb_map_def def = { .type = NB_MAP_LRU_HASH,
						.key_size = 8,
						.value_size = 16,
						.max_entries = entries };
		struct nb_map *m;
		uint64_t size;

		ck_assert(!nb_map_plan(&size, &def, nb_ncpus(), NULL));
		ck_assert(!nb_map_new(&m, &def, NULL));
		ck_assert_uint_ge(size, nb_map_memory(m));
		ck_assert_uint_lt(size, nb_map_memory(m) + (2 << 20));
		nb_map_put(m);
	}
}

UNIT_MAIN("policy budget")
