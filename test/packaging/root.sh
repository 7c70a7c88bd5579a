# SPDX-License-Identifier: MIT
# Sourced: an empty Debian in a folder of its own, made by debootstrap. The
# caller sets TOP and root; its arguments are "$@". TAP.
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

root_clean() {
	for m in proc dev sys; do mountpoint -q "$root/$m" && umount -l "$root/$m"; done
	rm -rf --one-file-system "$root"
}

# Ends the script with a skip without root. Mounts get a namespace of their
# own, so they end with this process, however it ends.
root_enter() { # script, arguments...
	if [ "$(id -u)" -ne 0 ]; then
		echo "ok 1 - an empty Debian # SKIP needs root"
		exit 0
	fi
	if [ -z "${FRESH_NS:-}" ]; then
		"$TOP/test/setup.sh" fresh || exit 69
		FRESH_NS=1 exec unshare --mount --propagation private "$@"
	fi
	trap root_clean EXIT INT TERM
}

# The checkout is in /src/ncclbpf. The mirror is the one that this machine uses.
root_make() { # suite, packages
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | head -1)
	root_clean
	mkdir -p "$root"
	debootstrap --variant=minbase --include="ca-certificates,$2" "$1" "$root" "$mirror" >"$root.log" 2>&1
	say $? "debootstrap $1" "$root.log"
	[ $bad -eq 0 ] || exit 1
	for m in proc dev sys; do mount --rbind "/$m" "$root/$m" && mount --make-rslave "$root/$m"; done
	mkdir -p "$root/src/ncclbpf"
	git -C "$TOP" archive HEAD | tar -x -C "$root/src/ncclbpf"
}

root_run() { # command...
	chroot "$root" env -i RERUN="${RERUN:-}" NOT="${NOT:-}" PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
		timeout 1800 "$@"
}
