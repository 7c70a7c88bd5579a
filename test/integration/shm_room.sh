# SPDX-License-Identifier: MIT
# Sourced before all else by tests that need 33 MiB of /dev/shm a rank, which call
# `shm_room WHAT "$0" "$@"`. NCCL takes them for network connections, and for GPU times, which
# the plugin asks for only where there is room (small_shm.t). A container has 64 MiB: the test
# gets a /dev/shm of its own, or skips WHAT.
SHM_MIB=1024

shm_mib() { df -P -m /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }'; }

shm_room() { # WHAT SCRIPT ARGUMENTS...
	what=$1
	shift
	left=$(shm_mib)
	[ "${left:-0}" -lt $SHM_MIB ] || return 0
	shm_mount="mount -t tmpfs -o size=$((SHM_MIB * 2))m,mode=1777 shm /dev/shm"
	for user in "" -r; do # without a user namespace where possible
		[ -z "${SHM_ROOM:-}" ] && unshare -m $user sh -c "$shm_mount" 2>/dev/null &&
			SHM_ROOM=1 exec unshare -m $user sh -c "$shm_mount && exec \"\$@\"" sh "$@"
	done
	echo "1..0 # SKIP $what: /dev/shm has ${left:-0} MiB left, and a mount is not permitted"
	exit 0
}
