// SPDX-License-Identifier: MIT
/*
 * Drive a compilation. facts.c analyses the program. Then the target emits
 * it several times. The first pass computes sizes with all jumps in the
 * long form; later passes use the short form for jumps whose target is
 * near. Code only shrinks, so a short jump stays valid. When sizes are
 * stable, the last pass writes the code to new pages, which become
 * executable when they are no longer writable.
 */
#include "core/bpf/exec/jit/jit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/bpf/exec/jit/facts.h"
#include "core/bpf/exec/jit/lower.h"

#ifdef NB_JIT_MACHINE

/* Limit of passes; jumps that are still long then stay long. */
enum { MAX_PASSES = 24 };

/* Emit the whole program once; c->off gets the offset of each slot. */
static void pass(struct nb_jit_ctx *c)
{
	uint32_t pc = 0;

	c->pos = 0;
	nb_emit_begin(c);
	while (pc < c->n) {
		uint32_t at = c->pos, done = 1;

		if (!(c->fact[pc].flags & NB_JIT_DEAD))
			done = nb_lower_slot(c, pc);
		else if (pc == 0 || !(c->fact[pc - 1].flags & NB_JIT_DEAD))
			nb_emit_trap(c);
		for (uint32_t i = 0; i < done; i++)
			c->off[pc + i] = at;
		pc += done;
	}
	c->off[c->n] = c->pos;
	nb_emit_trap(c);
}

/* Use the short form for jumps whose target has come near; returns false if
 * no jump changed. */
static bool jit_shorten(struct nb_jit_ctx *c)
{
	bool changed = false;

	for (uint32_t pc = 0; pc < c->n; pc++) {
		uint32_t to = (uint32_t)((int64_t)pc + 1 + c->code[pc].off);

		if (!c->jump_end[pc] || c->shorter[pc])
			continue;
		if (nb_emit_reaches((int64_t)c->off[to] - c->jump_end[pc])) {
			c->shorter[pc] = true;
			changed = true;
		}
	}
	return changed;
}

static void put_pages(struct nb_jit_pages *p)
{
	if (--p->refs)
		return;
	munmap(p->code, p->mapped);
	free(p);
}

/* Alignment of each program in the pages, in bytes. */
enum { ALIGN = 16 };

/* Map writable pages for @size bytes, with one reference. */
static int get_pages(struct nb_jit_pages **out, size_t size, struct nb_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct nb_jit_pages *p = calloc(1, sizeof(*p));
	void *code = MAP_FAILED;

	*out = NULL;
	size = (size + page - 1) & ~(page - 1);
	if (p)
		code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED) {
		free(p);
		nb_fail(err, NB_E_NOMEM, 0, "no memory for %zu bytes of machine code", size);
		return NB_E_NOMEM;
	}
	*p = (struct nb_jit_pages){ code, size, 1 };
	*out = p;
	return 0;
}

static int seal(const struct nb_jit_pages *p, struct nb_err *err)
{
	int rc;

	if (!mprotect(p->code, p->mapped, PROT_READ | PROT_EXEC))
		return 0;
	rc = errno;
	return nb_fail(err, NB_E_NOTSUP, 0,
		       "the system refuses executable memory: mprotect of %zu bytes: %s", p->mapped,
		       strerror(rc));
}

static void jit_drop(struct nb_jit_ctx *c)
{
	free(c->jit);
	free(c->fact);
	free(c->off);
	free(c->jump_end);
	free(c->shorter);
	free(c);
}

static int allocate(struct nb_jit_ctx *c)
{
	c->fact = calloc(c->n, sizeof(c->fact[0]));
	c->off = calloc((size_t)c->n + 1, sizeof(c->off[0]));
	c->jump_end = calloc(c->n, sizeof(c->jump_end[0]));
	c->shorter = calloc(c->n, sizeof(c->shorter[0]));
	return c->fact && c->off && c->jump_end && c->shorter ? 0 : NB_E_NOMEM;
}

/* Allocate the result, and run the first pass, which computes the most bytes
 * that the code can take. */
static int first_pass(struct nb_jit_ctx *c, struct nb_err *err)
{
	c->jit = calloc(1, sizeof(*c->jit));
	if (!c->jit)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for a compiled program");
	pass(c);
	if (c->pos > NB_JIT_MAX_CODE)
		return nb_fail(err, NB_E_NOTSUP, 0,
			       "%" PRIu32 " instructions take %" PRIu32
			       " bytes of machine code; at most %d",
			       c->n, c->pos, NB_JIT_MAX_CODE);
	return 0;
}

/* Analyse @x and compute its largest size, c->pos, before it has an address. */
static int plan(struct nb_jit_ctx **out, const struct nb_exec *x, const uint8_t *aux,
		unsigned features, struct nb_err *err)
{
	struct nb_jit_ctx *c = calloc(1, sizeof(*c));
	int rc = NB_E_NOMEM;

	*out = c;
	if (c) {
		c->x = x;
		c->code = x->code;
		c->n = x->ncodes;
		c->features = features;
		rc = allocate(c);
	}
	if (rc) {
		nb_fail(err, rc, 0, "no memory to compile %" PRIu32 " instructions", x->ncodes);
		return rc;
	}
	rc = nb_jit_analyse(c, aux, err);
	return rc ? rc : first_pass(c, err);
}

/* Relax jumps until sizes are stable, then emit the code @at bytes into @p. */
static int emit(struct nb_jit_ctx *c, const struct nb_jit_pages *p, size_t at, struct nb_err *err)
{
	unsigned char *code = p->code + at;
	uint32_t size;

	c->base = code;
	for (int i = 0; i < MAX_PASSES; i++) {
		pass(c);
		if (!jit_shorten(c))
			break;
	}
	pass(c);
	size = c->pos;
	c->out = code;
	c->room = p->mapped - at;
	pass(c);
	if (c->pos != size || size > c->room)
		return nb_fail(err, NB_E_BUG, 0,
			       "machine code took %" PRIu32 " bytes, planned were %" PRIu32, c->pos,
			       size);
	nb_emit_flush(code, size);
	return 0;
}

/* Emit a planned program @at bytes into @p; *@out keeps a reference to @p. */
static int emit_planned(struct nb_jit **out, struct nb_jit_ctx *c, struct nb_jit_pages *p,
			size_t at, struct nb_err *err)
{
	unsigned char *code = p->code + at;
	/* plan_all has made all plans that reach this line. */
	// NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
	struct nb_jit *j = c->jit;
	int rc = emit(c, p, at, err);

	if (rc)
		return rc;
	j->code = code;
	j->size = c->pos;
	/* ISO C has no cast from a data pointer to a function pointer, so
	 * memcpy converts it. */
	memcpy(&j->entry, &code, sizeof(code));
	j->off = c->off;
	c->off = NULL;
	j->pages = p;
	p->refs++;
	c->jit = NULL;
	*out = j;
	return 0;
}

bool nb_jit_available(void)
{
	return true;
}

unsigned nb_jit_features(void)
{
	return nb_emit_features();
}

int nb_jit_compile_for(struct nb_jit **out, const struct nb_exec *x, const uint8_t *aux,
		       unsigned features, struct nb_err *err)
{
	struct nb_jit_pages *p = NULL;
	struct nb_jit_ctx *c;
	int rc;

	*out = NULL;
	rc = plan(&c, x, aux, features, err);
	if (!rc)
		rc = get_pages(&p, c->pos, err);
	if (!rc)
		rc = emit_planned(out, c, p, 0, err);
	if (!rc)
		rc = seal(p, err);
	if (rc) {
		nb_jit_free(*out);
		*out = NULL;
	}
	if (p)
		put_pages(p);
	if (c)
		jit_drop(c);
	return rc;
}

int nb_jit_compile(struct nb_jit **out, const struct nb_exec *x, const uint8_t *aux,
		   struct nb_err *err)
{
	return nb_jit_compile_for(out, x, aux, nb_jit_features(), err);
}

void nb_jit_free(struct nb_jit *j)
{
	if (!j)
		return;
	put_pages(j->pages);
	free(j->off);
	free(j);
}

/* Plan the compilation of each program. */
static int plan_all(struct nb_jit_ctx **c, const struct nb_exec_item *item, uint32_t n,
		    size_t *size, struct nb_err *err)
{
	const unsigned features = nb_jit_features();
	int rc = 0;

	*size = 0;
	for (uint32_t i = 0; !rc && i < n; i++) {
		rc = plan(&c[i], item[i].x, item[i].aux, features, err);
		if (!rc)
			*size += c[i]->pos + ALIGN;
	}
	return rc;
}

/*
 * Emit the programs in order of address. A program may get shorter while it is
 * emitted; the next one starts after it, so no emitted program moves.
 */
static int place_all(struct nb_jit **out, struct nb_jit_ctx **c, uint32_t n, struct nb_jit_pages *p,
		     struct nb_err *err)
{
	size_t at = 0;
	int rc;

	for (uint32_t i = 0; i < n; i++) {
		rc = emit_planned(&out[i], c[i], p, at, err);
		if (rc)
			return rc;
		at = (at + out[i]->size + ALIGN - 1) / ALIGN * ALIGN;
	}
	return seal(p, err);
}

int nb_jit_compile_all(struct nb_jit **out, const struct nb_exec_item *item, uint32_t n,
		       struct nb_err *err)
{
	struct nb_jit_ctx **c = calloc(n, sizeof(struct nb_jit_ctx *));
	struct nb_jit_pages *p = NULL;
	size_t size;
	int rc;

	memset(out, 0, n * sizeof(struct nb_jit *));
	if (!c)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory to compile %" PRIu32 " programs", n);
	rc = plan_all(c, item, n, &size, err);
	if (!rc)
		rc = get_pages(&p, size, err);
	if (!rc)
		rc = place_all(out, c, n, p, err);
	for (uint32_t i = 0; rc && i < n; i++) {
		nb_jit_free(out[i]);
		out[i] = NULL;
	}
	if (p)
		put_pages(p);
	for (uint32_t i = 0; i < n; i++)
		if (c[i])
			jit_drop(c[i]);
	free(c);
	return rc;
}

#else /* There is no compiler for this machine. */

bool nb_jit_available(void)
{
	return false;
}

unsigned nb_jit_features(void)
{
	return 0;
}

static int no_compiler(struct nb_err *err)
{
	return nb_fail(err, NB_E_NOTSUP, 0, "no JIT compiler for this processor architecture");
}

int nb_jit_compile_for(struct nb_jit **out, const struct nb_exec *x, const uint8_t *aux,
		       unsigned features, struct nb_err *err)
{
	(void)x, (void)aux, (void)features;
	*out = NULL;
	return no_compiler(err);
}

int nb_jit_compile(struct nb_jit **out, const struct nb_exec *x, const uint8_t *aux,
		   struct nb_err *err)
{
	return nb_jit_compile_for(out, x, aux, 0, err);
}

int nb_jit_compile_all(struct nb_jit **out, const struct nb_exec_item *item, uint32_t n,
		       struct nb_err *err)
{
	(void)out, (void)item, (void)n;
	return no_compiler(err);
}

void nb_jit_free(struct nb_jit *j)
{
	(void)j; /* Without a compiler there is nothing to free. */
}

#endif
