// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Parameters of policies: what the source says is what the image has, other
// values make another image that the verifier sees, nothing but a parameter
// changes, and each wrong value or damaged image is refused. Variables of
// .data.coherent begin as the source says and change like a coherent map.
#include "test/unit/load_object.h"

#include "core/bpf/generation/state.h"
#include "core/bpf/image/param.h"
#include "core/defs/ctx.h"
#include "core/ncclbpf.h"
#include "test/unit/image_sample.h"

static const char two[] = "NCCLBPF_PARAM(small, KIB(32), -1, GIB(1));\n"
			  "NCCLBPF_PARAM(wide, 16, 1, 64);\n"
			  "SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
			  "{\n"
			  "	if (ctx->bytes <= small)\n"
			  "		ctx->channels = wide;\n"
			  "	return 0;\n"
			  "}\n";

/* The image @from with the values of @text. */
static struct nb_image *with(const struct nb_image *from, const char *text)
{
	struct nb_err err = { .text = "" };
	struct nb_image *next;
	struct nb_buf out;

	nb_buf_init(&out, 0);
	ck_assert_msg(!nb_image_set(&out, from, text, &err), "%s: %s", text, err.text);
	ck_assert_msg(!nb_image_read(&next, out.data, out.size, &err), "%s: %s", text, err.text);
	nb_buf_fini(&out);
	return next;
}

static int64_t value_of(const struct nb_image *from, const char *name)
{
	struct nb_image_param p[NB_IMAGE_MAX_PARAMS];
	uint32_t n;

	ck_assert_int_eq(nb_image_params(from, p, &n, NULL), 0);
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(p[i].name, name))
			return p[i].value;
	ck_abort_msg("no parameter %s", name);
	return 0;
}

static bool same_digest(const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, NB_SHA256_SIZE);
}

TEST_EACH(an_image_has_what_the_source_says, 0, ROWS(cpus))
{
	struct nb_image *in = image_of(two, cpus[_i]);
	struct nb_image_param p[NB_IMAGE_MAX_PARAMS];
	uint32_t n;

	ck_assert_int_eq(nb_image_params(in, p, &n, NULL), 0);
	ck_assert_uint_eq(n, 2);
	for (uint32_t i = 0; i < n; i++) {
		bool small = !strcmp(p[i].name, "small");

		ck_assert(small || !strcmp(p[i].name, "wide"));
		ck_assert_int_eq(p[i].value, small ? 32 << 10 : 16);
		ck_assert_int_eq(p[i].preset, p[i].value);
		ck_assert_int_eq(p[i].min, small ? -1 : 1);
		ck_assert_int_eq(p[i].max, small ? 1 << 30 : 64);
	}
	ck_assert(same_digest(in->digest, in->base));
	nb_image_free(in);
}

TEST(another_value_makes_another_image_of_the_same_base)
{
	struct nb_image *in = image_of(two, "-g -mcpu=v3");
	struct nb_image *other = with(in, "small=64K,wide=0x20");
	struct nb_image *third = with(other, "small=-1"), *back = with(third, "small=32K,wide=16");

	ck_assert_int_eq(value_of(other, "small"), 64 << 10);
	ck_assert_int_eq(value_of(other, "wide"), 32);
	ck_assert_int_eq(value_of(third, "small"), -1);
	ck_assert_int_eq(value_of(third, "wide"), 32); /* one that is not named keeps its value */
	ck_assert(!same_digest(in->digest, other->digest));
	ck_assert(!same_digest(third->digest, other->digest));
	ck_assert(same_digest(in->base, other->base));
	ck_assert(same_digest(in->base, third->base));
	ck_assert(same_digest(in->digest, back->digest));
	ck_assert_mem_eq(back->bytes, in->bytes, in->size);
	nb_image_free(in);
	nb_image_free(other);
	nb_image_free(third);
	nb_image_free(back);
}

static const struct {
	const char *text;
	int64_t value;
} numbers[] = {
	{ "small=0", 0 },
	{ "small=-1", -1 },
	{ "small=0X10", 16 },
	{ "small=4k", 4096 },
	{ "small=4KiB", 4096 },
	{ "small=2MB", 2 << 20 },
	{ "small=1G", 1 << 30 },
	{ "small=1073741824", 1 << 30 },
	{ "wide=3,small=0x1K", 1024 },
};

TEST_EACH(a_value_is_a_number, 0, ROWS(numbers))
{
	struct nb_image *in = image_of(two, "-g -mcpu=v3");
	struct nb_image *other = with(in, numbers[_i].text);

	ck_assert_int_eq(value_of(other, "small"), numbers[_i].value);
	nb_image_free(in);
	nb_image_free(other);
}

static const struct {
	const char *text, *word;
} wrong[] = {
	{ "", "must be NAME=VALUE" },
	{ "small", "must be NAME=VALUE" },
	{ "small=1,", "must be NAME=VALUE" },
	{ "smal=1", "no parameter smal (allowed: " },
	{ "ncclbpf_param_small=1", "no parameter ncclbpf_param_small" },
	{ "small=", "not a whole number" },
	{ "small=x", "\"x\" is not a whole number" },
	{ "small=1.5K", "not a whole number" },
	{ "small=+1", "not a whole number" },
	{ "small= 1", "not a whole number" },
	{ "small=1KB2", "not a whole number" },
	{ "small=0x", "not a whole number" },
	{ "small=99999999999999999999", "not a whole number" },
	{ "small=16777216T", "not a whole number" },
	{ "small=-2", "\"-2\" is out of range (allowed: -1 to 1073741824)" },
	{ "small=1025M", "out of range" },
	{ "wide=0", "\"0\" is out of range (allowed: 1 to 64)" },
	{ "small=1,wide=65", "out of range" },
	{ "small=1,small=1", "set twice" },
};

TEST_EACH(a_wrong_value_is_refused, 0, ROWS(wrong))
{
	struct nb_image *in = image_of(two, "-g -mcpu=v3");
	struct nb_err err = { .text = "" };
	struct nb_buf out;

	nb_buf_init(&out, 0);
	ck_assert_int_eq(nb_image_set(&out, in, wrong[_i].text, &err), NB_E_ARG);
	ck_assert_int_eq(err.code, NB_E_ARG);
	ck_assert_msg(strstr(err.text, wrong[_i].word) != NULL, "\"%s\" lacks \"%s\"", err.text,
		      wrong[_i].word);
	ck_assert_uint_eq(out.size, 0);
	nb_buf_fini(&out);
	nb_image_free(in);
}

TEST(a_policy_without_parameters_says_so)
{
	struct nb_image *in = image_of(whole, "-g -mcpu=v3");
	struct nb_err err = { .text = "" };
	struct nb_buf out;

	nb_buf_init(&out, 0);
	ck_assert_int_eq(nb_image_set(&out, in, "small=1", &err), NB_E_ARG);
	ck_assert_ptr_nonnull(strstr(err.text, "has no parameters"));
	ck_assert(same_digest(in->digest, in->base));
	nb_buf_fini(&out);
	nb_image_free(in);
}

/* ---- what the verifier sees ---- */

static int verified(const struct nb_image *in)
{
	struct nb_policy *p = NULL;
	struct nb_err err = { .text = "" };
	int rc = nb_policy_new(&p, in->bytes, in->size, NULL, &err);

	nb_policy_put(p);
	return rc;
}

/* The value is a constant: a branch that it does not take is not verified. */
TEST(the_verifier_knows_the_value)
{
	static const char source[] =
		"NCCLBPF_PARAM(deep, 0, 0, 200);\n"
		"struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1);\n"
		"	 __type(key, __u32); __type(value, __u64[8]);\n"
		"} m SEC(\".maps\") __coherent;\n"
		"SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
		"{\n"
		"	__u32 zero = 0;\n"
		"	__u64 *v = bpf_map_lookup_elem(&m, &zero);\n"
		"\n"
		"	if (v)\n"
		"		ctx->channels = *(volatile __u64 *)(v + deep);\n"
		"	return 0;\n"
		"}\n";
	struct nb_image *in = image_of(source, "-g -mcpu=v3");
	struct nb_image *last = with(in, "deep=7"), *beyond = with(in, "deep=8");

	ck_assert_int_eq(verified(in), 0);
	ck_assert_int_eq(verified(last), 0);
	ck_assert_int_eq(verified(beyond), NB_E_VERIFY);
	nb_image_free(in);
	nb_image_free(last);
	nb_image_free(beyond);
}

/* ---- sources and images that are refused ---- */

static const struct refusal sources[] = {
	{ "static const volatile int64_t a SEC(\".rodata.params\") = 1;\n"
	  "SEC(\"tuner\") int f(void *c) { return 0; }\n",
	  "-g", NB_E_IMAGE, "parameter a: it has no range" },
	{ "static const volatile int32_t a SEC(\".rodata.params\") = 1;\n"
	  "SEC(\"tuner\") int f(void *c) { return 0; }\n",
	  "-g", NB_E_IMAGE, "parameter a: it must be 8 bytes" },
	{ "NCCLBPF_PARAM(a, 1, 0, 2);\nSEC(\"tuner\") int f(void *c) { return a; }\n", "",
	  NB_E_IMAGE, "compile the policy with -g" },
	{ "static const volatile int64_t a SEC(\".rodata.params\") = 1;\n"
	  "static const struct ncclbpf_param_range ncclbpf_param_a SEC(\".rodata.params\")\n"
	  "	= { 3, 0, 2 };\n"
	  "SEC(\"tuner\") int f(void *c) { return 0; }\n",
	  "-g", NB_E_IMAGE, "its default, 3, is not in its range, 0 to 2" },
};

TEST_EACH(a_source_without_ranges_is_refused, 0, ROWS(sources))
{
	struct bytes obj = compile(sources[_i].source, sources[_i].flags);

	refuse(&obj, sources[_i].code, sources[_i].word);
	free(obj.p);
}

/* Each changed byte of the section and its names: refused, or a value in the range. */
TEST(a_damaged_section_is_refused_or_in_range)
{
	struct nb_image *in = image_of(two, "-g -mcpu=v3");
	char *copy = malloc(in->size);

	memcpy(copy, in->bytes, in->size);
	for (size_t i = 0; i < in->size; i++)
		for (int bit = 0; bit < 8; bit += 7) {
			struct nb_image_param p[NB_IMAGE_MAX_PARAMS];
			struct nb_image *out = NULL;
			uint32_t n;

			copy[i] ^= (char)(1 << bit);
			if (!nb_image_read(&out, copy, in->size, NULL)) {
				ck_assert_int_eq(nb_image_params(out, p, &n, NULL), 0);
				for (uint32_t k = 0; k < n; k++)
					ck_assert(p[k].min <= p[k].value && p[k].value <= p[k].max);
			}
			nb_image_free(out);
			copy[i] ^= (char)(1 << bit);
		}
	free(copy);
	nb_image_free(in);
}

/* ---- variables that are coherent ---- */

static const char coherent[] =
	"NCCLBPF_PARAM(add, 0, 0, 100);\n"
	"struct limits { uint64_t small; uint32_t channels; uint32_t unused; };\n"
	"__coherent_data struct limits limits = { .small = KIB(4), .channels = 7 };\n"
	"SEC(\"tuner\") int entry(struct ncclbpf_tuner *ctx)\n"
	"{\n"
	"	if (ctx->bytes <= limits.small)\n"
	"		ctx->channels = limits.channels + add;\n"
	"	return 0;\n"
	"}\n";

static struct nb_policy *policy_of(const struct nb_image *in)
{
	struct nb_err err = { .text = "" };
	struct nb_policy *p;

	ck_assert_msg(!nb_policy_new(&p, in->bytes, in->size, NULL, &err), "%s", err.text);
	return p;
}

static struct nb_gen *gen_of(struct nb_policy *p, const struct nb_gen_parent *parent)
{
	const struct nb_order all = nb_order_all(1);
	struct nb_err err = { .text = "" };
	struct nb_gen *g;

	ck_assert_msg(!nb_gen_scoped(&g, &p, 1, &all, NULL, parent, &err), "%s", err.text);
	return g;
}

static uint32_t channels_of(const struct nb_gen *g)
{
	struct ncclbpf_tuner ctx = { .bytes = 1024, .ranks = 8, .algo = -1, .proto = -1 };
	struct nb_gen_count count = { 0 };

	nb_gen_run_tuner(g, &ctx, &count);
	return ctx.channels;
}

/* The generation @from with 9 channels in the section. */
static struct nb_gen *nine(const struct nb_gen *from)
{
	const struct nb_image *in = from->policy[0].policy->img;
	unsigned char value[16];
	uint32_t key = 0, nine = 9;
	const struct nb_map_op op = { .key = &key, .value = value };
	int map = nb_image_map(in, ".data.coherent");
	struct nb_err err = { .text = "" };
	struct nb_gen *g;

	ck_assert_int_ge(map, 0);
	memcpy(value, in->maps[map].init, sizeof(value));
	memcpy(value + 8, &nine, sizeof(nine));
	ck_assert_msg(!nb_gen_changes(&g, from, &(struct nb_gen_change){ 0, (uint32_t)map, &op, 1 },
				      1, &err),
		      "%s", err.text);
	return g;
}

TEST(coherent_variables_begin_as_the_source_says)
{
	struct nb_image *in = image_of(coherent, "-g -mcpu=v3");
	struct nb_policy *p = policy_of(in);
	struct nb_gen *g = gen_of(p, NULL), *next = nine(g);

	ck_assert_uint_eq(in->maps[nb_image_map(in, ".data.coherent")].tags, NB_MAPF_COHERENT);
	ck_assert_uint_eq(channels_of(g), 7);
	ck_assert_uint_eq(channels_of(next), 9);
	ck_assert_uint_eq(channels_of(g), 7);
	ck_assert(!same_digest(g->digest, next->digest));
	nb_gen_put(g);
	nb_gen_put(next);
	nb_policy_put(p);
	nb_image_free(in);
}

TEST(programs_do_not_write_coherent_variables)
{
	struct nb_image *in = image_of("__coherent_data uint64_t x = 3;\n"
				       "SEC(\"tuner\") int f(void *c) { x = 4; return 0; }\n",
				       "-g -mcpu=v3");

	ck_assert_int_eq(verified(in), NB_E_VERIFY);
	nb_image_free(in);
}

/* With other parameters a policy keeps its coherent contents where it is replaced by itself, and
 * begins anew otherwise. */
TEST(a_replaced_policy_hands_on_coherent_contents)
{
	struct nb_image *in = image_of(coherent, "-g -mcpu=v3"), *other = with(in, "add=20");
	struct nb_image *foreign = image_of(two, "-g -mcpu=v3");
	struct nb_policy *p = policy_of(in), *q = policy_of(other), *r = policy_of(foreign);
	struct nb_gen *first = gen_of(p, NULL), *g = nine(first);
	struct nb_gen_parent replaced = { g, q, p }, loaded = { .gen = g };
	struct nb_gen *next = gen_of(q, &replaced), *anew = gen_of(q, &loaded), *none;

	ck_assert_uint_eq(channels_of(next), 29);
	ck_assert_uint_eq(channels_of(anew), 27);
	ck_assert(!same_digest(next->digest, anew->digest));
	ck_assert_mem_eq(next->policy[0].history, g->policy[0].history, NB_SHA256_SIZE);
	replaced.heir = r;
	none = gen_of(r, &replaced); /* a new policy takes over no contents */
	ck_assert_uint_eq(channels_of(none), 16);
	nb_gen_put(none);
	nb_gen_put(next);
	nb_gen_put(anew);
	nb_gen_put(first);
	nb_gen_put(g);
	nb_policy_put(p);
	nb_policy_put(q);
	nb_policy_put(r);
	nb_image_free(in);
	nb_image_free(other);
	nb_image_free(foreign);
}

static struct nb_policy *known;

static struct nb_policy *find(const uint8_t *digest)
{
	return same_digest(digest, known->img->digest) ? known : NULL;
}

TEST(bytes_of_a_generation_have_its_coherent_variables)
{
	struct nb_image *in = image_of(coherent, "-g -mcpu=v3");
	struct nb_gen *first, *g, *read;
	struct nb_buf b;

	known = policy_of(in);
	first = gen_of(known, NULL);
	g = nine(first);
	nb_buf_init(&b, 0);
	ck_assert_int_eq(nb_gen_state_write(&b, g, NULL), 0);
	ck_assert_int_eq(nb_gen_state_read(&read, b.data, b.size, find, NULL), 0);
	ck_assert(same_digest(read->digest, g->digest));
	ck_assert_uint_eq(channels_of(read), 9);
	nb_buf_fini(&b);
	nb_gen_put(read);
	nb_gen_put(g);
	nb_gen_put(first);
	nb_policy_put(known);
	nb_image_free(in);
}

TEST(a_tag_on_constants_is_refused)
{
	struct nb_err err = { .text = "" };
	struct nb_buf b;

	fresh();
	maps[1].tags = NB_MAPF_COHERENT;
	nb_buf_init(&b, 0);
	ck_assert_int_eq(nb_image_write(&b, &img, &err), NB_E_MAPDEF);
	ck_assert_ptr_nonnull(strstr(err.text, ".rodata"));
	nb_buf_fini(&b);
}

UNIT_MAIN("params")
