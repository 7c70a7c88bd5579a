#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# trace calls names the call that the scheduler held up: a rank is stopped in
# the midst of ncclAllReduce and goes on 200 ms later. A small libnccl.so.2 of
# this test, loaded into the stand-in's ranks, makes the calls that uprobes see.
# And what it says where one of the capabilities is missing.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "outliers" "the mock NCCL (standin) was not built"
command -v gcc >/dev/null || skip_all "outliers" "no gcc"
trap finish EXIT
cd "$T" || exit 1
cat >nccl.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int stop_now;
#define CALL(name) __attribute__((noinline)) int name(void) { __asm__ volatile(""); return 0; }
CALL(ncclBroadcast) CALL(ncclReduce) CALL(ncclAllGather) CALL(ncclReduceScatter)
CALL(ncclSend) CALL(ncclRecv) CALL(ncclGroupStart) CALL(ncclGroupEnd)
__attribute__((noinline)) int ncclAllReduce(void)
{
	if (stop_now)
		raise(SIGSTOP);
	return 0;
}
static void *calls(void *dir)
{
	char stop[256], done[256], tid[256];
	FILE *f;

	snprintf(tid, sizeof(tid), "%s/tid.%d", (char *)dir, getpid());
	f = fopen(tid, "w");
	if (f) {
		fprintf(f, "%d\n", gettid());
		fclose(f);
	}
	snprintf(stop, sizeof(stop), "%s/stop.%d", (char *)dir, getpid());
	snprintf(done, sizeof(done), "%s/done.%d", (char *)dir, getpid());
	for (int more = 0;;) {
		stop_now = !access(stop, F_OK);
		if (stop_now)
			unlink(stop);
		ncclAllReduce();
		if (stop_now)
			more = 20;
		else if (more && !--more && (f = fopen(done, "w")))
			fclose(f);
		usleep(10000);
	}
	return NULL;
}
static void begin(void)
{
	pthread_t t;

	if (getenv("OUTLIER_DIR"))
		pthread_create(&t, NULL, calls, getenv("OUTLIER_DIR"));
}
/* ranks are children of the stand-in */
__attribute__((constructor)) static void at_forks(void)
{
	pthread_atfork(NULL, NULL, begin);
}
C
gcc -O1 -shared -fPIC -Wl,-soname,libnccl.so.2 -o libnccl.so.2 nccl.c -lpthread 2>why ||
	skip_all "outliers" "no libnccl could be made: $(head -1 why)"
mkdir d
OUTLIER_DIR=$T/d LD_PRELOAD=$T/libnccl.so.2 NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=slow \
	timeout 0 "$B/test/fakes/host/standin" --events --seconds inf --ranks 2 --procs \
	--nccl 2.28.9 --min 4K --max 4K --pause-ms 10 >slow.out 2>&1 &
jobs=$!
await timeout 300 "$S" -q attach slow >/dev/null 2>&1
need "a job: slow" $?
out() { # CODE over d, the data of the JSON answer in $T/FILE
	lua_run -e 'local d = require "ncclbpf.core".decode(io.read "a") d = assert(d.data or d)
		'"$2" <"$T/$1" 2>>"$T/why"
}
without() { # $caps, until the ranks have called NCCL meanwhile
	setpriv --bounding-set="$caps" --inh-caps="$caps" timeout 300 "$S" -J slow \
		-o table trace calls seconds=300ms >out 2>err
	grep -q "events of the call" out
}
lacks() { # NAME CAPS TEXT: without these it says so, and takes NCCL's events
	if ! command -v setpriv >/dev/null ||
			! setpriv --bounding-set="$2" --inh-caps="$2" true 2>/dev/null; then
		tests=$((tests + 1))
		echo "ok $tests - $1 # SKIP no right to give up capabilities"
		return
	fi
	caps=$2
	await without
	has "$1" out "no uprobes: missing: $3" "CPU calls timed by NCCL's events of the call"
}
lacks "without CAP_BPF" -bpf,-sys_admin "CAP_BPF"
grep -q CAP_PERFMON out && echo "# but it names CAP_PERFMON too"
lacks "without CAP_PERFMON" -perfmon,-sys_admin "CAP_PERFMON"
lacks "without both" -bpf,-perfmon,-sys_admin "CAP_BPF and CAP_PERFMON"
if ! lua_run -e '
	local c = require "ncclbpf.core"
	local p, err = c.calls {}
	assert(p, err and err.message)
	p:close()
' 2>why; then
	tests=$((tests + 1))
	echo "ok $tests - a stopped call is named # SKIP no uprobes here:" \
		"$(sed -n '1s/.*: //p' why)"
	exit
fi

pid=$(timeout 300 "$S" -q -J slow -o tsv status |
	awk -F '\t' '$2 ~ /^[0-9]+$/ { p = $2 } END { print p }')
tid=$(cat "d/tid.$pid")
env --default-signal=INT "$S" -T 300 -J slow -o json trace calls seconds=600 >calls.json 2>err &
shell=$!
jobs="$jobs $shell"
# it reads when the uprobes are in place
reads() { timeout 300 "$S" -J slow -o json trace status | grep -q '"traces":1'; }
await reads
touch "d/stop.$pid"
stands() { [ "$(awk '{ print $3 }' "/proc/$pid/stat")" = T ]; }
await stands
sleep 0.2
kill -CONT "$pid"
await test -e "d/done.$pid"
kill -INT $shell
wait $shell
rc=$?
cat err calls.json >why
[ $rc -eq 0 ]
ok "trace calls, while a rank is stopped and goes on" $?
out calls.json 'assert(d.clock == "uprobes" and d.off_cpu.calls >= 1, d.clock)
	-- a busy machine may hold up other calls for longer
	local x
	for _, c in ipairs(d.off_cpu.longest) do
		if c.pid == '"$pid"' and c.tid == '"$tid"' and c.longest_off_ns >= 200000000 then
			x = x or c
		end
	end
	assert(x and x.func == "ncclAllReduce" and (x.rank == 0 or x.rank == 1))
	assert(x.off_ns >= x.longest_off_ns and x.ns >= x.off_ns, x.off_ns)
'
ok "names the call, its rank and thread, and how long it did not run" $?
out calls.json 'assert(d.calls > 10, d.calls)
	for i = 2, #d.off_cpu.longest do
		assert(d.off_cpu.longest[i].off_ns <= d.off_cpu.longest[1].off_ns)
	end
'
ok "of many, the longest first" $?
