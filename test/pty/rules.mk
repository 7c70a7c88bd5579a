# SPDX-License-Identifier: MIT
# Tests of the shell: a person at a terminal, and a target that misbehaves.
PTY := $(addprefix $(B)/test/pty/,pty fake)
tests: $(PTY)

$(B)/test/pty/pty: $(B)/test/pty/pty.o
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ -lutil

$(B)/test/pty/fake: $(B)/test/pty/fake.o
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^
