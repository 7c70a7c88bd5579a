# SPDX-License-Identifier: MIT
# Tests of the control socket: processes that hold the plugin, a client, and
# a maker of policy images that needs neither clang nor the front end.

CONTROL := $(addprefix $(B)/test/control/,host client stress corpus images.stamp)
tests: $(CONTROL)

$(B)/test/control/host: $(call o,test/control/host.c test/host/nccl.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread -ldl -lm

$(B)/test/control/client: $(call o,test/control/client.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^

$(B)/test/control/stress: $(call o,test/control/stress.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread

$(B)/test/control/image: $(call o,test/control/image.c core/image/*.c core/isa/*.c core/base/*.c core/spec/*.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread

$(B)/test/control/corpus: $(call o,test/control/corpus.c core/image/*.c core/isa/*.c core/base/*.c core/spec/*.c)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lpthread

$(B)/test/control/images.stamp: $(B)/test/control/image
	$< $(@D)
	@touch $@
