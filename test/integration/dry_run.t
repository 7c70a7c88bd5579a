#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# -n: what a change would meet, without the change: same checks, same status.
. "$TOP/test/integration/shell_lib.sh"
need_host "dry runs"
trap finish EXIT
cd "$T" || exit 1
[ -e "$B/test/corpus/shell/differs.bpf.o" ] || skip_all "dry runs" "no clang"
cp "$B/policies/force.bpf.o" .

# same STATUS NAME WORDS...: a dry run ends as the command does, and comes first
same() {
	end=$1 what=$2
	shift 2
	status "$end" "$what: dry" -n "$@"
	status "$end" "$what" "$@"
}
generation() { "$S" -o json status </dev/null | sed 's/.*"generation":\([0-9]*\).*/\1/'; }

job dry --ranks 2 --procs 2 --rate 100
same 0 "load" policy load force.bpf.o
was=$(generation)
status 0 "use: dry" -o table -n policy use force
has "every check passed" out "policy use force: checked" "nothing has changed"
[ "$(generation)" = "$was" ]
ok "and nothing changed" $?
status 0 "use" policy use force
same 2 "another generation expected" policy use none if_generation=99
status 75 "unload of what is in use: dry" -n policy unload force
same 75 "unload of what is in use" policy unload force
same 2 "one process of two" -r 0 policy undo
status 0 "the two together" policy undo

# ranks that decide differently: no fence is safe for them
export NCCLBPF_COHERENCE=off NCCLBPF_POLICY="$B/test/corpus/shell/differs.bpf.o"
job apart --ranks 2 --procs 2 --rate 2000 --rounds 900
unset NCCLBPF_COHERENCE NCCLBPF_POLICY
await sh -c '"$0" -J apart check agreement >/dev/null; [ $? -eq 2 ]' "$S"
status 0 "load" -J apart policy load force.bpf.o
ends 2 ranks_disagree "ranks that differ: dry" -n -J apart policy use force
ends 2 ranks_disagree "ranks that differ" -J apart policy use force
