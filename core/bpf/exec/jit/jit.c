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

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/bpf/exec/jit/facts.h"
#include "core/bpf/exec/jit/lower.h"
#include "core/bpf/exec/jit/perf_map.h"

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
		struct nb_err *err)
{
	struct nb_jit_ctx *c = calloc(1, sizeof(*c));
	int rc = NB_E_NOMEM;

	*out = c;
	if (c) {
		c->x = x;
		c->code = x->code;
		c->n = x->ncodes;
		c->features = nb_emit_features();
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
	struct nb_jit *j = c->jit;

	c->base = code;
	for (int i = 0; i < MAX_PASSES; i++) {
		pass(c);
		if (!jit_shorten(c))
			break;
	}
	pass(c);
	j->code = code;
	j->size = c->pos;
	/* ISO C has no cast from a data pointer to a function pointer, so
	 * memcpy converts it. */
	memcpy(&j->entry, &code, sizeof(code));
	c->out = code;
	c->room = p->mapped - at;
	pass(c);
	if (c->pos != j->size || j->size > c->room)
		return nb_fail(err, NB_E_BUG, 0,
			       "machine code took %" PRIu32 " bytes, planned were %zu", c->pos,
			       j->size);
	nb_emit_flush(code, j->size);
	return 0;
}

static void exec_unload(struct nb_exec *x)
{
	put_pages(x->jit->pages);
	free(x->jit->off);
	free(x->jit);
	x->jit = NULL;
}

/* Run the emitted code from now on; @x takes ownership of it and a reference to @p. */
static void exec_load(struct nb_exec *x, struct nb_jit_ctx *c, struct nb_jit_pages *p)
{
	assert(!x->jit);
	x->jit = c->jit;
	x->jit->off = c->off;
	x->jit->pages = p;
	p->refs++;
	x->unload = exec_unload;
	x->head.run = x->jit->entry;
	c->jit = NULL;
	c->off = NULL;
}

/* Plan the compilation of each program. */
static int plan_all(struct nb_jit_ctx **c, const struct nb_exec_item *item, uint32_t n,
		    size_t *size, struct nb_err *err)
{
	int rc = 0;

	*size = 0;
	for (uint32_t i = 0; !rc && i < n; i++) {
		rc = plan(&c[i], item[i].x, item[i].aux, err);
		if (!rc)
			*size += c[i]->pos + ALIGN;
	}
	return rc;
}

/*
 * Emit the programs in order of address. A program may get shorter while it is
 * emitted; the next one starts after it, so no emitted program moves.
 */
static int place_all(struct nb_jit_ctx **c, uint32_t n, struct nb_jit_pages *p, struct nb_err *err)
{
	size_t at = 0;
	int rc;

	for (uint32_t i = 0; i < n; i++) {
		rc = emit(c[i], p, at, err);
		if (rc)
			return rc;
		at = (at + c[i]->pos + ALIGN - 1) / ALIGN * ALIGN;
	}
	return seal(p, err);
}

int nb_exec_compile(const struct nb_exec_item *item, uint32_t n, struct nb_err *err)
{
	struct nb_jit_ctx **c = calloc(n, sizeof(struct nb_jit_ctx *));
	struct nb_jit_pages *p = NULL;
	size_t size;
	int rc;

	if (!c)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory to compile %" PRIu32 " programs", n);
	rc = plan_all(c, item, n, &size, err);
	if (!rc)
		rc = get_pages(&p, size, err);
	if (!rc)
		rc = place_all(c, n, p, err);
	for (uint32_t i = 0; !rc && i < n; i++)
		exec_load(item[i].x, c[i], p);
	if (p)
		put_pages(p);
	for (uint32_t i = 0; i < n; i++)
		if (c[i])
			jit_drop(c[i]);
	free(c);
	return rc;
}

#else /* There is no compiler for this machine. */

int nb_exec_compile(const struct nb_exec_item *item, uint32_t n, struct nb_err *err)
{
	(void)item, (void)n;
	return nb_fail(err, NB_E_NOTSUP, 0, "no JIT compiler for this processor architecture");
}

#endif

int nb_exec_publish(const struct nb_exec *x, const struct nb_image *img, uint32_t prog,
		    struct nb_err *err)
{
	return x->jit ? nb_perf_map_add(x->jit, img, prog, err) : 0;
}

size_t nb_exec_compiled(const struct nb_exec *x)
{
	return x->jit ? x->jit->size : 0;
}
