// SPDX-License-Identifier: MIT
// What the machine itself takes for a switch: code for a function pointer that
// another thread swaps atomically. The first call of each, over the others, is
// cache lines and page tables on their way between CPUs, and nothing of ours.
#include "test/bench/switch_native.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

/* return 0; */
#if defined(__x86_64__)
static const unsigned char code[] = { 0x31, 0xc0, 0xc3 };
#elif defined(__aarch64__)
static const unsigned char code[] = { 0x00, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6 };
#else
static const unsigned char code[1];
#endif

bench_native_fn *bench_native_fresh(void)
{
	bench_native_fn *f;
	void *p;

	if (sizeof(code) == 1)
		return NULL;
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	memcpy(p, code, sizeof(code));
	__builtin___clear_cache(p, (char *)p + sizeof(code));
	if (mprotect(p, PAGE, PROT_READ | PROT_EXEC))
		return NULL;
	memcpy(&f, &p, sizeof(f));
	return f;
}
