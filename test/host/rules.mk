# SPDX-License-Identifier: MIT
# The stand-in for NCCL, and the check of every tuner interface against it.

HOST := $(addprefix $(B)/test/host/,standin abi_check naive)
tests: $(HOST)

$(B)/test/host/standin: $(call o,test/host/standin.c test/host/nccl.c test/host/prof.c test/host/replay.c core/spec/spec.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread -ldl -lm

$(B)/test/host/abi_check: $(call o,test/host/abi_check.c test/host/nccl.c core/spec/spec.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread -ldl -lm

$(B)/test/host/naive: $(call o,test/host/naive.c plugin/begin.c plugin/segment.c core/job/agree.c core/job/packed.c core/base/err.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread

# Policies that answer well, impossibly and absurdly.
tests: $(patsubst %.bpf.c,$(B)/%.policy,$(wildcard test/corpus/answers/*.bpf.c test/corpus/events/*.bpf.c))
