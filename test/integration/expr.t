#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# Policies written as Lua functions, from a plain Lua: random ones answer as
# Lua does, every fault has its place; and a file of one on the command line.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
LUA_LIMIT=${LIMIT:-120} lua_run "$TOP/test/integration/expr.lua" >"$T/expr.out" 2>"$T/why"
rc=$?
grep -v '^1\.\.' "$T/expr.out"
tests=$(grep -c '^\(not \)\{0,1\}ok ' "$T/expr.out")
wrong=$(grep -c '^not ok' "$T/expr.out")
ok "the script ran to its end" $rc
cat >big.lua <<'E'
return nb.policy.fn(function(ctx)
	if ctx.bytes >= "4M" then
		ctx.algo = "ring"
	end
end, { name = "big" })
E
status 0 "a file of a function" -q policy build big.lua
has "becomes an image" out "big" "big.policy"
status 0 "dump shows its lines" policy dump big.policy
has "with their place in the file" out 'ctx.algo = "ring"' "big.lua"
sed -i 's/algo = "ring"/algo = ring/' big.lua
status 65 "a fault" policy verify big.lua
has "has file, line and column" err "at big.lua:3:14" "no local ring"
