// SPDX-License-Identifier: MIT
// Drives a fuzz target with any compiler: runs it over the files and folders
// named, and over random mutations of each (REPLAY_MUTATE=N, default 20 for
// each file; the seed is printed). libFuzzer takes this file's place in
// VARIANT=fuzz builds.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned done;
static uint64_t state;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void mutate(uint8_t *data, size_t *size)
{
	static const uint8_t edge[] = { 0, 1, 0x7f, 0x80, 0xff };
	unsigned n = 1 + (unsigned)(rnd() % 8);

	while (n-- && *size) {
		size_t at = rnd() % *size;

		switch (rnd() % 4) {
		case 0:
			data[at] ^= (uint8_t)(1u << rnd() % 8);
			break;
		case 1:
			data[at] = edge[rnd() % sizeof(edge)];
			break;
		case 2:
			data[at] = (uint8_t)rnd();
			break;
		case 3:
			if (rnd() % 8 == 0)
				*size = at;
			break;
		}
	}
}

static void file(const char *path, unsigned long mutations)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data, *copy;
	struct stat st;
	size_t size;

	if (!f || fstat(fileno(f), &st)) {
		printf("not ok %u - cannot read %s\n", ++done, path);
		exit(1);
	}
	data = malloc((size_t)st.st_size + 1);
	copy = malloc((size_t)st.st_size + 1);
	if (!data || !copy)
		exit(70);
	size = fread(data, 1, (size_t)st.st_size, f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	for (unsigned long i = 0; i < mutations; i++) {
		size_t n = size;

		memcpy(copy, data, size);
		mutate(copy, &n);
		LLVMFuzzerTestOneInput(copy, n);
	}
	free(data);
	free(copy);
	printf("ok %u - %s\n", ++done, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

static void walk(const char *path, unsigned long mutations)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	if (n < 0) {
		file(path, mutations);
		return;
	}
	for (int i = 0; i < n; i++) {
		char sub[4096];

		snprintf(sub, sizeof(sub), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			walk(sub, mutations);
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	const char *m = getenv("REPLAY_MUTATE"), *s = getenv("REPLAY_SEED");

	state = s ? strtoull(s, NULL, 0) : 0x9e3779b97f4a7c15ull;
	state += !state;
	printf("# seed %llu\n", (unsigned long long)state);
	for (int i = 1; i < argc; i++)
		walk(argv[i], m ? strtoul(m, NULL, 0) : 20);
	printf("1..%u\n", done);
	return done ? 0 : 1;
}
