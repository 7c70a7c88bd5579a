// SPDX-License-Identifier: MIT
// Functions that NCCL asks for and that we do not have.
//
// Each missing name gets a 16-byte entry of its own in a block that the
// assembler makes, so that the common body learns which name was called.
#include "test/fakes/vgpu/vgpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NSTUB = 1200 };

static char *names[NSTUB];
static char said[NSTUB];
static int nstub;

int vg_stub_hit(int i);

__attribute__((used, visibility("hidden"))) int vg_stub_hit(int i)
{
	if (!__atomic_exchange_n(&said[i], 1, __ATOMIC_RELAXED))
		vg_log("not implemented: %s (returns %d, not supported)", names[i],
		       VG_NOT_SUPPORTED);
	return VG_NOT_SUPPORTED;
}

#if defined(__x86_64__)
// Entry i: mov $i, %edi; jmp vg_stub_hit. It tail-calls, so the caller's
// stack, whatever the missing function's arguments are, stays as it is.
__asm__(".text\n"
	".balign 16\n"
	".globl vg_stub_block\n"
	".hidden vg_stub_block\n"
	"vg_stub_block:\n"
	".set vg_i, 0\n"
	".rept 1200\n"
	"mov $vg_i, %edi\n"
	"jmp vg_stub_hit\n"
	".balign 16\n"
	".set vg_i, vg_i + 1\n"
	".endr\n");
extern char vg_stub_block[];

static void *entry(int i)
{
	return vg_stub_block + 16 * i;
}
#else
static void *entry(int i)
{
	(void)i;
	return NULL; // never reached: patch.c has ended the process
}
#endif

void *vg_stub(const char *name)
{
	static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
	int i = 0;

	pthread_mutex_lock(&mu);
	while (i < nstub && strcmp(names[i], name) != 0)
		i++;
	if (i == nstub && nstub < NSTUB)
		names[nstub++] = strdup(name);
	pthread_mutex_unlock(&mu);
	return i < NSTUB ? entry(i) : NULL;
}
