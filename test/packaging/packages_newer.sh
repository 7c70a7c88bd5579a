#!/bin/sh
# SPDX-License-Identifier: MIT
# packages_newer.sh FOLDER PACKAGES SUITE: the packages that Debian 12 built, in an empty Debian
# in FOLDER: trixie (Debian 13, glibc 2.41) or sid (2.43). The Debian packages by apt-get, then,
# in trixie, the RPM packages by rpm beside the libraries that the first ones needed. They are used
# and leave nothing. Needs root. TAP.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
root=$1 packages=$2 suite=$3
. "$TOP/test/packaging/root.sh"
root_enter "$0" "$@"
log=$root.try.log
accepted() {
	root_run ncclbpf-shell policy verify /usr/share/ncclbpf/policies/size_aware.policy |
		grep accepted
}
loads() { # folder of the libraries
	root_run python3 -c "import ctypes
for kind in 'tuner', 'profiler', 'net', 'env':
    ctypes.CDLL('$1libnccl-%s-ncclbpf.so' % kind)"
}
nothing() {
	left=$(find "$root/usr" "$root/etc" -name '*ncclbpf*' -o -name '*libnccl-*-tcp*')
	echo "$left"
	[ -z "$left" ]
}

root_make "$suite" python3
mkdir -p "$root/packages"
cp "$packages"/*.deb "$packages"/*/*.rpm "$root/packages/" && rm -f "$root"/packages/*-dbgsym_*
# Those that the documents name, and the others.
try "apt-get installs the Debian packages in Debian $suite" documented ncclbpf \
	"-y -qq --no-install-recommends ./ncclbpf-dev_*.deb ./*-ncclbpf_*.deb"
[ $bad -eq 0 ] || exit 1
try "the shell verifies a policy" accepted
try "the loader finds the plugins by their names" loads ""
try "Lua finds the module" root_run lua5.4 -e 'require "ncclbpf"'
try "Python finds the module" root_run python3 -c 'import ncclbpf'
try "removing them" root_run \
	apt-get purge -y -qq libncclbpf ncclbpf ncclbpf-dev lua-ncclbpf python3-ncclbpf
try "leaves nothing" nothing
if [ "$suite" = sid ]; then
	echo "1..$n"
	exit $bad
fi
# rpm knows no package of Debian's, so what each one requires is not looked for.
rpm="rpm --root $root --dbpath /var/lib/rpm --nodeps"
# shellcheck disable=SC2086
try "rpm installs the RPM packages" $rpm -i "$root"/packages/*.rpm
try "their shell verifies a policy" accepted
try "their plugins load" loads /usr/lib64/
# shellcheck disable=SC2086,SC2046
try "removing them" $rpm -e $(rpm --root "$root" --dbpath /var/lib/rpm -qa)
try "leaves nothing" nothing
echo "1..$n"
exit $bad
