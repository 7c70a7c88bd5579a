# SPDX-License-Identifier: MIT
# The verifier against the kernel's.
ORACLE := $(B)/test/differential/oracle/oracle_kernel
tests-full: $(ORACLE)

$(ORACLE): NB_LDFLAGS += -Wl,--wrap=nb_state_subsumes
$(ORACLE): $(call o,test/differential/oracle/*.c test/differential/embedding/*.c) $(ASM) $(CORE)
	$(ld) -o $@ $^ -lpthread
