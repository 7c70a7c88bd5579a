# SPDX-License-Identifier: MIT
# The verifier against a shadow interpreter, and against the kernel's.
ORACLE_CORE := $(call o,core/base/*.c core/spec/*.c core/bpf/isa/*.c core/bpf/map/*.c \
	core/bpf/image/*.c core/bpf/verify/*.c core/bpf/verify/*/*.c)
ORACLE_GEN := $(call o,test/differential/oracle/gen*.c)
ORACLE_SHADOW := $(call o,test/differential/oracle/shadow*.c)

tests-full: $(B)/test/differential/oracle/oracle_shadow $(B)/test/differential/oracle/oracle_kernel \
	$(B)/test/differential/oracle/oracle_held

$(B)/test/differential/oracle/oracle_shadow: $(B)/test/differential/oracle/oracle_shadow.o \
		$(ASM) $(ORACLE_SHADOW) $(ORACLE_GEN) $(ORACLE_CORE)
	$(ld) -o $@ $^ -lpthread

$(B)/test/differential/oracle/oracle_kernel: $(B)/test/differential/oracle/oracle_kernel.o \
		$(B)/test/differential/oracle/kernel.o $(ASM) $(ORACLE_SHADOW) \
		$(ORACLE_GEN) $(ORACLE_CORE)
	$(ld) -o $@ $^ -lpthread

$(B)/test/differential/oracle/oracle_held: $(B)/test/differential/oracle/oracle_held.o \
		$(B)/test/differential/oracle/kernel.o $(ASM) $(ORACLE_CORE)
	$(ld) -o $@ $^ -lpthread
