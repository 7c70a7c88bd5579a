# SPDX-License-Identifier: MIT
# Maps against the running kernel, and under threads. The stress program is
# built from source with ThreadSanitizer whatever V is.
HELPER_BODIES := $(addprefix core/bpf/exec/run/,code.c costs.c helpers.c records.c text.c trace.c)
MAP_STRESS_SRC := test/differential/map/map_stress.c $(wildcard core/bpf/map/*.c) \
	$(HELPER_BODIES) core/base/ascii.c core/base/err.c core/spec/spec.c

tests-full: $(B)/test/differential/map/map_kernel $(B)/test/differential/map/ring_kernel \
	$(B)/test/differential/map/map_stress

$(B)/test/differential/map/ring_kernel: $(B)/test/differential/map/ring_kernel.o $(ASM) \
		$(B)/test/differential/map/sequence.o $(call o,core/base/*.c core/spec/*.c \
		core/bpf/isa/*.c core/bpf/image/*.c core/bpf/map/*.c core/bpf/exec/*/*.c)
	$(ld) -o $@ $^ -lpthread

$(B)/test/differential/map/map_kernel: $(addprefix $(B)/test/differential/map/,map_kernel.o sequence.o \
		kernel.o batch_kernel.o) \
		$(call o,core/base/*.c core/spec/*.c core/bpf/map/*.c)
	$(ld) -o $@ $^ -lpthread

$(B)/test/differential/map/map_stress: $(MAP_STRESS_SRC) $(wildcard core/bpf/map/*.h core/bpf/exec/*/*.h core/defs/*.h)
	@mkdir -p $(@D)
	$(call say,CC,$@)$(CC) -I. -std=c11 -D_GNU_SOURCE -g -O1 $(WARN) $(if $(WERROR),-Werror) \
		-fsanitize=thread -o $@ $(MAP_STRESS_SRC) -lpthread

# Unit tests run the sequences against a model.
$(call unit_test,map_model map_rules): $(B)/test/differential/map/sequence.o
