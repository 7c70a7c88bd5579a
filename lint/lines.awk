# SPDX-License-Identifier: MIT
# LC_ALL=C awk -f lint/lines.awk FILES...: an error for each line over 100 columns (tabs of 8; a
# character of UTF-8 is one) and for each file over 800 lines. Annotations (---@) of Lua types for
# editors are one line each, so no limit holds there.
BEGIN { COLUMNS = 100; LINES = 800 }

function complain(text) {
	print FILENAME ":" FNR ": " text
	bad = 1
}

function columns(line,    i, n, width, part) {
	gsub(/[\200-\277]/, "", line)
	n = split(line, part, "\t")
	width = length(part[1])
	for (i = 2; i <= n; i++)
		width += 8 - width % 8 + length(part[i])
	return width
}

FNR == 1 { files++ }
FNR == LINES + 1 { complain("over " LINES " lines") }
!/^---@/ && (width = columns($0)) > COLUMNS { complain(width " columns, " COLUMNS " allowed") }
END {
	if (!bad) print "lines: " files " files"
	exit bad
}
