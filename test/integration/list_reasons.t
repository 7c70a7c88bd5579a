#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# A process that has loaded NCCL and no plugin: list says why the shell cannot
# attach to it, and what to change.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1

gcc -shared -x c /dev/null -Wl,-soname,libnccl.so.2 -o libnccl.so.2
cp libnccl.so.2 libncclbpf.so
cp libnccl.so.2 librccl.so.1
# An env within env has it as well; the C library comes behind what is preloaded.
mapped() {
	[ "$(cat "/proc/$pid/comm")" = sleep ] && grep -q '/lib[nr]ccl.so' "/proc/$pid/maps" &&
		grep -q /libc.so "/proc/$pid/maps"
}

# because NAME REASON HINT VARIABLE=VALUE...: list's row of a process with NCCL and these variables
because() {
	name=$1 reason=$2 hint=$3
	shift 3
	env "LD_PRELOAD=$T/libnccl.so.2" "$@" sleep 300 &
	pid=$!
	jobs="$jobs $pid"
	await mapped
	run -o json list
	lua_run - "$pid" "$reason" "$hint" <<'L' >>"$T/why" 2>&1
local file <close> = io.open("out")
local pid, reason, hint = math.tointeger(tonumber(arg[1])), arg[2], arg[3]
for _, row in ipairs(require("ncclbpf.core").decode(file:read "a").data.processes) do
	if row.pid == pid then
		assert(row.state == "no plugin", row.state)
		assert(row.reason:find(reason, 1, true), row.reason)
		assert(hint == "" and not row.hint or row.hint:find(hint, 1, true), row.hint)
		os.exit(0)
	end
end
error "the process is not in the list"
L
	found=$?
	kill "$pid"
	wait "$pid" 2>/dev/null
	ok "$name" $found
}

because "no variable" "NCCL_TUNER_PLUGIN is not set" \
	"start the job with NCCL_TUNER_PLUGIN=/path/to/libncclbpf.so" X=y
because "a path that is wrong" "NCCL_TUNER_PLUGIN=/nowhere/libncclbpf.so: no such file" \
	"correct the path" NCCL_TUNER_PLUGIN=/nowhere/libncclbpf.so
because "a name that the loader may not find" "or NCCL did not accept NCCL_TUNER_PLUGIN=ncclbpf" \
	"set NCCL_TUNER_PLUGIN=/path/to/libncclbpf.so, or look at the job's log" \
	NCCL_TUNER_PLUGIN=ncclbpf
because "a file that NCCL refused" "or NCCL did not accept NCCL_TUNER_PLUGIN=$T/libncclbpf.so" \
	"if it has communicators: look at the job's log" "NCCL_TUNER_PLUGIN=$T/libncclbpf.so"
because "another plugin" "NCCL_TUNER_PLUGIN=other is another plugin" \
	"set NCCL_TUNER_PLUGIN to libncclbpf.so" NCCL_TUNER_PLUGIN=other
because "the plugin is turned off" "NCCLBPF_DISABLE=1" "unset NCCLBPF_DISABLE" NCCLBPF_DISABLE=1
because "the socket is turned off" "NCCLBPF_CONTROL=off" "set NCCLBPF_CONTROL=on" \
	NCCLBPF_CONTROL=off
because "another directory of sockets" "its socket is not in the directories searched" \
	"set NCCLBPF_SOCKET_DIR to the job's value: $T/other" \
	"LD_PRELOAD=$T/libnccl.so.2:$T/libncclbpf.so" "NCCLBPF_SOCKET_DIR=$T/other"
because "a directory of sockets that the job does not set" \
	"its socket is not in the directories searched" \
	"unset NCCLBPF_SOCKET_DIR in this shell: the job does not set it" \
	env -u NCCLBPF_SOCKET_DIR "LD_PRELOAD=$T/libnccl.so.2:$T/libncclbpf.so"
because "the shell's directory, which the job could not use" \
	"its socket is not in the directories searched" \
	"unset NCCLBPF_SOCKET_DIR in this shell: the job does not use that directory" \
	"LD_PRELOAD=$T/libnccl.so.2:$T/libncclbpf.so" "NCCLBPF_SOCKET_DIR=$NCCLBPF_SOCKET_DIR"
because "RCCL, which is AMD's NCCL" "NCCL_TUNER_PLUGIN is not set" \
	"start the job with NCCL_TUNER_PLUGIN=/path/to/libncclbpf.so" "LD_PRELOAD=$T/librccl.so.1"
