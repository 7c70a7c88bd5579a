#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh dist|deb|rpm|packages VERSION FOLDER [PAGES]: the source archive of HEAD,
# or packages of it, in FOLDER. The archive gets what make docs has made in the folder
# PAGES. Packages are built from that archive, not from the checkout. "deb" leaves what
# it compiled in FOLDER/built, where "rpm" finds it; "packages": both. "deb-arm64": Debian
# packages for arm64 by cross compilation, with Debian's arm64 libraries in
# FOLDER.sysroot; the build runs its own programs under qemu-user.
set -eu
cd "$(dirname "$0")/.."
kind=$1 version=$2 pages=${4:-}
mkdir -p "$3"
out=$(cd "$3" && pwd)
here=packaging
name=ncclbpf-$version
# Reproducible: the time of the commit.
epoch=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH="$epoch" LC_ALL=C

set --
[ "$kind" != dist ] || set -- --prefix="$name/docs/" --add-file="$pages/lua-reference.md" \
	--prefix="$name/docs/man/" $(printf ' --add-file=%s' "$pages"/man/*)
git archive "$@" --prefix="$name/" -o "$out/$name.tar" HEAD
gzip -9nf "$out/$name.tar"
[ "$kind" = dist ] && echo "$out/$name.tar.gz" && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/$name

make_deb() {
	log=$out/deb.log
	tar -xzf "$out/$name.tar.gz" -C "$work"
	cp -r $here/debian "$tree/"
	(
		cd "$tree"
		sed -i -e "s/@VERSION@/$version/g" \
			-e "s/@DATE@/$(date -u -R -d "@$epoch")/" debian/changelog
		awk '
			/@LICENSE@/ {
				while ((getline l < "LICENSE") > 0)
					if (l !~ /^MIT License|^Copyright/)
						print l == "" ? (n++ ? " ." : "") : " " l
				next
			}
			1
		' debian/copyright |
			awk 'NF || !blank { print } { blank = !NF }' >debian/copyright.new
		mv debian/copyright.new debian/copyright
		dpkg-buildpackage "$@" -us -uc >"$log" 2>&1 || { tail -30 "$log"; exit 1; }
	)
	mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out/"
	rm -rf "$out/built"
	mv "$tree/build/release" "$out/built"
	git rev-parse HEAD >"$out/built/commit"
	ls "$out"/*.deb
}

# The build requirements of debian/control are those of the processor that builds,
# so dpkg cannot check them (-d): what is linked comes from the sysroot.
make_deb_arm64() {
	sysroot=$out.sysroot
	$here/sysroot.sh "$sysroot" arm64 libc6-dev libbpf-dev libelf-dev liblua5.4-dev \
		libedit-dev libncurses-dev libjansson-dev libcurl4-openssl-dev libmicrohttpd-dev \
		libgnutls28-dev
	# Variables of the command line (make CC=... deb-arm64) would win over these.
	unset MAKEFLAGS MAKEOVERRIDES
	export CC="aarch64-linux-gnu-gcc --sysroot=$sysroot" RUN="qemu-aarch64 -L $sysroot"
	export PKG_CONFIG_SYSROOT_DIR="$sysroot" PKG_CONFIG_PATH=
	PKG_CONFIG_LIBDIR=$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig
	export PKG_CONFIG_LIBDIR="$PKG_CONFIG_LIBDIR:$sysroot/usr/share/pkgconfig"
	SHLIBDIRS=$(find "$sysroot.parts" -mindepth 1 -maxdepth 1 -printf '-S%p ')
	export SHLIBDIRS
	export DEB_BUILD_OPTIONS=crossbuildcanrunhostbinaries
	make_deb -B -aarm64 -d
}

# With a build of the same sources nothing is compiled again.
make_rpm() {
	log=$out/rpm.log
	built=
	! git rev-parse HEAD | cmp -s - "$out/built/commit" || built=$out/built
	changes="* $(date -u -d "@$epoch" '+%a %b %d %Y') ncclbpf maintainers"
	changes="$changes <maintainers@ncclbpf.invalid> - $version-1\n- Release $version"
	sed -e "s/@VERSION@/$version/" -e "s/@CHANGES@/$changes/" \
		$here/ncclbpf.spec >"$work/ncclbpf.spec"
	# Debian's rpm knows no RPM packages, so it cannot check the build requirements.
	rpmbuild -bb --nodeps --define "_topdir $work/rpm" --define "_sourcedir $out" \
		${built:+--define "built $built"} --define "_rpmdir $out" \
		"$work/ncclbpf.spec" >"$log" 2>&1 || { tail -30 "$log"; exit 1; }
	cp "$work/ncclbpf.spec" "$out/"
	find "$out" -name '*.rpm'
}

case $kind in
deb) make_deb -b ;;
deb-arm64) make_deb_arm64 ;;
rpm) make_rpm ;;
packages)
	make_deb -b
	make_rpm
	;;
esac
