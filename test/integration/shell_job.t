#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# A job is changed whole or not at all: ranks that hang or die are named and
# the rest stays as it was; a second shell, a killed shell, a stale socket.
. "$TOP/test/integration/shell_lib.sh"
need_host "a job as a whole"
trap finish EXIT
cd "$T" || exit 1
cp "$B/policies/force.bpf.o" "$B/policies/noop.bpf.o" .
job four --ranks 4 --procs 4 --rate 300
policies() { # names in use on each process that answers
	timeout 300 "$S" -T 300 -q -o tsv comm list 2>/dev/null | cut -f 11 | sort |
		uniq -c | sed 's/^ *//'
}

status 0 "load" policy load force.bpf.o
status 0 "use" policy use force
all_have_it() { [ "$(policies)" = "4 force" ]; }
await all_have_it
ok "all four decide with it" $?

hung=$(rank_pid four 2)
halt "$hung"
fails 75 timed_out "a rank that hangs: the change times out" -T 3 policy use none
status 75 "reading shows the others and says who is missing" -T 10 comm list
has "with their lines" out "force"
has "naming the rank" err "rank 2"
run -T 10 -o json comm list
lua_run -e 'local d = require "ncclbpf.core".decode(io.read "a").data.processes
assert(#d == 4)
for _, p in ipairs(d) do
	assert((p.rank == 2) == (p.error ~= nil) and (p.rank == 2) == (p.data == nil))
end
' <"$T/out" 2>"$T/why"
ok "JSON has everything: three answers and one error" $?
status 75 "load into a job with a hung rank" -T 0.5 policy load noop.bpf.o
kill -CONT "$hung"
given_back() {
	run -q -o name policy list
	[ "$rc" -eq 0 ] && ! grep -q noop "$T/out"
}
await given_back
ok "and the others have given it back" $?
all_have_it
ok "nothing has changed" $?

# A prompt that is attached while a rank dies
dead=$(rank_pid four 3)
lines() { [ "$(wc -l <"$T/out")" -ge "$1" ]; }
: >"$T/out"
{
	echo 'comm list'
	await lines 4
	kill -KILL "$dead"
	await all_ended "$dead"
	echo 'comm list'
} | timeout 300 "$S" --keep-going -q -o tsv >"$T/out" 2>"$T/err"
[ "$(wc -l <"$T/out")" -eq 7 ]
ok "a rank dies under an attached shell: the rest answers" $?
run list
! ls "$T/s" | grep -q "^four\.3\..*\.$dead\.sock"
ok "list removes the stale socket" $?
touch "$T/s/four.9.4.999999.sock"
run list
[ -e "$T/s/four.9.4.999999.sock" ]
ok "but nothing that is no socket" $?
rm -f "$T/s/four.9.4.999999.sock"
fails 69 no_target "list of a job that does not run" -J nojob list

# a socket whose listener has ended, named after this script's PID: the PID was used again
ns=$(readlink /proc/self/ns/pid | tr -dc 0-9)
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \
	"$T/s/four.9.$ns.$$.sock"
touch -d '1 hour' "$T/s/four.9.$ns.$$.sock" # young, however slow the machine is
run list
[ -e "$T/s/four.9.$ns.$$.sock" ]
ok "a socket of a process that may still start is left" $?
touch -d '1 minute ago' "$T/s/four.9.$ns.$$.sock"
run list
[ ! -e "$T/s/four.9.$ns.$$.sock" ]
ok "a socket whose PID another process has is removed" $?

# several jobs
job other --ranks 1 --procs 1 --rate 100
fails 64 usage "two jobs: which one?" status
status 0 "-J says it" -J other status
echo status | timeout 300 "$S" -o table -J other >"$T/out" 2>"$T/err"
has "-J says it for each line of a stream" out "other, 1 process"
status 0 "-p says it" -p "$(ls "$T/s" | sed -n 's/^other\..*\.\([0-9]*\)\.sock$/\1/p')" status
run -o tsv list
[ "$(grep -c attachable "$T/out")" -eq 4 ]
ok "list shows four processes" $?

# without a profiler there is nothing to compare: said at once
echo 'return { candidate = "none" }' >plan.lua
echo '{"algos": ["ring"], "name": "s"}' >sweep.json
decided() { run -J other -o json status && grep -q '"decisions":[1-9]' "$T/out"; }
await decided
for words in "rollout start plan.lua" "sweep start sweep.json"; do
	# shellcheck disable=SC2086
	fails 2 refused "$words: refused without a profiler" -J other $words
done
status 0 "a trace begins all the same" -J other trace start out=none.json seconds=200ms
has "and says so" err "NCCL has not called the profiler" "NCCL_PROFILER_PLUGIN"

status 0 "samples of a job that has none" -J other -o table sample tail
echo '-n policy use none' | timeout 300 "$S" -J other -o table >"$T/out" 2>"$T/err"
has "options may stand first in a line" out "checked"

# two jobs of one name
job same --ranks 1 --procs 1 --rate 100
job same --ranks 1 --procs 1 --rate 100
both() { run -o tsv list && [ "$(grep -c '^same' "$T/out")" -eq 2 ]; }
await both
for words in list "-J same status" "-J same doctor"; do
	# shellcheck disable=SC2086
	run -o table $words
	has "$words: two jobs of one name are told" out "job same has several processes of rank 0" \
		"set NCCLBPF_JOB"
done

# a process that sees another directory: by its own environment and root
mkdir -m 700 "$T/elsewhere"
NCCLBPF_SOCKET_DIR=$T/elsewhere job far --ranks 1 --procs 1 --rate 100
far=$(ls "$T/elsewhere" | sed -n 's/.*\.\([0-9]*\)\.sock$/\1/p')
status 0 "-p finds the socket where the process has it" -p "$far" status
has "and it is that job" out "far"

# another user
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null &&
	setpriv --reuid=65534 --clear-groups "$S" --version >/dev/null 2>&1; then
	chmod 711 "$T"
	timeout 300 setpriv --reuid=65534 --clear-groups "$S" -J other status >"$T/out" 2>"$T/err"
	[ $? -eq 77 ] && grep -q "belongs to uid 0, this shell has uid 65534" "$T/err"
	ok "a shell of another user is refused, with both uids" $?
	chmod 700 "$T"
	mkdir -m 700 "$T/theirs" && chown 65534 "$T/theirs"
	timeout 300 setpriv --bounding-set=-all --inh-caps=-all "$S" \
		-S "$T/theirs/x.sock" status >"$T/out" 2>"$T/err"
	[ $? -eq 77 ] && grep -q "hint: this shell is root, without CAP" "$T/err" &&
		! grep -q "or as root" "$T/err"
	ok "root without rights is not told to become root" $?
else
	tests=$((tests + 2))
	echo "ok $((tests - 1)) - root without rights # SKIP not root"
	echo "ok $tests - a shell of another user # SKIP" \
		"not root, or the build is out of reach of others"
fi

# two shells at once, and one that is killed
for i in 1 2 3 4 5 6; do
	timeout 10 "$S" -J other -q policy load noop.bpf.o >/dev/null 2>&1 &
	timeout 10 "$S" -J other -q comm list >/dev/null 2>&1 &
done
status 0 "a second shell" -J other status
timeout -s KILL 0.4 "$S" -J other -q map dump nosuch follow=yes 2>/dev/null
timeout -s KILL 0.4 "$S" -J other -q decision tail follow=yes >/dev/null 2>&1
status 0 "a killed shell leaves the job as it was" -J other status

# attach by socket and by process, in a script
cat >two.lua <<'END'
local a = assert(nb.attach { job = "four" })
local b <close> = assert(nb.attach { job = "other" })
assert(#a:status().processes == 3 and #b:status().processes == 1)
assert(a:status().job == "four" and b:status().job == "other")
assert(a:detach().job == "four")
local x, err = a:status()
assert(x == nil and err.code == "no_target")
END
status 0 "one script, two jobs" -f two.lua
messages
