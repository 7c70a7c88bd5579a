// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERIFY_FILES_H
#define NB_TEST_VERIFY_FILES_H

/* The programs of test/corpus/verify: reject/ and accept/ are about safety and
 * are judged without coherence, coherence/ holds leaks beside their clean
 * twins. */
#include "test/unit/unit.h"

#include <dirent.h>

#include "test/unit/verify_image.h"

enum { MAX_FILES = 1024 };

struct file {
	char path[512];
	char name[128];
	bool coherent;
};

static struct file files[MAX_FILES];
static int nfiles;

static inline int by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static inline void list_folder(const char *folder)
{
	const char *top = getenv("TOP");
	char path[256];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/test/corpus/verify/%s", top ? top : ".", folder);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		struct file *f = &files[nfiles];
		size_t n = strlen(e->d_name);

		if (n < 5 || n > 120 || strcmp(e->d_name + n - 4, ".asm") || nfiles == MAX_FILES)
			continue;
		snprintf(f->path, sizeof(f->path), "%.250s/%.120s", path, e->d_name);
		snprintf(f->name, sizeof(f->name), "%.120s", e->d_name);
		f->coherent = !strcmp(folder, "coherence");
		nfiles++;
	}
	if (d)
		closedir(d);
}

static inline char *read_file(const char *path)
{
	static char text[64 << 10];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	ck_assert_msg(f != NULL, "%s cannot be read", path);
	fclose(f);
	text[n] = '\0';
	return text;
}

static inline const char *word_of(const struct nb_verdict *v, const struct case_image *c,
				  char *word, size_t size)
{
	struct nb_buf b;
	struct nb_json j;
	const char *p;

	nb_buf_init(&b, 0);
	nb_json_init(&j, &b);
	nb_verdict_json(v, &c->img, 0, &j);
	p = strstr(nb_buf_text(&b), "\"class\":\"");
	snprintf(word, size, "%s", p ? p + 9 : "?");
	word[strcspn(word, "\"")] = '\0';
	nb_buf_fini(&b);
	return word;
}

static inline void set_options(struct nb_verify_opts *o, const char *text)
{
	const char *line = strstr(text, "# opts:"), *p;
	char opts[128] = "";

	if (!line)
		return;
	snprintf(opts, sizeof(opts), "%.*s", (int)strcspn(line, "\n"), line);
	p = strstr(opts, "mem=");
	o->plain_mem = p ? (uint32_t)strtoul(p + 4, NULL, 10) : 0;
}

/* All of them, in the order of their names. */
static inline void list_files(void)
{
	list_folder("reject");
	list_folder("accept");
	list_folder("coherence");
	qsort(files, (size_t)nfiles, sizeof(files[0]), by_path);
}

/* The verdict on slots of which @origin says where they come from. */
static inline void verdict_on(struct case_image *c, const struct nb_verify_opts *o,
			      const uint32_t *origin, char *found, size_t size, uint32_t *walked)
{
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	char word[64];

	ck_assert_msg(!nb_verify(&v, &c->img, 0, o, &err), "%s", err.text);
	*walked = v->stats.insns_walked;
	if (v->accepted)
		snprintf(found, size, "accept");
	else
		snprintf(found, size, "reject %s %u", word_of(v, c, word, sizeof(word)),
			 origin ? origin[v->finding.pc] : v->finding.pc);
	nb_verdict_free(v);
}

#endif
