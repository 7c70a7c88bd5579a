# SPDX-License-Identifier: MIT
# Unit tests and fuzz targets. All link one library with core, front end, plugin, agent and the
# agent's clients; a test that puts a function in the place of another (WRAP) links the objects.
UNIT := $(patsubst %.c,$(B)/%,$(wildcard test/unit/test_*.c))
UNIT_QUICK := $(patsubst %.c,$(B)/%,$(shell grep -l 'tier: quick' test/unit/test_*.c))
FUZZ := $(patsubst %.c,$(B)/%,$(wildcard test/fuzz/fuzz_*.c))
# Tests write programs as text (test/unit/asm.h).
ASM := $(B)/test/unit/asm.o
UNIT_PARTS := $(CORE) $(LOADER) $(PLUGIN) $(filter-out $(B)/plugin/agent/main.o,$(AGENT)) $(STORE) \
	$(RELAY)
UNIT_LIBS = $(LOAD_LIBS) $(STORE_LIBS) $(RELAY_LIBS) $(CHECK_LIBS) -lpthread -ldl -lm
UNIT_SO := $(B)/test/libunit.so
unit_test = $(addprefix $(B)/test/unit/test_,$(1))

# Only this library exports what core and plugin define; installed ones have a version script.
ifeq ($(filter release,$(VARIANT))$(SAN),)
$(B)/core/%.o $(B)/plugin/%.o: NB_CFLAGS += -fvisibility=default -fno-semantic-interposition
endif
$(UNIT_SO): $(sort $(UNIT_PARTS))
	@mkdir -p $(@D)
	$(ld) -shared -o $@ $^ $(UNIT_LIBS)

# Tests run on stacks of their own; sanitizers make frames larger.
$(B)/test/unit/%.o: NB_CFLAGS += -Wframe-larger-than=16384

# The functions that a test puts its own in the place of (ld --wrap), by test.
JIT_TESTS := jit jit_control jit_inline jit_maps jit_pages jit_random
ALLOCATION := malloc calloc realloc reallocarray aligned_alloc free mmap
MAP_ALLOCATION := malloc calloc free posix_memalign aligned_alloc
WRAP.alloc := $(ALLOCATION)
WRAP.no_memory := $(ALLOCATION) strdup pthread_create getenv
WRAP.exit := clock_gettime nb_clock_system
WRAP.pools := statvfs fallocate
WRAP.tuner_changes := nb_gen_count_add nb_segment_digest
WRAP.tuner_ranks := mmap nb_segment_lock nb_clock_system nb_agree
WRAP.loop := pread
WRAP.loop_faults := nb_clock_system nb_clock_sleep
WRAP.host_map := mremap write nb_emit_features
WRAP.control_fork := accept4 close
WRAP.connection := nb_wire_send
WRAP.store := curl_easy_setopt
WRAP.relay := nb_request_parse close
WRAP.map := $(MAP_ALLOCATION)
WRAP.map_model := $(MAP_ALLOCATION)
WRAP.map_rules := $(MAP_ALLOCATION)
WRAP.trace := clock_gettime
WRAP.tuner_names := nb_clock_system nb_segment_lock
$(foreach t,$(JIT_TESTS),$(eval WRAP.$t := nb_emit_features))
WRAP.verify := nb_spec_helper
WRAP.verify_corpora := nb_state_subsumes
WRAP.verify_embedding := nb_state_subsumes
WRAP.replicated := nb_state_subsumes sched_getcpu nb_clock_system
WRAP.fleet_order := nb_store_txn nb_clock_system nb_site_late nb_site_seen nb_procs_busy nb_procs_give
WRAP.fleet_target := nb_store_txn
WRAP.fleet_commit := nb_store_txn nb_targets_find
WRAP.fleet_site := nb_segment_membarrier
WRAP.fleet_follow := nb_store_do nb_store_txn nb_store_lease_keepalive nb_store_watch nb_store_unwatch

# These have the protocol with its steps in place of what the plugin has.
STEPS := job/fence change/change
steps = $(patsubst %,$(B)/test/unit/steps/%.o,$(1))
$(call unit_test,fence_faults stopped): $(call steps,$(STEPS))
$(call unit_test,loop_faults): $(call steps,$(STEPS) controller/controller)
$(B)/test/unit/steps/%.o: plugin/%.c
	@mkdir -p $(@D)
	$(cc) -DNB_STEPS -c -o $@ $<

# Programs of their own: they wrap functions, replace objects, or count what the program exports.
APART := $(patsubst WRAP.%,%,$(filter WRAP.%,$(.VARIABLES))) fence_faults stopped verbs_unseen
UNIT_A := $(B)/test/libunit.a
$(UNIT_A): $(sort $(UNIT_PARTS))
	@mkdir -p $(@D)
	@rm -f $@ && $(AR) rcsT $@ $^
$(call unit_test,$(APART)): UNIT_LINK = $(foreach f,$(WRAP.$*),-Wl,--wrap=$(f)) $(UNIT_A)
$(call unit_test,$(APART)): $(UNIT_A)
$(call unit_test,verbs_unseen no_memory): NB_LDFLAGS += -rdynamic
$(call unit_test,no_memory): | $(B)/test/unit/in_constructor.so
$(call unit_test,verbs_unseen): | $(B)/test/fakes/verbs/libncclversion.so
$(call unit_test,gpu_clock nccl nccl_doubt): | $(B)/test/fakes/host/librccl.so.1
HIP_ALONE := $(B)/test/fakes/host/libamdhip64.so.7
$(call unit_test,nccl nccl_program): | $(HIP_ALONE)
$(call unit_test,nccl_program): \
	NB_LDFLAGS += -Wl,--no-as-needed,$(HIP_ALONE),-rpath,'$$ORIGIN/../fakes/host'
$(B)/test/unit/in_constructor.so: $(B)/test/unit/in_constructor.o
	$(ld) -shared -o $@ $<
# The version of NCCL that the plugin finds in the process.
$(call unit_test,chunk live loop_faults platform replicated stopped tuner tuner_changes tuner_explain tuner_names tuner_ranks): \
	NB_LDFLAGS += -Wl,--export-dynamic-symbol=ncclGetVersion
$(call unit_test,nccl_doubt): NB_LDFLAGS += -Wl,--export-dynamic-symbol=ncclGetVersion
$(call unit_test,nccl_doubt): $(call o,test/fakes/host/prof.c)
# A program at low addresses, with its heap behind it.
$(call unit_test,low_addresses): NB_LDFLAGS += -no-pie
# So are all without exported symbols (release) and with sanitizers, which take NCCL's symbols of
# the library and of a wrapped plugin for one.
UNIT_NEEDS := $(if $(filter release,$(VARIANT))$(SAN),$(UNIT_A),$(UNIT_SO))
UNIT_LINK = $(UNIT_NEEDS) -Wl,-rpath,'$$ORIGIN/..'

# Tests of libnccl-net-tcp.so have its objects: behind NCCL's tables it has functions of the same
# names as the plugin. The plugin opens the library beside its own file.
TCP_TESTS := $(call unit_test,net gin gin_deregister gin_hostile gin_large)
$(TCP_TESTS): UNIT_LINK = $(UNIT_A)
$(TCP_TESTS): $(TCP) $(UNIT_A)
TCP_BESIDE := $(B)/test/libnccl-net-tcp.so $(B)/test/unit/libnccl-net-tcp.so
$(TCP_BESIDE): $(TCP_SO)
	@mkdir -p $(@D)
	@ln -sf $(abspath $<) $@
$(call unit_test,net_calls $(addprefix gin_,calls hooks observe threads wrapped)): | $(TCP_BESIDE)

# What plays NCCL's calls of a profiler.
$(call unit_test,gpu_clock profiler profiler_connect profiler_tags profiler_threads spans gin_observe \
	chain_profiler event_soak exit live no_memory replicated): $(call o,test/fakes/host/prof.c)

$(B)/test/unit/test_%: $(B)/test/unit/test_%.o $(ASM) $(UNIT_NEEDS)
	$(ld) -o $@ $(filter %.o,$^) $(UNIT_LINK) $(UNIT_LIBS)

# Fuzz targets are linked with a driver that replays files; VARIANT=fuzz CC=clang
# links libFuzzer instead.
FUZZ_DRIVER := $(if $(filter fuzz,$(VARIANT)),,$(B)/test/fuzz/replay.o)
fuzz_ld = $(call say,LD,$@)$(CC) $(patsubst -fsanitize=fuzzer-no-link%,-fsanitize=fuzzer%,$(SAN)) \
	$(LDFLAGS) -o $@ $(filter %.o,$^)
$(B)/test/fuzz/%: $(B)/test/fuzz/%.o $(FUZZ_DRIVER) $(ASM) $(UNIT_A)
	$(fuzz_ld) $(UNIT_A) $(UNIT_LIBS)
$(B)/test/fuzz/fuzz_gin: $(B)/test/fuzz/fuzz_gin.o $(FUZZ_DRIVER) $(TCP)
	$(fuzz_ld) -lpthread
