#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The start of the site's agent: a program that hangs or fails does not stop
# the job's control thread, and the agent keeps nothing that the job has open.
. "$TOP/test/integration/control/lib.sh"

cat >"$T/hang" <<END
#!/bin/sh
echo \$\$ >>"$T/hangs"
exec sleep 600
END
cat >"$T/fail" <<END
#!/bin/sh
echo \$\$ >>"$T/fails"
exit 7
END
chmod +x "$T/hang" "$T/fail"
lines() { [ "$(wc -l 2>/dev/null <"$2" || echo 0)" -ge "$1" ]; }
child() { [ "$(awk '/^PPid/ { print $2 }' "/proc/$1/status" 2>/dev/null)" = "$HOST" ]; }
no_child() { ! child "$1"; }
# The plugin's log is lines "log ..." of the host's errors.
logged() { grep -q "$1" "$T/host.err"; }

host NCCLBPF_FLEET=http://127.0.0.1:1 NCCLBPF_AGENT="$T/hang" --ranks 1
check "a program that hangs is started" await lines 1 "$T/hangs"
first=$(head -1 "$T/hangs")
ask "status"
says "the process is served beside it" '"ok":true'
check "while it still hangs" child "$first"
check "it is ended and started again" await lines 2 "$T/hangs"
check "the first one is reaped" no_child "$first"
check "the log says why" await logged "$first has not exited for"
kill $(cat "$T/hangs") 2>/dev/null
stop "a job whose agent hangs"
kill $(cat "$T/hangs") 2>/dev/null

host NCCLBPF_FLEET=http://127.0.0.1:1 NCCLBPF_AGENT="$T/fail" --ranks 1
check "a program that fails is started again" await lines 2 "$T/fails"
check "the log has its status" logged "first process ended with status 7"
stop "a job whose agent fails"

# ---- the program itself, beside a job that it stays with ----

NCCLBPF_FLEET=http://127.0.0.1:1
export NCCLBPF_FLEET
host NCCLBPF_AGENT=none --ranks 1
check "a site without an agent is warned of, with the cure" await logged \
	"no agent has run on this site .*Restart=always"
cat >"$T/fork.c" <<'EOF2'
#include <errno.h>
int fork(void)
{
	errno = EAGAIN;
	return -1;
}
EOF2
if cc -shared -fPIC -o "$T/fork.so" "$T/fork.c" 2>"$T/cc"; then
	timeout -k 5 20 env LD_PRELOAD="$T/fork.so" \
		ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" "$B/ncclbpf-agent" \
		--job t --dir "$T/s" --started 2>"$T/said"
	rc=$?
	check "its first process never becomes the agent: without fork it fails" test $rc -eq 1
	check "and says why" grep -q "fork" "$T/said"
else
	skip "a first process that cannot fork" "no compiler for the shim"
fi

# The reader of a pipe sees its end while the agent runs on.
cat >"$T/held.py" <<'EOF2'
import fcntl, os, resource, select, subprocess, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
r, w = os.pipe()
copies = [fcntl.fcntl(w, fcntl.F_DUPFD, at) for at in (40, 1023, 1024, 1500)]
p = subprocess.Popen(sys.argv[1:], pass_fds=copies, stderr=subprocess.DEVNULL)
for fd in [w] + copies:
    os.close(fd)
status = p.wait(20)
ready = select.select([r], [], [], 20)[0]
print("status", status, "the pipe is", "closed" if ready and not os.read(r, 1) else "held")
sys.exit(0 if status == 0 and ready else 1)
EOF2
agent() {
	LC_ALL=C grep -la "^$B/ncclbpf-agent.*$T/s" /proc/[0-9]*/cmdline 2>/dev/null |
		tr -dc '0-9\n'
}
check "a pipe at descriptors up to 1500 is not held by the agent" \
	python3 "$T/held.py" "$B/ncclbpf-agent" --job t --dir "$T/s" --started
runs() { [ -n "$(agent)" ]; }
check "which runs" runs
check "and the job says so" await logged "an agent runs on this site again"
kill $(agent) 2>/dev/null
stop "a job beside an agent"
done_testing
