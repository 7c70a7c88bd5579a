#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# Controllers of a job on two sites: the processes of one site run them, the
# changes of coherent maps reach all ranks of both sites at one fence, and the other
# site takes over when the agent is lost.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "controllers of two sites"
enter_store
store_of loop
ask() { run --fleet "$fleet" -J loop "$@"; }
mkdir -m 700 a b
echo 1 >contend
: >report
NCCLBPF_FLEET="$fleet" NCCLBPF_JOB=loop NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
	NCCLBPF_POLICY="$B/policies/adaptive_channels.policy" NCCLBPF_CONTROLLER_MS=50 \
	NCCLBPF_SOCKET_DIR="$T/a" \
	timeout 0 "$B/test/fakes/host/standin" --ranks 4 --nodes 2 --procs --events --min 64M \
	--max 64M --contend "$T/contend" --report "$T/report" --seconds inf --pause-ms 2 \
	--rank-env 0:RANK=0 --rank-env 1:RANK=1 --rank-env 2:RANK=2 --rank-env 3:RANK=3 \
	--rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" --rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" >log 2>&1 &
job=$!
jobs="$jobs $job"
agent() { # DIR: an agent as a service
	NCCLBPF_FLEET="$fleet" AGENT_TIMES=lease=600000 "$B/ncclbpf-agent" --job loop \
		--dir "$T/$1" >>"agent.$1" 2>&1 &
	agent=$!
	jobs="$jobs $agent"
}
agent a
agent_a=$agent
coordinates() { ctl get --print-value-only $keys/order/coordinator | grep -q "\"site\":\"$1\""; }
sites() { ctl get --prefix --keys-only $keys/site/ | sed -n 's,.*/site/,,p'; }
first_site() { [ "$(sites | wc -l)" -eq 1 ] && coordinates "$(sites)"; }
await first_site
a=$(sites)
ok "the first agent coordinates" $?
agent b
agent_b=$agent
await registered
b=$(sites | grep -vx "$a")
ok "two sites run the job" $?

# the last number of channels in the report, and those that it had, in order
now() { tail -1 report | sed -n 's/.*"channels":\([0-9]*\).*/\1/p'; }
is_now() { [ "$(now)" = "$1" ]; }
path() { sed -n 's/.*"channels":\([0-9]*\).*/\1/p' report | uniq | tr '\n' ' '; }
await is_now 12
ok "the controllers raise the channels to 12" $?
# runs_at SITE: do processes of this site alone run the controllers?
runs_at() {
	ask -o tsv controller status
	awk -F '\t' -v want="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{
			n++
			bad += $h["site"] != want || $h["state"] != "running" || $h["runs"] == 0 ||
				$h["changes"] == 0
		}
		END { exit bad || n != 1 }
	' out
}
await runs_at "$a"
ok "the coordinator's site alone runs them" $?
NCCLBPF_SOCKET_DIR=$T/b run -J loop -o json controller status
! grep -q '"here":true' out && grep -q '"runs":0' out
ok "the other site has run none" $?
echo 10 >contend
await is_now 2
ok "they lower the channels while times are 10 times as long" $?
status 0 "all ranks of both sites decided alike" --fleet "$fleet" -J loop check agreement
path >steps
echo "# channels: $(cat steps)"
# The first steps may precede the communicator's first fence; on a busy machine one fence may carry
# two of them.
grep -qxE '[0-9]+ (2 )?(4 )?(6 )?(8 )?(10 )?12 2 ' steps &&
	awk '{ for (i = 3; i <= NF; i++) if ($i > $(i - 1) + 4) exit 1 }' steps
ok "the channels rise by steps and fall at once, at fences of all ranks" $?
ask -o json policy history
# The job's start, which may come after the first step, has a user.
[ "$(grep -o '"history":\[{[^}]*"uid":null' out | wc -l)" -eq 4 ] &&
	[ "$(grep -o '"user":"' out | wc -l)" -le 4 ]
ok "policy history names no user for them" $?
entries() { # WANT: do all entries of controllers have the site, a process and this outcome
	ask -o tsv audit
	awk -F '\t' -v a="$a" -v want="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		$h["who"] == "controllers" {
			n++
			bad += $h["from"] != a || $h["outcome"] !~ want ||
				$h["why"] !~ /^proposed by process [1-9]/ ||
				$h["line"] !~ /^controller import [0-9a-f]*$/
		}
		END { exit bad || n < 4 }
	' out
}
late="a concurrent change came first|every fence|not answered for"
entries "^(committed as generation [0-9]+|refused: .*($late).*)$"
ok "audit lists the changes of controllers with their outcomes" $?
numbers() { # the numbers of the controllers' changes in their entries, ascending
	ctl get --prefix --print-value-only $data/audit/controllers- | grep -o '"change":[0-9]*' |
		cut -d : -f 2 | sort -n
}
made=$(numbers | tail -1)
[ "$(numbers | tr '\n' ' ')" = "$(seq 1 "$made" | tr '\n' ' ')" ]
ok "each change has one entry" $?
# as if they had made 64 by now: the next ones overwrite the first ones
ctl put $keys/order/stage "$(ctl get --print-value-only $keys/order/stage |
	sed "s/\"controllers\":$made/\"controllers\":64/")" >/dev/null
echo 1 >contend
await is_now 12
more=$(numbers | tail -1)
[ "$more" -gt 64 ] && [ "$(numbers | head -1)" -gt $((more - 64)) ] &&
	[ "$(numbers | wc -l)" -le 64 ]
ok "there are at most 64 of them: the oldest are overwritten" $?
ask -o json audit
grep -q "\"older_by_controllers\":$((more - $(numbers | wc -l)))" out &&
	grep -q '"who":"controllers"' out
ok "audit counts those without an entry" $?

# ---- a user changes the policies between two changes of the controllers ----
echo 10 >contend
await is_now 2
echo 1 >contend
status 0 "a user adds a policy" --fleet "$fleet" -J loop policy add "$B/policies/size_aware.policy"
await is_now 12
ok "the next change of the controllers builds on it" $?
status 0 "both are in use" --fleet "$fleet" -J loop -o tsv status
[ "$(grep -c 'adaptive_channels,size_aware' out)" -eq 4 ]
ok "on all ranks" $?

ctl get --print-value-only $keys/order/commit | grep -q '"controllers":true'
ok "the store says who made the last change" $?

# ---- the coordinator's agent is lost ----
kill -KILL $agent_a
end_lease a loop && await coordinates "$b"
ok "the other site coordinates when the agent's lease has ended" $?
echo 10 >contend
refused() { ask -o tsv controller status; grep -q "site $a has ranks of communicator" out; }
await refused
ok "a change waits for the site without an agent, and the reason is shown" $?
is_now 12
ok "no rank has changed meanwhile" $?
cut() { tr -s '\n ' ' ' <err | grep -o "site [^ ]* has ranks of communicator.*"; }
ask -n policy remove size_aware
dry=$rc
cut >dry
ask policy remove size_aware
[ "$dry" -ne 0 ] && [ "$rc" -eq "$dry" ] && [ -s dry ] && cut | cmp -s - dry
ok "policy remove -n is refused with the words and status of policy remove" $?
agent a
await is_now 2
ok "it is made when that site has an agent again" $?
await runs_at "$b"
ok "the other site runs the controllers" $?
status 0 "and all ranks agree" --fleet "$fleet" -J loop check agreement
kill -TERM $job
wait $job
! grep -qi diverge log
ok "the host saw no divergence" $?
