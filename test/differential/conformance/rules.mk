# SPDX-License-Identifier: MIT
# The plugin that bpf_conformance's runner talks to, and a runner of our own.
# Both need only the stages that they exercise.

CONFORMANCE_CORE := $(call o,core/base/*.c core/spec/*.c core/bpf/isa/*.c)
tests: $(addprefix $(B)/test/differential/conformance/,plugin run)

$(B)/test/differential/conformance/plugin: $(B)/test/differential/conformance/plugin.o \
		$(CONFORMANCE_CORE) $(call o,core/bpf/map/*.c core/bpf/exec/*/*.c)
	$(ld) -o $@ $^ -lpthread

$(B)/test/differential/conformance/run: $(B)/test/differential/conformance/run.o $(ASM) $(CONFORMANCE_CORE)
	$(ld) -o $@ $^

# The suite's own runner and tests, which are not kept here, drive both engines.
.PHONY: check-conformance
check-conformance:
	@$(AGAIN) $(B)/test/differential/conformance/plugin >/dev/null
	@test/differential/conformance/public.sh "$(RUNNER)" "$(TESTS)" \
		$(B)/test/differential/conformance/plugin
