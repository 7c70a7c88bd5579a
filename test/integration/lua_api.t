#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# The Lua interface from a plain lua5.4: files, targets, maps, changes,
# errors as values, misuse raised at the caller.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
for p in force noop size_aware; do cp "$B/policies/$p.bpf.o" .; done
cp "$B/test/corpus/shell/refused.bpf.o" "$B/test/corpus/shell/types.bpf.o" \
	"$B/test/corpus/shell/halves.bpf.o" "$B/policies/gin_pace.bpf.o" \
	"$B/test/corpus/accept/global_function_writes_output.bpf.o" .
# One file, one TAP test a check; the shell's script only counts them.
live=0
if [ -x "$B/test/integration/control/host" ] && [ -e "$B/libncclbpf.so" ]; then
	live=1
	job demo --ranks 4 --procs 4 --rate 300
fi
export LIVE=$live HOST=$job
lua_suite lua_api.lua
lua_run -e 'assert(require("ncclbpf").version and package.loaded["ncclbpf.core"])' 2>"$T/why"
ok "require ncclbpf from a plain Lua" $?
[ $live = 1 ] || exit

# A policy that one process has unloaded already
run -J demo policy load size_aware.bpf.o
pid=$("$S" -q -J demo -o json status | grep -o '"pid":[0-9]*' | head -1 | cut -d: -f2)
status 0 "one process unloads a policy" -p "$pid" policy unload size_aware
status 0 "the job unloads it where it is held" -J demo policy unload size_aware
ends 1 not_found "where nobody holds it, that is said" -J demo policy unload size_aware
