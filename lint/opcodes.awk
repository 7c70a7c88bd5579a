# SPDX-License-Identifier: MIT
# awk -f lint/opcodes.awk -v LINES=n -v FILES=n core/defs/fns.h core/defs/isa.h FILES...: how often the code
# names one instruction, NB_FN_<name> or NB_OP_<name>. An error for each that stands on more than LINES
# lines or in more than FILES files: what it is belongs into a column of its row.
FILENAME ~ /core\/defs\/(fns|isa)\.h$/ {
	if (match($0, /^(FN|INSN)\([A-Z0-9_]+/)) {
		name = substr($0, RSTART, RLENGTH)
		sub(/INSN\(/, "NB_OP_", name); sub(/FN\(/, "NB_FN_", name)
		lines[name] = 0
	}
	next
}
{
	split("", here)
	for (rest = $0; match(rest, /NB_(FN|OP)_[A-Z0-9_]+/); rest = substr(rest, RSTART + RLENGTH))
		here[substr(rest, RSTART, RLENGTH)] = 1
	for (name in here)
		if (name in lines) {
			lines[name]++
			if (!((name, FILENAME) in seen)) files[name]++
			seen[name, FILENAME] = 1
			where[name] = where[name] "\n\t" FILENAME ":" FNR
		}
}
END {
	for (name in lines)
		if (lines[name] > LINES || files[name] > FILES) {
			print name ": on " lines[name] " lines of " files[name] " files; allowed " LINES " and " FILES where[name]
			bad = 1
		}
	exit bad
}
