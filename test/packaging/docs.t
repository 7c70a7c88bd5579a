#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Every command in README.md and docs/*.md is run (of make the targets are
# looked up): the ```sh blocks of a page, in order, in one shell, in a folder of
# its own, beside a live job (the
# stand-in for NCCL). The tested build is installed there (install_release.t has
# `make install`); /usr/local means that place; torchrun starts the stand-in. C
# blocks are saved under the name that the text gives them.
set -u
dir=$(mktemp -d)
job=
trap 'kill $job 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
unset V MAKEFLAGS
prefix=$dir/prefix
. "$TOP/test/tap.sh"

make -C "$TOP" install-files B="$B" PREFIX="$prefix" >"$dir/install.log" 2>&1
say $? "make install-files" "$dir/install.log"

export NCCLBPF_SOCKET_DIR=$dir/run NCCL_TUNER_PLUGIN=$prefix/lib/libncclbpf.so
export NCCL_PROFILER_PLUGIN=$NCCL_TUNER_PLUGIN
mkdir -m 700 "$dir/run"
timeout 0 "$B/test/fakes/host/standin" --ranks 8 --procs --events --seconds inf \
	--pause-ms 200 >"$dir/job.log" 2>&1 &
job=$!
eight() { [ "$(ls "$dir/run" | grep -c 'sock$')" -ge 8 ]; }
await while_lives $job eight

# What stands for commands that cannot run inside a test. Of a make here only the targets are
# looked up.
make -C "$TOP" -pqn help 2>"$dir/make.log" |
	sed -n 's/^\([a-z][a-z0-9_-]*\):.*/\1/p' >"$dir/targets"
[ -s "$dir/targets" ]
say $? "make lists its targets" "$dir/make.log"
cat >"$dir/functions" <<F
targets=$dir/targets
F
cat >>"$dir/functions" <<'F'
make() {
	case "${1:-}" in
	-C)
		(unset B; command make "$@")
		return
		;;
	esac
	for word; do
		case $word in
		*=*) ;;
		*)
			grep -qx -e "$word" "$targets" && continue
			echo "make has no target $word"
			return 1
			;;
		esac
	done
}
torchrun() {
	NCCLBPF_JOB=torchrun timeout 300 "$B/test/fakes/host/standin" --ranks 8 --procs --loops 2
}
F

# A certificate for those who serve by TLS.
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 \
	-keyout "$dir/host.key" -out "$dir/host.pem" 2>"$dir/openssl.log"

page() { # file
	name=$(printf '%s' "${1#"$TOP"/}" | tr / - | sed 's/\.md$//')
	mkdir -p "$dir/$name"
	cp "$dir/functions" "$dir/$name/run.sh"
	cp "$dir/host.pem" "$dir/host.key" "$dir/$name/"
	awk -v d="$dir/$name" '
		match($0, /`[a-z_0-9]+\.bpf\.c`/) && !block {
			file = substr($0, RSTART + 1, RLENGTH - 2)
		}
		/^```/ && block {
			if (block == "c" && code) codes[++nc] = code
			block = ""
			code = ""
			next
		}
		/^```/ { block = substr($0, 4); next }
		block == "c" { code = code $0 "\n" }
		block == "sh" { print >>(d "/commands") }
		match($0, /Save it as `[^`]*`/) {
			f = substr($0, RSTART + 12, RLENGTH - 13)
			printf "%s", codes[nc] >(d "/" f)
		}
	' "$1"
	[ -s "$dir/$name/commands" ] || return
	sed "s#/usr/local#$prefix#g" "$dir/$name/commands" | while IFS= read -r line; do
		case $line in
		'' | '#'*) echo "$line" ;;
		*) printf '%s\n' "$line || { echo 'failed: $(printf '%s' "$line" |
			sed "s/'/ /g")'; exit 1; }" ;;
		esac
	done >>"$dir/$name/run.sh"
	(cd "$dir/$name" && PATH="$prefix/bin:$PATH" timeout 300 sh run.sh) >"$dir/$name.log" \
		2>&1 </dev/null
	say $? "$(grep -cv '^$' "$dir/$name/commands") lines of ${1#"$TOP"/}" "$dir/$name.log"
}

for f in "$TOP"/README.md "$TOP"/CONTRIBUTING.md "$TOP"/docs/*.md "$TOP"/examples/*/README.md; do
	[ -f "$f" ] && page "$f"
done
loose=$(grep -nE '^    (ncclbpf-shell|make|clang) ' "$TOP"/README.md "$TOP"/docs/*.md)
echo "$loose" >"$dir/loose.log"
[ -z "$loose" ]
say $? "no command stands outside an sh block" "$dir/loose.log"
echo "1..$n"
exit $bad
