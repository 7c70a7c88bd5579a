# SPDX-License-Identifier: MIT
# Unit tests of the plugin's parts link what they test.
$(addprefix $(B)/test/unit/test_,fence fence_calls fence_remote segment segment_comms agree): \
	$(addprefix $(B)/plugin/,job/startup.o job/fence.o job/fence_record.o job/segment.o job/registry.o runtime/jobdir.o runtime/clock.o)
# These have the protocol with its steps in place of what the plugin has.
STEPS := job/fence change/change
$(B)/test/unit/test_fence_faults $(B)/test/unit/test_stopped: $(STEPS:%=$(B)/test/unit/steps/%.o) \
	$(filter-out $(STEPS:%=$(B)/plugin/%.o),$(PLUGIN))
$(B)/test/unit/steps/%.o: plugin/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DNB_STEPS $(CFLAGS) -c -o $@ $<
$(B)/test/unit/test_loop_faults: $(STEPS:%=$(B)/test/unit/steps/%.o) $(B)/test/unit/steps/controller/controller.o \
	$(filter-out $(patsubst %,$(B)/plugin/%.o,$(STEPS) controller/controller),$(PLUGIN))
$(addprefix $(B)/test/unit/test_,control_fork tuner tuner_changes tuner_explain tuner_ranks net_calls loop): $(PLUGIN)
$(addprefix $(B)/test/unit/test_,profiler profiler_threads spans chain_profiler event_soak live no_memory): \
	$(PLUGIN) $(call o,test/fakes/host/prof.c)
$(B)/test/unit/test_overdue: $(PLUGIN)
$(B)/test/unit/test_chain_load: $(B)/plugin/wrap/library.o
$(B)/test/unit/test_lock: $(B)/plugin/runtime/lock.o
$(B)/test/unit/test_net: $(addprefix $(B)/plugin/,net/tcp.o net/tcp_link.o net/tcp_devices.o runtime/clock.o)
