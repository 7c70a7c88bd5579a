# SPDX-License-Identifier: MIT
# The stand-in for NCCL, and the check of every tuner interface against it.

HOST := $(B)/test/host/standin $(B)/test/host/abi_check
tests: $(HOST)

$(B)/test/host/standin: $(call o,test/host/standin.c test/host/nccl.c test/host/replay.c core/spec/spec.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread -ldl -lm

$(B)/test/host/abi_check: $(call o,test/host/abi_check.c test/host/nccl.c core/spec/spec.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread -ldl -lm

# Policies that answer well, impossibly and absurdly.
tests: $(patsubst %.bpf.c,$(B)/%.policy,$(wildcard test/corpus/answers/*.bpf.c))
