// SPDX-License-Identifier: MIT
// Writes the programs of the verifier's corpus that are to be refused as
// images: corpus FOLDER... DIRECTORY. Those that no image can hold (their
// fault is of the image's form) and those judged with options are left out.
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
	if (!strstr(text, "# expect: reject") || strstr(text, "# opts:") ||
	    case_asm(&c, text, &err)) {
		left_out++;
		return 0;
	}
	nb_buf_init(&b, 0);
	if (nb_image_write(&b, &c.img, &err)) {
		left_out++;
	} else {
		snprintf(path, sizeof(path), "%.500s/%.*s.policy", to,
			 (int)(strlen(name) - 4), name);
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
