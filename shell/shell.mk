# SPDX-License-Identifier: MIT
# The shell: the Lua module linked in, and the Lua files embedded, compiled, so
# that the binary runs alone.
SHELL_BIN := $(B)/ncclbpf-shell
lib: $(SHELL_BIN)
SHELL_OBJ := $(call o,shell/*.c)
SHELL_EMBED := $(B)/shell/embed

$(SHELL_EMBED).c: $(LUA_FILES) shell/embed.lua shell/shell.mk
	@mkdir -p $(@D)
	@lua5.4 shell/embed.lua $(LUA_FILES) >$@.new && mv $@.new $@

$(SHELL_EMBED).o: $(SHELL_EMBED).c
	$(cc) -c -o $@ $<

$(SHELL_BIN): $(SHELL_OBJ) $(SHELL_EMBED).o $(LUA_OBJ) $(STORE) $(LOADER) $(CORE)
	$(ld) -Wl,-z,relro,-z,now -o $@ $^ $(LOAD_LIBS) \
		$(JSON_LIBS) $(LUA_LIBS) $(EDIT_LIBS) $(SCREEN_LIBS) \
		-lpthread -ldl -lm
