// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// A program of test/corpus/verify that is rewritten so that it does the same
// (verify_same.h) has the same verdict.
#include "test/unit/verify_files.h"
#include "test/unit/verify_same.h"

/* Where a loop is found to be endless, and what comes first of more that
 * nothing reaches, is a matter of places. */
static bool where_differs(int how, const char *verdict)
{
	return (how == SAME_DEAD && strstr(verdict, "endless_loop")) ||
	       (how == SAME_MOVED && strstr(verdict, "unreachable"));
}

TEST_EACH(rewritten, 0, nfiles)
{
	enum { LONG = 20000 };
	static struct case_image was, c;
	static uint32_t origin[CASE_SLOTS];
	const struct file *f = &files[_i];
	struct nb_verify_opts o = { .coherence_off = !f->coherent };
	char *src = read_file(f->path), want[128], found[128];
	struct nb_err err = { 0 };
	uint32_t walked, n;
	size_t same;

	set_options(&o, src);
	ck_assert_msg(!case_asm(&was, src, &err), "%s", err.text);
	verdict_on(&was, &o, NULL, want, sizeof(want), &walked);
	/* Of long walks the end is a matter of limits. */
	for (int how = 0; how < NSAMES && walked < LONG; how++) {
		n = same_rewrite((enum same)how, was.slots, was.prog.nslots, c.slots, origin);
		if (!n)
			continue;
		case_init(&c, n);
		verdict_on(&c, &o, origin, found, sizeof(found), &walked);
		same = where_differs(how, want) ? strcspn(want, "0123456789") : sizeof(want);
		ck_assert_msg(!strncmp(want, found, same),
			      "%s, rewriting %d: %s, not "
			      "%s",
			      f->path, how, found, want);
	}
}

UNIT_MAIN_WITH("verify rewritten", list_files();)
