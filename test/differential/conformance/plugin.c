// SPDX-License-Identifier: MIT
// Runs one program for bpf_conformance's runner: instruction bytes as hex on
// standard input, memory as hex in the first argument, r0 as hex on standard
// output. The suite's programs break rules of the verifier on purpose (shifts
// beyond the width), so this checks only what execution needs to stay inside
// the program: decoding, jump targets, the end, depth of calls. --jit runs
// machine code, --interpret (the default) the interpreter.
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/exec/run/exec.h"
#include "test/unit/compile_one.h"

/* What follows the memory on the command line. */
struct options {
	bool elf, jit;
};

/* Bytes of a program or of memory. */
struct bytes {
	unsigned char *p;
	size_t n;
};

static int refuse(const char *text)
{
	fprintf(stderr, "%s\n", text);
	return 1;
}

static int nibble(int c)
{
	if (isdigit(c))
		return c - '0';
	c = tolower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Hex bytes with any white space between them; false: not that. */
static bool unhex(struct bytes *out, const char *text)
{
	out->n = 0;
	out->p = malloc(strlen(text) / 2 + 1);
	while (out->p) {
		int hi, lo;

		while (isspace((unsigned char)*text))
			text++;
		if (!*text)
			return true;
		hi = nibble((unsigned char)text[0]);
		lo = hi < 0 ? -1 : nibble((unsigned char)text[1]);
		if (lo < 0)
			return false;
		out->p[out->n++] = (unsigned char)(hi << 4 | lo);
		text += 2;
	}
	return false;
}

/* Standard input as a string; NULL when it is too long for any program. */
static char *read_all(void)
{
	size_t cap = (size_t)NB_IMAGE_MAX_SLOTS * NB_SLOT_SIZE * 4, n;
	char *text = malloc(cap + 1);

	if (!text)
		return NULL;
	n = fread(text, 1, cap, stdin);
	text[n] = '\0';
	if (n == cap) {
		free(text);
		return NULL;
	}
	return text;
}

/* Does control go from a slot to the next one? */
static bool falls_through(const struct nb_insn *in)
{
	return in->kind != NB_KIND_EXIT && in->kind != NB_KIND_JA;
}

static bool has_target(const struct nb_insn *in)
{
	return in->kind == NB_KIND_JMP || in->kind == NB_KIND_JA || in->kind == NB_KIND_MAY_GOTO ||
	       in->op == NB_OP_CALL_LOCAL || in->op == NB_OP_LDDW_FUNC;
}

/* Targets stand on instructions, and control never leaves at the end. */
static int check_flow(const struct nb_insn *in, size_t n, struct nb_err *err)
{
	for (size_t pc = 0; pc < n; pc++) {
		int64_t to = (int64_t)pc + 1 + in[pc].off;
		size_t next = pc + (in[pc].kind == NB_KIND_LDDW ? 2 : 1);

		if (in[pc].op == NB_OP_LDDW_HI)
			continue;
		if (has_target(&in[pc]) &&
		    (to < 0 || to >= (int64_t)n || in[to].op == NB_OP_LDDW_HI))
			return nb_fail(err, NB_E_INSN, (uint32_t)pc,
				       "instruction %zu: target %" PRId64
				       " is no instruction, allowed 0 to %zu "
				       "and no second slot of lddw",
				       pc, to, n - 1);
		if (falls_through(&in[pc]) && next >= n)
			return nb_fail(err, NB_E_INSN, (uint32_t)pc,
				       "instruction %zu: control falls off the "
				       "end of %zu instructions",
				       pc, n);
	}
	return 0;
}

/* Depth of local calls below each slot that begins a function. */
struct calls {
	const struct nb_insn *in;
	size_t n;
	unsigned char *height; /* of a function, by first slot; 0: not known */
	struct nb_err *err;
};

static int height_of(struct calls *c, size_t start, unsigned depth);

/* Visit what is reachable from @start without entering callees. */
static int walk(struct calls *c, size_t start, unsigned depth, size_t *stack, unsigned char *seen)
{
	size_t top = 0;
	unsigned char height = 1;

	stack[top++] = start;
	seen[start] = 1;
	while (top) {
		size_t pc = stack[--top], next;
		const struct nb_insn *in = &c->in[pc];
		size_t to = (size_t)((int64_t)pc + 1 + in->off);

		next = pc + (in->kind == NB_KIND_LDDW ? 2 : 1);
		if (in->op == NB_OP_CALL_LOCAL) {
			int rc = height_of(c, to, depth + 1);

			if (rc)
				return rc;
			if (c->height[to] >= height)
				height = (unsigned char)(c->height[to] + 1);
		} else if (in->kind != NB_KIND_LDDW && has_target(in) && !seen[to]) {
			seen[to] = 1;
			stack[top++] = to;
		}
		if (falls_through(in) && !seen[next]) {
			seen[next] = 1;
			stack[top++] = next;
		}
	}
	c->height[start] = height;
	return 0;
}

static int height_of(struct calls *c, size_t start, unsigned depth)
{
	size_t *stack = NULL;
	unsigned char *seen = NULL;
	int rc;

	if (depth + (c->height[start] ? c->height[start] : 1u) > NB_MAX_FRAMES)
		return nb_fail(c->err, NB_E_INSN, (uint32_t)start,
			       "instruction %zu: local calls deeper than %d "
			       "frames, or without end",
			       start, NB_MAX_FRAMES);
	if (c->height[start])
		return 0;
	stack = calloc(c->n, sizeof(*stack));
	seen = calloc(c->n, 1);
	rc = stack && seen ? walk(c, start, depth, stack, seen)
			   : nb_fail(c->err, NB_E_NOMEM, 0, "out of memory");
	free(stack);
	free(seen);
	return rc;
}

static int check(const struct nb_slot *slots, size_t n, struct nb_err *err)
{
	struct nb_insn *in = calloc(n, sizeof(*in));
	struct calls c = { in, n, calloc(n, 1), err };
	int rc = NB_E_NOMEM;

	if (!in || !c.height)
		nb_fail(err, rc, 0, "out of memory");
	else
		rc = nb_decode(in, slots, n, err);
	if (!rc)
		rc = check_flow(in, n, err);
	if (!rc)
		rc = height_of(&c, 0, 0);
	free(in);
	free(c.height);
	return rc;
}

/* A program that belongs to no policy, as the one program of an image. */
static int run(const struct nb_slot *slots, size_t n, struct bytes mem, const struct options *o,
	       struct nb_err *err)
{
	const struct nb_func func = { .name = "main", .end = (uint32_t)n };
	const struct nb_prog prog = { .name = "main",
				      .section = ".text",
				      .slots = slots,
				      .nslots = (uint32_t)n,
				      .funcs = &func,
				      .nfuncs = 1 };
	const struct nb_image img = { .name = "conformance", .progs = &prog, .nprogs = 1 };
	struct nb_exec *x = NULL;
	int rc = check(slots, n, err);

	if (!rc)
		rc = nb_exec_new(&x, &img, 0, NULL, NULL, err);
	if (!rc && o->jit)
		rc = compile_one(x, NULL, err);
	if (!rc)
		printf("%" PRIx64 "\n", nb_exec_run(x, mem.p, mem.n));
	nb_exec_free(x);
	return rc;
}

/* Options after the memory; false when one is not known. */
static bool options(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--elf"))
			o->elf = true;
		else if (!strcmp(argv[i], "--jit"))
			o->jit = true;
		else if (strcmp(argv[i], "--interpret") != 0 &&
			 (i > 1 || !strncmp(argv[i], "--", 2)))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct bytes mem = { NULL, 0 }, code = { NULL, 0 };
	struct nb_err err = { 0 };
	struct options o = { 0 };
	char *text;
	int rc = 1;

	if (!options(argc, argv, &o))
		return refuse("usage: conformance_plugin [MEMORY] "
			      "[--interpret | --jit] < HEX");
	if (o.elf)
		return refuse("--elf: object files are not read here, only "
			      "instruction bytes");
	if (argc > 1 && strncmp(argv[1], "--", 2) != 0 && !unhex(&mem, argv[1]))
		return refuse("the memory is not hex bytes");
	text = read_all();
	if (!text || !unhex(&code, text))
		refuse("the program is not hex bytes, or too long");
	else if (!code.n || code.n % NB_SLOT_SIZE)
		refuse("the program's size is not a multiple of 8 bytes");
	else
		rc = run((const struct nb_slot *)(const void *)code.p, code.n / NB_SLOT_SIZE, mem,
			 &o, &err);
	if (rc < 0)
		refuse(err.text);
	free(text);
	free(code.p);
	free(mem.p);
	return rc ? 1 : 0;
}
