# SPDX-License-Identifier: MIT
# Examples that are programs, and the demos.
EXAMPLES := $(patsubst %.bpf.c,$(B)/%.bpf.o,$(wildcard examples/*/*.bpf.c)) \
	$(addprefix $(B)/examples/,ring-allreduce/ring_allreduce embed/embed \
	moe-alltoall/moe_alltoall host-signals/host_signals)

# NCCL's net or RMA interface and libc.
$(B)/examples/ring-allreduce/ring_allreduce: $(B)/examples/ring-allreduce/ring_allreduce.o
	$(ld) -o $@ $< -ldl

$(B)/examples/moe-alltoall/moe_alltoall: \
		$(call o,$(addprefix examples/moe-alltoall/moe_,layer.c job.c rma.c))
	$(ld) -o $@ $^ -ldl -lpthread

$(B)/examples/host-signals/host_signals: $(B)/examples/host-signals/host_signals.o
	$(ld) -o $@ $< -lbpf -lelf

# An example that links the core.
$(B)/examples/embed/embed: $(B)/examples/embed/embed.o $(CORE)
	$(ld) -o $@ $^

# What the demos need beside libraries and policies.
.PHONY: hosts
hosts: $(HOST) $(VGPU_TARGETS) $(VGPU_GIN) $(EXAMPLES)

# Demos and benchmarks run the code as it is installed.
RELEASE := $(if $(filter command line,$(origin B)),$(B),build/release)
RELEASE_OF = $(AGAIN) VARIANT=release B=$(RELEASE)

DEMOS := demo demo-coherence demo-ring demo-gin demo-rdma demo-rollout demo-closed-loop demo-fleet \
	demo-trace
.PHONY: $(DEMOS)
$(DEMOS):
	@test/setup.sh build $(if $(filter demo-fleet demo-rdma,$@),check)
	@$(RELEASE_OF) lib policies hosts $(if $(filter demo-rdma,$@),verbs-ring)
	@$(DEMO) $(RELEASE) $(if $(filter demo-rdma demo-trace,$@),build/$@)

## demo: demo             an 8-rank job, a policy loaded while it runs (under 3 min)
demo: DEMO := examples/demo/demo.sh
## demo: demo-coherence   a reload with and without a fence (under 1 min)
demo-coherence: DEMO := examples/coherence/demo.sh
## demo: demo-ring        a ring AllReduce over the net plugin, each step's latency (seconds)
demo-ring: DEMO := examples/ring-allreduce/ring.sh
## demo: demo-gin         experts' all-to-all by puts; the hot expert is paced (under 60 s)
demo-gin: DEMO := examples/moe-alltoall/demo.sh
## demo: demo-rdma        a ring over verbs in a virtual machine with SoftRoCE (2 min)
demo-rdma: DEMO := examples/rdma/demo.sh
## demo: demo-rollout     a policy is promoted where it is better (under 1 min)
demo-rollout: DEMO := examples/rollout/demo.sh
## demo: demo-closed-loop  channels follow the latency on all ranks (under 30 s)
demo-closed-loop: DEMO := examples/closed-loop/demo.sh
## demo: demo-fleet       a job on three sites and a real etcd; agent and store fail (under 1 min)
demo-fleet: DEMO := examples/fleet/demo.sh
## demo: demo-trace       what of a collective was unseen, and a trace (under 20 s)
demo-trace: DEMO := examples/trace/demo.sh
