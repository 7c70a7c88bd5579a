// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Any bytes as slots: decoding loses nothing, the text stays
// inside the buffer, and what does not decode is named by a slot of the input.
// The same bytes are also read as assembler text, whose result must be as
// well-formed as what decodes.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/isa/insn.h"
#include "test/unit/asm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SLOTS = 1024, TEXT = 80 };

static void need(int good)
{
	if (!good)
		abort();
}

static const char *map_name(void *arg, uint32_t index)
{
	(void)arg;
	return index % 2 ? "a_map_whose_name_is_as_long_as_names_may_be_which_"
			   "is_63_chars_xx"
			 : NULL;
}

/* Whole, cut off, and with no room at all: never a byte past @size. */
static void disasm(const struct nb_insn *in)
{
	static const size_t sizes[] = { TEXT, 7, 1, 0 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char text[TEXT + 1];

		memset(text, 0x7e, sizeof(text));
		nb_disasm(text, sizes[i], in, map_name, NULL);
		need(text[sizes[i]] == 0x7e);
		need(!sizes[i] || memchr(text, 0, sizes[i]));
	}
}

static void slots(const struct nb_slot *s, size_t n)
{
	struct nb_slot again[2];
	static struct nb_insn in[MAX_SLOTS];
	struct nb_err err = { 0 };

	if (nb_decode(in, s, n, &err)) {
		need(err.code == NB_E_INSN && err.at < n && *err.text);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		disasm(&in[i]);
		if (in[i].op == NB_OP_LDDW_HI)
			continue;
		slots_again(again, &in[i]);
		need(!memcmp(again, &s[i], (in[i].kind == NB_KIND_LDDW ? 2 : 1) * sizeof(*s)));
	}
}

static void text(const uint8_t *data, size_t size)
{
	static struct nb_slot out[MAX_SLOTS];
	struct nb_err err = { 0 };
	char *copy = malloc(size + 1);
	size_t n;

	if (!copy)
		return;
	if (size)
		memcpy(copy, data, size);
	copy[size] = '\0';
	if (nb_asm(out, MAX_SLOTS, &n, copy, &err))
		need(err.code && *err.text && !n);
	else
		slots(out, n);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct nb_slot s[MAX_SLOTS];
	size_t n = size / sizeof(s[0]);

	if (n > MAX_SLOTS)
		n = MAX_SLOTS;
	if (n)
		memcpy(s, data, n * sizeof(s[0]));
	slots(s, n);
	text(data, size);
	return 0;
}
