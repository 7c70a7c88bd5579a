# SPDX-License-Identifier: MIT
# A virtual adapter, and a net plugin over verbs, where libibverbs' header is.
VERBS_HAVE := $(wildcard /usr/include/infiniband/verbs.h)
VERBS_TARGETS := $(if $(VERBS_HAVE),$(addprefix $(B)/test/fakes/verbs/,\
	libibverbs.so.1 libnccl-net-verbs.so tap_check load_check libncclversion.so abi_check.o tune.bpf.o bytes.bpf.o))
# GNU pragmas and unnamed unions of libibverbs' header
$(B)/test/fakes/verbs/%.o: NB_CFLAGS += -Wno-pedantic -Wno-missing-prototypes
$(B)/test/fakes/verbs/adapter.o: NB_CFLAGS += -fvisibility=default

$(B)/test/fakes/verbs/libibverbs.so.1: $(B)/test/fakes/verbs/adapter.o \
		$(B)/test/fakes/verbs/adapter_data.o test/fakes/verbs/adapter.map
	$(ld) -shared -Wl,--version-script=test/fakes/verbs/adapter.map \
	    -Wl,-soname,libibverbs.so.1 -Wl,--no-undefined -o $@ $(filter %.o,$^)
	ln -sf $(@F) $(@D)/libibverbs.so

$(B)/test/fakes/verbs/libnccl-net-verbs.so: $(B)/test/fakes/verbs/net_verbs.o
	$(ld) -shared -o $@ $< -ldl

$(B)/test/fakes/verbs/tap_check: $(addprefix $(B)/test/fakes/verbs/,tap_check.o check.o hostile.o work.o)
	$(ld) -o $@ $(filter %.o,$^) -ldl -lpthread

$(B)/test/fakes/verbs/load_check: $(B)/test/fakes/verbs/load_check.o
	$(ld) -o $@ $< -ldl

$(B)/test/fakes/verbs/libncclversion.so: $(B)/test/fakes/verbs/nccl_version.o
	$(ld) -shared -o $@ $<

# What test/integration/verbs_tap.t needs; check-san has it.
VERBS_POLICIES := $(addprefix $(B)/examples/rdma/,qp_watch.policy step_latency.policy qp_tune.policy)
.PHONY: tap-tests
tap-tests: $(if $(VERBS_HAVE),$(addprefix $(B)/test/fakes/verbs/,libibverbs.so.1 libnccl-net-verbs.so \
	tap_check) $(VERBS_POLICIES) $(B)/examples/ring-allreduce/ring_allreduce $(TAP_SO) $(PLUGIN_SO))

tests: $(VERBS_TARGETS) $(VERBS_POLICIES)

# What examples/rdma/demo.sh needs.
.PHONY: verbs-ring
verbs-ring: $(if $(VERBS_HAVE),$(addprefix $(B)/test/fakes/verbs/,libibverbs.so.1 libnccl-net-verbs.so))
