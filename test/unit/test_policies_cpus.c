// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// The policies of policies/ and test/corpus/ compiled for an older -mcpu have
// the verdicts of v3 (test_policies.c), and each that is refused has a twin
// that is accepted.
#include "test/unit/policy_verdict.h"
#include "test/unit/verify_near.h"

/* v2 is v1 with more jumps, all of which v3 has. */
static const char *const cpus[] = { "v1", "v2" };

TEST_EACH(shipped_policies_are_accepted, 0, 2)
{
	ck_assert_uint_ge(check_folder("policies", cpus[_i], "accepted"), 6);
}

TEST(safe_policies_are_accepted)
{
	ck_assert_uint_ge(check_folder("test/corpus/accept", "v1", "accepted"), 10);
}

TEST(unsafe_policies_are_refused_for_their_reason)
{
	ck_assert_uint_ge(check_folder("test/corpus/reject", "v1", NULL), 10);
}

/* Beside the refused policy @path stands one that is accepted, and is near:
 * test/unit/verify_near.h. */
static void check_twin(const char *path)
{
	static char text[1 << 14], twin[1 << 14];
	const char *name = strrchr(path, '/') + 1;
	char whole[2048], c[256];
	FILE *f;
	size_t n;
	int fd;

	/* XXXXXX is made another each time; the name is for messages. */
	snprintf(c, sizeof(c), "/tmp/twin-%.*s-XXXXXX.bpf.c", (int)strcspn(name, "."), name);
	fd = mkstemps(c, sizeof(".bpf.c") - 1);
	ck_assert_int_ge(fd, 0);
	snprintf(whole, sizeof(whole), "%s/%s", top(), path);
	f = fopen(whole, "r");
	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	n = near_policy(twin, sizeof(twin), text);
	ck_assert_msg(n > 0, "%s: no // near: OLD => NEW", path);
	n = strlen(twin);
	ck_assert(write(fd, twin, n) == (ssize_t)n);
	close(fd);
	check_verdict(c, "v3", "accepted");
	unlink(c);
}

TEST(each_unsafe_policy_has_a_safe_twin)
{
	char whole[512], path[1024];
	struct dirent *e;
	unsigned n = 0;
	DIR *d;

	snprintf(whole, sizeof(whole), "%s/test/corpus/reject", top());
	d = opendir(whole);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".bpf.c"))
			continue;
		snprintf(path, sizeof(path), "test/corpus/reject/%s", e->d_name);
		check_twin(path);
		n++;
	}
	closedir(d);
	ck_assert_uint_ge(n, 40);
}

UNIT_MAIN("policies for each cpu")
