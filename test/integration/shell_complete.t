#!/bin/sh
# SPDX-License-Identifier: MIT
# Completion for the user's shell: grammar, formats, files, live names; and
# within the time that people wait.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
touch some.bpf.o other.policy
mkdir folder

gives() { # name, wanted (blank-separated), words...
	name=$1 want=$2
	shift 2
	got=$(timeout 5 "$S" __complete "$@" | tr '\n' ' ' | sed 's/ $//')
	echo "wanted: $want; got: $got" >"$T/why"
	[ "$got" = "$want" ]
	ok "$name" $?
}

gives "a noun" "policy" pol
gives "verbs" "diff discard dump" policy d
gives "formats" "table tsv" -o t
gives "files and folders" "folder/" policy load fo
gives "a policy's file" "some.bpf.o" policy load some
gives "options" "--job --json" --j
gives "collectives" "allgather allreduce" explain all
gives "nothing for nonsense" "" frobnicate x
gives "options of a command" "limit=" map dump m lim

if [ -x "$B/test/integration/control/host" ] && [ -e "$B/libncclbpf.so" ]; then
	job demo --ranks 2 --procs 2 --rate 100
	run policy load "$B/policies/force.bpf.o"
	run policy use force
	gives "names of policies" "force" policy use f
	gives "and the word none" "none" policy use n
	gives "names of maps" "force" map dump f
	gives "jobs" "demo" -J d
	hung=$(rank_pid demo 0)
	kill -STOP "$hung"
	gives "nothing from a process that hangs" "" map dump f
	# the machine may be busy: one quick answer tells
	quick() {
		start=$(date +%s%N)
		timeout 5 "$S" __complete map dump f >/dev/null
		took=$((($(date +%s%N) - start) / 1000000))
		echo "took $took ms" >"$T/why"
		[ "$took" -lt 400 ]
	}
	await quick
	ok "within the time people wait" $?
	kill -CONT "$hung"
else
	tests=$((tests + 1))
	echo "ok $tests - live names # SKIP no plugin or no stand-in host in the build"
fi
if command -v bash >/dev/null; then
	PATH="$B:$PATH" bash -c '. "$TOP/shell/completion.bash"
	COMP_WORDS=(ncclbpf-shell comm sh) COMP_CWORD=2
	_ncclbpf_shell
	[ "${COMPREPLY[*]}" = show ]' 2>"$T/why"
	ok "the function for bash" $?
fi
