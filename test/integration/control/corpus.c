// SPDX-License-Identifier: MIT
// Writes the programs of the verifier's corpus as images: corpus FOLDER...
// DIRECTORY. Those that no image can hold (their fault is of the image's form)
// and those judged with options are left out.
#include <dirent.h>

#include "test/unit/verify_image.h"

static unsigned written, left_out;

static char *read_file(const char *path)
{
	static char text[64 << 10];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return text;
}

static int write_file(const char *path, const struct nb_buf *b)
{
	FILE *f = fopen(path, "w");
	size_t n = f ? fwrite(b->data, 1, b->size, f) : 0;

	return f && !fclose(f) && n == b->size ? 0 : -1;
}

/* Functions begin where calls and callbacks lead; the image must say so. */
static void find_functions(struct case_image *c)
{
	enum { FUNCS = 64, CALL = 0x85, LDDW = 0x18, LOCAL = 1, CODE = 4 };
	static struct nb_func funcs[FUNCS];
	static bool begins[CASE_SLOTS + 1];
	static char names[FUNCS][8];
	uint32_t n = c->prog.nslots, k = 0;

	memset(begins, 0, sizeof(begins));
	begins[0] = true;
	for (uint32_t pc = 0; pc < n; pc++) {
		const struct nb_slot *s = &c->slots[pc];
		int64_t to = (int64_t)pc + 1 + s->imm;
		unsigned src = s->regs >> 4;

		if (((s->opcode == CALL && src == LOCAL) || (s->opcode == LDDW && src == CODE)) &&
		    to > 0 && to < n)
			begins[to] = true;
		pc += s->opcode == LDDW;
	}
	for (uint32_t pc = 0; pc < n && k < FUNCS; pc++) {
		if (!begins[pc])
			continue;
		snprintf(names[k], sizeof(names[k]), "f%u", k & 63);
		funcs[k] = (struct nb_func){ .name = names[k], .start = pc };
		funcs[k].end = n;
		if (k++)
			funcs[k - 2].end = pc;
	}
	funcs[0].name = c->prog.name;
	c->prog.funcs = funcs;
	c->prog.nfuncs = k;
}

/* As NAME.policy; reject/ and accept/ have files of one name. */
static int one(const char *folder, const char *name, const char *to)
{
	static struct case_image c;
	struct nb_err err = { 0 };
	char path[1024];
	struct nb_buf b;
	const char *text;
	int rc = 0;

	snprintf(path, sizeof(path), "%.500s/%.200s", folder, name);
	text = read_file(path);
	if (strstr(text, "mem=") || case_asm(&c, text, &err)) {
		left_out++;
		return 0;
	}
	find_functions(&c);
	nb_buf_init(&b, 0);
	if (nb_image_write(&b, &c.img, &err)) {
		left_out++;
	} else {
		snprintf(path, sizeof(path), "%.500s/%s%.*s.policy", to,
			 strstr(folder, "/accept") ? "accept-" : "", (int)(strlen(name) - 4), name);
		rc = write_file(path, &b);
		written++;
	}
	nb_buf_fini(&b);
	return rc;
}

int main(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i++) {
		DIR *d = opendir(argv[i]);
		struct dirent *e;

		while (d && (e = readdir(d))) {
			size_t n = strlen(e->d_name);

			if (n > 4 && !strcmp(e->d_name + n - 4, ".asm") &&
			    one(argv[i], e->d_name, argv[argc - 1]))
				return 1;
		}
		if (!d)
			return 1;
		closedir(d);
	}
	printf("%u written, %u left out\n", written, left_out);
	return written == 0;
}
