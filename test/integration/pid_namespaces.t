#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Containers that share the socket directory but not their PIDs: each process has PID 1 of a
# namespace of its own, the usual container. Sockets, segment, changes, shells outside and beside
# them, and the end of one of two equal PIDs.
if [ -z "${OWN_NS:-}" ]; then
	probe='mount -t tmpfs x /mnt && unshare --pid --fork --mount-proc true'
	if ! unshare -rm sh -c "$probe" 2>/dev/null; then
		echo "1..0 # SKIP equal PIDs: no namespaces of our own"
		exit 0
	fi
	OWN_NS=1 exec unshare -rm sh "$0"
fi
. "$TOP/test/integration/shell_lib.sh"
need_host "equal PIDs"

# shell ARGS...: from a container beside the job's, which sees none of its processes
beside() {
	unshare --pid --fork --mount-proc timeout 300 "$S" "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	{ echo "status $rc beside: $*"; cat "$T/out" "$T/err"; } >"$T/why"
}
sockets() { ls "$T/s" | grep -c "^$1\..*\.sock\$"; }

job pair --containers --ranks 2 --procs 2
pair=$job
cat "$T/pair.err" >"$T/why"
test "$(sockets pair)" -eq 2
ok "one job over two containers: both processes have a socket" $?
status 0 "a policy is loaded" -J pair policy load "$B/test/integration/control/ring.policy"
status 0 "and used in both" -J pair policy use ring
has "the change is committed" out committed
settled pair
status 0 "the ranks agree" -J pair check agreement
status 0 "list" -o json list
lua_run - "$T/out" >"$T/why" 2>&1 <<-'L'
	local text = io.open(arg[1]):read "a"
	local d = require "ncclbpf.core".decode(text)
	local pids = {}
	for _, p in ipairs(d.data.processes) do
		if p.job == "pair" then
			assert(p.state == "attachable", p.state)
			assert(not pids[p.pid], "the same PID twice")
			assert(p.pid > 1, "a PID of another namespace")
			pids[p.pid] = true
		end
	end
	assert(next(pids, next(pids)), "not two processes")
L
ok "list has two processes, by the PIDs that the shell sees" $?
pid=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$T/out")
status 0 "-p takes such a PID" -p "$pid" status
status 69 "-p 1 is the init that the shell sees" -J pair -p 1 status

beside -J pair -o json status
test $rc -eq 0 && [ "$(grep -o '"decisions":' "$T/out" | wc -l)" -eq 2 ]
ok "a shell in a container beside them asks both" $?
beside list
test $rc -eq 0 && grep -q pair "$T/out" && [ "$(sockets pair)" -eq 2 ]
ok "its list removes no socket" $?
beside -J pair policy use none
test $rc -eq 0 && grep -q committed "$T/out"
ok "and changes both" $?
beside -J pair policy history
test $rc -eq 0 && ! grep -q controllers "$T/out"
ok "which the history says" $?
beside -J pair metrics
test $rc -eq 0 && [ "$(grep -c '^ncclbpf_decisions_total' "$T/out")" -eq 2 ] &&
	! grep -v '^#' "$T/out" | sed 's/ [^ ]*$//' | sort | uniq -d | grep .
ok "metrics has a series for each process, and none twice" $?

job east --containers --ranks 1
status 0 "a job of its own container: load" -J east policy load \
	"$B/test/integration/control/ring.policy"
status 0 "and use" -J east policy use ring
has "it is committed" out committed
run -J east doctor
has "doctor finds nothing" out "1 process"

# peer JOB: the PID of its first process, as this shell sees it
peer() {
	lua_run -e 'local c = require "ncclbpf.core".connect(arg[0], 5) print((c:peer()))' \
		"$(ls "$T/s/$1".*.sock | head -1)" 2>"$T/why"
}
job forks --containers --ranks 1 --fork-after
inode=$(stat -c %i "$T/s/forks".*.sock)
child=$(pgrep -P "$(peer forks)" | head -1)
kill -TERM "$child"
await all_ended "$child"
[ -n "$child" ] && [ "$(stat -c %i "$T/s/forks".*.sock)" = "$inode" ]
ok "the end of a forked child with its parent's PID leaves the parent's socket" $?

victim=$(ls "$T/s" | sed -n 's/^pair\..*\.sock$/&/p' | head -1)
touch -d "1 hour" "$T/s/$victim" # young, however slow the machine is
kill -9 "$(peer pair)"
gone() { "$S" -J pair -o json status 2>/dev/null | grep -q '"processes":1,"why"'; }
await gone
ok "when one of two PIDs 1 dies, the other knows" $?
status 0 "list" list
test "$(sockets pair)" -eq 2
ok "its socket may be one of a process that starts just now" $?
touch -d "1 minute ago" "$T/s/$victim"
status 0 "list, later" list
test "$(sockets pair)" -eq 1
ok "removes it, and the other one stays" $?
finish
