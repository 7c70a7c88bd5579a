#!/bin/sh
# SPDX-License-Identifier: MIT
# fresh.sh FOLDER: the README's two commands from a clean checkout in an
# empty Debian 12, made by mmdebstrap in FOLDER. Needs root. TAP.
# KEEP=FOLDER: gets copies of the builds, debug and release, as soon as each is made.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
root=$1
. "$TOP/test/packaging/root.sh"
root_enter "$0" "$@"
root_make bookworm make
for f in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d \
	/etc/apt/trusted.gpg.d /usr/share/keyrings /etc/resolv.conf /etc/hosts \
	/usr/local/share/ca-certificates /etc/ssl/certs; do
	[ -e "$f" ] && mkdir -p "$root$(dirname "$f")" &&
		cp -aL "$f" "$root$(dirname "$f")/" 2>/dev/null
done
[ -d "$TOP/../shared" ] && cp -a "$TOP/../shared" "$root/src/shared"
# timed TARGET WHAT COMMAND...: its seconds are in the last lines
timed() {
	name=$1 what=$2 began=$(date +%s)
	shift 2
	root_run "$@" >"$root.$name.log" 2>&1
	say $? "$what in an empty Debian 12" "$root.$name.log"
	took=$(($(date +%s) - began))
	seconds="$seconds$name $took s, " all=$((all + took))
}
seconds='' all=0
# What make check does, in parts.
make="make -C /src/ncclbpf${WERROR:+ WERROR=1}"
timed packages "the packages of make check" /src/ncclbpf/test/setup.sh build check
timed build "the build of make check" $make lib policies tests
keep() { # build
	[ "${KEEP:-}" ] && [ $bad -eq 0 ] || return
	mkdir -p "$KEEP"
	cp -a "$root/src/ncclbpf/build/$1" "$KEEP/$1.new" && mv "$KEEP/$1.new" "$KEEP/$1"
}
keep debug
timed check "make check" $make check
grep '^[0-9]* passed, ' "$root.check.log"
echo "# from a clone to the end of make check: $all s (${seconds%, })"
timed demo "make demo" $make demo
tail -4 "$root.demo.log" | sed 's/^/# /'
keep release
echo "1..$n"
exit $bad
