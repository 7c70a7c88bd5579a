# SPDX-License-Identifier: MIT
# Unit tests of the plugin's parts link what they test.
$(addprefix $(B)/test/unit/test_,fence fence_calls segment segment_comms agree): \
	$(addprefix $(B)/plugin/,job/startup.o job/fence.o job/segment.o job/registry.o job/gen_numbers.o runtime/jobdir.o runtime/clock.o)
# These have the protocol with its steps in place of what the plugin has.
STEPS := job/fence change/change
$(B)/test/unit/test_fence_faults $(B)/test/unit/test_stopped: $(STEPS:%=$(B)/test/unit/steps/%.o) \
	$(filter-out $(STEPS:%=$(B)/plugin/%.o),$(PLUGIN))
$(B)/test/unit/steps/%.o: plugin/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DNB_STEPS $(CFLAGS) -c -o $@ $<
$(B)/test/unit/test_loop_faults: $(STEPS:%=$(B)/test/unit/steps/%.o) $(B)/test/unit/steps/controller/controller.o \
	$(filter-out $(patsubst %,$(B)/plugin/%.o,$(STEPS) controller/controller),$(PLUGIN))
$(addprefix $(B)/test/unit/test_,control_fork tuner tuner_changes tuner_explain tuner_ranks net_calls gin_calls gin_hooks gin_threads gin_wrapped loop loop_sites): $(PLUGIN)
$(addprefix $(B)/test/unit/test_,profiler profiler_connect profiler_threads spans gin_observe chain_profiler event_soak exit live no_memory): \
	$(PLUGIN) $(call o,test/fakes/host/prof.c)
$(B)/test/unit/test_overdue: $(PLUGIN)
$(B)/test/unit/test_verbs_unseen: $(PLUGIN)
$(B)/test/unit/test_verbs_unseen: LDFLAGS += -rdynamic
$(B)/test/unit/test_chain_load: $(B)/plugin/wrap/library.o
$(B)/test/unit/test_gin_unused: $(B)/plugin/gin/unused.o
$(B)/test/unit/test_lock: $(B)/plugin/runtime/lock.o
$(B)/test/unit/test_room: $(B)/plugin/runtime/room.o
$(B)/test/unit/test_pools: $(addprefix $(B)/plugin/,profiler/pools.o runtime/room.o runtime/log.o)
$(B)/test/unit/test_net: $(addprefix $(B)/plugin/,net/tcp.o net/tcp_link.o net/tcp_devices.o runtime/clock.o)
$(addprefix $(B)/test/unit/test_,gin gin_deregister gin_hostile gin_large): $(addprefix $(B)/plugin/,gin/tcp.o gin/tcp_mesh.o gin/tcp_region.o \
	gin/tcp_send.o gin/tcp_receive.o net/tcp.o net/tcp_link.o net/tcp_devices.o runtime/clock.o)

# The agent, one a host of a job whose hosts change together (docs/fleet.md).
AGENT_BIN := $(B)/ncclbpf-agent
AGENT := $(call o,plugin/agent/*.c) $(addprefix $(B)/plugin/,controller/answers.o controller/election.o \
	controller/mailbox.o controller/sites.o job/fence.o job/gen_numbers.o \
	job/registry.o job/segment.o job/startup.o runtime/clock.o runtime/digest.o runtime/jobdir.o \
	runtime/log.o runtime/params.o)
$(AGENT_BIN): $(AGENT) $(SIGN) $(STORE) $(RELAY) $(CORE)
	$(CC) $(SAN) $(LDFLAGS) -Wl,-z,relro,-z,now -Wl,--gc-sections -o $@ $^ $(STORE_LIBS) $(SIGN_LIBS) $(RELAY_LIBS) -lpthread
lib: $(AGENT_BIN)
# Its parts alone, without its main.
FLEET_TESTS := $(patsubst %.c,$(B)/%,$(wildcard test/unit/test_fleet_*.c))
$(FLEET_TESTS): $(filter-out $(B)/plugin/agent/main.o,$(AGENT)) $(SIGN) $(STORE) $(RELAY)
$(FLEET_TESTS): LOAD_LIBS += $(STORE_LIBS) $(SIGN_LIBS) $(RELAY_LIBS)
$(addprefix $(B)/test/unit/test_fleet_,order target commit): LDFLAGS += -Wl,--wrap=nb_store_txn
$(B)/test/unit/test_fleet_order: LDFLAGS += $(foreach f,nb_agent_ms nb_site_late nb_site_seen \
	nb_procs_busy nb_procs_give,-Wl,--wrap=$(f))
$(addprefix $(B)/test/unit/test_fleet_,gather link): LDFLAGS += $(foreach f,nb_agent_follow \
	nb_store_unwatch nb_store_set_timeout nb_own_confirmed nb_procs_busy,-Wl,--wrap=$(f))
$(B)/test/unit/test_fleet_site: LDFLAGS += -Wl,--wrap=nb_segment_membarrier
$(B)/test/fuzz/fuzz_gin: $(addprefix $(B)/plugin/,gin/tcp.o gin/tcp_mesh.o gin/tcp_region.o gin/tcp_send.o \
	gin/tcp_receive.o net/tcp.o net/tcp_link.o net/tcp_devices.o runtime/clock.o)
