#!/bin/sh
# SPDX-License-Identifier: MIT
# The guardian of a sweep: it acts when its process has ended and not before,
# also where standard files are closed; and nothing happens to a process whose
# guardian was killed.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
cat >made.lua <<'E'
core = require "ncclbpf.core"
g = assert(core.guardian(function() io.open("fired", "w"):close() end))
E
cat >well.lua <<'E'
dofile "made.lua"
g:done() -- and it has ended
if not io.open "fired" then io.open("well", "w"):close() end
E
cat >dies.lua <<'E'
dofile "made.lua"
os.exit(7, false)
E
closed() { # WHICH FILE: run FILE with these standard files closed
	case $1 in
	none) lua_run "$2" ;;
	0) lua_run "$2" <&- ;;
	1) lua_run "$2" >&- ;;
	2) lua_run "$2" 2>&- ;;
	all) lua_run "$2" <&- >&- 2>&- ;;
	esac
}
for which in none 0 1 2 all; do
	rm -f fired well
	closed $which well.lua >why 2>&1
	[ $? -eq 0 ] && [ -e well ]
	ok "it does nothing where all is well; closed: $which" $?
	closed $which dies.lua >why 2>&1
	[ $? -eq 7 ] && await test -e fired
	ok "it acts at the end of its process; closed: $which" $?
done

cat >killed.lua <<'E'
dofile "made.lua"
os.execute("kill -9 " .. g:pid())
local function state() -- Z: its files are closed
	local f <close> = assert(io.open("/proc/" .. g:pid() .. "/stat"))
	return f:read("a"):match "%) (%a)"
end
while state() ~= "Z" do core.sleep(0.01) end
g:done()
print "lives"
E
rm -f fired
lua_run killed.lua >out 2>why
[ $? -eq 0 ] && [ "$(cat out)" = lives ] && [ ! -e fired ]
ok "a guardian that was killed takes nobody along" $?
