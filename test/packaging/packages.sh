#!/bin/sh
# SPDX-License-Identifier: MIT
# packages.sh FOLDER PACKAGES BUILD: buildah makes the images of
# examples/containers/Containerfile, each stage of it, from an empty Debian 12. The
# Debian packages that are built there come to PACKAGES, and the RPM packages of the same
# compilation; lintian and rpmlint judge them. A job of NCCL's stand-in (of BUILD) runs in
# the one image, its shell in the other, where the packages are used and removed. Where
# buildah cannot work the packages are built here. Needs root. TAP.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
root=$1 packages=$2 build=$3
. "$TOP/test/packaging/root.sh"
root_enter "$0" "$@"
debian=docker.io/library/debian:12-slim
empty=$root
log=$empty.try.log sockets=$empty.sockets images=$empty.images storage=$empty.storage.conf \
	context=$empty.context
judged() {
	lintian --no-cfg --allow-root --fail-on error,warning \
		--suppress-tags initial-upload-closes-no-bugs \
		"$packages"/*.changes >"$root.lintian.log" 2>&1
	say $? "lintian finds no error and no warning" "$root.lintian.log"
	rpmlint --config "$TOP/packaging/rpmlint.toml" \
		"$packages"/*/*.rpm >"$root.rpmlint.log" 2>&1
	say $? "rpmlint finds no error" "$root.rpmlint.log"
	say_depends "$packages"
	rpm -qpR "$packages"/*/ncclbpf-libs-*.rpm >"$root.depends.log" &&
		! grep -vE '^(ld-linux.*|lib(c|dl|pthread))\.so\.|^rpmlib\(|^rtld\(' \
			"$root.depends.log"
	say $? "ncclbpf-libs requires libc alone" "$root.depends.log"
}
# Images and containers lie in a folder of this test. One file system over another
# is not possible everywhere; without it each layer is a copy.
images_start() {
	rm -rf "$images" "$sockets"
	mkdir -p "$images/one" "$images/two" "$images/work" "$images/both" &&
		mkdir -m 700 "$sockets"
	driver=vfs
	mount -t overlay overlay \
		-o "lowerdir=$images/one,upperdir=$images/two,workdir=$images/work" \
		"$images/both" 2>/dev/null && driver=overlay && umount "$images/both"
	printf '[storage]\ndriver = "%s"\nrunroot = "%s"\ngraphroot = "%s"\n' \
		$driver "$images/run" "$images/graph" >"$storage"
	export CONTAINERS_STORAGE_CONF="$storage" BUILDAH_ISOLATION=chroot
}
images_end() {
	[ -n "${job:-}" ] && kill -- "-$job" 2>/dev/null && wait "$job" 2>/dev/null
	root_unmount
	root=$empty
	root_clean
	buildah umount --all >/dev/null 2>&1
	umount -l "$images/graph/overlay" 2>/dev/null
	rm -rf "$images" "$sockets"
}
commit() { buildah commit -q --rm "$@" >/dev/null; }
base_images() {
	from=$(buildah from scratch) && buildah add -q "$from" "$root" / >/dev/null &&
		commit "$from" "$debian" &&
		from=$(buildah from --pull=never "$debian") &&
		buildah run "$from" -- sh \
		-ec 'apt-get -qq update; apt-get install -y -qq --no-install-recommends python3' &&
		commit "$from" localhost/pytorch
}
# The stage "build" is built once: the others get its image by --build-context.
built="--build-context build=container-image://localhost/build"
build_image() { # stage, image, options
	# shellcheck disable=SC2086 # several options
	buildah bud -q ${3:-} --pull=never -f "$context/examples/containers/Containerfile" \
		--build-arg PYTORCH=localhost/pytorch --target "$1" -t "$2" "$context"
}

trap images_end EXIT INT TERM
images_start
if ! buildah from scratch >"$log" 2>&1; then
	why=$(tail -1 "$log")
	try "the packages are built" make -C "$TOP" packages
	judged
	echo "ok $((n + 1)) - images # SKIP buildah cannot work here: $why"
	exit $bad
fi
root_bootstrap bookworm
rm -rf "$root"/var/lib/apt/lists/* # Debian's image has no lists either
rm -rf "$context" && git clone -q "$TOP" "$context"
try "an empty Debian 12 and one with Python become images" base_images
try "the Containerfile's stage build makes the packages by make deb" build_image build build
# Those are judged and installed elsewhere too.
fetched() {
	from=$(buildah from --pull=never localhost/build) && rm -rf "$packages" &&
		mkdir -p "$packages" &&
		cp -a "$(buildah mount "$from")"/src/ncclbpf/build/packages/. "$packages/" &&
		buildah rm "$from"
}
try "the packages are copied from its image" fetched
rpms() { make -C "$TOP" rpm && ! grep -m 3 '^ *CC ' "$packages/rpm.log"; }
try "make rpm makes its packages of the same compilation" rpms
judged
try "the Containerfile's stage shell installs the packages" build_image shell ncclbpf-shell \
	"$built"
try "the Containerfile's stage plugin gets the plugin" build_image plugin train "$built"
rm -rf "$context"
[ $bad -eq 0 ] || exit 1
train=$(buildah from --pull=never localhost/train) \
	shell=$(buildah from --pull=never localhost/ncclbpf-shell)
in_train="buildah run -v $sockets:/run/job -v $build:/build:ro"
in_train="$in_train -e NCCLBPF_SOCKET_DIR=/run/job $train --"
# With the image's entry point.
in_shell() {
	buildah run -v "$sockets:/run/job" -e NCCLBPF_SOCKET_DIR=/run/job "$shell" -- \
		$(buildah inspect --format '{{index .OCIv1.Config.Entrypoint 0}}' "$shell") "$@"
}
load() { $in_train python3 -c 'import ctypes, os
for kind in "TUNER", "PROFILER":
    print(kind, ctypes.CDLL(os.environ[f"NCCL_{kind}_PLUGIN"]).ncclTunerPlugin_v5)'; }
try "the job's image loads the plugin by the variables that it sets" load
setsid $in_train /build/test/fakes/host/standin --threads --seconds inf \
	--pause-ms 20 >"$empty.job.log" 2>&1 &
job=$!
attach() {
	await while_lives $job listed && return
	cat "$empty.job.log"
	return 1
}
listed() { in_shell -q -o tsv list | grep -q attachable; }
try "the shell in one container finds the job in the other" attach
try "and loads a policy there" in_shell policy load /usr/share/ncclbpf/policies/size_aware.policy
try "and has the job use it" in_shell policy use size_aware

# The packages, in the image that they are installed in.
root=$(buildah mount "$shell")
root_mount
for kind in tuner profiler net env; do
	# As NCCL does it: the name alone, found by the loader's cache.
	try "the loader finds libnccl-$kind-ncclbpf.so by its name" root_run \
		python3 -c "import ctypes; ctypes.CDLL('libnccl-$kind-ncclbpf.so')"
done
accepted() {
	root_run ncclbpf-shell policy verify \
		/usr/share/ncclbpf/policies/size_aware.policy | grep accepted
}
try "the shell verifies a policy of libncclbpf" accepted
try "Lua finds the module" root_run lua5.4 -e 'print(require("ncclbpf")._VERSION or "loaded")'
try "Python finds the module" root_run \
	python3 -c 'import ncclbpf; print(ncclbpf.version, ncclbpf.list())'
removed() {
	left=$(root_run sh -c \
		'apt-get purge -y -qq libncclbpf ncclbpf ncclbpf-dev lua-ncclbpf \
			python3-ncclbpf >/dev/null &&
		find /usr /etc -name "*ncclbpf*"') || return
	echo "$left"
	[ -z "$left" ]
}
try "removing them leaves nothing" removed
echo "1..$n"
exit $bad
