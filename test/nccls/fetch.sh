#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch.sh KEY: get a package of the table `packages` into a cache outside of the tree, and print
# its folder. Status 77 and one line where it cannot be had.
#
# NCCLS_CACHE   the cache; default: ~/.cache/ncclbpf/nccls
# NCCLS_MIRROR  a Debian mirror; default: the one that this machine's apt uses
#
# The folder of a library contains libnccl.so.2 or librccl.so.1, that of glibc its libraries and
# the loader, that of headers include/ and the device headers.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cache=${NCCLS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ncclbpf/nccls}
key=$1

cannot() {
	echo "$*" >&2
	exit 77
}
mirror() {
	apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(COMPONENT) $(RELEASE)' \
		'Created-By: Packages' 2>/dev/null |
		awk '$2 == "Debian" && $3 == "main" && $1 !~ /security/ { print $1; exit }'
}

# shellcheck disable=SC2046 # the fields of a line
set -- $(awk -v key="$key" '$1 == key' "$here/packages")
[ $# -eq 5 ] || cannot "no package is called $key"
package=$2 version=$3 sum=$4 path=$5
# Another version in the table is another folder.
folder=$cache/$key-$(echo "$sum" | cut -c1-12)
if [ -d "$folder" ]; then
	echo "$folder"
	exit 0
fi
[ "$(uname -m)" = x86_64 ] || cannot "$package $version is a library for x86-64"
helper=/usr/lib/apt/apt-helper
[ -x $helper ] || cannot "$package $version: only apt fetches it, and this machine has none"
command -v dpkg-deb >/dev/null || cannot "$package $version: no dpkg-deb to unpack it"
from=${NCCLS_MIRROR:-$(mirror)}
[ -n "$from" ] || cannot "$package $version: apt has no Debian mirror; NCCLS_MIRROR names one"
mkdir -p "$cache" || cannot "$package $version: no folder $cache"
new=$(mktemp -d "$cache/new.XXXXXX") || cannot "$package $version: nothing can be made in $cache"
trap 'rm -rf "$new"' EXIT
$helper -o Acquire::Retries=1 -o Acquire::http::Timeout=30 download-file \
	"${from%/}/pool/$path" "$new/file" "SHA256:$sum" >"$new/log" 2>&1 ||
	cannot "$package $version cannot be had: $(sed -n 's/^E: //p' "$new/log" | head -1)"

mkdir "$new/all" "$new/out"
case $path in
*.deb) dpkg-deb -x "$new/file" "$new/all" ;;
*) tar -C "$new/all" --strip-components 1 -xf "$new/file" ;;
esac || cannot "$package $version: it cannot be unpacked"
lib=$new/all/usr/lib/x86_64-linux-gnu
case $key in
glibc*) mv "$lib"/*.so* "$new/out" ;;
libgcc_s | libstdc++) cp -L "$lib/$key".so.? "$new/out" ;;
rccl-*) mv "$lib/librccl.so.1.0" "$new/out/librccl.so.1" ;;
headers-*)
	# The release's own build makes nccl.h of its version file.
	version_of='s/^NCCL_\(MAJOR\|MINOR\|PATCH\) *:= *//p'
	# shellcheck disable=SC2046
	set -- $(sed -n "$version_of" "$new/all/makefiles/version.mk")
	mv "$new/all/src/include/nccl_device" "$new/all/src/include/nccl_device.h" "$new/out" &&
		sed -e "s/\${nccl:Major}/$1/; s/\${nccl:Minor}/$2/; s/\${nccl:Patch}/$3/" \
			-e 's/${nccl:Suffix}//' \
			-e "s/\${nccl:Version}/$(($1 * 10000 + $2 * 100 + $3))/" \
			"$new/all/src/nccl.h.in" >"$new/out/nccl.h"
	;;
*) cp -L "$lib/libnccl.so.2" "$new/out" ;;
esac || cannot "$package $version: it does not contain what was expected"
mv -T "$new/out" "$folder" 2>/dev/null || [ -d "$folder" ] || cannot "$folder cannot be made"
echo "$folder"
