# SPDX-License-Identifier: MIT
# Unit tests of the plugin's parts link what they test.
$(addprefix $(B)/test/unit/test_,fence fence_remote segment agree): \
	$(addprefix $(B)/plugin/,begin.o fence.o place.o record.o segment.o)
# These have the protocol with its steps in place of what the plugin has.
STEPS := fence change
$(B)/test/unit/test_fence_faults $(B)/test/unit/test_stopped: $(STEPS:%=$(B)/test/unit/steps/%.o) \
	$(filter-out $(STEPS:%=$(B)/plugin/%.o),$(call o,plugin/*.c plugin/abi/*.c))
$(B)/test/unit/steps/%.o: plugin/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DNB_STEPS $(CFLAGS) -c -o $@ $<
$(B)/test/unit/test_loop_faults: $(STEPS:%=$(B)/test/unit/steps/%.o) $(B)/test/unit/steps/loop.o \
	$(filter-out $(patsubst %,$(B)/plugin/%.o,$(STEPS) loop),$(call o,plugin/*.c plugin/abi/*.c))
$(addprefix $(B)/test/unit/test_,tuner net_calls loop): $(call o,plugin/*.c plugin/abi/*.c)
$(addprefix $(B)/test/unit/test_,profiler spans chain_profiler event_soak live no_memory): \
	$(call o,plugin/*.c plugin/abi/*.c test/host/prof.c)
$(B)/test/unit/test_chain_load $(B)/test/unit/test_guard: $(addprefix $(B)/plugin/, \
	chain_load.o guard.o guard_signals.o guard_locks.o)
$(B)/test/unit/test_net: $(addprefix $(B)/plugin/,net_tcp.o net_link.o net_dev.o)
