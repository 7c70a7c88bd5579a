// SPDX-License-Identifier: MIT
/*
 * policy_build OBJECT IMAGE: the smallest program that uses the front end.
 * The build creates the installed policies with it; people use
 * ncclbpf-shell.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/object.h"

/* Read the whole file; returns NULL on failure. */
static char *slurp(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	struct nb_buf b;
	char part[4096], *all = NULL;
	size_t n;

	if (!f)
		return NULL;
	nb_buf_init(&b, 0);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		nb_buf_bytes(&b, part, n);
	if (!ferror(f) && nb_buf_ok(&b))
		all = nb_buf_take(&b, size);
	nb_buf_fini(&b);
	fclose(f);
	return all;
}

static int build_save(const char *path, const struct nb_buf *b)
{
	FILE *f = fopen(path, "wb");
	int ok;

	if (!f)
		return -1;
	ok = fwrite(b->data, 1, b->size, f) == b->size;
	if (fclose(f) || !ok) {
		remove(path);
		return -1;
	}
	return 0;
}

/* Compute the policy's name: the file's name without folders and .bpf.o. */
static void build_policy_name(char *to, size_t size, const char *path)
{
	const char *base = strrchr(path, '/');
	char *end;

	snprintf(to, size, "%s", base ? base + 1 : path);
	end = strstr(to, ".bpf.o");
	if (end)
		*end = '\0';
}

int main(int argc, char **argv)
{
	struct nb_err err = { .code = 0 };
	struct nb_buf out;
	char name[64], *bytes;
	size_t size = 0;
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: policy_build OBJECT IMAGE\n");
		return 64;
	}
	bytes = slurp(argv[1], &size);
	if (!bytes) {
		perror(argv[1]);
		return 66;
	}
	build_policy_name(name, sizeof(name), argv[1]);
	nb_buf_init(&out, 0);
	rc = nb_object_image(&out, bytes, size, name, &err);
	if (rc)
		fprintf(stderr, "%s: %s\n", argv[1], err.text);
	else if (build_save(argv[2], &out)) {
		perror(argv[2]);
		rc = NB_E_IO;
	}
	nb_buf_fini(&out);
	free(bytes);
	return nb_err_status(rc);
}
