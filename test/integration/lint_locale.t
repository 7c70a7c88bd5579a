#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# lint/locale.awk and lint/lint.lua refuse what depends on the locale of the process, and take the
# nearest that does not.
. "$TOP/test/integration/shell_lib.sh"
trap 'rm -rf "$T"' EXIT
cd "$T" || exit 1
lint() { LC_ALL=C awk -f "$TOP/lint/locale.awk" "${1:-x.c}" >out; }
takes() { # NAME LINE
	echo "$2" >x.c
	lint
	ok "$1" $?
}
refuses() { # NAME LINE TEXT
	echo "$2" >x.c
	! lint && grep -qF "x.c:1: $3" out && ! grep -q '^locale: ' out
	ok "$1" $?
}
refuses "case by the locale" 'if (tolower(c) == c)' "tolower depends on the locale"
takes "a longer name" 'if (nb_tolower(c) == my_toupper(c))'
takes "the name in a text" 'say("tolower(c)");'
takes "and in a comment" ' * not tolower(c)'
refuses "but through a pointer" '*to = tolower(c);' "tolower depends on the locale"
refuses "a second call of the line" 'f(g(1), isspace (c));' "isspace depends on the locale"
refuses "the environment and a lock" 'gmtime_r(&t, &tm);' "gmtime_r depends on the locale"
takes "the character set of a terminal" 'n = mbrtowc(&c, s, n, &st);'
refuses "a decimal sign" 'printf("%d: %-8.3f s", i, x);' "a number whose decimal sign"
refuses "of a long double" 'printf("%Lg", x);' "a number whose decimal sign"
refuses "digits in groups" "printf(\"%'d\", i);" "a number whose decimal sign"
takes "an integer, a remainder and a percent sign" 'printf("%d %%f %5s", a %f, "x");'
refuses "another locale" 'setlocale(LC_ALL, "");' "setlocale depends on the locale"
mkdir -p shell core/base
echo 'setlocale(LC_CTYPE, ""); tolower(c);' >shell/main.c
! lint shell/main.c && grep -qF tolower out && ! grep -qF setlocale out
ok "which the shell alone may set" $?
echo 'snprintf(t, n, "%.9g", v);' >core/base/ascii.c
lint core/base/ascii.c
ok "one file prints numbers" $?

lua() { # LINE
	echo "$1" >x.lua
	lua5.4 "$TOP/lint/lint.lua" x.lua >out 2>why
}
if command -v luac5.4 >/dev/null; then
	! lua 'local s = ... return s:upper()' && grep -qF "x.lua:1: upper depends on the" why
	ok "Lua: a method" $?
	! lua 'return (...):gsub("x", string.lower)' && grep -qF "lower depends on the" why
	ok "Lua: a function" $?
	lua 'local ascii, x = ... return ascii.upper(x), x.lower'
	ok "Lua: ours, and a field" $?
	! lua 'os.setlocale "C"' && grep -qF "setlocale depends on the locale" why
	ok "Lua: the locale" $?
fi
echo "1..$tests"
[ "$wrong" -eq 0 ]
