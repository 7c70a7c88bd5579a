# SPDX-License-Identifier: MIT
# awk -f lint/locale.awk FILES...: an error for each function of C whose result depends on the locale
# of the process, and for each format of a floating-point number. core/base/ascii.h and core/base/utc.h
# have what to call instead; core/base/ascii.c alone may print such a number, and shell/main.c alone may
# set a locale. Not refused: what is for the character set of a terminal (mbrtowc, wcwidth), and strtol
# and its kind, whose digits are ASCII in every locale.
BEGIN {
	split("isalnum isalpha isblank iscntrl isgraph islower isprint ispunct isspace " \
		"isupper tolower toupper strcasecmp strncasecmp strcasestr strcoll strxfrm " \
		"strtod strtof strtold atof localeconv strftime strptime gmtime gmtime_r localtime " \
		"localtime_r asctime ctime mktime strfmon alphasort setlocale newlocale uselocale", list)
	for (i in list) refused[list[i]] = 1
}

function complain(text) {
	print FILENAME ":" FNR ": " text
	bad = 1
}

FNR == 1 { files++ }
/^[ \t]*(\/\*|\*[ \t\/]|\*$|\/\/)/ { next }
{
	rest = code = $0
	gsub(/\\./, "", rest)
	gsub(/%%/, "", rest)
	for (n = split(rest, part, "\""); n > 1; n--)
		if (n % 2 == 0 && part[n] ~ /%[-+ #0-9*.]*([lL]?[aAeEfFgG]|\047)/ &&
			FILENAME !~ /core\/base\/ascii\.c$/)
			complain("a number whose decimal sign depends on the locale: use nb_f64_text")
	gsub(/"([^"\\]|\\.)*"/, "", code)
	while (match(code, /[A-Za-z_][A-Za-z_0-9]*[ \t]*\(/)) {
		name = substr(code, RSTART, RLENGTH - 1)
		sub(/[ \t]*$/, "", name)
		code = substr(code, RSTART + RLENGTH)
		if (name in refused && !(name == "setlocale" && FILENAME ~ /shell\/main\.c$/))
			complain(name " depends on the locale")
	}
}
END {
	if (!bad) print "locale: " files " files"
	exit bad
}
