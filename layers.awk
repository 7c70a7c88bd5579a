# SPDX-License-Identifier: MIT
# awk -f layers.awk layers.txt FILES...: does every #include "..." keep to
# the layers? Prints each one that does not; exit status 1 then.
FNR == NR {
	if ($0 !~ /^#/) { split($0, kv, ":"); dirs[kv[1]] = " " kv[1] kv[2] " "; gsub(/ +/, " ", dirs[kv[1]]) }
	next
}
FNR == 1 {
	d = FILENAME; sub(/\/[^\/]*$/, "", d)
	if (!(d in dirs)) { print FILENAME ": folder " d " has no row in layers.txt"; bad = 1 }
}
/^[ \t]*#[ \t]*include "/ {
	split($0, q, "\""); t = q[2]
	if (t !~ /\//) next
	sub(/\/[^\/]*$/, "", t)
	if (!index(dirs[d], " " t " ")) { print FILENAME ":" FNR ": " d " may not include " t; bad = 1 }
}
END { exit bad }
