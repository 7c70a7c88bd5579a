// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Instructions put before the programs of an image (core/bpf/image/prepend.h).
#include <string.h>

#include "core/bpf/image/prepend.h"
#include "test/unit/image_sample.h"

/* r0 = 0; exit */
static const struct nb_slot before[] = { { MOV_K, 0, 0, 0 }, { EXIT, 0, 0, 0 } };
static const struct nb_prefix front = {
	.name = "other", .text = "what comes first", .slots = before, .nslots = 2
};

TEST(a_front_moves_what_it_stands_before)
{
	struct nb_err err = { .text = "" };
	const struct nb_prog *p;
	struct nb_image *in;
	struct nb_buf b;

	fresh();
	nb_buf_init(&b, 0);
	ck_assert_msg(!nb_image_prepend(&b, &img, NB_HOOK_TUNER, &front, &err), "%s", err.text);
	ck_assert_msg(!nb_image_read(&in, b.data, b.size, &err), "%s", err.text);
	ck_assert_str_eq(in->name, "other");
	p = &in->progs[0];
	ck_assert_uint_eq(p->nslots, 10);
	ck_assert_mem_eq(p->slots, before, sizeof(before));
	ck_assert_mem_eq(p->slots + 2, slots, sizeof(slots));
	ck_assert_uint_eq(p->funcs[0].start, 0);
	ck_assert_uint_eq(p->funcs[0].end, 8);
	ck_assert_uint_eq(p->funcs[1].start, 8);
	ck_assert_uint_eq(p->funcs[1].end, 10);
	ck_assert_str_eq(nb_prog_line(p, 1)->text, front.text);
	ck_assert_uint_eq(nb_prog_line(p, 2)->line, 7);
	ck_assert_uint_eq(nb_prog_line(p, 7)->line, 9);
	ck_assert_uint_eq(in->nmaps, 2);
	ck_assert_mem_eq(in->btf, "BTFblob", 7);
	nb_image_free(in);
	nb_buf_fini(&b);
}

TEST(a_front_is_for_programs_of_its_hook)
{
	struct nb_prog two[2];
	struct nb_err err = { .text = "" };
	struct nb_image *in;
	struct nb_buf b;

	fresh();
	two[0] = two[1] = prog;
	two[1].name = "group";
	two[1].section = "profiler/group";
	two[1].hook = NB_HOOK_GROUP;
	img.progs = two;
	img.nprogs = 2;
	nb_buf_init(&b, 0);
	ck_assert_msg(!nb_image_prepend(&b, &img, NB_HOOK_TUNER, &front, &err), "%s", err.text);
	ck_assert(!nb_image_read(&in, b.data, b.size, NULL));
	ck_assert_uint_eq(in->progs[0].nslots, 10);
	ck_assert_uint_eq(in->progs[1].nslots, 8);
	nb_image_free(in);
	nb_buf_fini(&b);
	ck_assert_int_eq(nb_image_prepend(&b, &img, NB_HOOK_COLL_DONE, &front, &err), NB_E_IMAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "no program of that hook"));
	two[0].nslots = NB_IMAGE_MAX_SLOTS - 1;
	ck_assert_int_eq(nb_image_prepend(&b, &img, NB_HOOK_TUNER, &front, NULL), NB_E_LIMIT);
	ck_assert_uint_eq(b.size, 0);
}

UNIT_MAIN("image prepend")
