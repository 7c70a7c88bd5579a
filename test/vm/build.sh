#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh DIR: a virtual machine with SoftRoCE (rdma_rxe), of Debian packages
# that are downloaded and unpacked below DIR; nothing is installed. run.sh boots it.
#
#   DIR/host     qemu and the libraries that this machine lacks for it
#   DIR/lower    what the guest has beside this machine's own root folder:
#                the kernel's modules, rdma-core, iproute2
#   DIR/vmlinux, DIR/initrd   kernel, and a first process with five modules
#   DIR/accel    kvm or tcg: what has booted the guest here
#
# A second run with the same kernel package finds DIR/made and does nothing.
# Status 69 and one line: why there can be no virtual machine here.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
cannot() {
	echo "no virtual machine: $*" >&2
	exit 69
}
sum=$(cat "$HERE/build.sh" "$HERE/init" | cksum | tr ' ' -)
[ "$(uname -m)" = x86_64 ] || cannot "this machine is not x86-64 but $(uname -m)"
for p in apt-get dpkg-deb cksum; do
	command -v $p >/dev/null || cannot "$p is missing: the guest is made of Debian packages"
done
kernel=$(apt-cache depends linux-image-amd64 2>/dev/null |
	sed -n 's/.*Depends: linux-image-//p' | head -1)
if [ -s made ] && { [ -z "$kernel" ] || [ "$(cat made)" = "$kernel $sum" ]; }; then exit 0; fi
if [ -z "$kernel" ] && [ "$(id -u)" -eq 0 ]; then
	apt-get update -qq >log 2>&1 || :
	kernel=$(apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/.*Depends: linux-image-//p' | head -1)
fi
[ -n "$kernel" ] || cannot "no package linux-image-amd64 is known here"

# ---- packages ------------------------------------------------------------

for_host="qemu-system-x86 kmod xz-utils"
for_guest="libibverbs1 ibverbs-providers iproute2 kmod busybox-static"
rm -rf debs host lower tree initrd.d made
mkdir debs host lower
with_depends() { # what this machine lacks for these, and themselves
	{
		printf '%s\n' "$@"
		apt-get install -s --no-install-recommends "$@" 2>>log |
			awk '$1 == "Inst" { print $2 }'
	} | sed 's/:.*//' | sort -u
}
get() { # folder, packages...
	(cd debs && mkdir "$1" && cd "$1" && shift && apt-get download -qq "$@") >>log 2>&1
}
: >log
# shellcheck disable=SC2046
fetch() {
	rm -rf debs/*
	get host $(with_depends $for_host) &&
		get lower $(with_depends $for_guest) "linux-image-$kernel"
}
# Lists that are older than the archive name packages that are gone.
fetch || { [ "$(id -u)" -eq 0 ] && apt-get update -qq >>log 2>&1 && fetch; } ||
	cannot "packages cannot be downloaded: $(grep -m1 '^E:' log || tail -1 log)"
for d in host lower; do
	for p in debs/$d/*.deb; do dpkg-deb -x "$p" $d; done
done
rm -rf debs
# /bin, /lib and /sbin are links on this machine: folders of the upper layer would hide them.
for tree in host lower; do
	for d in bin lib lib64 sbin; do
		[ -d $tree/$d ] && [ ! -L $tree/$d ] || continue
		mkdir -p $tree/usr/$d
		cp -al $tree/$d/. $tree/usr/$d/
		rm -rf ${tree:?}/$d
	done
done
tool() { # a program of the packages, or this machine's
	for t in "host/usr/bin/$1" "host/usr/sbin/$1" "lower/usr/bin/$1"; do
		[ -x "$t" ] && echo "$PWD/$t" && return
	done
	command -v "$1"
}

# ---- kernel, modules, initrd -----------------------------------------------

# Unpacked, to be booted by PVH: an emulated processor takes seconds to unpack it.
at=$(LC_ALL=C grep -obUaP "\xFD7zXZ\x00" lower/boot/vmlinuz-* | head -1 | cut -d: -f1)
tail -c +$((${at:-0} + 1)) lower/boot/vmlinuz-* | "$(tool xz)" -dc >vmlinux 2>/dev/null ||
	[ -s vmlinux ]
rm -rf lower/boot

# Of 4,000 modules those that are used; depmod in the guest would outlast the boot.
modules=lower/usr/lib/modules/$kernel
keep='sch_netem|9p|netfs|fscache|virtio|overlay|veth|dummy|udp_tunnel|crc32|configfs'
keep="$keep|net/ipv4/udp|net/ipv6/ip6_udp"
find "$modules/kernel" -name '*.ko*' | grep -Ev "/($keep)[^/]*(/|\.ko|_|$)" |
	grep -Ev 'infiniband/(core|sw)/' | xargs rm -f
find "$modules/kernel" -name '*.ko.xz' -exec "$(tool xz)" -d {} +
mkdir -p tree/lib
cp -al lower/usr/lib/modules tree/lib/
ln -sf "$(tool kmod)" depmod # a program of many names
./depmod -b tree "$kernel" 2>>log
cp --remove-destination tree/lib/modules/"$kernel"/modules.[adsb]* "$modules/"
rm -rf tree depmod initrd.d
mkdir -p initrd.d/bin initrd.d/m initrd.d/proc initrd.d/sys initrd.d/dev
cp "$(tool busybox)" initrd.d/bin/
for m in virtio_pci 9pnet_virtio 9p overlay; do # in the order in which they can be inserted
	sed -n "s#^\\(.*/$m\\.ko\\):\\(.*\\)#\\2 \\1#p" "$modules/modules.dep" |
		awk '{ for (i = NF - 1; i > 0; i--) print $i; print $NF }'
done | awk '!seen[$0]++' >initrd.d/order
while read -r f; do cp "$modules/$f" initrd.d/m/; done <initrd.d/order
cp "$HERE/init" initrd.d/init
chmod +x initrd.d/init
(cd initrd.d && find . | bin/busybox cpio -o -H newc 2>/dev/null) >initrd
rm -rf initrd.d

# ---- does KVM boot it here? --------------------------------------------------

echo tcg >accel
if [ -w /dev/kvm ]; then
	echo kvm >accel
	echo true >probe.sh
	"$HERE/run.sh" . probe.sh 10 >>log 2>&1 || echo tcg >accel
	rm -f probe.sh
fi
echo "$kernel $sum" >made
echo "the guest: Linux $kernel, $(cat accel), $(du -sm . | cut -f1) MB in $PWD"
