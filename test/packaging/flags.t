#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# The Makefile in a tree of its own: a change of flags compiles again what it concerns, also
# of those that a part sets for some files; words that are none are refused; without dpkg
# everything is built with the libraries that are there.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
unset B V VARIANT WERROR CFLAGS MAKEFLAGS CCACHE_DISABLE
mkdir "$T/tree" && cd "$TOP" || exit 1
cp -r Makefile core plugin lua shell policies lint docs packaging examples test "$T/tree"
cd "$T/tree" || exit 1
o=build/debug/core/base/err.o
built() { make "$@" >"$T/why" 2>&1; }
fresh() { make -q "$@" >"$T/why" 2>&1; }
ok_not() { # NAME STATUS
	[ "$2" -eq 1 ]
	ok "$1" $?
}
built $o && fresh $o
ok "what is built is not built again" $?
fresh $o WERROR=1
ok "nor for WERROR=1, which changes no object" $?
fresh $o CFLAGS=-O3
ok_not "another CFLAGS= compiles again" $?
sed -i 's/^COLD := /&core\/base /' core/core.mk
fresh $o
ok_not "so does a file that gets flags of its own" $?
built $o && fresh $o
ok "once" $?
echo '$(B)/core/base/%.o: NB_CFLAGS += -O1' >>plugin/plugin.mk
fresh $o
ok_not "and a flag that a part sets" $?
built $o
printf 'x: ; @echo x\n' >>test/check.mk
fresh $o
ok "a rule of another kind does not" $?
! make -n V=2 >"$T/why" 2>&1 && ! grep -q 'VARIANT=2' "$T/why" && grep -q 'allowed: 0, 1' "$T/why"
ok "V=2 is refused, and not for a variant" $?
! make -n VARIANT=fast >"$T/why" 2>&1 && grep -q 'allowed: debug release' "$T/why"
ok "so is a variant that is none" $?

# Every tool but dpkg's and apt's.
mkdir "$T/bin"
IFS=:
for folder in $PATH; do
	[ "${folder##*/}" = ccache ] && continue # looks for the compiler elsewhere
	for f in "$folder"/*; do
		case ${f##*/} in
		dpkg* | apt*) ;;
		*) [ -e "$T/bin/${f##*/}" ] || ln -s "$f" "$T/bin/" ;;
		esac
	done
done
unset IFS
PATH=$T/bin
! command -v dpkg-query >"$T/why" && ! command -v apt-get >>"$T/why"
ok "no dpkg, no apt" $?
built all CFLAGS='-O0 -g0'
ok "make all" $?
ncclbpf=build/debug/ncclbpf-shell
"$ncclbpf" policy verify build/debug/policies/size_aware.policy >"$T/why" 2>&1
ok "its shell verifies a policy of it" $?
test/setup.sh build check >"$T/why" 2>&1
ok "set-up finds tools and libraries by themselves" $?
PKG_CONFIG_LIBDIR=/nonexistent test/setup.sh build >"$T/why" 2>&1
[ $? -eq 69 ] && grep -q 'missing here.*libbpf.pc' "$T/why"
ok "and names those that are missing" $?
