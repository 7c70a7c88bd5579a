#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# A site of a fleet without an agent, or with one that hangs: the job starts none and
# ends none, and says which line starts one.
. "$TOP/test/integration/control/lib.sh"
# The plugin's log is lines "log ..." of the host's errors.
logged() { grep -q "$1" "$T/host.err"; }

NCCLBPF_FLEET=http://127.0.0.1:1
export NCCLBPF_FLEET
host --ranks 1
ask "doctor"
says "doctor says that no agent runs, and which line starts one" '"name":"fleet","level":"bad"' \
	"no agent runs on this site" "ncclbpf-agent --job t --dir $T/s"
check "so does the log" await logged "no agent has run .*ncclbpf-agent --job t --dir $T/s"
[ -z "$(pgrep -P "$HOST")" ]
check "the job has started no process" test $? -eq 0
"$B/ncclbpf-agent" --job t --dir "$T/s" >"$T/agent.log" 2>&1 &
agent=$!
check "with that line an agent runs, and the log says so" await logged \
	"an agent runs on this site again"
kill -STOP $agent
check "an agent that hangs is named, with what to do" await logged \
	"agent $agent has been silent .*kill -CONT $agent"
check "and not killed" kill -0 $agent
kill -CONT $agent
kill $agent
wait $agent 2>/dev/null
stop "a job beside an agent"

# examples/fleet/slurm.sh, with a srun that runs one task and an agent that is killed at first
mkdir "$T/bin"
cat >"$T/bin/srun" <<'END'
#!/bin/sh
while case $1 in --*) ;; *) false ;; esac do shift; done
exec "$@"
END
cat >"$T/bin/ncclbpf-agent" <<END
#!/bin/sh
[ -e "$T/killed" ] && exec touch "$T/again"
touch "$T/killed"
kill -KILL \$\$
END
chmod +x "$T/bin/srun" "$T/bin/ncclbpf-agent"
PATH="$T/bin:$PATH" SLURM_JOB_ID=1 timeout $HANG sh "$TOP/examples/fleet/slurm.sh" sh -c \
	"i=0; while [ ! -e '$T/again' ] && [ \$i -lt $LOOKS ]; do
		i=\$((i + 1)); sleep .1; done; exit 3" \
	>"$T/slurm.log" 2>&1
check "the job script has the job's status" test $? -eq 3
check "and starts an agent that was killed again" test -e "$T/again"
done_testing
