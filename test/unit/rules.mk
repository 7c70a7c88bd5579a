# SPDX-License-Identifier: MIT
# The allocation failures are made by functions in the place of malloc's.
$(B)/test/unit/test_alloc: LDFLAGS += $(foreach f,malloc calloc realloc reallocarray \
	aligned_alloc free mmap,-Wl,--wrap=$(f))
$(B)/test/unit/test_tuner: LDFLAGS += -Wl,--wrap=mmap
