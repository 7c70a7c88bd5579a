// SPDX-License-Identifier: MIT
/*
 * The allocator of the Lua state: malloc with a limit, so that a script that
 * grows without bound gets an error and the shell lives on.
 */
#include "shell/shell.h"

#include <stdlib.h>

enum { MANY_CALLS = 150000 };

void *nb_memory_alloc(void *memory, void *p, size_t old, size_t size)
{
	struct nb_memory *m = memory;
	void *q;

	if (!p)
		/* for a new block, this parameter is the kind of the object */
		old = 0;
	if (!size) {
		free(p);
		m->used -= old;
		return NULL;
	}
	if (size > old && m->limit && size - old > m->limit - m->used) {
		/* calls of small functions use it up before Lua's own limit */
		m->deep |= nb_interrupt_deep(MANY_CALLS);
		return NULL;
	}
	q = realloc(p, size);
	/* Lua requires that shrinking a block never fails */
	if (!q)
		return size <= old ? p : NULL;
	m->used = m->used - old + size;
	return q;
}
