// SPDX-License-Identifier: MIT
// Verdicts on what is reserved, side by side with the kernel's: each corpus
// case marked "# opts: held" is loaded into the running kernel with the same
// maps. A difference must stand in the list below.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/differential/oracle/kernel.h"
#include "test/unit/verify_image.h"

static const struct {
	const char *name, *why;
} differences[] = {
	{ "reservation_filled_by_a_callback.asm", "callbacks need function types there" },
	{ "reservation_in_each_iteration.asm", "callbacks need function types there" },
	{ "ring_buffer_output_of_unwritten_stack.asm", "the privileged may read unwritten stack" },
	{ "null_of_a_record_past_its_end.asm",
	  "no kernel address is near NULL, whatever is added" },
};

static struct kernel kernel;
static struct case_image image;
static unsigned cases, surprises;

static bool expected(const char *name)
{
	for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]); i++)
		if (!strcmp(differences[i].name, name))
			return true;
	return false;
}

static void judge(const char *name, const char *text)
{
	bool ours = strstr(text, "# expect: accept") != NULL;
	struct nb_err err;
	char reason[256];
	int theirs;

	if (!strstr(text, "# opts: held"))
		return;
	if (case_asm(&image, text, &err)) {
		printf("# %s: %s\n", name, err.text);
		surprises++;
		return;
	}
	theirs = kernel_judge(&kernel, image.slots, image.prog.nslots);
	if (theirs < 0)
		return;
	cases++;
	if (theirs == ours || expected(name))
		return;
	surprises++;
	printf("# %s: we %s, the kernel %s %s\n", name, ours ? "accept" : "refuse",
	       theirs ? "accepts" : "says",
	       theirs ? "" : kernel_reason(&kernel, reason, sizeof(reason)));
}

static void folder(const char *top, const char *name)
{
	static char text[64 << 10];
	char path[1024];
	struct dirent **names;
	int n;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char file[2048];
		FILE *f;

		snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
		f = strstr(file, ".asm") ? fopen(file, "r") : NULL;
		if (f) {
			text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
			fclose(f);
			judge(names[i]->d_name, text);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

int main(int argc, char **argv)
{
	int rc = kernel_open(&kernel, case_maps, CASE_MAPS);

	if (rc < 0 || argc < 2) {
		printf("1..0 # SKIP verdicts on what is held as the kernel's: "
		       "bpf() is not permitted\n# %s\n",
		       strerror(-rc));
		return 0;
	}
	folder(argv[1], "accept");
	folder(argv[1], "reject");
	kernel_close(&kernel);
	printf("%sok 1 - each case that holds something as the kernel, or for "
	       "a named reason (%u cases)\n",
	       surprises ? "not " : "", cases);
	printf("%sok 2 - there are enough of them\n1..2\n", cases >= 70 ? "" : "not ");
	return surprises || cases < 70;
}
