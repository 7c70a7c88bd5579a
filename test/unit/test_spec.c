// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The ground everything stands on: errors, arena, buffer, JSON, SHA-256, and
// the tables with their look-ups.
#include "test/unit/unit.h"

#include <linux/bpf.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/ascii.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/sha256.h"
#include "core/base/utc.h"
#include "core/base/view.h"
#include "core/spec/spec.h"

/* ---- errors ---- */

TEST(an_error_is_filled_only_on_failure)
{
	struct nb_err err = { .hint = "old" };

	ck_assert_int_eq(nb_fail(NULL, NB_E_IO, 1, "x"), NB_E_IO);
	ck_assert_int_eq(nb_hint(NULL, "x"), 0);
	ck_assert_int_eq(nb_fail(&err, NB_E_IO, 7, "found %d, allowed %s", 3, "4"), NB_E_IO);
	ck_assert_int_eq(err.code, NB_E_IO);
	ck_assert_uint_eq(err.at, 7);
	ck_assert_str_eq(err.text, "found 3, allowed 4");
	ck_assert_str_eq(err.hint, "");
	ck_assert_int_eq(nb_hint(&err, "try %d", 4), NB_E_IO);
	ck_assert_str_eq(err.hint, "try 4");
}

TEST(a_long_error_is_cut_and_terminated)
{
	struct nb_err err;
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	nb_fail(&err, NB_E_ARG, 0, "%s", text);
	nb_hint(&err, "%s", text);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	ck_assert_uint_eq(strlen(err.hint), sizeof(err.hint) - 1);
}

TEST(words_and_codes_of_errors_are_one_to_one)
{
	static const int codes[] = {
#define ERR(name, number, word, status, text) NB_E_##name,
#include "core/defs/errors.h"
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		ck_assert_int_lt(codes[i], 0);
		ck_assert_str_ne(nb_err_word(codes[i]), "unknown");
		ck_assert_int_ne(nb_err_status(codes[i]), 0);
		for (size_t k = 0; k < i; k++) {
			ck_assert_int_ne(codes[i], codes[k]);
			ck_assert_str_ne(nb_err_word(codes[i]), nb_err_word(codes[k]));
		}
	}
	ck_assert_str_eq(nb_err_word(-9999), "unknown");
	ck_assert_int_eq(nb_err_status(-9999), 70);
	ck_assert_int_eq(nb_err_status(0), 0);
	ck_assert_int_eq(nb_err_status(NB_E_VERIFY), 2);
}

/* ---- arena ---- */

TEST(arena_memory_is_zeroed_aligned_and_apart)
{
	static const unsigned char zeros[5000];
	struct nb_arena a;
	unsigned char *last = NULL;

	nb_arena_init(&a, 0);
	for (size_t size = 0; size < sizeof(zeros); size += 7) {
		unsigned char *p = nb_arena_alloc(&a, size);

		ck_assert_ptr_nonnull(p);
		ck_assert_uint_eq((uintptr_t)p % 16, 0);
		ck_assert_int_eq(memcmp(p, zeros, size), 0);
		memset(p, 0xff, size);
		ck_assert_ptr_ne(p, last);
		last = p;
	}
	nb_arena_fini(&a);
}

TEST(arena_keeps_its_limit)
{
	struct nb_arena a;

	nb_arena_init(&a, 100);
	ck_assert_ptr_nonnull(nb_arena_alloc(&a, 96));
	ck_assert_ptr_null(nb_arena_alloc(&a, 16));
	ck_assert_ptr_null(nb_arena_alloc(&a, SIZE_MAX));
	ck_assert_ptr_null(nb_arena_array(&a, SIZE_MAX / 2, 4));
	nb_arena_fini(&a);
	nb_arena_init(&a, 0);
	ck_assert_ptr_null(nb_arena_array(&a, SIZE_MAX / 2, 4));
	ck_assert_ptr_null(nb_arena_alloc(&a, SIZE_MAX));
	nb_arena_fini(&a);
}

TEST(arena_copies)
{
	struct nb_arena a;

	nb_arena_init(&a, 0);
	ck_assert_str_eq(nb_arena_str(&a, "policy", 3), "pol");
	ck_assert_str_eq(nb_arena_str(&a, "policy", 30), "policy");
	ck_assert_mem_eq(nb_arena_dup(&a, "a\0b", 3), "a\0b", 3);
	ck_assert_ptr_nonnull(nb_arena_dup(&a, NULL, 0));
	nb_arena_fini(&a);
}

/* ---- buffer ---- */

TEST(buffer_grows_and_stays_terminated)
{
	struct nb_buf b;
	char text[600], *taken;
	size_t size;

	nb_buf_init(&b, 0);
	ck_assert_str_eq(nb_buf_text(&b), "");
	nb_buf_str(&b, "a");
	nb_buf_char(&b, 'b');
	nb_buf_bytes(&b, "cd", 2);
	nb_buf_printf(&b, "%d", 42);
	ck_assert_str_eq(nb_buf_text(&b), "abcd42");
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	nb_buf_printf(&b, "%s", text);
	ck_assert_uint_eq(b.size, 6 + 599);
	nb_buf_zeros(&b, 3);
	ck_assert_uint_eq(b.size, 6 + 599 + 3);
	ck_assert_mem_eq(b.data + b.size - 3, "\0\0\0", 4);
	ck_assert(nb_buf_ok(&b));
	taken = nb_buf_take(&b, &size);
	ck_assert_uint_eq(size, 608);
	ck_assert_uint_eq(b.size, 0);
	free(taken);
	taken = nb_buf_take(&b, &size);
	ck_assert_str_eq(taken, "");
	free(taken);
}

TEST(buffer_over_its_limit_fails_for_good)
{
	struct nb_buf b;

	nb_buf_init(&b, 4);
	nb_buf_str(&b, "abcd");
	ck_assert(nb_buf_ok(&b));
	nb_buf_char(&b, 'e');
	ck_assert(!nb_buf_ok(&b));
	ck_assert_str_eq(nb_buf_text(&b), "abcd");
	nb_buf_str(&b, "");
	ck_assert(!nb_buf_ok(&b));
	nb_buf_clear(&b);
	ck_assert(nb_buf_ok(&b));
	ck_assert_str_eq(nb_buf_text(&b), "");
	nb_buf_zeros(&b, SIZE_MAX);
	ck_assert(!nb_buf_ok(&b));
	ck_assert_ptr_null(nb_buf_take(&b, NULL));
	nb_buf_fini(&b);
}

/* ---- views ---- */

TEST(views_never_read_outside)
{
	static const unsigned char bytes[] = { 1, 2, 3, 4, 'h', 'i', 0, 'x' };
	struct nb_view v = nb_view(bytes, sizeof(bytes));
	uint32_t n = 99;
	uint64_t w = 99;

	ck_assert(nb_view_u32(v, 0, &n));
	ck_assert_uint_eq(n, 0x04030201);
	ck_assert(!nb_view_u32(v, 5, &n));
	ck_assert(!nb_view_u32(v, UINT64_MAX, &n));
	ck_assert(!nb_view_get(v, UINT64_MAX - 3, &w, sizeof(w)));
	ck_assert_uint_eq(n, 0x04030201);
	ck_assert_uint_eq(w, 99);
	ck_assert(nb_view_has(v, 8, 0));
	ck_assert(!nb_view_has(v, 8, 1));
	ck_assert(!nb_view_has(v, 1, UINT64_MAX));
	ck_assert_str_eq(nb_view_str(v, 4, 99), "hi");
	ck_assert_ptr_null(nb_view_str(v, 7, 99)); /* no end */
	ck_assert_ptr_null(nb_view_str(v, 8, 99));
	ck_assert_ptr_null(nb_view_sub(v, 4, 5).p);
	ck_assert_uint_eq(nb_view_sub(v, 4, 4).size, 4);
}

/* ---- JSON ---- */

static void json_is(const struct nb_buf *b, const char *want)
{
	ck_assert(nb_buf_ok(b));
	ck_assert_str_eq(nb_buf_text(b), want);
}

TEST(json_of_each_kind_of_value)
{
	struct nb_json j;
	struct nb_buf b;

	nb_buf_init(&b, 0);
	nb_json_init(&j, &b);
	nb_json_obj(&j);
	nb_json_kstr(&j, "s", "a\"b\\c\n\t\x01");
	nb_json_kstr(&j, "none", NULL);
	nb_json_ku64(&j, "u", UINT64_MAX);
	nb_json_ki64(&j, "i", INT64_MIN);
	nb_json_kbool(&j, "t", true);
	nb_json_kbool(&j, "f", false);
	nb_json_kf64(&j, "nan", (double)NAN);
	nb_json_kf64(&j, "half", 0.5);
	nb_json_khex(&j, "hex", "\x01\xfe", 2);
	nb_json_kid(&j, "id", 0xd1);
	nb_json_key(&j, "list");
	nb_json_arr(&j);
	nb_json_u64(&j, 1);
	nb_json_null(&j);
	nb_json_obj(&j);
	nb_json_end_obj(&j);
	nb_json_end_arr(&j);
	nb_json_end_obj(&j);
	json_is(&b, "{\"s\":\"a\\\"b\\\\c\\n\\t\\u0001\",\"none\":null,"
		    "\"u\":18446744073709551615,\"i\":-9223372036854775808,"
		    "\"t\":true,\"f\":false,\"nan\":null,\"half\":0.5,"
		    "\"hex\":\"01fe\",\"id\":\"00000000000000d1\","
		    "\"list\":[1,null,{}]}");
	nb_buf_fini(&b);
}

TEST(words_are_folded_as_ascii)
{
	ck_assert(nb_same_word("RING", "ring"));
	ck_assert(nb_same_word("", ""));
	ck_assert(!nb_same_word("ring", "rin"));
	ck_assert(!nb_same_word("rin", "ring"));
	ck_assert(!nb_same_word("[", "{"));
	ck_assert(!nb_same_word("@", "`"));
	ck_assert(nb_same_words("ringx", "RINGy", 4));
	ck_assert(!nb_same_words("ringx", "RINGy", 5));
	ck_assert(nb_same_words("a", "b", 0));
	ck_assert(nb_same_words("a", "A", 9));
}

static void number_is(double v, const char *want)
{
	char text[NB_F64_TEXT];

	ck_assert_uint_eq(nb_f64_text(text, v), strlen(want));
	ck_assert_str_eq(text, want);
}

TEST(numbers_have_a_point)
{
	number_is(0, "0");
	number_is(-0.25, "-0.25");
	number_is(1.0 / 3, "0.333333333");
	number_is(1e300, "1e+300");
	number_is(-1.5e-9, "-1.5e-09");
	number_is(4294967296.0, "4.2949673e+09");
}

static void time_is(uint64_t ns, unsigned digits, const char *want)
{
	char text[NB_UTC_TEXT];

	ck_assert_str_eq(nb_utc_text(text, ns, digits), want);
}

/* Each day of 580 years, beside the C library's. */
TEST(times_are_those_of_the_c_library)
{
	time_is(0, 0, "1970-01-01T00:00:00Z");
	time_is(1234567890123456789, 3, "2009-02-13T23:31:30.123Z");
	time_is(1234567890123456789, 9, "2009-02-13T23:31:30.123456789Z");
	time_is(951868799999999999, 6, "2000-02-29T23:59:59.999999Z");
	time_is(UINT64_MAX, 1, "2554-07-21T23:34:33.7Z");
	for (uint64_t day = 0; day <= UINT64_MAX / 1000000000 / 86400; day++) {
		time_t s = (time_t)(day * 86400 + day % 86400);
		char want[NB_UTC_TEXT];
		struct tm tm;

		ck_assert_ptr_nonnull(gmtime_r(&s, &tm));
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &tm);
		if ((uint64_t)s <= UINT64_MAX / 1000000000)
			time_is((uint64_t)s * 1000000000, 0, want);
	}
}

static void json_text(const char *text, size_t n, const char *want)
{
	struct nb_json j;
	struct nb_buf b;

	nb_buf_init(&b, 0);
	nb_json_init(&j, &b);
	nb_json_strn(&j, text, n);
	json_is(&b, want);
	nb_buf_fini(&b);
}

/* U+FFFD, as JSON text has it */
#define BAD "\xef\xbf\xbd"

TEST(json_text_is_always_utf8)
{
	json_text("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
	json_text("a\xff"
		  "b",
		  3, "\"a" BAD "b\"");
	json_text("\xc3", 1, "\"" BAD "\"");		     /* cut off */
	json_text("\xc0\xaf", 2, "\"" BAD BAD "\"");	     /* too long a form */
	json_text("\xed\xa0\x80", 3, "\"" BAD BAD BAD "\""); /* surrogate */
	json_text("\xf4\x90\x80\x80", 4, "\"" BAD BAD BAD BAD "\"");
}

TEST(lengths_of_utf8_sequences)
{
	static const struct {
		const char *s;
		size_t n, len;
	} t[] = { { "a", 1, 1 },
		  { "\xc3\xa9", 2, 2 },
		  { "\xe2\x82\xac", 3, 3 },
		  { "\xf0\x9f\x98\x80", 4, 4 },
		  { "\xf0\x9f\x98\x80", 3, 0 },
		  { "\x80", 1, 0 },
		  { "\xc1\x81", 2, 0 },
		  { "\xe0\x80\x80", 3, 0 },
		  { "\xed\xbf\xbf", 3, 0 },
		  { "\xf5\x80\x80\x80", 4, 0 },
		  { "", 0, 0 } };

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ck_assert_uint_eq(nb_utf8_len((const unsigned char *)t[i].s, t[i].n), t[i].len);
}

/* ---- SHA-256: vectors of FIPS 180-4 and NIST's examples ---- */

static void sha_is(const char *text, size_t size, const char *want)
{
	uint8_t digest[NB_SHA256_SIZE];
	char hex[65];

	nb_sha256(text, size, digest);
	nb_sha256_text(digest, hex);
	ck_assert_str_eq(hex, want);
}

TEST(sha256_vectors)
{
	static char million[1000000];

	sha_is("", 0,
	       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8"
	       "55");
	sha_is("abc", 3,
	       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015"
	       "ad");
	sha_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
	       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06"
	       "c1");
	memset(million, 'a', sizeof(million));
	sha_is(million, sizeof(million),
	       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112c"
	       "d0");
}

TEST(sha256_in_pieces_is_sha256_at_once)
{
	unsigned char bytes[300];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7);
	for (size_t n = 0; n < sizeof(bytes); n += 13)
		for (size_t cut = 0; cut <= n; cut += 5) {
			uint8_t whole[32], parts[32];
			struct nb_sha256 s;

			nb_sha256(bytes, n, whole);
			nb_sha256_init(&s);
			nb_sha256_add(&s, bytes, cut);
			nb_sha256_add(&s, bytes + cut, n - cut);
			nb_sha256_end(&s, parts);
			ck_assert_mem_eq(whole, parts, 32);
		}
}

/* ---- tables ---- */

TEST(instruction_rows_are_named_and_sane)
{
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);

		ck_assert(*row->mnemonic && memchr(row->mnemonic, 0, sizeof(row->mnemonic)));
		ck_assert(row->width == 8 || row->width == 16 || row->width == 32 ||
			  row->width == 64);
		ck_assert_int_ge(row->isa, 1);
		ck_assert_int_le(row->isa, 4);
		/* the class in the low bits agrees with the kind */
		if (row->kind == NB_KIND_ALU && row->fn < NB_FN_LE)
			ck_assert_int_eq(row->opcode & 7, row->width == 64 ? 7 : 4);
		if (row->kind == NB_KIND_JMP)
			ck_assert_int_eq(row->opcode & 7, row->width == 64 ? 5 : 6);
		if (row->kind == NB_KIND_ALU || row->kind == NB_KIND_JMP)
			ck_assert(row->operand == NB_OPND_NONE ||
				  !(row->opcode & 8) == (row->operand == NB_OPND_IMM));
	}
	ck_assert_str_eq(nb_spec_insn(NB_OP_EXIT)->mnemonic, "exit");
}

TEST(helpers_are_found_by_number_and_name)
{
	size_t n;
	const struct nb_helper_spec *all = nb_spec_helpers(&n);

	ck_assert_uint_gt(n, 0);
	for (size_t i = 0; i < n; i++) {
		ck_assert_ptr_eq(nb_spec_helper(all[i].id), &all[i]);
		ck_assert_ptr_eq(nb_spec_helper_named(all[i].name), &all[i]);
		ck_assert(memchr(all[i].name, 0, sizeof(all[i].name)));
		ck_assert(i == 0 || all[i - 1].id < all[i].id);
	}
	ck_assert_str_eq(nb_spec_helper(1)->name, "map_lookup_elem");
	ck_assert_ptr_null(nb_spec_helper(0));
	ck_assert_ptr_null(nb_spec_helper(-1));
	ck_assert_ptr_null(nb_spec_helper(4)); /* probe_read must not exist */
	ck_assert_ptr_null(nb_spec_helper_named("probe_read"));
	ck_assert_ptr_null(nb_spec_helper_named(""));
}

TEST(helpers_of_linux_have_their_names)
{
	static const char *const names[] = {
#define NAME(name) [BPF_FUNC_##name] = #name
		__BPF_FUNC_MAPPER(NAME)
#undef NAME
	};

	for (int i = 1; i < __BPF_FUNC_MAX_ID; i++)
		ck_assert_str_eq(nb_spec_kernel_helper(i), names[i]);
	ck_assert_ptr_null(nb_spec_kernel_helper(-1));
	ck_assert_ptr_null(nb_spec_kernel_helper(0));
	ck_assert_ptr_null(nb_spec_kernel_helper(__BPF_FUNC_MAX_ID));
}

TEST(map_types_are_found_by_number)
{
	size_t n;
	const struct nb_map_type_spec *all = nb_spec_map_types(&n);

	for (size_t i = 0; i < n; i++)
		ck_assert_ptr_eq(nb_spec_map_type(all[i].id), &all[i]);
	ck_assert_str_eq(nb_spec_map_type(NB_MAP_ARRAY)->word, "array");
	ck_assert_ptr_null(nb_spec_map_type(0));
	ck_assert_ptr_null(nb_spec_map_type(26)); /* struct_ops */
}

TEST(sections_name_hooks)
{
	const struct nb_hook_spec *h = nb_spec_hook_section("tuner");

	ck_assert_ptr_nonnull(h);
	ck_assert_str_eq(h->word, "tuner");
	ck_assert_ptr_eq(nb_spec_hook(h->id), h);
	ck_assert_ptr_eq(nb_spec_hook_section("tuner/allreduce"), h);
	ck_assert_str_eq(nb_spec_hook_section("profiler/coll_done")->ctx_struct,
			 "ncclbpf_coll_done");
	ck_assert_str_eq(nb_spec_hook_section("profiler/group/mine")->word, "profiler/group");
	ck_assert_ptr_null(nb_spec_hook_section("profiler"));
	ck_assert_ptr_null(nb_spec_hook_section("profiler/groups"));
	ck_assert_ptr_null(nb_spec_hook_section("tunerx"));
	ck_assert_ptr_null(nb_spec_hook_section("tune"));
	ck_assert_ptr_null(nb_spec_hook_section(""));
}

TEST(each_byte_of_a_context_belongs_to_at_most_one_field)
{
	for (unsigned id = 0; id < NB_NHOOKS; id++) {
		const struct nb_hook_spec *h = nb_spec_hook((enum nb_hook)id);

		for (size_t i = 0; i < h->nfields; i++) {
			const struct nb_field_spec *f = &h->fields[i];

			ck_assert_uint_le(f->off + f->size, h->ctx_size);
			/* texts are words */
			ck_assert_uint_eq(f->off % (f->size < 8 ? f->size : 8), 0);
			ck_assert_ptr_eq(nb_spec_field(h, f->off), f);
			ck_assert_ptr_eq(nb_spec_field(h, f->off + f->size - 1), f);
			ck_assert(memchr(f->name, 0, sizeof(f->name)) &&
				  memchr(f->type, 0, sizeof(f->type)) &&
				  memchr(f->unit, 0, sizeof(f->unit)));
		}
		ck_assert_ptr_null(nb_spec_field(h, h->ctx_size));
		ck_assert_ptr_null(nb_spec_field(h, UINT32_MAX));
	}
}

TEST(parameters_have_defaults_inside_their_range)
{
	for (unsigned i = 0; i < NB_NPARAMS; i++) {
		const struct nb_param_spec *p = nb_spec_param((enum nb_param)i);
		long long v;

		ck_assert(*p->name);
		if (p->type != NB_PARAM_INT || !p->def || !*p->def)
			continue;
		v = strtoll(p->def, NULL, 0);
		ck_assert_msg(v >= p->min && v <= p->max, "%s", p->name);
	}
}

TEST(commands_take_no_more_than_they_say)
{
	for (unsigned i = 0; i < NB_NCMDS; i++) {
		const struct nb_cmd_spec *c = nb_spec_cmd((enum nb_cmd)i);

		ck_assert(*c->words && *c->help);
		ck_assert_uint_le(c->least, c->most);
		for (unsigned k = 0; k < i; k++)
			ck_assert_str_ne(c->words, nb_spec_cmd((enum nb_cmd)k)->words);
	}
}

TEST(nccl_numbers_and_words_agree)
{
	int known = 0;

	for (int i = -1; i < 64; i++) {
		const char *coll = nb_nccl_coll(i), *algo = nb_nccl_algo(i);
		const char *proto = nb_nccl_proto(i);

		known += (coll != NULL) + (algo != NULL) + (proto != NULL);
		ck_assert(!coll || nb_nccl_coll_named(coll) == i);
		ck_assert(!algo || nb_nccl_algo_named(algo) == i);
		ck_assert(!proto || nb_nccl_proto_named(proto) == i);
	}
	ck_assert_int_gt(known, 10);
	ck_assert_int_eq(nb_nccl_algo_named("RING"), nb_nccl_algo_named("ring"));
	ck_assert_int_ge(nb_nccl_proto_named("ll128"), 0);
	ck_assert_int_eq(nb_nccl_algo_named("rings"), -1);
	ck_assert_int_eq(nb_nccl_coll_named(""), -1);
}

TEST(near_words_are_found_far_ones_not)
{
	static const char *const list[] = { "allreduce", "allgather", "reduce", "broadcast" };
	const char *near[2];
	char longer[200];

	nb_spec_nearest("allredue", list, 4, near);
	ck_assert_str_eq(near[0], "allreduce");
	nb_spec_nearest("reduc", list, 4, near);
	ck_assert_str_eq(near[0], "reduce");
	nb_spec_nearest("allgathre", list, 4, near);
	ck_assert_str_eq(near[0], "allgather");
	nb_spec_nearest("zzzzzzzz", list, 4, near);
	ck_assert_ptr_null(near[0]);
	ck_assert_ptr_null(near[1]);
	nb_spec_nearest("x", list, 0, near);
	ck_assert_ptr_null(near[0]);
	nb_spec_nearest("rdeuce", list, 4, near);
	ck_assert_str_eq(near[0], "reduce");
	nb_spec_nearest("induces", list, 4, near);
	ck_assert_ptr_null(near[0]);
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	nb_spec_nearest(longer, list, 4, near);
}

UNIT_MAIN("spec")
