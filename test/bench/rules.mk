# SPDX-License-Identifier: MIT
# Benchmarks; `make bench` runs them from a release build (test/bench/run.sh).

BENCHES := $(addprefix $(B)/test/bench/,decision empty_tuner.so exec_bench map_bench verify_bench)
tests: $(BENCHES)

$(B)/test/bench/decision: $(call o,test/bench/decision.c test/host/nccl.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -ldl -lm

$(B)/test/bench/empty_tuner.so: $(call o,test/bench/empty_tuner.c)
	$(CC) -shared $(SAN) $(LDFLAGS) -o $@ $^

# Policies as native code: what exec_bench compares machine code with.
BENCH_NATIVE := $(patsubst policies/%.bpf.c,$(B)/test/bench/native/%.o,$(wildcard policies/*.bpf.c))

$(B)/test/bench/native/%.o: policies/%.bpf.c test/bench/native.h
	@mkdir -p $(@D)
	$(CC) -O2 -w -I. -MMD -MP -D_GNU_SOURCE -include test/bench/native.h \
		-c -o $@ $<

$(B)/test/bench/exec_bench: $(B)/test/bench/exec_bench.o $(BENCH_NATIVE) $(CORE)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread

$(B)/test/bench/verify_bench: $(call o,test/bench/verify_bench.c test/bench/verify_made.c) $(CORE)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread
