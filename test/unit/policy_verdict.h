// SPDX-License-Identifier: MIT
#ifndef NB_TEST_POLICY_VERDICT_H
#define NB_TEST_POLICY_VERDICT_H

/* The policies of policies/ and test/corpus/, and their verdicts: the first
 * line of a corpus file says which one it expects. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/image/image.h"
#include "core/load/object.h"
#include "core/defs/ctx.h"
#include "core/bpf/verify/report/say.h"
#include "core/bpf/verify/verify.h"
#include "test/unit/unit.h"

enum { MAX = 1 << 20 };

static inline const char *top(void)
{
	const char *t = getenv("TOP");

	return t ? t : ".";
}

/* The bytes of the file @path, which are @size. */
static inline unsigned char *policy_bytes(const char *path, size_t *size)
{
	static unsigned char bytes[MAX];
	FILE *f = fopen(path, "rb");

	ck_assert_msg(f != NULL, "%s was not built", path);
	*size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	return bytes;
}

/* Policy @path (below the top), as make has compiled it. */
static inline unsigned char *built(const char *path, size_t *size)
{
	const char *b = getenv("B");
	char o[4096];

	snprintf(o, sizeof(o), "%s/%.*s.o", b ? b : "build/debug", (int)strlen(path) - 2, path);
	return policy_bytes(o, size);
}

/* Policy @path (below the top, or absolute), compiled for @cpu. */
static inline unsigned char *compiled(const char *path, const char *cpu, size_t *size)
{
	const char *clang = getenv("CLANG");
	char o[] = "/tmp/ncclbpf-policies-XXXXXX", command[4096];
	unsigned char *bytes;
	int fd = mkstemp(o);

	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "cd '%s' && %s -target bpf -mcpu=%s -O2 -g -I. -Ipolicies "
		 "-Wall -Wno-unknown-attributes -Wno-unused -c -o %s %s",
		 top(), clang ? clang : "clang", cpu, o, path);
	ck_assert_msg(system(command) == 0, "%s", command);
	bytes = policy_bytes(o, size);
	unlink(o);
	return bytes;
}

/* The image of policy @path, compiled for @cpu; NULL: as make has compiled it.
 */
static inline struct nb_image *image_of(const char *path, const char *cpu)
{
	struct nb_err err = { .text = "" };
	struct nb_image *img;
	struct nb_buf out;
	size_t size;
	unsigned char *bytes = cpu ? compiled(path, cpu, &size) : built(path, &size);

	nb_buf_init(&out, 0);
	ck_assert_msg(!nb_object_image(&out, bytes, size, "test", &err), "%s: %s", path, err.text);
	ck_assert_msg(!nb_image_read(&img, out.data, out.size, &err), "%s: %s", path, err.text);
	nb_buf_fini(&out);
	return img;
}

static inline const char *word(const struct nb_verdict *v)
{
	return v->accepted ? "accepted" : nb_finding_words(v->finding.cls)->word;
}

/* The policy gets the verdict @want: all of its programs are accepted, or one
 * is refused for this reason and none for another. */
static inline void check_verdict(const char *path, const char *cpu, const char *want)
{
	struct nb_image *img = image_of(path, cpu);
	bool met = !strcmp(want, "accepted");

	for (uint32_t i = 0; i < img->nprogs; i++) {
		struct nb_verdict *v;
		struct nb_buf text;

		nb_buf_init(&text, 0);
		ck_assert(!nb_verify(&v, img, i, NULL, NULL));
		if (!v->accepted)
			nb_verdict_text(v, img, i, &text);
		met |= !strcmp(word(v), want);
		ck_assert_msg(v->accepted || !strcmp(word(v), want), "%s, %s: %s, not %s\n%s", path,
			      cpu ? cpu : "v3", word(v), want, nb_buf_text(&text));
		nb_buf_fini(&text);
		nb_verdict_free(v);
	}
	ck_assert_msg(met, "%s, %s: accepted, not %s", path, cpu ? cpu : "v3", want);
	nb_image_free(img);
}

/* The word after EXPECT: in the first line of a corpus file. */
static inline void expected(const char *path, char want[64])
{
	char whole[2048], line[128];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", top(), path);
	f = fopen(whole, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	fclose(f);
	ck_assert_msg(sscanf(line, "// EXPECT: %63s", want) == 1, "%s", path);
}

/* All policies of a folder; @fixed: their verdict, NULL: in the file. */
static inline unsigned check_folder(const char *folder, const char *cpu, const char *fixed)
{
	char whole[512], path[1024], want[64] = "";
	unsigned n = 0;
	struct dirent *e;
	DIR *d;

	snprintf(whole, sizeof(whole), "%s/%s", top(), folder);
	d = opendir(whole);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".bpf.c"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (fixed)
			snprintf(want, sizeof(want), "%s", fixed);
		else
			expected(path, want);
		check_verdict(path, cpu, want);
		n++;
	}
	closedir(d);
	return n;
}

#endif
