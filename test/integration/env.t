#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# NCCL's variables through ours: a file, the shell and a program override them,
# each is logged once and never from within a look-up, texts stay where they
# are, and nothing is overridden unless somebody says so.
set -u
dir=$(mktemp -d)
trap 'exec 8>&-; wait 2>/dev/null; rm -rf "$dir"' EXIT
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=env NCCL_ENV_PLUGIN=$B/libncclbpf.so
export NCCL_TEST_PLAIN=plain NCCL_TEST_NUMBER=42 NCCL_TEST_HIDDEN=seen
host=$B/test/fakes/host/env_host
sh=$B/ncclbpf-shell
. "$TOP/test/tap.sh"
log=$dir/out
ask() { # version, lines...
	v=$1
	shift
	printf '%s\n' "$@" | timeout 300 "$host" "$v" >"$dir/out" 2>&1
}
has() { # lines: all of them are there
	for l; do grep -qxF -- "$l" "$dir/out" || return 1; done
}

for v in 1 2; do
	ask $v NCCL_TEST_PLAIN NCCL_TEST_NONE PATH @tuner @keep
	[ $? -eq 0 ] && has "ncclbpf v$v" "init 0" "NCCL_TEST_PLAIN=plain" \
		"NCCL_TEST_NONE is not set" "PATH=$PATH" "tuner 0" \
		"0 of 2 texts have changed" "null: nothing" "finalize 0"
	say $? "v$v: with nothing to override NCCL finds the environment"
	! grep -q 'NCCL finds' "$dir/out"
	say $? "v$v: and the log says nothing of it"
done
NCCLBPF_DISABLE=1 ask 2 NCCL_TEST_PLAIN
[ $? -eq 0 ] && has "NCCL_TEST_PLAIN=plain" "init 0"
say $? "with NCCLBPF_DISABLE=1 too"

# ---- a file

cat >"$dir/file" <<EOF
# what the operator wants
NCCL_TEST_FILE=from the file = yes

  NCCL_TEST_PLAIN=other
unset NCCL_TEST_HIDDEN
NCCL_TEST_EMPTY=
EOF
export NCCLBPF_ENV=$dir/file
for v in 1 2; do
	ask $v NCCL_TEST_FILE NCCL_TEST_PLAIN NCCL_TEST_PLAIN \
		NCCL_TEST_HIDDEN NCCL_TEST_EMPTY NCCL_TEST_NUMBER @tuner \
		NCCL_TEST_PLAIN @tuner @keep
	[ $? -eq 0 ] && has "NCCL_TEST_FILE=from the file = yes" \
		"NCCL_TEST_PLAIN=other" "NCCL_TEST_HIDDEN is not set" \
		"NCCL_TEST_EMPTY=" "NCCL_TEST_NUMBER=42" \
		"0 of 6 texts have changed"
	say $? "v$v: a file's lines"
	finds="log: ncclbpf: NCCL finds"
	[ "$(grep -c "$finds" "$dir/out")" -eq 4 ] && has \
		"$finds NCCL_TEST_PLAIN = other, in place of = plain (file)" \
		"$finds NCCL_TEST_HIDDEN not set, in place of = seen (file)" \
		"$finds NCCL_TEST_FILE = from the file = yes, in place of not set (file)"
	say $? "v$v: each override that NCCL met is logged once: new, old, who"
done
ask 2 NCCL_TEST_FILE @many @tuner
[ $? -eq 0 ] && has "asked by many"
say $? "four threads ask at once"
bad() { # what, line, text of the log
	printf '%s\n' "NCCL_TEST_FILE=x" "$2" >"$dir/bad"
	NCCLBPF_ENV=$dir/bad ask 2 NCCL_TEST_FILE @tuner
	[ $? -eq 0 ] && has "NCCL_TEST_FILE is not set" &&
		grep -q "log: ncclbpf: NCCLBPF_ENV: .*bad:2: $3" "$dir/out"
	say $? "$1: the line is named, no line is taken"
}
bad "no assignment" "what is this" "the line is neither NAME=VALUE nor unset NAME"
bad "no name" "1A=2" '"1A" is not a variable name'
bad "a name with a dash" "A-B=2" '"A-B" is not a variable name'
bad "a long name" "$(printf 'N%.0s' $(seq 64))=1" "the name has 64 characters (allowed: 63)"
bad "a long value" "N=$(printf 'v%.0s' $(seq 1024))" \
	"N: the value has 1024 characters (allowed: 1023)"
bad "a longer line" "N=$(printf 'v%.0s' $(seq 3000))" "the line is too long"
bad "control characters" "$(printf 'N=a\tb')" "N: the value has control characters"
NCCLBPF_ENV=$dir/missing ask 2 NCCL_TEST_FILE @tuner
[ $? -eq 0 ] && has "NCCL_TEST_FILE is not set" &&
	grep -q "NCCLBPF_ENV: .*missing: No such file" "$dir/out"
say $? "no such file: said, and NCCL finds the environment"

# ---- a program

unset NCCLBPF_ENV
if [ -e "$B/test/corpus/events/env.policy" ]; then
	export NCCLBPF_POLICY=$B/test/corpus/events/env.policy
	ask 2 NCCL_TEST_PLAIN NCCL_TEST_REPLACED NCCL_TEST_HIDDEN \
		NCCL_TEST_NUMBER NCCL_TEST_NUMBER NCCL_TEST_ABSURD \
		NCCL_TEST_CONTROL @many @tuner @tuner @keep
	[ $? -eq 0 ] && has "NCCL_TEST_PLAIN=plain" \
		"NCCL_TEST_REPLACED=by the program" \
		"NCCL_TEST_HIDDEN is not set" "NCCL_TEST_NUMBER=4242" \
		"NCCL_TEST_ABSURD is not set" "NCCL_TEST_CONTROL is not set" \
		"0 of 4 texts have changed"
	say $? "a program's answers; absurd ones are not taken"
	[ "$(grep -c 'NCCL finds NCCL_TEST_NUMBER = 4242, in place of = 42 (policy)' "$dir/out")" \
		-eq 1 ] &&
		[ "$(grep -c 'NCCL finds NCCL_TEST_REPLACED' "$dir/out")" -eq 1 ]
	say $? "each logged once, also where the logger itself asks"
	NCCLBPF_JIT=off ask 1 NCCL_TEST_REPLACED NCCL_TEST_NUMBER
	has "NCCL_TEST_REPLACED=by the program" "NCCL_TEST_NUMBER=4242"
	say $? "interpreted, through v1"
	echo "NCCL_TEST_NUMBER=7" >"$dir/file"
	NCCLBPF_ENV=$dir/file ask 2 NCCL_TEST_NUMBER
	has "NCCL_TEST_NUMBER=7"
	say $? "a program sees the file's value, not the environment's"
	! grep -q "find different variables" "$dir/out"
	say $? "no warning of a program that is the same on all ranks"
	random=$B/test/corpus/shell/env_random.bpf.o
	NCCLBPF_POLICY=$random ask 2 NCCL_TEST_PLAIN @tuner
	differs='program on_env of SEC("env") may let ranks find different variables'
	grep -q "policy env_random: $differs: .*bpf_get_prandom_u32 answers each rank differently" \
		"$dir/out"
	say $? "a warning of one that answers at random"
	NCCLBPF_POLICY=$B/test/corpus/shell/env_local_map.bpf.o ask 2 NCCL_TEST_PLAIN @tuner
	grep -q "policy env_local_map: $differs: .*map chosen is not __coherent" "$dir/out"
	say $? "a warning of one that answers by a local map"
	NCCLBPF_POLICY=$B/test/corpus/shell/env_alike.bpf.o ask 2 NCCL_TEST_PLAIN @tuner
	! grep -q "find different variables" "$dir/out"
	say $? "no warning where local data are recorded and do not decide"
	unset NCCLBPF_POLICY
else
	n=$((n + 1))
	echo "ok $n - a program's answers # SKIP no compiler for BPF"
fi

# ---- the shell

mkfifo "$dir/in"
timeout 300 "$host" 2 <"$dir/in" >"$dir/out" 2>&1 &
exec 8>"$dir/in"
line() { [ "$(grep -cxF -- "$1" "$dir/out")" -eq "$2" ]; }
sh_() { timeout 300 "$sh" "$@" >"$dir/said" 2>&1; }
echo NCCL_TEST_PLAIN >&8
await line "NCCL_TEST_PLAIN=plain" 1
say $? "a process that NCCL has begun to ask"
sh_ -o json env set NCCL_TEST_PLAIN "from the shell" &&
	grep -q '"value":"from the shell","by":"shell","met":false' "$dir/said"
say $? "env set"
echo NCCL_TEST_PLAIN >&8
await line "NCCL_TEST_PLAIN=from the shell" 1
say $? "NCCL finds it at its next look"
sh_ -o json env list && grep -q '"in_use":true,"asked":[1-9]' "$dir/said" &&
	grep -q '"met":true,"old":"plain"' "$dir/said"
say $? "env list has both values"
sh_ -o table env list && grep -q 'NCCL_TEST_PLAIN  *from the shell  *shell  *plain' "$dir/said"
say $? "and as a table"
sh_ env unset NCCL_TEST_PLAIN
echo NCCL_TEST_PLAIN >&8
await line "NCCL_TEST_PLAIN is not set" 1
say $? "env unset"
sh_ env remove NCCL_TEST_PLAIN
echo NCCL_TEST_PLAIN >&8
await line "NCCL_TEST_PLAIN=plain" 2
say $? "env remove"
for wrong in "set 1A x" "set A-B x" "forget NCCL_NEVER" "unset"; do
	sh_ env $wrong
	[ $? -ne 0 ]
	say $? "env $wrong: refused"
done
many=$(printf 'v%.0s' $(seq 1000))
for i in $(seq 70); do
	echo "env set NCCL_TEST_BIG ${many}$i"
done >"$dir/lines"
timeout 300 "$sh" --keep-going <"$dir/lines" >"$dir/said" 2>&1
grep -q "65536 bytes of values are in use" "$dir/said"
say $? "values are bounded, and it is said"
echo @keep >&8
await grep -q '^0 of 3 texts have changed' "$dir/out"
say $? "texts that NCCL was given have not moved"
exec 8>&-
wait
echo "1..$n"
