# SPDX-License-Identifier: MIT
# The core, and the front end (core/load) as an object of its own.
CORE := $(filter-out $(B)/core/load/%,$(call o,core/*.c core/*/*.c core/*/*/*.c core/*/*/*/*.c))
LOADER := $(call o,core/load/*.c)
LOAD_SO := $(B)/libncclbpf-load.so
lib: $(LOAD_SO)

# The stripped plugin stays under 0.8 MiB: what answers the shell or words a refusal is
# not hurried, nor is the JIT. On arm64, segments of 64 KiB leave less room, and the limit is
# 1 MiB: what loads a policy is smaller there, and a load takes about a tenth longer.
COLD := core/bpf/verify/report core/bpf/verify/witness \
	plugin/change plugin/control plugin/controller plugin/policies plugin/job plugin/process \
	plugin/runtime plugin/wrap plugin/verbs plugin/env core/job/segment core/job/wire \
	core/bpf/image core/bpf/isa core/bpf/verify/feature \
	core/bpf/verify/flow core/bpf/verify/coherence core/bpf/exec/jit
ifneq ($(filter aarch64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
COLD += core/bpf/verify/access core/bpf/verify/insn
endif
# rooms of which a decision or a verifier's step uses other files
COLD_FILES := $(addprefix core/bpf/generation/,generation controller state scope policy run_limit) \
	$(addprefix core/bpf/verify/engine/,loop_cost limits run_length) core/base/json \
	$(addprefix core/bpf/map/,host def) core/bpf/exec/explain/path \
	$(addprefix plugin/,comm/comm tuner/register profiler/pools profiler/mask gin/gin \
		gin/wrapped gin/choice gin/list net/wrapped net/props net/list)
ifeq ($(VARIANT),release)
$(COLD:%=$(B)/%/%.o) $(COLD_FILES:%=$(B)/%.o): NB_CFLAGS += -Os
endif

# The plugin opens it for .bpf.o files.
$(LOAD_SO): $(LOADER) $(CORE) core/load/load.map
	$(ld) -shared -Wl,--version-script=core/load/load.map \
		-Wl,-soname,libncclbpf-load.so -Wl,-z,relro,-z,now \
		-Wl,--no-undefined -o $@ $(filter %.o,$^) $(LOAD_LIBS) $(OLD_LIBC)

# The smallest program over core and load: object in, image out.
$(B)/tools/policy_build: $(B)/core/load/tool/policy_build.o $(LOADER) $(CORE)
	@mkdir -p $(@D)
	$(ld) -o $@ $^ $(LOAD_LIBS)
