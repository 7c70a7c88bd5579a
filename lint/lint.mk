# SPDX-License-Identifier: MIT
# What tests the repository: format, layers, line lengths, analysers, tables against documents.
SOURCES := $(shell find core lua plugin policies shell test examples \
	\( -name '*.c' -o -name '*.h' \) -not -path '*/defs/*' 2>/dev/null)
C_SOURCES := $(filter-out %.bpf.c policies/%,$(filter %.c,$(SOURCES)))

## maintain: fmt            format the sources
fmt:
	clang-format -i $(SOURCES)

layers:
	@awk -f lint/layers.awk lint/layers.txt $(shell find core lua plugin shell policies \
		examples/embed -name '*.[ch]' -not -path '*/tool/*')

## check: lint            format, layers, line lengths, clang-tidy, cppcheck
lint:
	@test/setup.sh build check lint
	@$(MAKE) --no-print-directory -k -j$(JOBS) lint-format lint-lines lint-lua lint-locale \
		lint-tidy lint-cppcheck lint-opcodes lint-clocks lint-statics lint-built lint-gone \
		lint-words layers lint-suites

.PHONY: layers lint lint-suites fmt
# The checks above refuse what they say; documents, pictures and manual pages are those of the tables.
lint-suites: lib policies $(B)/test/nursery
	@test/run -b $(B) -a -t lint

.PHONY: lint-format lint-lines lint-lua lint-locale lint-tidy lint-cppcheck lint-opcodes \
	lint-clocks lint-statics lint-built lint-gone lint-words
lint-format:
	@clang-format --dry-run -Werror $(SOURCES)
	@echo "format: $(words $(SOURCES)) files"

# No line over 100 columns, no file over 800 lines.
LINED := '*.c' '*.h' '*.lua' '*.sh' '*.t' '*.py' Makefile .ci/run 'shell/completion.*'
lint-lines:
	@git ls-files -z -- $(LINED) | LC_ALL=C xargs -0 awk -f lint/lines.awk

lint-lua:
	@lua5.4 lint/lint.lua $(LUA_FILES) $(wildcard lint/*.lua lua/meta/*.lua shell/*.lua)

# No function whose result depends on the locale of the process.
lint-locale:
	@LC_ALL=C awk -f lint/locale.awk $(shell find core lua plugin shell -name '*.[ch]')

# Jobs and agents have one clock, which tests replace; shell and Lua module have lua/core/wait/clock.c.
lint-clocks:
	@awk -f lint/clocks.awk plugin/runtime/jobdir.c $(shell find $(addprefix plugin/,agent \
		change comm control controller job policies process profiler relay store tuner) \
		lua/core shell -name '*.[ch]' -not -path lua/core/wait/clock.c)

# A static whose name another file has too is one that a search does not find.
lint-statics:
	@awk -f lint/statics.awk lint/statics.txt $(shell find core lua/core plugin shell -name '*.c')

# Words of messages are in golden files; 60 lines of suites look for words, and no more may.
lint-words:
	@LC_ALL=C awk -f lint/words.awk -v MOST=60 $(filter-out test/integration/lint_%, \
		$(wildcard test/integration/*.t test/packaging/*.t))

# What is known of an instruction is a column of its row: few lines of code name it.
lint-opcodes:
	@awk -f lint/opcodes.awk -v LINES=5 -v FILES=5 core/defs/fns.h core/defs/isa.h \
		$(shell find core -name '*.[ch]' -not -path 'core/defs/*')

# What suites run is built for their tier; what is promised has its suites and mutants.
lint-built:
	@python3 lint/built.py
	@python3 lint/capabilities.py

# No document, example or help names a capability that ncclbpf no longer has.
lint-gone:
	@git ls-files -z -- README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs examples policies \
		packaging 'shell/completion*' lua/ncclbpf/commands/topics.lua core/defs/commands.h | \
		LC_ALL=C xargs -0 awk -f lint/gone.awk lint/gone.txt

# Of each function clang's analyzer looks at so many states: its own 225,000, which make check-soak
# has, take five times as long.
TIDY_NODES ?= 20000
TIDY := $(patsubst %.c,$(B)/tidy-$(TIDY_NODES)/%.ok,$(filter core/% lua/% plugin/% shell/%,$(C_SOURCES)))
lint-tidy: $(TIDY)
	@echo "clang-tidy: $(words $(TIDY)) files"
$(B)/tidy-$(TIDY_NODES)/%.ok: %.c .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet --warnings-as-errors='*' $(addprefix --extra-arg=-Xclang --extra-arg=,\
		-analyzer-config max-nodes=$(TIDY_NODES)) $< -- -std=c11 -D_GNU_SOURCE \
		-DNCCLBPF_VERSION='"$(VERSION)"' -I. $(LUA_CFLAGS) 2>$@.log || \
		{ cat $@.log; exit 1; }
	@touch $@

lint-cppcheck:
	@cppcheck -q --std=c11 --inline-suppr --error-exitcode=1 -j$(JOBS) \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=missingInclude \
		--suppress=arrayIndexOutOfBoundsCond:plugin/abi/wrapped_profiler.c \
		-D__x86_64__ -I. $(filter core/% lua/% plugin/% shell/%,$(C_SOURCES))
	@echo "cppcheck: clean"

