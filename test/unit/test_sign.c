// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Signatures of images: good ones, and each way in which one is wrong.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/sign/sign.h"

#define ONE "1111111111111111111111111111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222222222222222222222222222"

static char dir[] = "/tmp/ncclbpf-sign-XXXXXX";
static char secret[64];
static struct nb_buf list, line;
static struct nb_sign_keys keys;
static struct nb_err err;
static struct nb_sign_found who;

static void set_up(void)
{
	strcpy(strrchr(dir, '-'), "-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(secret, sizeof(secret), "%s/k", dir);
	nb_buf_init(&list, 0);
	nb_buf_init(&line, 0);
	err.code = 0;
	ck_assert_int_eq(nb_sign_keygen("alice", secret, &list, &err), 0);
	ck_assert_int_eq(nb_sign_image(secret, ONE, &line, &who, &err), 0);
	ck_assert_int_eq(
		nb_sign_keys_parse(&keys, nb_buf_text(&list), list.size, &err),
		0);
}

static void tear_down(void)
{
	unlink(secret);
	rmdir(dir);
	nb_buf_fini(&list);
	nb_buf_fini(&line);
}

/* What the only signature of @text is worth for @digest, by all keys. */
static enum nb_sign_state state_of(const char *text, const char *digest)
{
	struct nb_sign_found found[NB_SIGN_MOST];

	ck_assert_uint_eq(
		nb_sign_find(&keys, text, strlen(text), digest, found), 1);
	return found[0].state;
}

START_TEST(a_signature_is_good_for_its_image)
{
	const char *text = nb_buf_text(&line);
	struct stat st;

	ck_assert_str_eq(who.name, "alice");
	ck_assert_uint_eq(strlen(who.id), 16);
	ck_assert_int_eq(state_of(text, ONE), NB_SIGN_GOOD);
	ck_assert_int_eq(nb_sign_check(&keys, text, line.size, ONE, &err), 0);
	ck_assert_int_eq(stat(secret, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
}
END_TEST

START_TEST(another_image_is_refused)
{
	char text[256], *of;

	ck_assert_int_eq(state_of(nb_buf_text(&line), TWO), NB_SIGN_OTHER);
	/* and one that only claims to be of it */
	snprintf(text, sizeof(text), "%s", nb_buf_text(&line));
	of = strstr(text, ONE);
	memcpy(of, TWO, 64);
	ck_assert_int_eq(state_of(text, TWO), NB_SIGN_BAD);
	ck_assert_int_eq(nb_sign_check(&keys, text, strlen(text), TWO, &err),
			 NB_E_PERM);
	ck_assert_ptr_nonnull(strstr(err.text, "alice"));
}
END_TEST

START_TEST(each_changed_character_is_noticed)
{
	char text[256];
	size_t n;

	snprintf(text, sizeof(text), "%s", nb_buf_text(&line));
	n = strlen(text) - 1; /* without its line feed */
	for (size_t i = 0; i < n; i++) {
		char was = text[i];

		text[i] = was == 'A' ? 'B' : 'A';
		ck_assert_int_ne(
			nb_sign_check(&keys, text, strlen(text), ONE, NULL), 0);
		text[i] = '\0';
		ck_assert_int_ne(nb_sign_check(&keys, text, n + 1, ONE, NULL),
				 0);
		text[i] = was;
	}
	for (size_t i = 0; i < n; i++)
		ck_assert_int_ne(nb_sign_check(&keys, text, i, ONE, NULL), 0);
	ck_assert_int_eq(nb_sign_check(&keys, text, n, ONE, NULL), 0);
}
END_TEST

START_TEST(a_key_that_is_not_listed_is_unknown)
{
	struct nb_sign_keys none = { .n = 0 };
	const char *text = nb_buf_text(&line);

	ck_assert_int_eq(nb_sign_check(&none, text, line.size, ONE, &err),
			 NB_E_PERM);
	ck_assert_ptr_nonnull(strstr(err.text, who.id));
	ck_assert_int_eq(nb_sign_check(&keys, "", 0, ONE, &err), NB_E_PERM);
	ck_assert_ptr_nonnull(strstr(err.text, "no signature"));
	ck_assert_int_eq(nb_sign_check(&keys, "# text\n\n", 8, ONE, &err),
			 NB_E_PERM);
}
END_TEST

START_TEST(one_good_signature_of_several_suffices)
{
	struct nb_buf all;

	nb_buf_init(&all, 0);
	nb_buf_str(&all, "ncclbpf-signature " ONE " 0123456789abcdef AAAA\n");
	ck_assert_int_ne(
		nb_sign_check(&keys, nb_buf_text(&all), all.size, ONE, &err),
		0);
	nb_buf_str(&all, nb_buf_text(&line));
	ck_assert_int_eq(
		nb_sign_check(&keys, nb_buf_text(&all), all.size, ONE, &err),
		0);
	nb_buf_fini(&all);
}
END_TEST

START_TEST(keys_and_lists_are_checked)
{
	static const char *const wrong[] = {
		"ncclbpf-public-key alice AAAA\n",
		"ncclbpf-public-key\n",
		"alice\n",
		"ncclbpf-secret-key alice "
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
		"ncclbpf-public-key a/b "
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
		"ncclbpf-public-key a "
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= b\n",
	};
	struct nb_buf out;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_eq(nb_sign_keys_parse(&keys, wrong[i],
						    strlen(wrong[i]), &err),
				 NB_E_FORMAT);
	nb_buf_init(&out, 0);
	ck_assert_int_eq(nb_sign_keygen("alice", secret, &out, &err),
			 NB_E_EXISTS);
	ck_assert_int_eq(nb_sign_keygen("a b", "/dev/null/x", &out, &err),
			 NB_E_ARG);
	ck_assert_int_eq(nb_sign_image(secret, "ab", &out, &who, &err),
			 NB_E_ARG);
	ck_assert_int_eq(chmod(secret, 0640), 0);
	ck_assert_int_eq(nb_sign_image(secret, ONE, &out, &who, &err),
			 NB_E_PERM);
	ck_assert_int_eq(nb_sign_image(dir, ONE, &out, &who, &err),
			 NB_E_NOINPUT);
	ck_assert_uint_eq(out.size, 0);
	nb_buf_fini(&out);
}
END_TEST

UNIT_MAIN("sign", tcase_add_checked_fixture(tc, set_up, tear_down);
	  tcase_add_test(tc, a_signature_is_good_for_its_image);
	  tcase_add_test(tc, another_image_is_refused);
	  tcase_add_test(tc, each_changed_character_is_noticed);
	  tcase_add_test(tc, a_key_that_is_not_listed_is_unknown);
	  tcase_add_test(tc, one_good_signature_of_several_suffices);
	  tcase_add_test(tc, keys_and_lists_are_checked);)
