#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Completion for the user's shell: grammar, formats, files, live names; and
# within the time that people wait.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
touch some.bpf.o other.policy other.json other.txt
mkdir folder

gives() { # name, wanted (blank-separated), words...
	name=$1 want=$2
	shift 2
	given "$@"
	rc=$?
	echo "wanted: $want; got: $got" >"$T/why"
	ok "$name" $rc
}
given() {
	got=$(timeout 300 "$S" __complete "$@" | tr '\n' ' ' | sed 's/ $//')
	[ "$got" = "$want" ]
}
gives_soon() { # the same for live names: a busy job does not answer each time
	name=$1 want=$2
	shift 2
	await given "$@"
	rc=$?
	echo "wanted: $want; got: $got" >"$T/why"
	ok "$name" $rc
}

gives "a noun" "policy" pol
gives "verbs" "diff dump" policy d
gives "formats" "table tsv" -o t
gives "files and folders" "folder/" policy load fo
gives "a policy's file" "some.bpf.o" policy load some
gives "no file that cannot be loaded" "other.json other.policy" policy load other
gives "plans for a rollout" "other.json" rollout start o
gives "the file of an option" "out=other.json out=other.policy out=other.txt" \
	policy build some.bpf.o out=o
gives "options behind the words that must stand" "out=" policy build some.bpf.o o
gives "options" "--job --json" --j
gives "collectives" "allgather allreduce" explain all
gives "collectives where one may stand" "allgather allreduce" choices all
gives "nothing for nonsense" "" frobnicate x
gives "options of a command" "limit=" map dump m lim

if [ -x "$B/test/integration/control/host" ] && [ -e "$B/libncclbpf.so" ]; then
	job demo --ranks 2 --procs 2 --rate 100
	run policy load "$B/policies/force.bpf.o"
	run policy use force
	gives_soon "names of policies" "force" policy use f
	gives_soon "and the word none" "none" policy use n
	gives_soon "names of maps" "force" map dump f
	gives "jobs" "demo" -J d
	hung=$(rank_pid demo 0)
	halt "$hung"
	gives "nothing from a process that hangs" "" map dump f
	# the machine may be busy: one quick answer tells
	quick() {
		start=$(date +%s%N)
		timeout 300 "$S" __complete map dump f >/dev/null
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

# ---- what the words are for, for zsh and fish -----------------------------------

gives "a word and what it is for" "list	List the held policies, and mark the policies in use" \
	--describe policy li
gives "an option and what it is for" "limit=	show at most this many items; all: no limit" \
	--describe map dump m lim
gives "files without a text" "folder/" --describe policy load fo

skip() { # name, reason
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

if command -v fish >/dev/null; then
	fish_gives() { # name, wanted, line
		PATH="$B:$PATH" timeout 300 fish --no-config \
			-c "source $TOP/shell/completion.fish; complete -C '$3'" \
			>"$T/got" 2>"$T/why"
		printf '%s\n' "$2" | sed '/^$/d' | diff - "$T/got" >>"$T/why"
		ok "fish: $1" $?
	}
	fish_gives "a noun with its verbs" "$(timeout 300 "$S" __complete --describe pol)" \
		"ncclbpf-shell pol"
	fish_gives "verbs with what they do" "$(timeout 300 "$S" __complete --describe policy d)" \
		"ncclbpf-shell policy d"
	fish_gives "folders" "folder/" "ncclbpf-shell policy load fo"
	fish_gives "nothing for nonsense" "" "ncclbpf-shell frobnicate x"
else
	skip "fish" "it is not installed"
fi

if command -v zsh >/dev/null && [ -x "$B/test/fakes/terminal/pty" ]; then
	mkdir zfunc && cp "$TOP/shell/completion.zsh" zfunc/_ncclbpf-shell
	cat >zrc <<E
PS1='zsh> '
PATH=$B:\$PATH
fpath=($T/zfunc \$fpath)
autoload -Uz compinit && compinit -u -d $T/zdump
bindkey '^I' complete-word
E
	zsh_types() { # name; the script on standard input
		(cat && printf 'send exit\\n\nstatus 0\n') |
			ZDOTDIR=$T/zhome TERM=dumb timeout 300 "$B/test/fakes/terminal/pty" zsh -f \
			-i >"$T/why" 2>&1
		ok "zsh: $1" $?
	}
	zsh_types "completes a word, and a space behind it" <<E
send . $T/zrc\n
expect zsh>
send ncclbpf-shell pol\tver\t --version\n
expect policy
expect verify
expect --version
expect ncclbpf-shell 0.
E
	zsh_types "shows what the verbs do" <<E
send . $T/zrc\n
expect zsh>
send ncclbpf-shell policy d\t\t
expect dump
expect Disassemble a policy
send \x15
E
	zsh_types "goes on behind an option" <<E
send . $T/zrc\n
expect zsh>
send ncclbpf-shell map dump m lim\t3 --version\n
expect limit=3
expect ncclbpf-shell 0.
E
else
	skip "zsh" "it is not installed"
fi
