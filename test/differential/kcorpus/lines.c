// SPDX-License-Identifier: MIT
// Tests of the older form, as arrays.c prints them: their maps are made here,
// each test has its own.
#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/differential/kcorpus/kcorpus.h"

enum { MAX_LINE = 32 << 10, SLOT = sizeof(struct bpf_insn) };

/* Kinds that are missing here are not compared. */
static const struct kind {
	const char *name;
	struct nb_map_spec spec;
} kinds[] = {
	{ "hash_8b", { .type = 1, .key_size = 8, .value_size = 8 } },
	{ "hash_48b", { .type = 1, .key_size = 8, .value_size = 48 } },
	{ "hash_16b", { .type = 1, .key_size = 8, .value_size = 16 } },
	{ "array_48b", { .type = 2, .key_size = 4, .value_size = 48 } },
	{ "array_small", { .type = 2, .key_size = 4, .value_size = 1 } },
	{ "ringbuf", { .type = 27, .max_entries = 4096 } },
};

struct test {
	struct kc_code code;
	struct bpf_insn insns[512];
	struct {
		char kind[32];
		int slot;
	} fix[KC_MAPS];
	unsigned nfix;
	struct bpf_prog_load_opts opts;
	int type;
	struct kc_prog *to;
};

static bool make_map(struct test *t, unsigned i)
{
	struct kc_code *c = &t->code;
	int slot = t->fix[i].slot;

	for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct nb_map_spec s = kinds[k].spec;
		int fd;

		if (strcmp(kinds[k].name, t->fix[i].kind) != 0)
			continue;
		s.name = kinds[k].name;
		s.max_entries = s.max_entries ? s.max_entries : 1;
		fd = bpf_map_create((enum bpf_map_type)s.type, s.name, s.key_size, s.value_size,
				    s.max_entries, NULL);
		if (fd < 0 || slot < 0 || (uint32_t)slot >= c->n)
			return false;
		c->fds[c->nmaps] = fd;
		c->maps[c->nmaps++] = s;
		t->insns[slot].imm = fd;
		return true;
	}
	return false;
}

static void judge(struct test *t, const char *hex, struct nb_arena *a)
{
	unsigned char *to = (unsigned char *)t->insns;
	struct kc_code *c = &t->code;
	size_t bytes = 0;
	bool whole = true;
	unsigned v;

	while (bytes < sizeof(t->insns) && sscanf(hex, "%2x", &v) == 1) {
		to[bytes++] = (unsigned char)v;
		hex += 2;
	}
	c->insns = t->insns;
	c->n = (uint32_t)(bytes / SLOT);
	c->opts = &t->opts;
	for (unsigned i = 0; i < t->nfix; i++)
		whole &= make_map(t, i);
	if (whole)
		kc_judge(t->to, c, (enum bpf_prog_type)t->type, a);
	while (c->nmaps)
		close(c->fds[--c->nmaps]);
}

static void begin(struct test *t, struct kc_prog **list, const char *line, struct nb_arena *a)
{
	char file[64], name[128];
	int attach, flags, expected;

	memset(t, 0, sizeof(*t));
	t->opts.sz = sizeof(t->opts);
	if (sscanf(line, "program %63[^|]|%127[^|]|%d|%d|%d|%d", file, name, &t->type, &attach,
		   &flags, &expected) != 6)
		return;
	t->opts.expected_attach_type = (enum bpf_attach_type)attach;
	t->opts.prog_flags = (__u32)flags;
	t->to = kc_add(list, nb_arena_str(a, file, sizeof(file)),
		       nb_arena_str(a, name, sizeof(name)), a);
	if (t->to)
		t->to->expected = expected;
}

int kc_lines(struct kc_prog **list, const char *path, struct nb_arena *a)
{
	struct test *t = calloc(1, sizeof(*t));
	char *line = malloc(MAX_LINE);
	FILE *f = fopen(path, "r");

	while (t && line && f && fgets(line, MAX_LINE, f)) {
		if (!strncmp(line, "program ", 8))
			begin(t, list, line, a);
		else if (!strncmp(line, "map ", 4) && t->nfix < KC_MAPS &&
			 sscanf(line, "map %31[^|]|%d", t->fix[t->nfix].kind,
				&t->fix[t->nfix].slot) == 2)
			t->nfix++;
		else if (!strncmp(line, "code ", 5) && t->to)
			judge(t, line + 5, a);
	}
	if (f)
		fclose(f);
	free(line);
	free(t);
	return f ? 0 : -1;
}
