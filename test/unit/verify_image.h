// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERIFY_IMAGE_H
#define NB_TEST_VERIFY_IMAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/image/image.h"
#include "core/bpf/verify/verify.h"
#include "test/unit/asm.h"
#include "test/unit/case_text.h"
#include "test/unit/map_spec.h"

/*
 * A policy image in memory around assembled text, with one map of each kind.
 * In the text @name stands for a map's index. The struct owns nothing.
 */
enum {
	CASE_SLOTS = 4096,
	CASE_PLAIN = 9, /* the first ones: no ring buffer, no LRU hash */
	CASE_MAPS = 12
};

struct case_image {
	struct nb_slot slots[CASE_SLOTS];
	struct nb_func func;
	struct nb_prog prog;
	struct nb_image img;
};

static const unsigned char case_rodata[64] = { 32, 0, 0, 0, 7, 8, 9 };

static const struct nb_map_spec case_maps[CASE_MAPS] = {
	MAP_SPEC("counts", ARRAY, 4, 64, 4, 0),
	MAP_SPEC("limits", ARRAY, 4, 64, 4, NB_MAPF_COHERENT),
	MAP_SPEC("seen", HASH, 8, 16, 8, 0),
	MAP_SPEC("chosen", HASH, 8, 16, 8, NB_MAPF_COHERENT),
	{ .name = "rodata",
	  .type = NB_MAP_ARRAY,
	  .key_size = 4,
	  .value_size = 64,
	  .max_entries = 1,
	  .flags = NB_F_MMAPABLE | NB_F_RDONLY_PROG,
	  .origin = NB_ORIGIN_RODATA,
	  .init = case_rodata },
	{ .name = "bss",
	  .type = NB_MAP_ARRAY,
	  .key_size = 4,
	  .value_size = 64,
	  .max_entries = 1,
	  .flags = NB_F_MMAPABLE,
	  .origin = NB_ORIGIN_BSS },
	{ .name = "config",
	  .type = NB_MAP_ARRAY,
	  .key_size = 4,
	  .value_size = 16,
	  .max_entries = 4,
	  .flags = NB_F_RDONLY_PROG },
	{ .name = "sink",
	  .type = NB_MAP_ARRAY,
	  .key_size = 4,
	  .value_size = 16,
	  .max_entries = 4,
	  .flags = NB_F_WRONLY_PROG },
	MAP_SPEC("percpu", PERCPU_ARRAY, 4, 64, 4, 0),
	MAP_SPEC("ring", RINGBUF, 0, 0, 4096, 0),
	MAP_SPEC("recent", LRU_HASH, 4, 32, 8, 0),
	MAP_SPEC("state", ARRAY, 4, 96, 4, NB_MAPF_REPLICATED),
};

static const struct nb_ctx_field case_newer[] = { { NB_HOOK_TUNER, "fabric", 104, 8 } };

/* Everything but the slots, of which there are @n. */
static inline void case_init(struct case_image *c, uint32_t n)
{
	c->func = (struct nb_func){ .name = "decide", .end = n };
	c->prog = (struct nb_prog){ .name = "decide",
				    .section = "tuner",
				    .hook = NB_HOOK_TUNER,
				    .slots = c->slots,
				    .nslots = n,
				    .funcs = &c->func,
				    .nfuncs = 1 };
	memset(&c->img, 0, sizeof(c->img));
	c->img.name = "case";
	c->img.maps = case_maps;
	c->img.nmaps = CASE_MAPS;
	c->img.progs = &c->prog;
	c->img.nprogs = 1;
	c->img.ctx_fields = case_newer;
	c->img.nctx_fields = 1;
}

/* @text with @name replaced by map numbers, into @to. */
static inline void case_names(char *to, size_t size, const char *text)
{
	size_t n = 0;

	while (*text && n + 8 < size) {
		unsigned m = CASE_MAPS;

		for (unsigned i = 0; *text == '@' && i < CASE_MAPS; i++) {
			size_t len = strlen(case_maps[i].name);

			if (!strncmp(text + 1, case_maps[i].name, len)) {
				m = i;
				text += len + 1;
				break;
			}
		}
		if (m < CASE_MAPS)
			n += (size_t)snprintf(to + n, size - n, "%u", m);
		else
			to[n++] = *text++;
	}
	to[n] = '\0';
}

/* 0, or what nb_asm says. */
static inline int case_asm(struct case_image *c, const char *text, struct nb_err *err)
{
	static char whole[64 << 10], buf[64 << 10];
	size_t n = 0;
	int rc;

	case_text(whole, sizeof(whole), text);
	case_names(buf, sizeof(buf), whole);
	rc = nb_asm(c->slots, CASE_SLOTS, &n, buf, err);
	case_init(c, (uint32_t)n);
	return rc;
}

#endif
