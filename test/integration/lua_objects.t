#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Policies, communicators, decisions and series as objects, from a plain
# lua5.4, on a job of the stand-in with two communicators that replays times.
. "$TOP/test/integration/shm_room.sh"
shm_room "objects" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "objects" "the mock NCCL (standin) was not built"
[ -e "$B/policies/force.bpf.o" ] || skip_all "objects" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
cp "$B/policies/force.bpf.o" "$B/policies/size_aware.bpf.o" .
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=objects timeout 0 "$B/test/fakes/host/standin" \
	--ranks 2 --procs --groups 2 --events --seconds inf --pause-ms 1 --min 1M --max 4M \
	--factor 4 --table "$TOP/test/fakes/vgpu/b300.csv" >job.out 2>&1 &
jobs="$jobs $!"
await timeout 300 "$S" -q attach objects >/dev/null 2>&1
[ $? -eq 0 ] || need "a job" 1
lua_suite lua_objects.lua
status 0 "the same from a script of the shell" -J objects -e '
	local c = assert(nb.target:comms())[1] return #c.comm == 16 and tostring(c)
'
has "prints in a line" out "comm " " ranks on 1 node, "

# A policy that one process of two has unloaded already
run -J objects policy load size_aware.bpf.o
pid=$("$S" -q -J objects -o json status | grep -o '"pid":[0-9]*' | head -1 | cut -d: -f2)
status 0 "one process unloads a policy" -p "$pid" policy unload size_aware
status 0 "the job unloads it where it is held" -J objects policy unload size_aware
run -J objects policy unload size_aware
[ "$rc" -ne 0 ] && grep -q "no policy size_aware is held" err
ok "where nobody holds it, that is said" $?
