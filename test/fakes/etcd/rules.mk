# SPDX-License-Identifier: MIT
# A site as the shell sees it, beside a real etcd (etcd.sh).
SITE := $(B)/test/fakes/etcd/site
tests: $(SITE)

$(SITE): $(SITE).o $(STORE) $(RELAY) $(call o,plugin/runtime/jobdir.c plugin/runtime/clock.c core/base/*.c core/job/wire/*.c core/spec/*.c)
	$(ld) -o $@ $^ $(STORE_LIBS) $(RELAY_LIBS) -lpthread
