# SPDX-License-Identifier: MIT
# Sourced by shell_*.t: TAP lines, golden files, a socket directory of its
# own, a job of the stand-in host.
S=$B/ncclbpf-shell
T=$(mktemp -d "${TMPDIR:-/tmp}/nbsh.XXXXXX")
mkdir -m 700 "$T/s"
export NCCLBPF_SOCKET_DIR="$T/s" NCCLBPF_HISTORY="$T/history" HOME="$T" TERM=xterm LC_ALL=C.UTF-8
export NCCLBPF_PAGER=
unset XDG_RUNTIME_DIR XDG_CONFIG_HOME XDG_STATE_HOME NCCLBPF_JOB RANK SLURM_JOB_ID NO_COLOR PAGER
tests=0 wrong=0
jobs=
. "$TOP/test/await.sh"
. "$TOP/test/messages.sh"

finish() {
	for p in $jobs; do kill "$p" 2>/dev/null; done
	for p in $jobs; do wait "$p" 2>/dev/null; done
	rm -rf "$T"
	echo "1..$tests"
	[ "$wrong" -eq 0 ]
}

# ok NAME STATUS: one test; the status of what was tried
ok() {
	tests=$((tests + 1))
	if [ "$2" -eq 0 ]; then
		echo "ok $tests - $1"
	else
		wrong=$((wrong + 1))
		echo "not ok $tests - $1"
		[ -s "$T/why" ] && sed 's/^/# /' "$T/why" | head -40
	fi
	: >"$T/why"
}

# skip_all NAME REASON: end a suite that cannot run here
skip_all() {
	trap - EXIT
	for p in $jobs; do kill "$p" 2>/dev/null; done
	echo "1..0 # SKIP $1: $2"
	rm -rf "$T"
	exit 0
}

# run ARGS...: the shell, its output in $T/out and $T/err, status in $rc. On a loaded machine
# answers come late, and a change may be refused $refused times before it is made: ranks were past
# every fence, or a site was late. Such a refusal has changed nothing but the next number.
run() {
	refused=0
	while :; do
		timeout $HANG "$S" -T 300 "$@" >"$T/out" 2>"$T/err" </dev/null
		rc=$?
		[ $rc -eq 75 ] && [ $refused -lt 10 ] && is_late "$T/out" "$T/err" || break
		refused=$((refused + 1))
	done
	{
		echo "status $rc of: $*"
		cat "$T/out" "$T/err"
	} >"$T/why"
}

# status WANT NAME ARGS...
status() {
	want=$1 name=$2
	shift 2
	run "$@"
	[ "$rc" -eq "$want" ]
	ok "$name" $?
}

# fails STATUS CODE NAME ARGS...: an error, or a change of that state (unchangeable), whose words
# are messages of the suite
fails() {
	ends "$@"
	heard "$3" "$T/out"
}

# ends STATUS CODE NAME ARGS...: the same with words that depend on the machine or on time
ends() {
	want=$1 code=$2 name=$3
	shift 3
	run -o json "$@"
	[ "$rc" -eq "$want" ] && grep -qE "\"(error\":\{\"code|state)\":\"$code\"" "$T/out"
	ok "$name" $?
}

# messages: are those of this suite as they are recorded? At the end of a suite.
messages() {
	worded
	ok "the words of all errors are the recorded ones" $?
}

# has NAME FILE TEXT...: does $T/FILE contain each text
has() {
	name=$1 file=$2 miss=0
	shift 2
	for text; do
		grep -qF -e "$text" "$T/$file" || {
			miss=1
			echo "missing: $text" >>"$T/why"
		}
	done
	ok "$name" $miss
}

# What differs between two runs becomes a word: numbers, digests, places.
plain() {
	sed -E -e "s#$T#DIR#g; s#$B#BUILD#g; s#$TOP#TOP#g" \
		-e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g' \
		-e 's/[0-9a-f]{64}/DIGEST/g; s/[0-9a-f]{40}/DIGEST/g; s/\b[0-9a-f]{16}\b/COMM/g' \
		-e 's/\b[0-9a-f]{8}\b/DIGEST/g' \
		-e 's/[0-9]+(\.[0-9]+)?/N/g; s/N(\.\.|-)N/N/g; s/(N,)+N/N/g' \
		-e 's/[ \t]+/ /g; s/ $//' \
		-e '/^note: communicator COMM: .* not passed fence/d' # a matter of time
}

# golden FILE ARGS...: output, errors and status are what the file says.
# GOLDEN=record makes the file.
golden() {
	file=$TOP/test/corpus/golden/shell/$1
	shift
	run "$@"
	{
		plain <"$T/out"
		plain <"$T/err" | sed 's/^/stderr: /'
		echo "status: $rc"
	} >"$T/got"
	[ "${GOLDEN:-}" ] && cp "$T/got" "$file"
	diff -u "$file" "$T/got" >"$T/why" 2>&1
	ok "golden $(basename "$file"): $*" $?
}

# shape FILE ARGS...: the fields and their kinds of a JSON answer. More
# fields than the file has are compatible; one that is missing is not. GOLDEN=write makes the file.
shape() {
	file=$TOP/test/corpus/golden/shell/$1
	shift
	run "$@"
	{
		lua_run "$TOP/test/integration/shell_shape.lua" <"$T/out"
		echo "status: $rc"
	} >"$T/got" 2>&1
	[ "${GOLDEN:-}" = write ] && cp "$T/got" "$file"
	awk '
		NR == FNR { have[$0]; next }
		!($0 in have) { print "missing: " $0; bad = 1 }
		END { exit bad }
	' \
		"$T/got" "$file" >"$T/why" 2>&1
	ok "shape $(basename "$file"): $*" $?
}

# A plain Lua with the module of this build; a sanitized module wants its
# library first.
preload=
for lib in asan tsan; do
	nm -D "$B/lua/ncclbpf.so" 2>/dev/null | grep -q "__${lib}_init" &&
		preload=$(gcc -print-file-name=lib$lib.so)
done
lua_run() {
	LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 \
		LUA_PATH="$TOP/lua/?.lua;$TOP/lua/?/init.lua;;" LUA_CPATH="$B/lua/?.so;;" \
		timeout "${LUA_LIMIT:-$HANG}" lua5.4 "$@"
}

# lua_suite SCRIPT: its tests are tests of this suite. It gets the number of those before it.
lua_suite() {
	lua_run "$TOP/test/integration/$1" $tests >"$T/api.out" 2>"$T/why"
	rc=$?
	cat "$T/api.out"
	tests=$((tests + $(grep -c '^\(not \)\{0,1\}ok ' "$T/api.out")))
	wrong=$((wrong + $(grep -c '^not ok' "$T/api.out")))
	ok "the script ran to its end" $rc
}

# job NAME ARGS...: start the stand-in host as a job; pids in $T/NAME.pids
job() {
	name=$1
	shift
	NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_JOB="$name" timeout 1200 \
		"$B/test/integration/control/host" "$@" >"$T/$name.out" 2>"$T/$name.err" &
	jobs="$jobs $!"
	job=$!
	await grep -q '^ready' "$T/$name.out"
}

# need NAME STATUS: a test without which the following ones say nothing. The suite ends if it fails.
need() {
	ok "$@"
	[ "$2" -eq 0 ] || exit 1
}

# settled JOB: have all its ranks passed the fence of the last change?
settled() {
	NCCLBPF_JOB=$1 timeout $HANG "$S" -q -f "$TOP/examples/demo/passed.lua" >/dev/null 2>&1
}

# pid of a rank of a job
rank_pid() {
	ls "$T/s" | sed -n "s/^$1\.$2\.[0-9]*\.\([0-9]*\)\.sock\$/\1/p"
}

need_host() {
	[ -x "$B/test/integration/control/host" ] && [ -e "$B/libncclbpf.so" ] ||
		skip_all "$1" "no plugin or no stand-in host in the build"
}
