# SPDX-License-Identifier: MIT
# Tests of the shell: a person at a terminal, and a target that misbehaves.
PTY := $(addprefix $(B)/test/fakes/terminal/,pty fake)
tests: $(PTY)

$(B)/test/fakes/terminal/pty: $(B)/test/fakes/terminal/pty.o
	$(ld) -o $@ $^ -lutil

$(B)/test/fakes/terminal/fake: $(B)/test/fakes/terminal/fake.o
	$(ld) -o $@ $^
