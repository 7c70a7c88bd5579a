#!/bin/sh
# SPDX-License-Identifier: MIT
# fresh.sh FOLDER: the README's two commands from a clean checkout in an
# empty Debian 12, made by debootstrap in FOLDER. Needs root. TAP.
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
for target in demo check; do
	root_run make -C /src/ncclbpf $target >"$root.$target.log" 2>&1
	say $? "make $target in an empty Debian 12" "$root.$target.log"
	tail -4 "$root.$target.log" | sed 's/^/# /'
done
echo "1..$n"
exit $bad
