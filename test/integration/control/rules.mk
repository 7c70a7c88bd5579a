# SPDX-License-Identifier: MIT
# Tests of the control socket: processes that hold the plugin, a client, and
# a maker of policy images that needs neither clang nor the front end.

CONTROL := $(addprefix $(B)/test/integration/control/,host host_writer client stress corpus images.stamp)
tests: $(CONTROL)

$(B)/test/integration/control/host: $(call o,test/integration/control/host.c test/fakes/host/nccl.c)
	$(ld) -Wl,--export-dynamic-symbol=ncclGetVersion -o $@ $^ -lpthread -ldl -lm

$(B)/test/integration/control/host_writer: $(call o,test/integration/control/host_writer.c)
	$(ld) -o $@ $^

$(B)/test/integration/control/client: $(call o,test/integration/control/client.c)
	$(ld) -o $@ $^

$(B)/test/integration/control/stress: $(call o,test/integration/control/stress.c)
	$(ld) -o $@ $^ -lpthread

$(B)/test/integration/control/image: $(call o,test/integration/control/image.c core/bpf/image/*.c core/bpf/isa/*.c core/base/*.c core/spec/*.c core/bpf/map/def.c)
	$(ld) -o $@ $^ -lpthread

$(B)/test/integration/control/corpus: $(ASM) $(call o,test/integration/control/corpus.c core/bpf/image/*.c core/bpf/isa/*.c core/base/*.c core/spec/*.c core/bpf/map/def.c)
	$(ld) -o $@ $^ -lpthread

$(B)/test/integration/control/images.stamp: $(B)/test/integration/control/image
	$< $(@D)
	@touch $@
