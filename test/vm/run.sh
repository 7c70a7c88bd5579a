#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh DIR SCRIPT [SECONDS]: boot the guest that build.sh has made in DIR and
# run SCRIPT there, as root, in a copy-on-write view of this machine's root
# folder: what is built here is there under the same path. /vm is a folder that
# the script may write and the caller reads: SHARE, or DIR/share.
#
# The guest's console goes to standard output. The status is the script's; 98 if
# the guest never reached its root folder, 99 if it ended without a status.
# VM_ACCEL=tcg|kvm, VM_CPUS, VM_MEMORY (MiB).
set -eu
dir=$(cd "$1" && pwd)
share=${SHARE:-$dir/share}
mkdir -p "$share"
share=$(cd "$share" && pwd)
cp "$2" "$share/command"
rm -f "$share/status" "$share/root"
accel=${VM_ACCEL:-$(cat "$dir/accel")}
[ "$accel" = tcg ] && cpu=max && accel=tcg,thread=multi || cpu=host
libs=$dir/host/usr/lib/x86_64-linux-gnu
usr=$dir/host/usr
p9() { # path, tag, options
	echo "-virtfs local,path=$1,mount_tag=$2,security_model=none,multidevs=remap$3"
}
append="console=ttyS0 quiet panic=-1 tsc=reliable no_timer_check mitigations=off"
append="$append random.trust_cpu=on"
# qemu reads its terminal: it gets none. A guest that fails powers off by itself.
# shellcheck disable=SC2046
LD_LIBRARY_PATH=$libs QEMU_MODULE_DIR=$libs/qemu timeout -k 10 "${3:-300}" \
	"$usr/bin/qemu-system-x86_64" -M q35 -accel "$accel" -cpu "$cpu" -smp "${VM_CPUS:-2}" \
	-m "${VM_MEMORY:-1536}" -L "$usr/share/qemu" -L "$usr/share/seabios" -nodefaults \
	-no-user-config -no-reboot -display none -serial stdio -kernel "$dir/vmlinux" \
	-initrd "$dir/initrd" -append "$append" $(p9 / root ,readonly=on) \
	$(p9 "$dir/lower" lower ,readonly=on) $(p9 "$share" share "") </dev/null || :
if [ -s "$share/status" ]; then exit "$(cat "$share/status")"; fi
[ -e "$share/root" ] || exit 98
exit 99
