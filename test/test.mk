# SPDX-License-Identifier: MIT
# What tests are made of. `tests`: what the quick suites run; `tests-full`: what only the others do.
CORPUS := $(patsubst %.bpf.c,$(B)/%.bpf.o,$(shell find test/corpus -name '*.bpf.c'))

include test/unit/unit.mk
include $(wildcard test/fakes/*/rules.mk test/integration/*/rules.mk test/differential/*/rules.mk)
include test/bench/bench.mk examples/demos.mk test/check.mk

.PHONY: tests tests-full unit-tests unit-quick unit-fakes
unit-quick: $(UNIT_QUICK) $(FUZZ) unit-fakes
unit-tests: unit-quick $(UNIT)
tests: $(UNIT_QUICK) $(FUZZ) $(CORPUS) $(EXAMPLES) $(B)/test/nursery docs
# Suites read all objects of a folder: those whose source has gone go, too.
	@find $(B)/policies $(B)/test/corpus -name '*.bpf.o' | while read -r o; do s=$${o#$(B)/}; \
		[ -e "$${s%.o}.c" ] || rm "$$o"; done
tests-full: tests $(UNIT)

# What runs a suite and ends with all that it has started.
$(B)/test/nursery: $(B)/test/nursery.o
	$(ld) -o $@ $^
