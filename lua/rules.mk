# SPDX-License-Identifier: MIT
# The Lua module: $(LUA_SO) exports luaopen_ncclbpf_core alone; the Lua half
# (lua/ncclbpf) is found beside it, in $(B)/lua/share for tests.
LUA_OBJ := $(call o,lua/*.c)

$(LUA_SO): $(LUA_OBJ) $(LOAD) $(CORE)
	@mkdir -p $(@D)
	$(CC) -shared $(SAN) $(LDFLAGS) -Wl,-z,relro,-z,now -o $@ $^ \
		$(LOAD_LIBS) $(JSON_LIBS) -lm
