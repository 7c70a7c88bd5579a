# SPDX-License-Identifier: MIT
# The engines' tests for 64-bit Arm, compiled across and run by qemu-user
# (test/differential/arm64/arm64.t). Static, and with a header in the place of libcheck.
# Without the compiler there is nothing to build.

ARM64_CC ?= aarch64-linux-gnu-gcc
ARM64 := $(B)/arm64
ARM64_CFLAGS = $(filter-out -fsanitize=% --coverage -O% -fPIC,$(NB_CFLAGS) $(CFLAGS)) -O2
ao = $(patsubst %.c,$(ARM64)/%.o,$(wildcard $(1)))
ARM64_ENGINE := $(call ao,core/base/*.c core/spec/*.c core/bpf/isa/*.c core/bpf/map/*.c \
	core/bpf/image/*.c core/bpf/exec/*/*.c)
ARM64_ALL := $(ARM64_ENGINE) $(call ao,core/*.c core/bpf/verify/*.c core/bpf/verify/*/*.c core/bpf/generation/*.c \
	core/job/wire/*.c)
ARM64_TESTS := $(addprefix $(ARM64)/test_,interp jit jit_control jit_inline jit_maps jit_pages jit_random compile_all callbacks perf_map \
	agreement) \
	$(ARM64)/conformance_plugin

.PHONY: arm64-tests
arm64-tests: $(ARM64_TESTS)
ifneq ($(shell command -v $(ARM64_CC)),)
ifeq ($(VARIANT),debug)
tests-full: arm64-tests
endif
endif

$(ARM64)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(ARM64_CC) -Itest/differential/arm64 $(NB_CPPFLAGS) $(CPPFLAGS) $(ARM64_CFLAGS) -c -o $@ $<

$(ARM64)/test_%: $(ARM64)/test/unit/test_%.o $(ARM64)/test/unit/asm.o $(ARM64_ALL)
	$(call say,LD,$@)$(ARM64_CC) -static $(ARM64_WRAP) -o $@ $^ -lpthread
$(addprefix $(ARM64)/test_,$(JIT_TESTS)): ARM64_WRAP := -Wl,--wrap=nb_emit_features

$(ARM64)/conformance_plugin: $(ARM64)/test/differential/conformance/plugin.o $(ARM64_ENGINE)
	$(call say,LD,$@)$(ARM64_CC) -static -o $@ $^ -lpthread

# The encodings beside the assembler's; runs here.
tests-full: $(B)/test/differential/arm64/enc
$(B)/test/differential/arm64/enc: $(B)/test/differential/arm64/enc.o
	$(ld) -o $@ $^
