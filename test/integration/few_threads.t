#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# NCCL does not survive a thread that it cannot start. With the real libnccl on
# virtual GPUs, in a control group whose limit just fits NCCL: our thread is not
# the one too many.
. "$TOP/test/integration/shell_lib.sh"
V=$B/test/fakes/vgpu
[ -x "$V/job" ] || skip_all "few threads" "no libnccl and CUDA headers at build time"
group=
for g in "/sys/fs/cgroup/pids$(sed -n 's/^[0-9]*:pids://p' /proc/self/cgroup)" \
	"/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)"; do
	mkdir "$g/nb_threads.$$" 2>/dev/null || continue
	group=$g/nb_threads.$$
	echo 2000 2>/dev/null >"$group/pids.max" && break
	rmdir "$group"
	group=
done
[ -n "$group" ] || skip_all "few threads" "no control group of our own with pids.max"
trap 'finish; empty; rmdir "$group"' EXIT
empty() { # NCCL's threads may outlive their process's status for a moment
	[ "$(cat "$group/pids.current")" -eq 0 ]
}
cd "$T" || exit 1
mkdir tmp
cat >in_group <<-E
	#!/bin/sh
	echo \$\$ >$group/cgroup.procs || exit 1
	exec "\$@"
E
chmod +x in_group

# vgpu LIMIT [NAME=value...]: run a job of two ranks to its end below the limit
vgpu() {
	await empty
	echo "$1" >"$group/pids.max"
	shift
	env "$@" NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=WARN VGPU_CLOCK=virtual TMPDIR="$T/tmp" \
		NCCLBPF_JOB=few timeout -k 5 300 "$T/in_group" env LD_PRELOAD="$V/libvgpu.so" \
		"$V/job" --ranks 2 --procs --min 1M --max 1M --loops 20 --report "$T/report" \
		>"$T/job.out" 2>&1
}
plugins="NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_PROFILER_PLUGIN=$B/libncclbpf.so"

vgpu 2000
rc=$?
why=$(sed -n 's/^vgpu: SKIP: //p' job.out | head -1)
[ -z "$why" ] || { rmdir "$group"; skip_all "few threads" "$why"; }
cp job.out why
ok "NCCL alone runs in a control group" $rc
# the most that NCCL alone has at one time, then the limit that just fits it
most=0
vgpu 2000 &
sampled=$!
while kill -0 $sampled 2>/dev/null; do
	now=$(cat "$group/pids.current")
	[ "$now" -gt $most ] && most=$now
done
wait $sampled
# NCCL's threads do not always all meet
fits() { vgpu $most && vgpu $most && vgpu $most; }
tries=0
raise() {
	until fits || [ $tries -gt 30 ]; do
		most=$((most + 1)) tries=$((tries + 1))
	done
	[ $most -gt 2 ] && [ $tries -le 30 ]
}
raise
ok "a limit that just fits NCCL alone: $most" $?
# one to spare, in case NCCL's threads did not all meet; ours would be two
while :; do
	vgpu $((most + 1)) $plugins
	rc=$?
	cp job.out why
	# a limit at which NCCL alone fails, too, says nothing of the plugin
	[ $rc -ne 0 ] && ! vgpu $((most + 1)) || break
	most=$((most + 1))
	raise || break
done
[ $rc -eq 0 ]
ok "with the plugin the job ends with status 0 below $((most + 1)) as well" $?
has "the log says why there is no control socket" job.out "no control socket: pids.max of" \
	"threads, and NCCL may need 256" "--pids-limit"
has "and no GPU times" job.out "no GPU times: pids.max of control group"
vgpu 2000 $plugins
rc=$?
cp job.out why
[ $rc -eq 0 ] && ! grep -e 'no control socket' -e 'no GPU times' job.out
ok "with room nothing is said" $?
