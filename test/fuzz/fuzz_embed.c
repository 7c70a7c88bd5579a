// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Bytes as a program, as for fuzz_verify: what is accepted runs in the machine
// that trusts nothing (test/differential/embedding), with every state held
// against those that were walked. A promise that does not hold ends the
// process.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test/differential/embedding/embed.h"
#include "test/unit/verify_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct case_image c;
	struct em_trial t = { .max_insns = 3000, .times = 2 };
	uint32_t n;

	if (size < 9)
		return 0;
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	t.max_steps = 2000; /* libFuzzer gets on by many short runs */
#endif
	t.unlabelled = data[0] & 1;
	n = (uint32_t)((size - 1) / NB_SLOT_SIZE);
	n = n > 512 ? 512 : n;
	memcpy(c.slots, data + 1, n * sizeof(c.slots[0]));
	case_init(&c, n);
	if (em_take(&c.img, 0, 0) && !em_try(&t, 1))
		abort();
	return 0;
}
