# SPDX-License-Identifier: MIT
# Sourced: an empty Debian in a folder of its own, made by mmdebstrap. The
# caller sets TOP and root; its arguments are "$@". TAP.
. "$TOP/test/await.sh"
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

# What a command says goes to the file $log.
try() { # name, command...
	name=$1
	shift
	"$@" >"$log" 2>&1 </dev/null
	say $? "$name" "$log"
}

# What Debian's packages in a folder need: the shell its libraries, the plugin libc alone.
say_depends() { # folder
	for p in ncclbpf libncclbpf; do
		dpkg-deb -f "$1/$p"_*.deb Depends
	done >"$root.depends.log"
	sed -n 1p "$root.depends.log" | grep -q libbpf1 &&
		[ "$(sed -n 2p "$root.depends.log")" = 'libc6 (>= 2.28)' ]
	say $? "the shell depends on its libraries, the plugin on libc alone" "$root.depends.log"
}

# The line of docs/quickstart.md that installs up to a package, of the files in /packages.
# Without -y apt-get refuses to install a package more than are named.
documented() { # package, more arguments
	line=$(grep "^    apt-get install .*/$1_[*].deb\$" "$TOP/docs/quickstart.md") || return
	shift
	root_run sh -c "cd /packages && $line $*"
}

root_unmount() {
	for m in proc dev sys; do mountpoint -q "$root/$m" && umount -l "$root/$m"; done
}

root_clean() {
	root_unmount
	rm -rf --one-file-system "$root"
}

# Ends the script with a skip without root. Mounts get a namespace of their
# own, so they end with this process, however it ends.
root_enter() { # script, arguments...
	if [ "$(id -u)" -ne 0 ]; then
		echo "1..0 # SKIP an empty Debian: needs root"
		exit 0
	fi
	if [ -z "${FRESH_NS:-}" ]; then
		"$TOP/test/setup.sh" fresh || exit 69
		FRESH_NS=1 exec unshare --mount --propagation private "$@"
	fi
	# As Docker, podman and Kubernetes have it; all that is mounted below sees it.
	mount -t tmpfs -o size=64m,mode=1777,nosuid,nodev shm /dev/shm || exit 1
	trap root_clean EXIT INT TERM
}

# An empty Debian with packages, from the mirror that this machine uses. As in Debian's container
# images, dpkg does not wait for the disk, and apt has no translations.
root_bootstrap() { # suite, package...
	distribution=$1 with=ca-certificates
	shift
	for p; do with=$with,$p; done
	mirror=$(apt-get indextargets \
		--format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | head -1)
	root_clean
	# sid's lists are valid for a week, and a mirror may lag
	mmdebstrap --quiet --variant=minbase --include="$with" --skip=cleanup/apt/lists \
		--dpkgopt=force-unsafe-io --aptopt='Acquire::Languages "none"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		"$distribution" "$root" "$mirror" >"$root.log" 2>&1
	say $? "an empty Debian $distribution with $with" "$root.log"
	[ $bad -eq 0 ] || exit 1
}

root_mount() {
	for m in proc dev sys; do
		mount --rbind "/$m" "$root/$m" && mount --make-rslave "$root/$m"
	done
}

# The checkout is in /src/ncclbpf.
root_make() { # suite, package...
	root_bootstrap "$@"
	root_mount
	mkdir -p "$root/src/ncclbpf"
	git -C "$TOP" archive HEAD | tar -x -C "$root/src/ncclbpf"
}

root_run() { # command...
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		HOME=/root TERM=dumb ${http_proxy:+http_proxy="$http_proxy"} \
		${https_proxy:+https_proxy="$https_proxy"} timeout 1800 "$@"
}
