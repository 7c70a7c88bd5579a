#!/bin/sh
# SPDX-License-Identifier: MIT
# fresh.sh FOLDER: the README's two commands from a clean checkout in an
# empty Debian 12, made by debootstrap in FOLDER. Needs root. TAP.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
root=$1
n=0 bad=0

say() { # status, name, log
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"
		# what failed, then how it ended
		grep -A 45 '^    status [0-9]' "$3" | tail -120 | sed 's/^/#   /'
		tail -30 "$3" | sed 's/^/# /'
		bad=1
	fi
}

if [ "$(id -u)" -ne 0 ]; then
	echo "ok 1 - fresh Debian 12 # SKIP needs root"
	exit 0
fi
# Mounts in a namespace of its own: they end with this process, however.
if [ -z "${FRESH_NS:-}" ]; then
	"$TOP/test/setup.sh" fresh || exit 69
	FRESH_NS=1 exec unshare --mount --propagation private "$0" "$@"
fi
# The mirror that this machine uses already; none is written down here.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | head -1)
clean() {
	for m in proc dev sys; do mountpoint -q "$root/$m" && umount -l "$root/$m"; done
	rm -rf --one-file-system "$root"
}
trap clean EXIT INT TERM
clean
mkdir -p "$root"
debootstrap --variant=minbase --include=make,ca-certificates bookworm "$root" "$mirror" >"$root.log" 2>&1
say $? "debootstrap" "$root.log"
[ $bad -eq 0 ] || exit 1
for f in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d \
	/etc/apt/trusted.gpg.d /usr/share/keyrings /etc/resolv.conf /etc/hosts \
	/usr/local/share/ca-certificates /etc/ssl/certs; do
	[ -e "$f" ] && mkdir -p "$root$(dirname "$f")" && cp -aL "$f" "$root$(dirname "$f")/" 2>/dev/null
done
for m in proc dev sys; do mount --rbind "/$m" "$root/$m" && mount --make-rslave "$root/$m"; done
mkdir -p "$root/src/ncclbpf"
git -C "$TOP" archive HEAD | tar -x -C "$root/src/ncclbpf"
[ -d "$TOP/../shared" ] && cp -a "$TOP/../shared" "$root/src/shared"
# The long hunts have run outside and would find the same here.
for target in demo check; do
	chroot "$root" env -i RERUN="${RERUN:-}" NOT="mutants model proof oracle_ arm64 unit-verify_domains" PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
		timeout 1800 make -C /src/ncclbpf $target >"$root.$target.log" 2>&1
	say $? "make $target in an empty Debian 12" "$root.$target.log"
	tail -4 "$root.$target.log" | sed 's/^/# /'
done
echo "1..$n"
exit $bad
