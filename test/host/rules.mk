# SPDX-License-Identifier: MIT
# The stand-in for NCCL, and the check of every tuner interface against it.

HOST := $(addprefix $(B)/test/host/,standin abi_check naive env_host)
tests: $(HOST)

$(B)/test/host/standin: $(call o,test/host/standin.c test/host/nccl.c test/host/prof.c test/host/replay.c core/spec/spec.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread -ldl -lm

$(B)/test/host/abi_check: $(call o,test/host/abi_check.c test/host/nccl.c core/spec/spec.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread -ldl -lm

$(B)/test/host/env_host: $(B)/test/host/env_host.o
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread -ldl

$(B)/test/host/naive: $(call o,test/host/naive.c plugin/begin.c plugin/segment.c core/job/agree.c core/job/bycalls.c core/job/packed.c core/base/err.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread

# Policies that answer well, impossibly and absurdly.
tests: $(patsubst %.bpf.c,$(B)/%.policy,$(wildcard test/corpus/answers/*.bpf.c test/corpus/events/*.bpf.c))

# Net plugins of each version over our TCP, and the host that calls them.
NET_PLUGINS := $(foreach v,5 6 7 8 9 10 11 12,$(B)/test/host/net_plugin_v$v.so)
HOST += $(NET_PLUGINS) $(B)/test/host/net_check
tests: $(NET_PLUGINS) $(B)/test/host/net_check

$(B)/test/host/net_check: $(B)/test/host/net_check.o
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -ldl

$(NET_PLUGINS:.so=.o): $(B)/test/host/net_plugin_v%.o: test/host/net_plugin.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -DABI=$* -c -o $@ $<
$(NET_PLUGINS): %.so: %.o $(call o,plugin/net_tcp.c plugin/net_link.c plugin/net_dev.c)
	$(CC) -shared $(SAN) $(LDFLAGS) -o $@ $^ -lpthread
tests: $(B)/test/host/net_class.bpf.o
