# SPDX-License-Identifier: MIT
# Benchmarks; `make bench` runs them from a release build (test/bench/run.sh).

tests: $(B)/test/bench/decision $(B)/test/bench/empty_tuner.so

$(B)/test/bench/decision: $(call o,test/bench/decision.c test/host/nccl.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -ldl -lm

$(B)/test/bench/empty_tuner.so: $(call o,test/bench/empty_tuner.c)
	$(CC) -shared $(SAN) $(LDFLAGS) -o $@ $^
