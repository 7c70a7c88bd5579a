// SPDX-License-Identifier: MIT
// Finds in a libnccl.so that was stripped what its symbols would say.
//
// Each function of the CUDA runtime that a tool can trace refers once to a
// string with its own name: CUDA 13 by an address (lea name(%rip)), CUDA 12 by
// a pointer in relocated data (movq slot(%rip), %xmm0), and by lea where the
// function takes no arguments. .eh_frame_hdr, which strip must keep, lists
// where functions begin. So the function around such a reference has that name.
// nvcc's code that registers kernels loads a name and then the host stub.
// All is read in memory, where the loader has relocated the pointers.
#include "test/fakes/vgpu/find.h"

#include <stdlib.h>
#include <string.h>

#include "test/fakes/vgpu/vgpu.h"

enum {
	NAME_MAX_SIZE = 128,
	TAIL = 16,	  // bytes that are read after the start of an instruction
	STUB_WITHIN = 64, // bytes between a kernel's name and its host stub
	ROWS_LEAST = 1000,
	ROWS_UNUSED = 500, // entries of -1, at least
	ID_MAX = 1024,
	ID_SENDRECV = 200, // the first row's id is larger, those before it are smaller
};

struct span {
	uintptr_t lo, hi;
};

struct library {
	struct span text, rodata, relocated, eh_hdr;
	const int32_t *starts; // {function, FDE}, relative to eh_hdr, ascending
	size_t nstart;
};

static bool within(struct span s, uintptr_t at, size_t n)
{
	return at >= s.lo && at <= s.hi && n <= s.hi - at;
}

static struct span span_of(const struct vg_image *im, const char *name)
{
	unsigned n;
	const Elf64_Shdr *sh = vg_image_sections(im, &n);

	for (unsigned i = 0; i < n; i++) {
		uintptr_t lo = im->base + sh[i].sh_addr;

		if (sh[i].sh_type != SHT_NOBITS && !strcmp(vg_image_section_name(im, &sh[i]), name))
			return (struct span){ lo, lo + sh[i].sh_size };
	}
	return (struct span){ 0, 0 };
}

// The table of .eh_frame_hdr (LSB, "Exception Frame Header"): version 1, a
// count of 4 bytes, pairs of 4 bytes relative to the section.
static bool library_open(struct library *l, const struct vg_image *im)
{
	static const unsigned char header[4] = { 1, 0x1b, 3, 0x3b };
	uint32_t n;

	l->text = span_of(im, ".text");
	l->rodata = span_of(im, ".rodata");
	l->relocated = span_of(im, ".data.rel.ro");
	l->eh_hdr = span_of(im, ".eh_frame_hdr");
	if (!within(l->text, l->text.lo, TAIL) || !within(l->eh_hdr, l->eh_hdr.lo, 12) ||
	    memcmp((const void *)l->eh_hdr.lo, header, sizeof header) != 0)
		return false;
	memcpy(&n, (const char *)l->eh_hdr.lo + 8, sizeof n);
	l->starts = (const void *)(l->eh_hdr.lo + 12);
	l->nstart = n;
	return within(l->eh_hdr, l->eh_hdr.lo + 12, 8 * (size_t)n);
}

// Where the function around @at begins, or 0.
static uintptr_t function_of(const struct library *l, uintptr_t at)
{
	intptr_t rel = (intptr_t)(at - l->eh_hdr.lo);
	size_t lo = 0, hi = l->nstart;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (l->starts[2 * mid] <= rel)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? l->eh_hdr.lo + (uintptr_t)(intptr_t)l->starts[2 * (lo - 1)] : 0;
}

// ---- instructions

static uintptr_t target(const unsigned char *displacement)
{
	int32_t d;

	memcpy(&d, displacement, sizeof d);
	return (uintptr_t)displacement + sizeof d + (uintptr_t)(intptr_t)d;
}

static bool is_lea(const unsigned char *p)
{
	return (p[0] == 0x48 || p[0] == 0x4c) && p[1] == 0x8d && (p[2] & 0xc7) == 0x05;
}

static bool is_lea_rsi(const unsigned char *p)
{
	return p[0] == 0x48 && p[1] == 0x8d && p[2] == 0x35;
}

static bool is_movq_xmm(const unsigned char *p)
{
	return p[0] == 0xf3 && p[1] == 0x0f && p[2] == 0x7e && (p[3] & 0xc7) == 0x05;
}

// ---- names

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

// The C identifier at @at, or NULL.
static const char *word_at(const struct library *l, uintptr_t at)
{
	const char *s = (const char *)at;
	size_t n = 0;

	while (n < NAME_MAX_SIZE && within(l->rodata, at, n + 1) && is_word(s[n]))
		n++;
	return n && n < NAME_MAX_SIZE && within(l->rodata, at, n + 1) && !s[n] ? s : NULL;
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_runtime(const char *s)
{
	return (!strncmp(s, "cuda", 4) && is_upper(s[4])) ||
	       (!strncmp(s, "__cuda", 6) && is_upper(s[6]));
}

static bool is_kernel(const char *s)
{
	return !strncmp(s, "_Z", 2) && strstr(s, "DevKernel_");
}

static void name_add(struct vg_found_name **names, size_t *n, struct vg_found_name one)
{
	if ((*n & (*n - 1)) == 0) { // 0, 1, 2, 4...: full
		struct vg_found_name *more = vg_calloc(*n ? 2 * *n : 1, sizeof *more);

		if (*n)
			memcpy(more, *names, *n * sizeof *more);
		free(*names);
		*names = more;
	}
	(*names)[(*n)++] = one;
}

// A function that refers to two names may be either: it has the name NULL.
static void function_add(struct vg_found *f, const struct library *l, const char *name,
			 uintptr_t from)
{
	uintptr_t at = function_of(l, from);

	if (!at)
		return;
	for (size_t i = 0; i < f->nfunction; i++) {
		struct vg_found_name *one = &f->functions[i];

		if (one->at != at)
			continue;
		if (one->name && strcmp(one->name, name) != 0)
			one->name = NULL;
		return;
	}
	name_add(&f->functions, &f->nfunction, (struct vg_found_name){ name, at });
}

static void kernel_add(struct vg_found *f, const struct library *l, const char *name,
		       const unsigned char *from)
{
	const unsigned char *p = from + 1, *end = from + STUB_WITHIN;

	while (p < end && within(l->text, (uintptr_t)p, TAIL) && !is_lea_rsi(p))
		p++;
	if (p == end || !within(l->text, (uintptr_t)p, TAIL))
		return;
	struct vg_found_name one = { name, target(p + 3) };
	for (size_t i = 0; i < f->nkernel; i++) {
		if (f->kernels[i].at == one.at) // its variables are registered by its name, too
			return;
	}
	name_add(&f->kernels, &f->nkernel, one);
}

static void instruction(struct vg_found *f, const struct library *l, const unsigned char *p)
{
	uintptr_t at;
	const char *name;

	if (is_lea(p)) {
		at = target(p + 3);
	} else if (is_movq_xmm(p)) {
		at = target(p + 4);
		if (!within(l->relocated, at, sizeof at))
			return;
		memcpy(&at, (const void *)at, sizeof at);
	} else {
		return;
	}
	name = within(l->rodata, at, 1) ? word_at(l, at) : NULL;
	if (name && is_runtime(name))
		function_add(f, l, name, (uintptr_t)p);
	else if (name && is_kernel(name))
		kernel_add(f, l, name, p);
}

static void doubtful_remove(struct vg_found *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->nfunction; i++) {
		if (f->functions[i].name)
			f->functions[kept++] = f->functions[i];
	}
	f->nfunction = kept;
}

// ---- the function table

// NCCL's table is the one run of integers from -1 to about 1000 with hundreds
// of -1. Ids are numbered by the names of functions, so the first entry, that
// of SendRecv, is nearly the largest; what lies before it are small numbers.
static void find_rows(struct vg_found *f, const struct library *l)
{
	const int *t = (const int *)((l->rodata.lo + 3) & ~(uintptr_t)3);
	const int *end = (const int *)(l->rodata.hi & ~(uintptr_t)3);

	while (t < end) {
		const int *begin = t;
		size_t unused = 0;

		while (t < end && *t >= -1 && *t < ID_MAX)
			unused += *t++ == -1;
		if (t - begin > ROWS_LEAST && unused > ROWS_UNUSED) {
			const int *first = begin;

			while (*first != -1)
				first++;
			while (first > begin && *first < ID_SENDRECV)
				first--;
			f->rows = first;
			f->nrows = (size_t)(t - first);
			return;
		}
		if (t == begin)
			t++;
	}
}

bool vg_find(struct vg_found *f, const struct vg_image *im)
{
	struct library l = { 0 };

	memset(f, 0, sizeof *f);
	if (!library_open(&l, im))
		return false;
	for (uintptr_t at = l.text.lo; within(l.text, at, TAIL); at++)
		instruction(f, &l, (const unsigned char *)at);
	doubtful_remove(f);
	find_rows(f, &l);
	return f->nfunction > 0;
}

void vg_found_free(struct vg_found *f)
{
	free(f->functions);
	free(f->kernels);
}
