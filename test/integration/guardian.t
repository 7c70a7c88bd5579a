#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Processes that outlive the one that starts them. A guardian acts when its
# process has ended and not before, also where standard files are closed, and
# nothing happens to a process whose guardian was killed. A detached process
# runs at once, holds no pipe of its starter open, and writes to its log.
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

cat >detach.lua <<'E'
local core = require "ncclbpf.core"
local pid = assert(core.detach(function()
	while not core.stat "go" do core.sleep(0.01) end
	print "said"
	io.stdout:flush()
	local _, own = core.ids()
	assert(core.write("ran", tostring(own)))
	error "its end"
end, "detached.log"))
print(pid)
E
for which in none 0 2; do
	rm -f go ran detached.log
	pid=$(closed $which detach.lua 3>&1 2>why)
	[ -n "$pid" ] && [ ! -e ran ]
	ok "a command substitution does not wait for a detached process; closed: $which" $?
	touch go
	await test -e ran
	[ "$(cat ran)" = "$pid" ]
	ok "it runs, with the PID that was returned; closed: $which" $?
	await grep -q 'its end' detached.log
	[ "$(head -1 detached.log)" = said ]
	ok "what it prints and its error are in the log; closed: $which" $?
done
echo 'print(select(2, require "ncclbpf.core".detach(print, "no/such/log")).code)' >log.lua
[ "$(lua_run log.lua 2>why)" = io ]
ok "a log that cannot be opened is an error" $?

# A process forked later has copies of everything: of the sockets by which
# guardians notice our end, and of what is not yet written.
cat >later.lua <<'E'
local core = require "ncclbpf.core"
io.stdout:setvbuf "full"
io.write "before "
assert(core.guardian(function() core.write("fired", "") end))
assert(core.detach(function()
	io.write "later"
	while not core.stat "go" do core.sleep(0.01) end
	core.write("done", "")
end, "later.log"))
io.write "after"
os.exit(true, false)
E
rm -f fired go done
lua_run later.lua >out 2>why
await test -e fired
[ -e fired ] && [ ! -e done ]
ok "a guardian acts at our end, though a process that we detached lives on" $?
touch go
await test -s later.log
[ "$(cat out)" = "before after" ] && [ "$(cat later.log)" = later ]
ok "what is buffered is written once, by the process that wrote it" $?
