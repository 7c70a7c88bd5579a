// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// RCCL that is linked into the program, whose functions nobody finds: this program
// needs a HIP.
#include "test/unit/unit.h"

#include "plugin/runtime/nccl.h"

/* an address in the program, as RCCL's logger has then */
static const char inside;

TEST(rccl_in_the_program_is_known_by_what_the_program_needs)
{
	char text[NB_NCCL_TEXT];

	ck_assert(!nb_nccl_is_rccl());
	nb_nccl_find(&inside);
	ck_assert(nb_nccl_is_rccl());
	ck_assert(nb_nccl_caller_is_rccl());
	ck_assert_uint_eq(nb_nccl_channels(), 128);
	ck_assert_int_eq(nb_nccl_levels(&inside).warn, 3);
	/* nothing tells its version */
	ck_assert_int_eq(nb_nccl_version(), 0);
	nb_nccl_text(text);
	ck_assert_str_eq(text, "RCCL");
	ck_assert(!nb_nccl_asks_some(4, 4));
	ck_assert(nb_nccl_asks_some(6, 6));
}

UNIT_MAIN("nccl_program")
