# SPDX-License-Identifier: MIT
# Sourced by lua_rollout.t and lua_rollout_steps.t: a job of the stand-in with three
# communicators that replays times, and the checks of SCRIPT in a plain lua5.4.
. "$TOP/test/integration/shm_room.sh"
shm_room "rollouts as objects" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "rollouts as objects" "the mock NCCL (standin) was not built"
[ -e "$B/examples/rollout/one_channel.bpf.o" ] ||
	skip_all "rollouts as objects" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
export XDG_STATE_HOME="$T/state"
cp "$B/policies/nvlink_ring_mid.policy" "$B/examples/rollout/one_channel.bpf.o" .
{
	grep '^collective' "$TOP/test/fakes/vgpu/b300.csv"
	awk -F, '
		$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }
	' "$TOP/test/fakes/vgpu/b300.csv"
	grep -v '^#\|^collective' "$TOP/test/fakes/vgpu/b300.csv"
} >times.csv
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=staged timeout 0 "$B/test/fakes/host/standin" \
	--ranks 2 --procs --groups 3 --events --seconds inf --pause-ms 2 --min 8M --max 8M \
	--contend slow --table times.csv >job.out 2>&1 &
jobs="$jobs $!"
await timeout 300 "$S" -q attach staged >/dev/null 2>&1
[ $? -eq 0 ] || need "a job" 1
lua_suite "$SCRIPT"
