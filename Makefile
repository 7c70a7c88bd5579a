# SPDX-License-Identifier: MIT
# One build, not recursive. `make help` lists the targets; what is built, and how, stands in the
# parts that are included below, each beside its sources.
VERSION := 0.1.0
SOVERSION := 0

.DEFAULT_GOAL := all

include core/flags.mk

.PHONY: all lib help clean
all: lib policies docs
# The recipe says nothing where all is built: make itself would say "Nothing to be done".
lib policies hosts verbs-ring:
	@:

# ---- what is built ----
include core/core.mk plugin/plugin.mk policies/policies.mk lua/lua.mk shell/shell.mk test/test.mk \
	lint/lint.mk docs/docs.mk packaging/packaging.mk
PARTS := $(MAKEFILE_LIST)

# ---- help ----
help:
	@awk -f lint/help.awk $(PARTS)

## build: all            libraries, shell, agent and policies
## build: clean          remove build/
clean:
	rm -rf build

-include $(shell find $(B) -name '*.d' 2>/dev/null)
