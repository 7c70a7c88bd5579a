# SPDX-License-Identifier: MIT
# The allocation failures are made by functions in the place of malloc's.
$(addprefix $(B)/test/unit/test_,alloc no_memory): LDFLAGS += $(foreach f,malloc \
	calloc realloc reallocarray aligned_alloc free mmap,-Wl,--wrap=$(f))
$(B)/test/unit/test_no_memory: LDFLAGS += -Wl,--wrap=strdup,--wrap=pthread_create
$(B)/test/unit/test_tuner_ranks: LDFLAGS += -Wl,--wrap=mmap
$(B)/test/unit/test_loop_faults: LDFLAGS += -Wl,--wrap=nb_clock_system
$(B)/test/unit/test_control_fork: LDFLAGS += -Wl,--wrap=close
