// SPDX-License-Identifier: MIT
/*
 * The ring behind bpf_trace_printk. A writer draws the next line number. It
 * claims the slot of that number by setting the slot's sequence to an odd
 * value; an even value says which complete line the slot holds. A writer
 * drops its own line if its slot is still claimed (by a thread that was
 * stopped 1024 lines ago) or already holds a newer line: no writer ever
 * waits. Text and time are written as atomic words, so readers can copy
 * while writers overwrite. A reader compares the sequence before and after
 * the copy, and so knows whether it got a single line.
 */
#include "core/bpf/exec/run/trace.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { WORDS = NB_TRACE_TEXT / 8 };
_Static_assert(NB_TRACE_TEXT % 8 == 0, "text is copied by words");

struct slot {
	/* 2n + 1: line n is being written; 2n + 2: line n is complete; 0:
	 * empty. */
	uint64_t seq;
	uint64_t time_ns;
	uint64_t text[WORDS];
};

struct nb_trace {
	_Alignas(64) uint64_t next;
	_Alignas(64) struct slot slot[NB_TRACE_LINES];
};

/* Allocate a ring. Pages without writes take no memory, and most policies
 * never print. */
struct nb_trace *nb_trace_new(void)
{
	void *t = mmap(NULL, sizeof(struct nb_trace), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return t == MAP_FAILED ? NULL : t;
}

void nb_trace_free(struct nb_trace *t)
{
	if (t)
		munmap(t, sizeof(*t));
}

/*
 * Copy one line so that it is printable: the final newline is removed, and
 * other control characters become blanks or question marks, so that no
 * policy can control a terminal.
 */
static void clean(char line[NB_TRACE_TEXT], const char *text, size_t size)
{
	memset(line, 0, NB_TRACE_TEXT);
	if (size > 0 && text[size - 1] == '\n')
		size--;
	if (size > NB_TRACE_TEXT - 1)
		size = NB_TRACE_TEXT - 1;
	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (c == '\n' || c == '\t')
			c = ' ';
		line[i] = c >= ' ' && c <= '~' ? c : '?';
	}
}

static bool claim(struct slot *s, uint64_t number)
{
	uint64_t seq = __atomic_load_n(&s->seq, __ATOMIC_RELAXED);

	return seq % 2 == 0 && seq <= 2 * number &&
	       __atomic_compare_exchange_n(&s->seq, &seq, 2 * number + 1, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

void nb_trace_put(struct nb_trace *t, const char *text, size_t size)
{
	uint64_t number = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED);
	struct slot *s = &t->slot[number % NB_TRACE_LINES];
	char line[NB_TRACE_TEXT];
	struct timespec now;
	uint64_t w;

	clean(line, text, size);
	clock_gettime(CLOCK_REALTIME, &now);
	if (!claim(s, number))
		return;
	/* Release order: a reader that sees a new word also sees the odd
	 * sequence. */
	w = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	__atomic_store_n(&s->time_ns, w, __ATOMIC_RELEASE);
	for (size_t i = 0; i < WORDS; i++) {
		memcpy(&w, line + 8 * i, 8);
		__atomic_store_n(&s->text[i], w, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&s->seq, 2 * number + 2, __ATOMIC_RELEASE);
}

uint64_t nb_trace_next(const struct nb_trace *t)
{
	return __atomic_load_n(&t->next, __ATOMIC_RELAXED);
}

bool nb_trace_read(const struct nb_trace *t, uint64_t number, struct nb_trace_line *out)
{
	const struct slot *s = &t->slot[number % NB_TRACE_LINES];
	const uint64_t whole = 2 * number + 2;
	uint64_t w;

	/* The sequence of a number far ahead would wrap to a valid sequence. */
	if (number >= nb_trace_next(t))
		return false;
	if (__atomic_load_n(&s->seq, __ATOMIC_ACQUIRE) != whole)
		return false;
	out->number = number;
	out->time_ns = __atomic_load_n(&s->time_ns, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < WORDS; i++) {
		w = __atomic_load_n(&s->text[i], __ATOMIC_ACQUIRE);
		memcpy(out->text + 8 * i, &w, 8);
	}
	return __atomic_load_n(&s->seq, __ATOMIC_RELAXED) == whole;
}

/* The text being written: at most size - 1 characters are stored, the rest
 * is only counted. */
struct line {
	char *out;
	size_t size, n, whole;
};

static void line_add(struct line *l, char c)
{
	l->whole++;
	if (l->n + 1 < l->size)
		l->out[l->n++] = c;
}

/* Append @v in @base, with "-" in front if @minus. */
static void add_number(struct line *l, uint64_t v, unsigned base, bool minus)
{
	char text[20]; /* Room for as many digits as 2^64 - 1 has */
	size_t n = 0;

	if (minus)
		line_add(l, '-');
	do {
		text[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n)
		line_add(l, text[--n]);
}

/* Append the conversion @c of @v. @nl: number of l before @c. Returns false
 * for an unknown conversion. */
static bool line_convert(struct line *l, char c, int nl, uint64_t v)
{
	bool minus = false;

	if ((c == 'p' || c == 'c') && nl)
		return false;
	if (c == 'd' || c == 'i') {
		minus = (nl ? (int64_t)v : (int64_t)(int32_t)v) < 0;
		v = minus ? 0 - v : v;
	}
	if (!nl && c != 'p')
		v = (uint32_t)v;
	switch (c) {
	case 'd':
	case 'i':
		add_number(l, v, 10, minus);
		return true;
	case 'u':
		add_number(l, v, 10, false);
		return true;
	case 'p':
		line_add(l, '0');
		line_add(l, 'x');
		/* fall through */
	case 'x':
		add_number(l, v, 16, false);
		return true;
	case 'c':
		if ((char)v)
			line_add(l, (char)v);
		return true;
	}
	return false;
}

int nb_trace_format(char *out, size_t size, const char *fmt, size_t fmt_size, const uint64_t *arg,
		    int most)
{
	const char *end = fmt + strnlen(fmt, fmt_size);
	struct line l = { out, size, 0, 0 };
	int nargs = 0;

	while (fmt < end) {
		char c = *fmt++;
		int nl = 0;

		if (c != '%') {
			line_add(&l, c);
			continue;
		}
		while (fmt < end && *fmt == 'l' && nl < 2)
			fmt++, nl++;
		c = fmt < end ? *fmt++ : '\0';
		if (c == '%' && nl == 0)
			line_add(&l, '%');
		else if (nargs == most || !line_convert(&l, c, nl, arg[nargs++])) {
			if (size)
				out[0] = '\0';
			return -EINVAL;
		}
	}
	if (size)
		out[l.n] = '\0';
	return (int)l.whole;
}
