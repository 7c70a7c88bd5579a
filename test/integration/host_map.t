#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Host maps in a job: descriptors of memory files and of maps of the kernel
# reach every process, programs read them with both engines, a controller
# decides by them, and what does not fit is refused and changes nothing.
. "$TOP/test/integration/shell_lib.sh"
need_host "host maps"
W=$B/test/integration/control/host_writer
[ -e "$B/test/corpus/accept/host_map_read.bpf.o" ] || skip_all "host maps" "no clang"
trap finish EXIT
cd "$T" || exit 1
cp "$B/test/corpus/accept/host_map_read.bpf.o" one.bpf.o

# writer NAME KIND...: a writer whose input is descriptor 3 (memory) or 4; its
# source in $T/NAME
writer() {
	to=$1 wname=$2
	shift 2
	rm -f "$T/$wname" "$T/$wname.in"
	mkfifo "$T/$wname.in"
	"$W" "$@" <"$T/$wname.in" >"$T/$wname" 2>"$T/$wname.err" 3>&- 4>&- &
	last=$!
	jobs="$jobs $last"
	case $to in
	3) exec 3>"$T/$wname.in" ;;
	4) exec 4>"$T/$wname.in" ;;
	esac
	ended() { [ -s "$T/$wname" ] || ! kill -0 "$last" 2>/dev/null; }
	await ended
	[ -s "$T/$wname" ]
}
# Do all processes see number $1 in the program's variable, or $2 channels?
seen() {
	run -o tsv -q map get .bss seen
	[ "$(cut -f4 "$T/out" | sort -u)" = "$1" ]
}
limit() {
	run -o tsv -q map get limits 0
	[ "$(cut -f4 "$T/out" | sort -u)" = "$1" ]
}

# What follows waits for what has failed: end here.
must() { [ "$wrong" -eq 0 ] || exit 1; }

for engine in on off; do
	case $engine in on) what="machine code" ;; off) what="interpreter" ;; esac
	NCCLBPF_JIT=$engine NCCLBPF_CONTROLLER_MS=20 \
		job "hosts$engine" --ranks 2 --procs 2 --rate 500
	export NCCLBPF_JOB=hosts$engine
	status 0 "$what: load" policy load one.bpf.o
	status 0 "$what: use" policy use one
	must
	writer 3 memory memory
	ok "$what: a writer" $?
	echo 500 >&3
	run map show host
	status 0 "$what: shown before" -o table map show host
	has "$what: not attached" out "host map: not attached, all zeroes"
	await limit 8
	ok "$what: the controller decides by zeroes" $?
	seen 0
	ok "$what: programs see zeroes" $?
	status 0 "$what: attach" map attach host "$(cat memory)"
	await seen 500
	ok "$what: programs of all processes see the writer's number" $?
	must
	await limit 2
	ok "$what: the controller decides by it" $?
	echo 70 >&3
	await seen 70
	ok "$what: and the next one" $?
	await limit 8
	ok "$what: the controller too" $?
	echo 900 >&3
	await limit 2
	ok "$what: and back" $?
	status 0 "$what: show" -o json map show host
	has "$what: attached, with an age" out '"attached":true' '"age_ns":'
	fails 77 read_only "$what: set" map set host 0 '{written_ns=1}'
	# ---- the writer stops, and ends: its values stay and grow old
	echo stop >&3
	await limit 8
	ok "$what: an old value decides nothing" $?
	seen 900
	ok "$what: it stays" $?
	exec 3>&-
	wait "$last" 2>/dev/null
	seen 900
	ok "$what: also when the writer has ended" $?
	# ---- a version loaded later
	sed 's/seen = s->retransmits/seen = s->retransmits + 1/' \
		"$TOP/test/corpus/accept/host_map_read.bpf.c" >one.bpf.c
	status 0 "$what: another version" policy load one.bpf.c
	status 0 "$what: use it" policy use one
	await seen 901
	ok "$what: it sees the same memory" $?
	status 0 "$what: detach" map detach host
	await seen 1
	ok "$what: zeroes" $?
	status 0 "$what: show" -o json map show host
	has "$what: detached, no age" out '"attached":false' '"age_ns":null'
	fails 1 not_found "$what: detach twice" map detach host
	[ $engine = off ] && break
	kill "$job"
	wait "$job" 2>/dev/null
done

# ---- a writer that dies in mid-update
writer 3 memory memory
dying=$last
echo 500 >&3
status 0 "attach a writer that will die" map attach host "$(cat memory)"
await limit 2
ok "the controller decides by its number" $?
echo "die 600" >&3
await seen 601
ok "it dies in mid-update: observers see the torn value" $?
wait "$dying" 2>/dev/null
await limit 8
ok "nothing is decided by it, however new it is" $?
status 0 "show" -o json map show host
has "it is counted, and has no age" out '"age_ns":null' '"unfinished":1'
status 0 "show" -o table map show host
has "it is said" out \
	"host map: attached, never written; 1 in mid-update: a writer is changing them or has died"
exec 3>&-

# ---- what is refused leaves the map as it is
writer 3 memory memory
echo 42 >&3
status 0 "attach again" map attach host "$(cat memory)"
await seen 43
ok "it is seen" $?
writer 4 open open
fails 64 bad_argument "a file without seals" map attach host "$(cat open)"
exec 4>&-
fails 64 bad_argument "an ordinary file" map attach host "$T/one.bpf.c"
fails 64 bad_argument "a folder" map attach host "$T"
fails 1 not_found "no file" map attach host "$T/nosuch"
fails 64 bad_argument "no number" map attach host id:x
fails 1 not_found "no such host map" map attach limits "$(cat memory)"
fails 1 not_found "a policy's name before it" map attach one/host "$(cat memory)"
seen 43
ok "after all that: the map as it was" $?

# ---- the version loaded last has to fit, older ones need not
sed 's/max_entries, 4/max_entries, 600/' "$TOP/test/corpus/accept/host_map_read.bpf.c" >one.bpf.c
status 0 "a version with a larger map" policy load one.bpf.c
fails 64 bad_argument "does not fit" map attach host "$(cat memory)"
seen 43
ok "the version in use shows what it showed" $?
sed 's/seen = s->retransmits/seen = s->retransmits + 2/' \
	"$TOP/test/corpus/accept/host_map_read.bpf.c" >one.bpf.c
status 0 "a version that fits" policy load one.bpf.c
status 0 "is used" policy use one
status 0 "the older one does not hinder it" map attach host "$(cat memory)"
await seen 44
ok "it sees the memory" $?

# ---- each process by itself
writer 4 other memory
echo 600 >&4
run -o json map show host
one=$(grep -o '"pid":[0-9]*' out | head -1 | cut -d: -f2)
# a process that may map nothing more
as=$(awk '/^VmSize/ { print $2 * 1024 }' "/proc/$one/status")
if prlimit --pid "$one" "--as=$as:" 2>why; then
	ends 74 io "one process has no room for the pages" map attach host "$(cat other)"
	each() {
		run -o tsv -q map get .bss seen
		[ "$(cut -f4 out | sort -n | tr '\n' ' ')" = "44 602 " ]
	}
	await each
	ok "it shows what it showed, the other process the other memory" $?
	prlimit --pid "$one" "--as=unlimited:"
else
	echo "ok $((tests += 1)) - one process without room # SKIP no prlimit"
fi
status 0 "with room again" map attach host "$(cat other)"
await seen 602
ok "all processes show the other memory" $?

exec 4>&-

# ---- maps of the kernel
writer 4 kernel kernel 7000
case $?-$(id -u) in
0-0) ;;
0-*) echo \
	"ok $((tests += 1)) - maps of the kernel # SKIP not root: their numbers cannot be opened" ;;
*) echo "ok $((tests += 1)) - maps of the kernel # SKIP $(sed 's/.*bpf()/bpf()/' kernel.err)" ;;
esac
if [ -s kernel ] && [ "$(id -u)" -eq 0 ]; then
	status 0 "a frozen array" map attach host "$(cat kernel)"
	await seen 7002
	ok "is seen" $?
	exec 4>&-
	writer 4 thawed thawed 1
	fails 64 bad_argument "one that is not frozen" map attach host "$(cat thawed)"
	exec 4>&-
	writer 4 short short 1
	fails 64 bad_argument "one with fewer elements" map attach host "$(cat short)"
	exec 4>&-
	seen 7002
	ok "the map as it was, though its maker has ended" $?
	for user in "" 65534; do
		# kind, mmap read, mmap write, mprotect to write, bpf update
		# Kernels before 5.19 may refuse any bpf() to processes without rights.
		"$W" table $user | sed "${user:+s/^\(open.*\) EPERM\$/\1 ok/}" >table
		cat >want <<-END
			open ok ok EACCES ok
			read-only EINVAL EACCES - EPERM
			frozen ok EPERM EACCES EPERM
		END
		diff -u want table >"$T/why"
		ok "what descriptors allow${user:+, to a process without rights}" $?
	done
	exec 4>&-
fi
messages
