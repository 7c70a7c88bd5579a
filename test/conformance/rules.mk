# SPDX-License-Identifier: MIT
# The plugin that bpf_conformance's runner talks to, and a runner of our own.
# Both need only the stages that they exercise.

CONFORMANCE_CORE := $(call o,core/base/*.c core/spec/*.c core/isa/*.c)
tests: $(CONFORMANCE)

$(B)/test/conformance_plugin: $(B)/test/conformance/plugin.o \
		$(CONFORMANCE_CORE) $(call o,core/map/*.c core/exec/*.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread

$(B)/test/conformance_run: $(B)/test/conformance/run.o $(CONFORMANCE_CORE)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^
