# SPDX-License-Identifier: MIT
# The shell: the Lua module linked in, and the Lua files embedded as text, so
# that the binary runs alone.
SHELL_OBJ := $(call o,shell/*.c)
SHELL_EMBED := $(B)/shell/embed

# A C array of each Lua file, made with od alone.
$(SHELL_EMBED).c: $(LUA_FILES) shell/rules.mk
	@mkdir -p $(@D)
	@{ echo '#include "shell/embed.h"'; \
	for f in $(LUA_FILES); do \
		n=$$(basename $$f .lua); \
		echo "static const unsigned char lua_$$n[] = {"; \
		od -An -v -tu1 $$f | sed 's/\([0-9][0-9]*\)/\1,/g'; \
		echo '};'; \
	done; \
	echo 'const struct nb_embedded nb_embedded[] = {'; \
	for f in $(LUA_FILES); do \
		n=$$(basename $$f .lua); m=ncclbpf.$$n; \
		[ $$n = init ] && m=ncclbpf; \
		echo "{ \"$$m\", lua_$$n, sizeof(lua_$$n) },"; \
	done; \
	echo '{ 0, 0, 0 } };'; } >$@.new && mv $@.new $@

$(SHELL_EMBED).o: $(SHELL_EMBED).c
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(SHELL_BIN): $(SHELL_OBJ) $(SHELL_EMBED).o $(LUA_OBJ) $(LOAD) $(CORE)
	$(CC) $(SAN) $(LDFLAGS) -Wl,-z,relro,-z,now -o $@ $^ $(LOAD_LIBS) \
		$(JSON_LIBS) $(LUA_LIBS) $(EDIT_LIBS) -lpthread -lm
