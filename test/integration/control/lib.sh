# SPDX-License-Identifier: MIT
# For the scripts that test the control socket: a process to talk to, a
# client, TAP lines. Sourced; expects B and TOP as test/run sets them.
set -u
C=$B/test/integration/control
P=$C
T=$(mktemp -d)
chmod 700 "$T"
tests=0 failures=0 HOST=
mkdir -m 700 "$T/s"
. "$TOP/test/await.sh"
. "$TOP/test/messages.sh"

cleanup() {
	[ -n "$HOST" ] && kill -9 "$HOST" 2>/dev/null
	rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

ok() { tests=$((tests + 1)); echo "ok $tests - $1"; }
not_ok() { # name, file of evidence
	tests=$((tests + 1)) failures=$((failures + 1))
	echo "not ok $tests - $1"
	cut -c1-600 "$2" | sed 's/^/# /'
}
skip() { tests=$((tests + 1)); echo "ok $tests - $1 # SKIP $2"; }
check() { # name, command...: does it succeed?
	name=$1
	shift
	if "$@" >"$T/check" 2>&1; then ok "$name"; else
		echo "status $?: $*" >>"$T/check"
		not_ok "$name" "$T/check"
	fi
}
# sh_ STATUS WORDS...: the shell ends with this status; output in $T/out and $T/err. A change that
# is refused because ranks were late is asked for again, at most 10 times, as by `run`.
# SH_OPTIONS: options of every call
SH=$B/ncclbpf-shell
SH_OPTIONS='-o table -J t'
sh_() {
	want=$1
	shift
	refused=0
	while :; do
		timeout $HANG "$SH" --no-rc -T 300 $SH_OPTIONS "$@" >"$T/out" 2>"$T/err"
		rc=$?
		[ $rc -eq "$want" ] && return 0
		[ $rc -eq 75 ] && [ $refused -lt 10 ] && is_late "$T/out" "$T/err" || break
		refused=$((refused + 1))
	done
	echo "status $rc, wanted $want"
	cat "$T/out" "$T/err"
	return 1
}
# told PATTERN...: each is in what the shell said last
told() {
	for text; do
		cat "$T/out" "$T/err" | grep -q -- "$text" || {
			echo "not found: $text"
			cat "$T/out" "$T/err"
			return 1
		}
	done
}
done_testing() {
	echo "1..$tests"
	[ "$failures" -eq 0 ]
}

# Start a host: environment as VAR=VALUE words, then its options. Sets HOST,
# S (its first socket) and the files $T/host.out and $T/host.err.
host() {
	set -- "$@"
	vars=
	while [ $# -gt 0 ]; do
		case $1 in *=*) vars="$vars $1"; shift ;; *) break ;; esac
	done
	: >"$T/host.out" # or the last one's "ready" would do
	env NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/s" \
		NCCLBPF_JOB=t $vars "$C/host" "$@" \
		>"$T/host.out" 2>"$T/host.err" &
	HOST=$!
	started() { grep -q '^ready' "$T/host.out" || ! kill -0 $HOST 2>/dev/null; }
	await started
	S=$(awk '/^socket \// { print $2; exit }' "$T/host.out")
	if [ -z "$S" ] && ! grep -q '^ready' "$T/host.out"; then
		cat "$T/host.err" >>"$T/host.out"
		not_ok "the host starts" "$T/host.out"
		done_testing
		exit 1
	fi
}

# End it; it must have decided alike on all ranks up to its end.
stop() {
	kill -TERM "$HOST" 2>/dev/null
	wait "$HOST"
	rc=$?
	HOST=
	if [ $rc -eq 0 ] && grep -q 'diverged 0$' "$T/host.out"; then
		ok "$1: ranks decided alike to the end"
	else
		{ echo "status $rc"; tail -3 "$T/host.out"
		  grep -v '^log' "$T/host.err" | tail -20; } >"$T/why"
		not_ok "$1: ranks decided alike to the end" "$T/why"
	fi
}

# Decisions made so far, by status.
decisions() {
	echo status | timeout $HANG "$C/client" "$S" |
		sed 's/.*"decisions":\([0-9]*\).*/\1/'
}

# Decisions go on.
more_than() {
	b=$(decisions)
	[ -n "$1" ] && [ -n "$b" ] && [ "$b" -gt "$1" ]
}
alive() {
	a=$(decisions)
	if await more_than "$a"; then
		ok "$1: decisions go on"
	else
		{ echo "from '$a' to '$b'"; tail -5 "$T/host.err"; } >"$T/why"
		not_ok "$1: decisions go on" "$T/why"
	fi
}

# ask LINE...: requests to $S; the replies go to $T/r, the last to R.
ask() {
	for LINE; do :; done # the last one
	printf '%s\n' "$@" | timeout $HANG "$C/client" "$S" >"$T/r" 2>"$T/r.err"
	R=$(tail -n 1 "$T/r")
}

# says NAME TEXT...: each occurs in the last reply.
says() {
	name=$1
	shift
	for text; do
		case $R in
		*"$text"*) ;;
		*)
			{ printf 'not found: %s\n%s\n' "$text" "$R"
			  cat "$T/r.err"; } >"$T/why" 2>&1
			not_ok "$name" "$T/why"
			return
			;;
		esac
	done
	ok "$name"
}

# soon NAME TEXT...: each occurs at last in a reply to the last line that was
# asked: for what ranks do next.
holds() {
	for text; do
		case $R in *"$text"*) ;; *) return 1 ;; esac
	done
}
soon() {
	name=$1
	shift
	ask_again() {
		ask "$LINE"
		holds "$@"
	}
	holds "$@" || await ask_again "$@"
	says "$name" "$@"
}

# refuses NAME CODE LINE...: an error of that code, whose text is one of the suite's messages
refuses() {
	name=$1 code=$2
	shift 2
	ask "$@"
	says "$name" '"ok":false,"error":{"code":"'"$code"'","message":"'
	heard "$name" "$T/r"
}
# messages: are those of this suite as they are recorded? At the end of a suite.
messages() {
	if worded; then ok "the words of all errors are the recorded ones"; else
		not_ok "the words of all errors are the recorded ones" "$T/why"
	fi
}

all_passed() {
	ask "change status"
	printf '%s' "$R" | grep -o '"ranks":[0-9]*,"passed":[0-9]*' |
		awk -F '[:,]' '$2 != $4 { bad = 1 } END { exit bad }'
}
# Wait until every rank has passed the fences of the last change.
settle() {
	await all_passed
}

load() { # policy names
	for p; do
		ask "!fd $P/$p.policy" "policy load $p"
		case $R in *'"ok":true'*) ;; *) echo "# load $p: $R" ;; esac
	done
}
