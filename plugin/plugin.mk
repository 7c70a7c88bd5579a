# SPDX-License-Identifier: MIT
# The plugin, the tap in front of libibverbs, and the agent.

# What the agent and the shell have beside it; libncclbpf.so needs libc alone.
STORE := $(call o,plugin/store/*.c) $(B)/plugin/runtime/clock.o
RELAY := $(call o,plugin/relay/*.c)
TAP := $(call o,plugin/tap/*.c)
TCP := $(call o,plugin/tcp/*.c) $(addprefix $(B)/plugin/,abi/gin.o abi/net.o net/props.o runtime/clock.o runtime/nccl.o) $(B)/core/base/ascii.o
PLUGIN := $(filter-out $(addprefix $(B)/plugin/,store/% relay/% agent/% tcp/%) $(TAP),\
	$(call o,plugin/*/*.c plugin/*/*/*.c))
PLUGIN_SO := $(B)/libncclbpf.so
TAP_SO := $(B)/ncclbpf/libncclbpf-verbs.so
TCP_SO := $(B)/libnccl-net-tcp.so
lib: $(PLUGIN_SO) $(TAP_SO) $(TCP_SO)

# The decision path: words put together for one wide store come apart again to
# be used, and that costs more than it saves.
$(B)/plugin/tuner/decide.o $(B)/plugin/abi/%.o: NB_CFLAGS += -fno-tree-slp-vectorize

# Symbols: a version script lets NCCL's names out and hides all others. NCCL closes the
# library with its last communicator, while another thread of the application may be in
# it: one that forks waits in our handler of pthread_atfork. It stays mapped.
$(PLUGIN_SO): $(PLUGIN) $(CORE) plugin/ncclbpf.map
	$(ld) -shared -Wl,--version-script=plugin/ncclbpf.map \
		-Wl,-soname,libncclbpf.so -Wl,-z,relro,-z,now,-z,nodelete -Wl,--no-undefined \
		-Wl,--gc-sections -o $@ $(filter %.o,$^) $(OLD_LIBC)

# NCCL's net, GIN and RMA over TCP. It exports the names of tables that libncclbpf.so exports, and
# must find its own.
$(TCP_SO): $(TCP) plugin/tcp/tcp.map
	$(ld) -shared -Wl,--version-script=plugin/tcp/tcp.map -Wl,-Bsymbolic \
		-Wl,-soname,$(@F) -Wl,-z,relro,-z,now,-z,nodelete -Wl,--no-undefined \
		-Wl,--gc-sections -o $@ $(filter %.o,$^) -lpthread $(OLD_LIBC)

# The tap in front of libibverbs. NCCL opens "libibverbs.so", the tap's soname,
# and finds what the tap lacks in libibverbs.so.1, which the tap needs: it is
# linked with an empty library of that name. In a folder of its own, because
# ldconfig would make it everybody's libibverbs.so.
$(TAP_SO): $(TAP) $(B)/plugin/runtime/clock.o plugin/tap/tap.map
	@mkdir -p $(@D) $(B)/plugin/tap/stub
	@$(CC) -shared -nostdlib -x c /dev/null -Wl,-soname,libibverbs.so.1 \
		-o $(B)/plugin/tap/stub/libibverbs.so
	$(ld) -shared -Wl,--version-script=plugin/tap/tap.map \
		-Wl,-soname,libibverbs.so -Wl,-z,relro,-z,now -Wl,--no-undefined \
		-Wl,--gc-sections -o $@ $(filter %.o,$^) -Wl,--no-as-needed \
		-L$(B)/plugin/tap/stub -libverbs -Wl,--as-needed $(OLD_LIBC)
	@ln -sf $(@F) $(@D)/libibverbs.so

# The agent, one a host of a job whose hosts change together (docs/fleet.md).
AGENT_BIN := $(B)/ncclbpf-agent
AGENT := $(call o,plugin/agent/*.c plugin/agent/*/*.c) $(addprefix $(B)/plugin/,controller/election.o job/fence.o job/gen_numbers.o \
	job/place.o job/registry.o job/segment.o job/startup.o runtime/clock.o runtime/digest.o runtime/jobdir.o \
	runtime/log.o runtime/nccl.o runtime/params.o)
$(AGENT_BIN): $(AGENT) $(STORE) $(RELAY) $(CORE)
	$(ld) -Wl,-z,relro,-z,now -Wl,--gc-sections -o $@ $^ $(STORE_LIBS) $(RELAY_LIBS) -lpthread -ldl
lib: $(AGENT_BIN)
