// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The inline functions and macros of ncclbpf_policy.h as BPF: the corpus has a
// policy that calls each of them, and what it computes, interpreted and
// compiled, is what the host computes in wider arithmetic.
#include "core/bpf/exec/jit/jit.h"
#include "core/defs/ctx.h"
#include "test/unit/policy_header.h"
#include "test/unit/policy_verdict.h"

#define SOURCE "test/corpus/accept/policy_header.bpf.c"

/* ---- the policy calls all of them ---- */

static char *source_text(const char *path)
{
	static char text[1 << 16];
	char whole[1024];
	size_t n;
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", top(), path);
	f = fopen(whole, "r");
	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return strdup(text);
}

/* Copy the name that ends at @end; "" if it is none that policies use. */
static void name_before(char name[64], const char *begin, const char *end)
{
	static const char *const ours[] = { "ncclbpf_", "bpf_", "KIB", "MIB", "GIB" };
	const char *at = end;
	bool is = false;

	while (at > begin && (at[-1] == '_' || (at[-1] >= '0' && at[-1] <= '9') ||
			      ((at[-1] | 32) >= 'a' && (at[-1] | 32) <= 'z')))
		at--;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		is |= !strncmp(at, ours[i], strlen(ours[i]));
	snprintf(name, 64, "%.*s", is ? (int)(end - at) : 0, at);
}

/* Count the functions and macros of @header; @calls calls each of them. */
static unsigned check_called(const char *header, const char *calls)
{
	char *text = source_text(header), *line, *rest = text;
	unsigned n = 0;

	while ((line = strsep(&rest, "\n"))) {
		bool defines = !strncmp(line, "#define ", 8);
		char *paren = strchr(line, '(');
		char name[64], call[80];

		if (!paren || (!defines && strncmp(line, "static __always_inline ", 23)))
			continue;
		if (defines && paren != line + 8 + strcspn(line + 8, "( "))
			continue;
		name_before(name, line, paren);
		if (!*name)
			continue;
		snprintf(call, sizeof(call), "%s(", name);
		ck_assert_msg(strstr(calls, call), "%s does not call %s of %s", SOURCE, name,
			      header);
		n++;
	}
	free(text);
	return n;
}

TEST(the_policy_calls_each_function_of_the_header)
{
	char *calls = source_text(SOURCE);

	ck_assert_uint_ge(check_called("policies/ncclbpf_policy.h", calls), 18);
	ck_assert_uint_ge(check_called("policies/ncclbpf_math.h", calls), 6);
	free(calls);
}

/* ---- what they compute ---- */

static struct nb_image *img;
static struct nb_map *maps[NB_IMAGE_MAX_MAPS];

static void open_policy(void)
{
	struct nb_err err = { .text = "" };
	const uint32_t first = 0;

	img = image_of(SOURCE, NULL);
	for (uint32_t i = 0; i < img->nmaps; i++) {
		const struct nb_map_def def = nb_map_spec_def(&img->maps[i]);

		ck_assert_msg(!nb_map_new(&maps[i], &def, &err), "%s", err.text);
		if (img->maps[i].init)
			ck_assert(!nb_map_write(maps[i], &first, img->maps[i].init, NB_ANY, NULL));
	}
}

static void close_policy(void)
{
	for (uint32_t i = 0; i < img->nmaps; i++)
		nb_map_put(maps[i]);
	nb_image_free(img);
}

static struct nb_map *map_named(const char *name)
{
	return maps[nb_image_map(img, name)];
}

static uint64_t result(uint32_t number)
{
	uint64_t value;

	ck_assert(!nb_map_read(map_named("results"), &number, &value, NULL));
	return value;
}

/* Run @program: 0 interpreted, 1 compiled. */
static void run_program(const char *program, void *ctx, size_t size, int compiled)
{
	struct nb_exec *x = NULL;

	for (uint32_t i = 0; i < img->nprogs; i++)
		if (!strcmp(img->progs[i].name, program))
			ck_assert(!nb_exec_new(&x, img, i, maps, NULL, NULL));
	ck_assert_ptr_nonnull(x);
	if (compiled && nb_exec_compile(&(struct nb_exec_item){ x, NULL }, 1, NULL))
		ck_assert_uint_eq(nb_exec_compiled(x), 0); /* no compiler for this machine */
	ck_assert_uint_eq(nb_exec_run(x, ctx, size), 0);
	nb_exec_free(x);
}

static void run_event(const char *program, const uint64_t operands[NOPERANDS], int compiled)
{
	struct ncclbpf_coll_done ctx = { .ranks = 8 };

	for (uint32_t i = 0; i < NOPERANDS; i++)
		ck_assert(!nb_map_write(map_named("operands"), &i, &operands[i], NB_ANY, NULL));
	run_program(program, &ctx, sizeof(ctx), compiled);
}

__extension__ typedef unsigned __int128 wide;

static uint64_t saturated(wide x)
{
	return x > UINT64_MAX ? UINT64_MAX : (uint64_t)x;
}

static uint64_t quotient(uint64_t a, uint64_t b, uint64_t c)
{
	return c ? saturated((wide)a * b / c) : UINT64_MAX;
}

static uint64_t ewma(uint64_t average, uint64_t sample, unsigned shift)
{
	uint64_t way = sample < average ? average - sample : sample - average;
	uint64_t step = (uint64_t)(((wide)way + ((wide)1 << shift) - 1) >> shift);

	return sample < average ? average - step : average + step;
}

static unsigned log2_of(uint64_t x)
{
	return x ? 63 - (unsigned)__builtin_clzll(x) : 0;
}

static uint64_t log2_fine(uint64_t x)
{
	return x ? 256 * log2_of(x) + (uint64_t)(((wide)x << 8 >> log2_of(x)) & 255) : 0;
}

static void check_result(uint32_t number, uint64_t want, const uint64_t o[NOPERANDS])
{
	ck_assert_msg(result(number) == want, "result %u of %#llx %#llx %llu: %#llx, not %#llx",
		      number, (unsigned long long)o[OPERAND_A], (unsigned long long)o[OPERAND_B],
		      (unsigned long long)o[OPERAND_C], (unsigned long long)result(number),
		      (unsigned long long)want);
}

static void check_arithmetic(const uint64_t o[NOPERANDS], int compiled)
{
	uint64_t a = o[OPERAND_A], b = o[OPERAND_B], c = o[OPERAND_C];

	run_event("arithmetic", o, compiled);
	check_result(RESULT_SAT_ADD, saturated((wide)a + b), o);
	check_result(RESULT_SAT_SUB, a < b ? 0 : a - b, o);
	check_result(RESULT_SAT_MUL, saturated((wide)a * b), o);
	check_result(RESULT_EWMA, ewma(a, b, (unsigned)c & 63), o);
	check_result(RESULT_FIXED_DIV, quotient(a, 1ull << (c & 63), b), o);
	check_result(RESULT_FIXED_MUL, quotient(a, b, 1ull << (c & 63)), o);
	check_result(RESULT_LOG2, log2_of(a), o);
	check_result(RESULT_LOG2_FINE, log2_fine(a), o);
	check_result(RESULT_KIB, a << 10, o);
	check_result(RESULT_MIB, a << 20, o);
	check_result(RESULT_GIB, a << 30, o);
}

static const uint64_t edges[] = { 0,
				  1,
				  2,
				  3,
				  255,
				  256,
				  1000,
				  0xffffffff,
				  0x100000000,
				  0x100000001,
				  1ull << 62,
				  1ull << 63,
				  UINT64_MAX / 3,
				  UINT64_MAX / 3 + 1,
				  UINT64_MAX - 1,
				  UINT64_MAX };
enum { NEDGES = sizeof(edges) / sizeof(edges[0]) };

TEST_EACH(arithmetic_is_that_of_wider_numbers, 0, 2)
{
	uint64_t seed = 1;

	open_policy();
	for (unsigned i = 0; i < NEDGES * NEDGES; i++) {
		const uint64_t o[NOPERANDS] = { edges[i / NEDGES], edges[i % NEDGES], i & 63 };

		check_arithmetic(o, _i);
	}
	for (unsigned i = 0; i < 200; i++) {
		uint64_t o[NOPERANDS];

		for (unsigned k = 0; k < NOPERANDS; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			o[k] = seed >> (seed >> 59);
		}
		check_arithmetic(o, _i);
	}
	close_policy();
}

TEST_EACH(loops_make_their_iterations, 0, 2)
{
	open_policy();
	for (uint64_t n = 0; n < 64; n += 7) {
		const uint64_t o[NOPERANDS] = { 0, 0, n };

		run_event("loops", o, _i);
		check_result(RESULT_FOR, n ? n * (n - 1) / 2 : 0, o);
		check_result(RESULT_REPEAT, n, o);
		check_result(RESULT_STEPS, n, o);
	}
	close_policy();
}

TEST_EACH(texts_and_times_of_the_host, 0, 2)
{
	const uint64_t o[NOPERANDS] = { 0, 0, 42 };
	const uint64_t times[] = { 0, 1, UINT64_MAX >> 1, (1ull << 63) + 1 };
	union {
		char text[8];
		uint64_t word;
	} want = { "42 of 9" };
	uint32_t key = 0;

	open_policy();
	for (size_t i = 0; i < 4; i++) {
		ck_assert(!nb_map_write(map_named("host"), &key, &times[i], NB_ANY, NULL));
		run_event("text", o, _i);
		check_result(RESULT_LENGTH, 8, o);
		check_result(RESULT_TEXT, want.word, o);
		ck_assert_int_lt((int64_t)result(RESULT_PRINTK), 0); /* no trace ring */
		/* Never written, long ago, after now, and by a writer that has not ended. */
		if (times[i] == 1)
			ck_assert_uint_lt(result(RESULT_HOST_AGE) - 1, UINT64_MAX >> 2);
		else
			check_result(RESULT_HOST_AGE, i == 2 ? 0 : UINT64_MAX, o);
	}
	close_policy();
}

TEST_EACH(choices_are_made_of_the_context, 0, 2)
{
	const uint64_t o[NOPERANDS] = { 0 };
	float costs[NCCL_NUM_ALGOS * NCCL_NUM_PROTOS];
	struct ncclbpf_tuner ctx = {
		.bytes = 1ull << 62,
		.coll = NCCL_COLL_ALL_GATHER,
		.ranks = 8,
		.usable = 1u << (NCCL_ALGO_TREE * 3 + NCCL_PROTO_SIMPLE) |
			  1u << (NCCL_ALGO_RING * 3 + NCCL_PROTO_LL),
		.algo = NCCL_ALGO_UNDEF,
		.proto = NCCL_PROTO_UNDEF,
		.costs = costs,
	};

	for (int i = 0; i < NCCL_NUM_ALGOS * NCCL_NUM_PROTOS; i++)
		costs[i] = -1.0f;
	costs[NCCL_ALGO_TREE * 3 + NCCL_PROTO_SIMPLE] = 20.0f;
	costs[NCCL_ALGO_RING * 3 + NCCL_PROTO_LL] = 10.0f;
	open_policy();
	run_program("choices", &ctx, sizeof(ctx), _i);
	check_result(RESULT_USABLE, 1, o);
	check_result(RESULT_COST, 20000, o);
	check_result(RESULT_CHEAPEST_PROTO, NCCL_PROTO_LL, o);
	check_result(RESULT_CHEAPEST_ALGO, NCCL_ALGO_RING, o);
	check_result(RESULT_BYTES_PER_RANK, 1ull << 59, o);
	check_result(RESULT_ALL_BYTES, UINT64_MAX, o);
	check_result(RESULT_CHOSEN, 1, o);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_TREE);
	ck_assert_int_eq(ctx.proto, NCCL_PROTO_SIMPLE);
	ctx.usable = 0;
	ctx.bytes = 1ull << 60;
	ctx.coll = NCCL_COLL_ALL_REDUCE;
	run_program("choices", &ctx, sizeof(ctx), _i);
	check_result(RESULT_USABLE, 0, o);
	check_result(RESULT_BYTES_PER_RANK, 1ull << 60, o);
	check_result(RESULT_ALL_BYTES, 1ull << 63, o);
	check_result(RESULT_CHOSEN, 0, o);
	close_policy();
}

TEST_EACH(variables_are_replaced_and_hidden, 0, 2)
{
	static const struct {
		const char *name;
		uint32_t answer;
		const char *value;
	} rows[] = { { "NCCL_ALGO", 1, "Ring" }, { "NCCL_PROTO", 2, "" }, { "NCCL_ALGO2", 0, "" } };

	open_policy();
	for (size_t i = 0; i < 3; i++) {
		struct ncclbpf_env ctx = { .is_set = 1 };
		char value[9] = "";

		memcpy(&ctx.name, rows[i].name, strlen(rows[i].name));
		run_program("variables", &ctx, sizeof(ctx), _i);
		ck_assert_uint_eq(ctx.answer, rows[i].answer);
		memcpy(value, &ctx.answer0, 8);
		ck_assert_str_eq(value, rows[i].value);
	}
	close_policy();
}

UNIT_MAIN("policy header")
