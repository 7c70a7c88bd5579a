# SPDX-License-Identifier: MIT
# The stand-in for NCCL, and the check of every tuner interface against it.

HOST := $(addprefix $(B)/test/fakes/host/,standin abi_check naive env_host)
tests: $(HOST)

$(B)/test/fakes/host/standin: $(call o,test/fakes/host/standin.c test/fakes/host/standin_options.c test/fakes/host/nccl.c test/fakes/host/prof.c test/fakes/host/replay.c core/base/ascii.c core/spec/spec.c)
	$(ld) -Wl,--export-dynamic-symbol=ncclGetVersion -o $@ $^ -lpthread -ldl -lm

$(B)/test/fakes/host/abi_check: $(call o,test/fakes/host/abi_check.c test/fakes/host/nccl.c core/base/ascii.c core/spec/spec.c)
	$(ld) -o $@ $^ -lpthread -ldl -lm

# RCCL as plugins know it, the same without HIP, which is an NCCL, and HIP alone.
HOST_LIBRARIES := $(addprefix $(B)/test/fakes/host/,librccl.so.1 libnccl_alone.so libamdhip64.so.7)
tests unit-fakes: $(HOST_LIBRARIES)
$(B)/test/fakes/host/librccl.so.1: $(call o,test/fakes/host/rccl.c test/fakes/host/hip.c)
$(B)/test/fakes/host/libnccl_alone.so: $(call o,test/fakes/host/rccl.c)
$(B)/test/fakes/host/libamdhip64.so.7: $(call o,test/fakes/host/hip.c)
$(HOST_LIBRARIES):
	$(ld) -shared -Wl,-soname,$(@F) -o $@ $^

$(B)/test/fakes/host/env_host: $(B)/test/fakes/host/env_host.o
	$(ld) -o $@ $^ -lpthread -ldl

# NCCL's calls of a tuner for a program in another language (test/packaging/torchrun_train.py).
tests-full: $(B)/test/fakes/host/libstandin.so
$(B)/test/fakes/host/nccl.o: NB_CFLAGS += -fvisibility=default
$(B)/test/fakes/host/libstandin.so: $(B)/test/fakes/host/nccl.o
	$(ld) -shared -o $@ $^ -ldl -lm

$(B)/test/fakes/host/naive: $(call o,test/fakes/host/naive.c plugin/job/startup.c plugin/job/segment.c plugin/job/registry.c plugin/job/gen_numbers.c core/base/file_limit.c core/base/liveness.c plugin/runtime/clock.c core/job/segment/agree.c core/job/segment/alive.c core/job/segment/bycalls.c core/job/segment/packed.c core/base/err.c)
	$(ld) -o $@ $^ -lpthread

# Policies that answer well, impossibly and absurdly.
tests: $(patsubst %.bpf.c,$(B)/%.policy,$(wildcard test/corpus/answers/*.bpf.c test/corpus/events/*.bpf.c))

# Net plugins of each version over our TCP, and the host that calls them.
NET_PLUGINS := $(foreach v,6 7 8 9 10 11 12,$(B)/test/fakes/host/net_plugin_v$v.so)
HOST += $(NET_PLUGINS) $(B)/test/fakes/host/net_check
tests: $(NET_PLUGINS) $(B)/test/fakes/host/net_check

$(B)/test/fakes/host/net_check: $(B)/test/fakes/host/net_check.o
	$(ld) -o $@ $^ -ldl

$(NET_PLUGINS:.so=.o): $(B)/test/fakes/host/net_plugin_v%.o: test/fakes/host/net_plugin.c
	@mkdir -p $(@D)
	$(cc) -DABI=$* -c -o $@ $<
$(NET_PLUGINS): %.so: %.o $(call o,$(addprefix plugin/tcp/,devices.c join.c link.c log.c net.c) plugin/runtime/clock.c plugin/runtime/nccl.c) \
		test/fakes/host/net_plugin.map
	$(ld) -shared -Wl,--version-script=test/fakes/host/net_plugin.map -o $@ $(filter %.o,$^) \
		-lpthread
tests: $(B)/test/fakes/host/net_class.bpf.o
