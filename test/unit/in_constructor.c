// SPDX-License-Identifier: MIT
// A library whose constructor does what the program says (test_no_memory.c).
void in_constructor(void);

static __attribute__((constructor)) void construct(void)
{
	in_constructor();
}
