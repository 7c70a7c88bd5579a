# SPDX-License-Identifier: MIT
# What is made of tables: the documents as they are installed, in $(DOCS), with the tables of
# core/defs/ and of the shell's commands in them; the Lua reference and the manual pages. The types
# for editors go beside the Lua module. Pictures stay in the repository, whose pages show them.
## build: docs              documents with their tables, Lua reference, manual pages
## maintain: docs-trace     docs/tracing.svg anew, of what make demo-trace measures
DOCS := $(B)/docs
.PHONY: docs
docs: $(DOCS)/made docs/architecture.svg docs/choices.svg docs/report.svg

# The shell of this build runs the generators; where they are older than it, they run again.
$(DOCS)/made: $(SHELL_BIN) $(wildcard docs/*.md docs/*.awk docs/*.svg lua/meta/*.lua \
		core/defs/*.h)
	@mkdir -p $(DOCS)/man $(B)/lua/meta
	$(call say,DOC,$(DOCS))cp $(wildcard docs/*.md docs/*.svg) $(DOCS)/
	@awk -f docs/tables.awk docs/reference.md >$(DOCS)/reference.md
	@$(RUN) $(SHELL_BIN) -f lua/meta/make.lua lua/meta/ncclbpf.lua $(B)/lua/meta/ncclbpf.lua \
		$(DOCS)/lua-reference.md $(DOCS)/man/ncclbpf.3lua
	@$(RUN) $(SHELL_BIN) -f lua/meta/man.lua $(DOCS)/man $(DOCS)/shell.md
	@touch $@

docs/architecture.svg: lint/layers.txt docs/rooms.awk
	awk -f docs/rooms.awk lint/layers.txt >$@
docs/choices.svg: test/fakes/vgpu/b300.csv docs/choices.lua | $(SHELL_BIN)
	$(SHELL_BIN) -f docs/choices.lua test/fakes/vgpu/b300.csv >$@

# The picture of docs/rollouts.md: a report of the figures that the demo replays.
docs/report.svg: docs/report.lua test/integration/report_make.lua test/fakes/vgpu/b300.csv \
		$(wildcard lua/ncclbpf/report/*.lua) | $(SHELL_BIN)
	@mkdir -p $(B)/report
	$(SHELL_BIN) -f test/integration/report_make.lua $(B)/report
	$(SHELL_BIN) rollout report out=$(B)/report/r.html data=$(B)/report/one.json \
		label="Published figures of 8 x B300 with chance added; nothing was measured here." \
		>/dev/null
	$(SHELL_BIN) -f docs/report.lua $(B)/report/r.html >$@

# That of docs/tracing.md, of what the demo measures here.
.PHONY: docs-trace
docs-trace: demo-trace
	cp build/demo-trace/trace.svg docs/tracing.svg
